"""Bytes of storages and files against PyTorch's: what is read, shared and refused."""

import re

import pytest
from oracle import compare

import torchlike

torch = pytest.importorskip("torch")


def shared(t):
    x = t.arange(4.0)
    memory = x.untyped_storage()
    y = t.asarray(memory[4:8], dtype=t.float32)
    y.fill_(9)
    x[2] = 5
    part = t.asarray(memory[4:12], dtype=t.float32)
    return x.tolist(), y.tolist(), part.tolist(), memory[2], memory[-1], memory[4:8].nbytes()


def mapped(t, path):
    path.write_bytes(bytes(range(16)))
    memory = t.UntypedStorage.from_file(str(path), shared=True, nbytes=24)
    t.asarray(memory[0:4], dtype=t.uint8).fill_(7)
    memory = t.UntypedStorage.from_file(str(path), False, 24)
    return memory.tolist(), memory.nbytes(), list(path.read_bytes())


FILES = {
    "mapped": mapped,
    "private": lambda t, p: t.UntypedStorage.from_file(str(p), False, 8).tolist(),
    "parts": lambda t, p: [
        t.UntypedStorage.from_file(str(p), False, 16)[part].tolist()
        for part in (slice(2, 5), slice(-20, None), slice(3, 100), slice(4, 2))
    ],
    "typed": lambda t, p: t.asarray(
        t.UntypedStorage.from_file(str(p), False, 16)[0:10], dtype=t.int32
    ).tolist(),
    "bytes-as": lambda t, p: (
        t.asarray(t.UntypedStorage.from_file(str(p), False, 16)[0:16], dtype=t.uint8)
        .view(dtype=t.int16)
        .reshape([2, 4])
        .tolist()
    ),
    "none-asked": lambda t, p: t.UntypedStorage.from_file(str(p), False).nbytes(),
    "short": lambda t, p: t.UntypedStorage.from_file(str(p), nbytes=32),
    "missing": lambda t, p: t.UntypedStorage.from_file(str(p) + "x", False, 8),
    "no-name": lambda t, p: t.UntypedStorage.from_file(3),
    "shared": lambda t, p: shared(t),
    "step": lambda t, p: t.ones(2).untyped_storage()[::2],
    "out-of-range": lambda t, p: t.ones(2).untyped_storage()[99],
    "far-below": lambda t, p: t.ones(2).untyped_storage()[-9],
    "no-index": lambda t, p: t.ones(2).untyped_storage()["a"],
    "untyped": lambda t, p: t.ones(2).untyped_storage().untyped().tolist(),
}


@pytest.mark.parametrize("call", FILES.values(), ids=FILES)
def test_bytes(call, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(range(16)))
    try:
        expected = call(torch, path)
    except Exception as error:
        path.write_bytes(bytes(range(16)))
        with pytest.raises(type(error), match=f"^{re.escape(str(error))}$"):
            call(torchlike, path)
    else:
        path.write_bytes(bytes(range(16)))
        assert call(torchlike, path) == expected


@pytest.mark.parametrize("keep_bytes", [False, True])
def test_a_tensor_of_bytes_in_another_form_shares_them_and_computes(tmp_path, keep_bytes):
    path = tmp_path / "file"
    path.write_bytes(bytes(range(16)))
    raw = torchlike.asarray(
        torchlike.UntypedStorage.from_file(str(path), False, 16)[:], dtype=torchlike.uint8
    )
    t = raw.view(torchlike.int32).reshape(2, 2)
    if not keep_bytes:
        del raw
    t += 1
    assert (t * 2).tolist() == [[2 * 0x03020101, 2 * 0x07060505], [2 * 0x0B0A0909, 2 * 0x0F0E0D0D]]
    if keep_bytes:
        assert raw.tolist()[:5] == [1, 1, 2, 3, 5]
        raw[0] = 0
        assert t[0, 0].item() == 0x03020100
    else:
        assert t._storage.host is None  # no buffer that would be read afresh at each use
    p = torchlike.nn.Parameter(t.float())
    p.sum().backward()
    assert p.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("size", [0, 4])
def test_a_file_that_is_not_there(shared, size, tmp_path):
    def run(t):
        path = tmp_path / f"{t.__name__}{size}"
        try:
            found = t.from_file(str(path), shared=shared, size=size)
        except RuntimeError as error:
            found = str(error).replace(str(path), "path")
        return found, path.exists() and path.stat().st_size

    compare(run)
