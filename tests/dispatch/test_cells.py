"""A new kind of cell is one class: here a constant, which takes no memory until an op needs it."""

import jax.numpy as jnp
import numpy as np
import pytest

import torchlike as torch
from torchlike._core import cells, devices
from torchlike.tensor import Tensor, wrap


class Constant(cells.StandIn):
    """One number in each element."""

    __slots__ = ("number",)
    device = devices.CPU

    def __init__(self, number, shape, dtype=np.float32):
        self.number, self.shape, self.dtype = number, tuple(shape), np.dtype(dtype)

    def whole(self):
        return jnp.full(self.shape, self.number, self.dtype)

    @classmethod
    def execute(cls, exe, arrays, operands, again):
        return again(exe, _whole(arrays), [wrap(o.whole()) if _is(o) else o for o in operands])

    @classmethod
    def apply(cls, function, arrays):
        return function(*_whole(arrays))

    def __array__(self, *args, **kwargs):
        return np.asarray(self.whole())


def _is(x):
    return type(x) is Constant


def _whole(arrays):
    return [a.whole() if _is(a) else a for a in arrays]


@pytest.fixture(scope="module", autouse=True)
def forgotten():
    yield
    cells.KINDS.discard(Constant)


def constant(number, *shape):
    return wrap(Constant(number, shape))


def test_it_is_a_tensor_without_memory():
    t = constant(3.0, 1 << 20, 1 << 20)  # 4 terabytes
    assert isinstance(t, Tensor)
    assert t.shape == (1 << 20, 1 << 20)
    assert t.dtype is torch.float32
    assert t.device.type == "cpu"


def test_ops_compute_with_it():
    t, x = constant(3.0, 2, 3), torch.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal((x * t).numpy(), x.numpy() * 3)
    np.testing.assert_array_equal(torch.cat([t, x]).numpy()[:2], np.full((2, 3), 3.0))
    np.testing.assert_array_equal(t[0, 1:].numpy(), [3.0, 3.0])
    assert t.sum().item() == 18
    assert constant(2.0).item() == 2


def test_gradients_pass_it():
    t, x = constant(3.0, 3), torch.ones(3, requires_grad=True)
    (x * t).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [3, 3, 3]


def test_writes_replace_it():
    t = constant(3.0, 3)
    t.add_(1)
    assert t.tolist() == [4, 4, 4]
    other = constant(3.0, 3)
    other[1] = 0
    assert other.tolist() == [3, 0, 3]


def test_what_it_does_not_say_is_refused_in_its_name():
    class Silent(cells.StandIn):
        __slots__ = ()

        def __init__(self):
            self.shape, self.dtype = (2,), np.dtype(np.float32)

    try:
        with pytest.raises(NotImplementedError, match="AddBackward0 is not written for Silent"):
            wrap(Silent()) + 1
    finally:
        cells.KINDS.discard(Silent)
