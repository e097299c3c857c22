"""The gradient of a sparse leaf: its layout, the places it has elements at, and its values."""

from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torchlike  # noqa: E402
from tests.parity.oracle import compare  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Sparse")
A = [[0.0, 2.0, 0.0, 1.0], [3.0, 0.0, 0.0, 0.0], [0.0, 0.0, 4.0, 5.0], [0.0, 6.0, 0.0, 0.0]]
OTHER = [[7.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 3.0, 0.0], [1.0, 0.0, 0.0, 2.0]]
LAYOUTS = ("coo", "twice", "csr", "csc", "bsr")
#: ``x`` is the leaf, ``o`` another one of its layout, ``d`` and ``w`` are dense, ``v`` is a vector.
OPERATIONS = [
    "x @ w",
    "w @ x",
    "x @ v",
    "v @ x",
    "t.mv(x, v)",
    "t.mm(x, w)",
    "t.dsmm(x, w)",
    "x.t() @ w",
    "t.addmm(d, x, w, beta=2, alpha=3)",
    "t.addmm(v, w, x)",
    "t.addmv(v, x, v)",
    "x @ o",
    "o @ x",
    "t.nn.functional.linear(w, x)",
    "t.nn.functional.linear(x, w)",
    "t.bmm(x[None], w[None])",
    "t.sparse.mm(x, w)",
    "t.sparse.mm(w, x)",
    "t.sparse.addmm(d, x, w)",
    "x + o",
    "o + x",
    "x - o",
    "o - x",
    "x + x",
    "t.add(x, o, alpha=3)",
    "d + x",
    "d - x",
    "x.to_dense() + x",
    "x @ w + x",
    "x.sum()",
    "t.sparse.sum(x)",
    "t.sparse.sum(x, 0)",
    "x.sum(0).sum()",
    "(x * 2).sum()",
    "x * o",
    "x * x",
    "x * d",
    "d * x",
    "x * 2",
    "x * t.tensor(3.0)",
    "x / 2",
    "-x",
    "x.abs()",
    "x.square()",
    "x.clone()",
    "x.coalesce()",
    "x.to_dense()",
    "x.t()",
    "x.transpose(0, 1)",
    "(x * 2) @ w",
    "(-x) @ w",
    "(x / 2) @ w",
    "(x * d) @ w",
    "(x * o) @ w",
    "(x + o) @ w",
    "(o - x) @ w",
    "x.mul(3).add(o) @ w",
    "x.abs() @ w",
    "x.to_dense() @ w",
    "x.clone() @ w",
    "x.coalesce() @ w",
    "x.to_sparse() @ w",
    "x.to_sparse_csr() @ w",
    "x.to_sparse_csc() @ w",
    "x.deg2rad() @ w",
    "x.select(1, 2) @ v",
    "x.unsqueeze(0).sum()",
    "x.index_select(0, t.tensor([0, 2, 2])) @ w",
    "x.sparse_mask(o)",
    "w.sparse_mask(x)",
    "x.conj() @ w",
    "x.float() @ w",
    "x.values()",
    "x.detach() @ w + x @ w",
    "t.cat([x, o]).sum()",
    "t.cat([o, x], 1).sum()",
    "t.stack([x, o]).sum()",
]


def _made(t: Any, dense: Any, layout: str) -> Any:
    if layout == "twice":
        once = dense.to_sparse()
        at, values = once._indices(), once._values()
        return t.sparse_coo_tensor(
            t.cat([at, at], 1), t.cat([values / 4, values * 3 / 4]), dense.shape
        )
    if layout == "coo":
        return dense.to_sparse()
    return getattr(dense, f"to_sparse_{layout}")(*([2] if "bs" in layout else []))


def _gradient(t: Any, text: str, layout: str) -> Any:
    """Layout, places and the whole of a gradient; None where PyTorch refuses."""
    w = t.arange(16.0).reshape(4, 4) - 5
    x, o = (_made(t, t.tensor(a), layout) for a in (A, OTHER))
    x.requires_grad_()
    names = {"t": t, "x": x, "o": o, "w": w, "d": w.abs() + 1, "v": t.tensor([1.0, 2.0, -3.0, 4.0])}
    out = eval(text, names)
    dense = out.to_dense()
    (dense * (t.arange(float(dense.numel())).reshape(dense.shape) + 1)).sum().backward()
    grad = x.grad
    if grad.layout == t.strided:
        return "strided", grad
    places = grad.to_dense() * 0
    whole = grad.to_sparse().coalesce()
    places[tuple(whole.indices())] = 1
    return repr(grad.layout), places, grad.to_dense()


#: With elements that stand twice PyTorch's own gradient counts them twice, or has some where the
#: product is 0.
NOT_TWICE = ("x * o", "x.sparse_mask(o)")


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("text", OPERATIONS)
def test_a_gradient_of_a_leaf(text: str, layout: str) -> None:
    if layout == "twice" and text in NOT_TWICE:
        pytest.skip("PyTorch's is another gradient")
    try:
        expected = _gradient(torch, text, layout)
    except (RuntimeError, AttributeError):
        pytest.skip("PyTorch has none")
    found = _gradient(torchlike, text, layout)
    assert found[0] == expected[0]
    assert [t.tolist() for t in found[1:]] == [t.tolist() for t in expected[1:]]


HIGHER = [
    "(x @ w) ** 2",
    "(w @ x) ** 2",
    "(w + x) ** 3",
    "((x * w).sum() * w) ** 2",
    "(x.t() @ w) ** 2",
]


@pytest.mark.parametrize("text", HIGHER)
def test_higher_derivatives(text: str) -> None:
    """Of the leaf and of a dense operand, each by both."""

    def gradients(t: Any) -> Any:
        x = _made(t, t.tensor(A), "coo").requires_grad_()
        w = (t.arange(16.0).reshape(4, 4) - 5).requires_grad_()
        first = t.autograd.grad(eval(text).sum(), (x, w), create_graph=True)
        squares = [g.to_dense().square().sum() for g in first]
        return [
            g.to_dense() for s in squares for g in t.autograd.grad(s, (x, w), retain_graph=True)
        ]

    compare(gradients)


def test_gradients_add_up() -> None:
    """Of values and of other places, in any order; a dense one stays dense."""

    def gradients(t: Any) -> Any:
        found: list[Any] = []
        for order in (["x.to_dense() * w", "x @ w"], ["x @ w", "x.to_dense() * w"]):
            x = _made(t, t.tensor(A), "coo").requires_grad_()
            for text in order:
                eval(text, {"x": x, "w": t.arange(16.0).reshape(4, 4)}).sum().backward()
                found.append((x.grad.layout == t.strided, x.grad.to_dense().clone()))
            x.grad = None
            found.append(x.grad)
        return found

    compare(gradients)


def test_a_compiled_function_refuses() -> None:
    """Its programs have gradients of values alone, which torch.sparse.mm asks for."""
    x = _made(torchlike, torchlike.tensor(A), "coo").requires_grad_()
    w = torchlike.ones(4, 2)
    with pytest.raises(torchlike.jit.JitCaptureError, match="where it has no elements"):
        torchlike.jit(lambda x: x @ w)(x)
    with pytest.raises(torchlike.jit.JitCaptureError, match="where it has no elements"):
        torchlike.jit(lambda w: (x * 2) @ w)(w)
    torchlike.jit(lambda x: torchlike.sparse.mm(x, w))(x).sum().backward()
    assert x.grad.to_dense().tolist() == [[2.0 * (a != 0) for a in row] for row in A]
