"""``as_strided`` inside ``vmap``, against PyTorch: what it counts in is the memory outside."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torchlike  # noqa: E402


def windows(x):
    return x.as_strided((2, 2), (1, 1), 1)


@pytest.mark.parametrize(
    "of", [windows, lambda x: x[1].as_strided((2,), (2,)), lambda x: windows(x * 2)]
)
def test_examples_one_after_the_other(of):
    found = [t.func.vmap(of)(t.arange(24.0).reshape(2, 3, 4)).numpy() for t in (torch, torchlike)]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("jit", [lambda f: f, torchlike.jit])
@pytest.mark.parametrize("how", ["another dimension", "transposed", "computed", "nested"])
def test_examples_otherwise_in_memory_are_refused(how, jit):
    t = torchlike
    mapped, x = {
        "another dimension": (t.func.vmap(windows, in_dims=1), t.arange(24.0).reshape(2, 3, 4)),
        "transposed": (t.func.vmap(windows), t.arange(24.0).reshape(2, 3, 4).transpose(1, 2)),
        "computed": (
            t.func.vmap(lambda x: windows(x * 2), in_dims=2),
            t.arange(24.0).reshape(2, 3, 4),
        ),
        "nested": (
            t.func.vmap(t.func.vmap(windows), in_dims=1),
            t.arange(24.0).reshape(2, 2, 6),
        ),
    }[how]
    with pytest.raises(NotImplementedError, match="as_strided inside vmap"):
        jit(mapped)(x)
