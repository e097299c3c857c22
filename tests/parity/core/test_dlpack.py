"""Memory exchanged by DLPack, against PyTorch and with it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from oracle import compare, source

import torchlike

torch = pytest.importorskip("torch")

CASES = """
t.ones(2).__dlpack__(stream="x")
t.ones(2).__dlpack__(stream=1)
str(t.ones(2).__dlpack__(stream=-1))[:9]
t.eye(2).to_sparse().__dlpack__()
x = t.arange(6.).reshape(2, 3).t(); y = t.from_dlpack(x); y[0, 0] = 9; (x, y)
x = t.arange(3.); y = t.from_dlpack(x); x[0] = 9; y
x = t.tensor(2.); y = t.from_dlpack(x); y.fill_(3.); x
x = t.arange(3.); a = np.from_dlpack(x); a[0] = 5; (x, a)
x = t.arange(3.); a = np.from_dlpack(x); x[0] = 5; (x, a)
x = t.arange(6.)[::2]; a = np.from_dlpack(x); a[0] = 5; (x, a)
x = t.arange(6.)[1:4]; a = np.from_dlpack(x); a[0] = 5; (x, a)
np.from_dlpack(t.zeros(0, 3))
t.from_dlpack(t.ones(3, dtype=t.bool))
np.from_dlpack(t.ones(3, dtype=t.bool))
t.from_dlpack(t.ones(3, dtype=t.bfloat16))
t.from_dlpack(t.zeros(0, 3))
np.from_dlpack(t.ones(3, dtype=t.bfloat16))
t.from_dlpack(t.ones(3, requires_grad=True))
np.from_dlpack(t.ones(3, requires_grad=True))
t.from_dlpack(t.ones(3, dtype=t.cfloat).conj())
t.from_dlpack(t.ones(3, device='meta'))
x = t.ones(3); y = t.from_dlpack(x, copy=True); y[0] = 3; x
x = t.ones(3); t.from_dlpack(x, device='cpu')
x = t.ones(3); y = t.from_dlpack(t.utils.dlpack.to_dlpack(x)); y[0] = 4; (x, y)
x = t.ones(3); y = t.utils.dlpack.from_dlpack(x); y[0] = 4; (x, y)
x = np.arange(3.); y = t.from_dlpack(x); y[0] = 9; x
x = t.ones(3); y = t.asarray(t.utils.dlpack.to_dlpack(x)); y[0] = 4; (x, y)
x = t.ones(3); y = t.asarray(t.utils.dlpack.to_dlpack(x), copy=True); y[0] = 4; x
x = t.ones(3); t.asarray(t.utils.dlpack.to_dlpack(x), dtype=t.float64, copy=False)
t.asarray(t.utils.dlpack.to_dlpack(t.ones(3, dtype=t.bfloat16)))
tuple(map(int, t.ones(3).__dlpack_device__()))
x = t.ones(3); a = np.from_dlpack(x); x.add_(1); x.mul_(2); (x, a)
""".strip().splitlines()


@pytest.mark.parametrize("line", CASES)
def test_as_pytorch(line):
    function = source(line)
    compare(function, exact=True, words=0)


def test_memory_shared_with_pytorch():
    ours = torchlike.arange(6.0).reshape(2, 3).t()
    theirs = torch.from_dlpack(ours)
    theirs[0, 1] = 7
    ours.add_(1)
    assert (theirs.stride(), theirs.tolist()) == (ours.stride(), ours.tolist())
    theirs = torch.arange(4.0)
    ours = torchlike.from_dlpack(theirs)
    ours[1] = 8
    theirs[2] = 9
    assert ours.tolist() == theirs.tolist() == [0, 8, 9, 3]


@pytest.mark.parametrize("dtype", ["bfloat16", "complex64", "int8", "float16", "bool"])
def test_values_from_and_to_pytorch(dtype):
    theirs = torch.ones(3).to(getattr(torch, dtype))
    ours = torchlike.from_dlpack(theirs)
    assert ours.dtype is getattr(torchlike, dtype)
    assert ours.tolist() == theirs.tolist() == torch.from_dlpack(ours).tolist()


def test_a_jax_array_is_shared_until_the_first_write():
    array = jnp.arange(3.0)
    shared = torchlike.from_dlpack(array)
    shared[0] = 5
    assert (shared.tolist(), array.tolist()) == ([5, 1, 2], [0, 1, 2])
    with pytest.raises(ValueError, match="immutable"):
        torchlike.from_dlpack(array, copy=False)
    assert isinstance(jnp.from_dlpack(torchlike.ones(2)), jax.Array)


def test_a_read_only_array_is_not_written():
    array = np.arange(3.0)
    array.flags.writeable = False

    class Offer:
        __dlpack__ = array.__dlpack__
        __dlpack_device__ = array.__dlpack_device__

    shared = torchlike.from_dlpack(Offer())
    shared[0] = 5
    assert (shared.tolist(), array.tolist()) == ([5, 1, 2], [0, 1, 2])


def test_a_tensor_of_a_capture():
    fn = torchlike.jit(lambda x: torchlike.from_dlpack(x).mul_(2) + x)
    assert fn(torchlike.ones(2)).tolist() == [4, 4]


def test_what_offers_nothing_is_refused():
    with pytest.raises(TypeError, match="a capsule, not int"):
        torchlike.from_dlpack(3)
