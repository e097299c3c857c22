"""Tensors and NumPy: arrays that share or copy, NumPy on the left of an operator, NumPy's functions
of tensors, all against PyTorch."""

import numpy as np
import pytest
from oracle import compare, source

import torchlike

torch = pytest.importorskip("torch")

CASES = """
x = t.zeros(3); x.numpy(); a = np.array(x); a[0] = 5; (x, a)
x = t.zeros(3); a = np.array(x); a[0] = 5; (x, a)
x = t.zeros(3); a = np.asarray(x); a[0] = 5; (x, a)
x = t.zeros(3); a = np.asarray(x); x[1] = 7; (x, a)
x = t.zeros(3); a = np.asarray(x, dtype=np.float32); a[0] = 1; (x, a)
x = t.zeros(3); a = np.asarray(x, dtype=np.float64); a[0] = 1; (x, a)
x = t.arange(6.).reshape(2, 3)[:, 1]; a = np.asarray(x); a[0] = 9; (x, a)
np.array(t.arange(6.).reshape(2, 3).t())
np.asarray(t.arange(6.).reshape(2, 3).t())
y = t.arange(6).reshape(2, 3).t() + 1; (np.array(y), np.asarray(y))
x = t.arange(6).reshape(2, 3); x.numpy(); np.array(x.t())
np.asarray(t.arange(6).reshape(2, 3), order='F')
np.array(t.zeros(3), dtype=np.float64, copy=False)
np.asarray(t.tensor(2.5))
t.tensor(2.5).__array__(dtype=np.int32)
t.arange(3).__array__(np.float32)
np.array(t.ones(2), dtype=object)
np.asarray(t.zeros(3, dtype=t.bfloat16))
np.array(t.zeros(3, dtype=t.bfloat16))
np.asarray(t.zeros(3, dtype=t.bfloat16), dtype=np.float32)
np.asarray(t.zeros(3, dtype=t.cfloat).conj())
np.asarray(t.zeros(3, dtype=t.cfloat).conj().imag)
np.array(t.zeros(3, dtype=t.cfloat).conj())
np.asarray(t.zeros(3, requires_grad=True))
np.array(t.zeros(3, requires_grad=True))
np.asarray(t.zeros(3, device='meta'))
a = np.zeros(3); a[:] = t.ones(3); a
a = np.zeros(3); a[t.tensor([True, False, True])] = 1; a
np.array([t.ones(2), t.ones(2)])
np.float64(2.5) * t.ones(3)
np.float64(2.5) / t.ones(3)
np.float64(2.5) - t.ones(3)
np.float64(2.5) + t.ones(3)
np.float64(2.5) ** t.ones(3)
np.float64(2.5) // t.ones(3)
np.float64(2.5) % t.ones(3)
np.float64(2.5) > t.ones(3)
np.float64(2.5) < t.ones(3)
np.float64(2.5) >= t.ones(3)
np.float64(2.5) <= t.ones(3)
np.float64(2.5) == t.ones(3)
np.float64(2.5) != t.ones(3)
np.float64(2) @ t.ones(3)
np.int64(2) << t.ones(2, dtype=t.int64)
np.float32(2) + t.tensor(1.)
np.float64(2) + t.tensor(1.)
np.float64(2) > t.tensor(1.)
np.float64(2) * t.tensor(3)
np.int64(2) * t.ones(3)
np.int64(2) * t.ones(3, dtype=t.int32)
np.int64(2) / t.ones(3, dtype=t.int32)
np.int64(2) + t.ones(2, dtype=t.bool)
np.int64(2) + t.ones(2, dtype=t.uint8)
np.float64(2) + t.ones(2, dtype=t.bool)
np.float64(2) * t.ones(3, dtype=t.bfloat16)
np.float64(2) * t.ones(2, dtype=t.cfloat)
np.float16(2) * t.ones(3)
np.float32(2) * t.ones(2, dtype=t.float64)
np.float32(2) * t.ones(3, requires_grad=True)
np.float64(2) > t.ones(3, requires_grad=True)
x = t.ones(3, requires_grad=True); (np.float32(2) * x).sum().backward(); x.grad
x = t.ones(3, requires_grad=True); (np.float64(6) / x).sum().backward(); x.grad
x = t.ones(3, requires_grad=True); (np.float64(6) - x).sum().backward(); x.grad
x = t.full((3,), 2., requires_grad=True); (np.float64(3) ** x).sum().backward(); x.grad
x = np.float64(2); x *= t.ones(2); x
np.ones(3) * t.ones(3)
np.ones(3) + t.ones(3)
np.ones(3) - t.ones(3)
np.ones(3) / t.ones(3)
np.ones(3) == t.ones(3)
np.ones((2, 2)) @ t.ones(2, 2)
np.ones(3) * t.ones(3, requires_grad=True)
a = np.ones(3); a += t.ones(3); a
t.ones(3) * np.ones(3)
np.exp(t.ones(3))
np.exp(t.ones(3, requires_grad=True))
np.sqrt(t.ones(3, dtype=t.float64))
np.sqrt(t.ones(3, dtype=t.int64))
np.sqrt(t.tensor(4.))
np.add(t.ones(3), 1)
np.multiply(np.ones(2), t.ones(2))
np.maximum(t.ones(2), 0)
np.greater(t.ones(3), t.zeros(3))
np.isnan(t.ones(3))
np.divmod(t.ones(2), 2)
np.transpose(t.ones(2, 3))
np.concatenate([t.ones(2), t.zeros(1)])
t.ones(3).__array_wrap__(np.ones(3) > 0)
t.ones(3).__array_wrap__(np.ones(3))
t.Tensor.__array_priority__
""".strip().splitlines()


@pytest.mark.parametrize("line", CASES)
def test_as_pytorch(line):
    function = source(line)
    compare(function, exact=True, words=0)


@pytest.mark.parametrize("line", [c for c in CASES if ".conj()" in c or "bfloat16)" in c])
def test_refusals_in_pytorchs_words(line):
    function = source(line)
    compare(function, exact=True)


def test_a_copy_leaves_the_array_in_its_cell():
    x = torchlike.arange(4.0)
    for take in (np.array, lambda x: np.asarray(x, np.float64)):
        take(x)
        assert x._storage.host is None


def test_without_copy_where_a_copy_is_needed():
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        np.array(torchlike.zeros(3), dtype=np.float64, copy=False)
    x = torchlike.zeros(3)
    np.array(x, copy=False)[0] = 1  # PyTorch refuses what it could do
    assert x.tolist() == [1, 0, 0]


def test_a_complex_number_on_the_left_stays_complex():
    # PyTorch drops the imaginary part, with a warning of NumPy's.
    made = np.complex64(2j) * torchlike.ones(1)
    assert (made.dtype, made.tolist()) == (torchlike.complex64, [2j])


def test_in_jit():
    fn = torchlike.jit(lambda x: np.float64(6) / x - np.float32(2))
    for _ in range(2):
        assert fn(torchlike.tensor([2.0, 3.0])).tolist() == [1, 0]
    with pytest.raises(torchlike.jit.JitCaptureError, match="asarray"):
        torchlike.jit(lambda x: np.array(x))(torchlike.ones(2))
