"""Overloads of aten's that no public function is called like: PyTorch's dtypes and numbers."""

import numpy as np
import pytest
from aten_kernel_cases import CASES, names
from oracle import compare, with_gradients

import torchlike

torch = pytest.importorskip("torch")


def flat(out):
    if isinstance(out, (tuple, list)):
        return [array for o in out for array in flat(o)]
    return [] if out is None else [out.detach().numpy()]


@pytest.mark.filterwarnings("ignore:.*deprecated")
@pytest.mark.parametrize(
    "expression",
    [pytest.param(e, marks=() if k % 12 == 0 else pytest.mark.full) for k, e in enumerate(CASES)],
)
def test_kernels_compute_what_pytorchs_do(expression):
    expected, found = (flat(eval(expression, names(library))) for library in (torch, torchlike))
    assert len(found) == len(expected)
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.dtype == theirs.dtype
        # A bicubic weight is a sum of products of which some cancel.
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)


AGAIN = {
    "gelu": lambda a, g, x: a.gelu_backward(g, x),
    "softplus": lambda a, g, x: a.softplus_backward(g, x, 1.0, 20.0),
    "mse_loss": lambda a, g, x: a.mse_loss_backward(g, x, x.detach() * 2, 0),
    "convolution": lambda a, g, x: a.convolution_backward(
        g[:2, :2].view(1, 1, 2, 2),
        x.view(1, 1, 3, 3),
        x[:2, :2].reshape(1, 1, 2, 2),
        [0],
        [1, 1],
        [0, 0],
        [1, 1],
        False,
        [0, 0],
        1,
        [True, True, False],
    )[:2],
    "layer_norm": lambda a, g, x: a.native_layer_norm_backward(
        g,
        x,
        [3],
        *a.native_layer_norm(x, [3], None, None, 1e-5)[1:],
        None,
        None,
        [True, False, False],
    )[:1],
}


@pytest.mark.parametrize("name", AGAIN)
def test_operators_of_backward_passes_are_differentiated(name: str) -> None:
    given = np.random.default_rng(7).standard_normal((2, 3, 3))
    compare(
        with_gradients(
            lambda library, g, x: AGAIN[name](library.ops.aten, g, x), *given, dtype="float64"
        ),
        rtol=1e-9,
    )


@pytest.mark.parametrize("name", ["gelu", "mse_loss"])
def test_operators_of_backward_passes_are_differentiated_through_vmap(name: str) -> None:
    given = np.random.default_rng(7).standard_normal((2, 3, 3))

    def mapped(library, g, x):
        return library.func.vmap(lambda g, x: AGAIN[name](library.ops.aten, g, x))(g, x)

    compare(with_gradients(mapped, *given, dtype="float64"), rtol=1e-9)
