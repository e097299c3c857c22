"""The graphs that ``make_fx`` makes: PyTorch's nodes, backward passes included; they run again."""

import importlib
import re

import numpy as np
import pytest
from dispatch_graph_cases import CASES, NAMES, SIZES, function

import torchlike
from torchlike._subclasses.fake_tensor import DynamicOutputShapeException
from torchlike.fx.experimental.proxy_tensor import make_fx

torch = pytest.importorskip("torch")

#: Graphs with other nodes: einsum is one operator, and of amax the views come in another order.
DIFFERENT = {'torch.einsum("ij,kj->ik", x, w)', "grads(x.amax(1).sum())"}


def tensors(library):
    rng = np.random.default_rng(0)
    made = {
        k: library.tensor((rng.random(n, dtype=np.float32) + 0.1).tolist())
        for k, n in SIZES.items()
    }
    return {**made, "i": library.tensor([0, 2, 1, 3])}


def traced(library, expression, mode):
    proxy_tensor = importlib.import_module(f"{library.__name__}.fx.experimental.proxy_tensor")
    used = [n for n in NAMES if re.search(rf"\b{n}\b", expression)]
    given = [tensors(library)[n] for n in used]
    f = function(library, expression, used)
    graph = proxy_tensor.make_fx(f, tracing_mode=mode)(*given)
    nodes = [(n.op, n.name, str(n.target)) for n in graph.graph.nodes]
    return nodes, graph, f, given


def flat(out):
    return [out] if isinstance(out, torchlike.Tensor) else [o for o in out if o is not None]


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("mode", ["real", "fake"])
@pytest.mark.parametrize(
    "expression",
    [pytest.param(e, marks=() if k % 8 == 0 else pytest.mark.full) for k, e in enumerate(CASES)],
)
def test_graphs_have_pytorchs_nodes_and_run_again(expression, mode):
    if mode == "fake" and "unique" in expression:  # PyTorch has sizes that nobody knows
        with pytest.raises(DynamicOutputShapeException):
            traced(torchlike, expression, mode)
        return
    expected = traced(torch, expression, mode)[0]
    nodes, graph, f, given = traced(torchlike, expression, mode)
    assert (nodes == expected) is (expression not in DIFFERENT), f"{expected}\n{nodes}"
    if "dropout" in expression:
        return
    again = torchlike.fx.Interpreter(graph).run(*given)
    for a, b, c in zip(flat(f(*given)), flat(graph(*given)), flat(again), strict=True):
        np.testing.assert_allclose(a.numpy(), b.detach().numpy(), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(a.numpy(), c.detach().numpy(), rtol=1e-5, atol=1e-6)


def norm_into_out(t, x):
    out = t.empty(())
    t.norm(x, out=out)
    return out


def written_constant(t, x):
    scale = t.tensor(1.0)
    scale.add_(2)
    return x * scale.item()


def other_memory(t, x):
    return x.clone().set_(x.new_ones(5))


def unbound_constant(t, x):
    (n,) = t.unbind(t.tensor([2]), 0)
    return x[n.item()]


@pytest.mark.parametrize(
    "f",
    [
        norm_into_out,
        written_constant,
        other_memory,
        unbound_constant,
        lambda t, x: t.linalg.svd(x)[2].abs(),
        lambda t, x: t.linalg.svd(x, full_matrices=False)[0].abs(),
        lambda t, x: t.svd(x, some=False)[2].abs(),
        lambda t, x: t.linalg.norm(x, ord="nuc"),
        lambda t, x: t.norm(x, p="nuc"),
        lambda t, x: t.linalg.norm(x, ord=1),
        lambda t, x: t.special.polygamma(1, x),
        lambda t, x: t.linalg.diagonal(x, offset=1),
        lambda t, x: t.narrow(x, 0, t.tensor(1), 1),
        lambda t, x: t.nn.functional.interpolate(x[None], 2, mode="area"),
        lambda t, x: t.diff(x, n=0, prepend=x),
        lambda t, x: t.diff(x, n=9),
        lambda t, x: t.diff(x > 1),
    ],
)
def test_a_graph_is_right_for_other_values(f):
    """Nothing of the values it was traced with is left in it."""
    rng = np.random.default_rng(1)
    first, second = (rng.random((3, 4), dtype=np.float32) + 0.5 for _ in range(2))
    graph = make_fx(lambda x: f(torchlike, x))(torchlike.from_numpy(first))
    expected = f(torch, torch.from_numpy(second))
    found = graph(torchlike.from_numpy(second.copy()))
    # Singular vectors are sums of products that cancel.
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: torchlike.allclose(x, x),
        lambda x: torchlike.equal(x, x),
        lambda x: bool(x.sum() > 0),
        lambda x: torchlike.tensor([1.0])[:].add_(x.sum()).item(),
    ],
)
def test_values_are_not_asked_for(f):
    with pytest.raises(RuntimeError, match="trying to get value out of a tracing tensor"):
        make_fx(f)(torchlike.ones(3))


def test_results_of_operators_that_write_or_nest():
    @torchlike.library.custom_op("graphs::add_to", mutates_args=("x",))
    def add_to(x: torchlike.Tensor, y: torchlike.Tensor) -> torchlike.Tensor:
        x.add_(y)
        return x.sum()

    @torchlike.library.custom_op("graphs::halves", mutates_args=())
    def halves(x: torchlike.Tensor) -> tuple[list[torchlike.Tensor], int]:
        return [x[0].clone(), x[1].clone()], 2

    def f(x, y):
        x = x.clone()
        total = add_to(x, y)
        (first, second), count = halves(x)
        return total, x, first, second * count

    graph = make_fx(f)(torchlike.ones(2, 3), torchlike.ones(2, 3))
    given = torchlike.arange(6.0).view(2, 3), torchlike.full((2, 3), 4.0)
    for a, b in zip(graph(*given), f(*given), strict=True):
        assert torchlike.equal(a, b)


def test_a_sparse_tensor_of_values_is_refused():
    with pytest.raises(NotImplementedError, match="to_sparse"):
        make_fx(lambda x: x.to_sparse())(torchlike.eye(3))
