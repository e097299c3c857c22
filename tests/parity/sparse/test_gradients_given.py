"""The gradients that backward starts from, where the output or the gradient is sparse: what counts
is the place of an element, not its number."""

from typing import Any

import pytest

import torchlike
from tests.parity.oracle import compare

pytestmark = pytest.mark.filterwarnings("ignore:Sparse")
LAYOUTS = ("to_sparse", "to_sparse_csr", "to_sparse_csc", "to_sparse_bsr", "to_sparse_bsc")


def _made(dense: Any, layout: str) -> Any:
    return getattr(dense, layout)(*([2] if "bs" in layout else []))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_from_one_layout_to_another(layout: str) -> None:
    def gradient(t: Any) -> Any:
        x = _made(t.arange(1.0, 17.0).reshape(4, 4), layout).requires_grad_()
        start = t.arange(20.0, 36.0).reshape(4, 4)
        (found,) = t.autograd.grad(x.to_sparse(), x, start.to_sparse())
        return found.layout == x.layout, found.to_dense()

    compare(gradient)


def _sparse(t: Any, places: Any, values: Any, size: int = 4) -> Any:
    return t.sparse_coo_tensor(t.tensor([places]), t.tensor(values), (size,))


@pytest.mark.parametrize("places", [[2, 1, 0], [0], [0, 0, 1]], ids=str)
@pytest.mark.parametrize("act", [lambda x: x * 2, lambda x: -x, lambda x: x.coalesce()])
def test_elements_in_another_order(act: Any, places: list[int]) -> None:
    def gradients(t: Any) -> Any:
        x = _sparse(t, [0, 1, 2], [1.0, 2.0, 3.0]).requires_grad_()
        values = [10.0, 20.0, 30.0][: len(places)]
        (found,) = t.autograd.grad(act(x), x, _sparse(t, places, values))
        act(x).backward(_sparse(t, places, values))
        return found.to_dense(), x.grad.to_dense()

    compare(gradients)


def test_a_sparse_gradient_of_a_dense_output() -> None:
    def gradient(t: Any) -> Any:
        x = _sparse(t, [0, 1, 2], [1.0, 2.0, 3.0]).requires_grad_()
        (found,) = t.autograd.grad(x.to_dense(), x, t.arange(4.0).to_sparse())
        return found.to_dense()

    compare(gradient)


@pytest.mark.parametrize("layout", LAYOUTS[:2])
@pytest.mark.parametrize("given", ["dense", "coo"])
@pytest.mark.parametrize(
    "act", [lambda x: x * 2, lambda x: x.t(), lambda x: x + x, lambda x: x.to_dense()]
)
def test_a_gradient_where_the_output_has_no_elements(act: Any, given: str, layout: str) -> None:
    def gradients(t: Any) -> Any:
        dense = t.tensor([[0.0, 1.0], [2.0, 0.0]])
        x = _made(dense, layout).requires_grad_()
        start = t.tensor([[10.0, 0.0], [0.0, 40.0]])
        start = start.to_sparse() if given == "coo" else start
        (found,) = t.autograd.grad(act(x), x, start)
        act(x).backward(start)
        return found.to_dense(), x.grad.to_dense()

    compare(gradients)


def test_what_would_be_lost_is_refused() -> None:
    """PyTorch gives the gradient elements where the values have none."""
    values = torchlike.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x = torchlike.sparse_coo_tensor(torchlike.tensor([[0, 1, 2]]), values, (4,))
    with pytest.raises(NotImplementedError, match="where the output has none"):
        torchlike.autograd.grad(x * 2, values, _sparse(torchlike, [0, 3], [1.0, 1.0]))
    with pytest.raises(NotImplementedError, match="sparse_mask"):
        torchlike.autograd.grad(x * 2, values, torchlike.ones(4))
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        torchlike.autograd.grad(x * 2, values, _sparse(torchlike, [0, 1, 2], [1.0, 1.0, 1.0], 3))
