"""Tensors on the memory of Python's buffers, against PyTorch."""

import pytest
from oracle import compare, source

import torchlike

torch = pytest.importorskip("torch")

CASES = """
b = bytearray(8); x = t.frombuffer(b, dtype=t.int32); x[1] = 1; b[0] = 2; (x, b)
t.frombuffer(bytearray(range(8)), dtype=t.int16, count=2, offset=3)
t.frombuffer(bytearray(8), dtype=t.int32, count=-5)
t.frombuffer(np.ones((2, 3), np.float32), dtype=t.float32, requires_grad=True)
t.frombuffer(bytearray(8), dtype=t.int32, count=0)
t.frombuffer(bytearray(0), dtype=t.int32)
t.frombuffer(bytearray(8), dtype=t.int32, offset=8)
t.frombuffer(bytearray(8), dtype=t.int32, offset=-1)
t.frombuffer(bytearray(8), dtype=t.int32, offset=1)
t.frombuffer(bytearray(8), dtype=t.int32, count=2, offset=1)
t.frombuffer([1, 2], dtype=t.int32)
t.asarray(bytearray(7), dtype=t.int32)
""".strip().splitlines()


@pytest.mark.parametrize("line", CASES)
def test_as_pytorch(line):
    function = source(line)
    compare(function, exact=True)


def test_memory_that_cannot_be_taken():
    with pytest.raises(RuntimeError, match="could not retrieve buffer"):
        torchlike.frombuffer(memoryview(bytearray(8))[::2], dtype=torchlike.int32)
    x = torchlike.frombuffer(bytes(8), dtype=torchlike.int32)
    with pytest.raises(RuntimeError, match="read-only"):
        x.add_(1)
    assert x.tolist() == [0, 0]
