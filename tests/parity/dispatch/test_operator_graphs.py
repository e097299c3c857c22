"""The graphs that ``make_fx`` makes: PyTorch's nodes, backward passes included; they run again."""

import importlib
import re

import numpy as np
import pytest
from dispatch_graph_cases import CASES, NAMES, SIZES, function

import torchlike
from torchlike._subclasses.fake_tensor import DynamicOutputShapeException

torch = pytest.importorskip("torch")

#: Graphs with other nodes: einsum is one operator, and of amax the views come in another order.
DIFFERENT = {'torch.einsum("ij,kj->ik", x, w)', "grads(x.amax(1).sum())"}


def tensors(library):
    rng = np.random.default_rng(0)
    made = {k: library.tensor((rng.random(n, dtype=np.float32) + 0.1).tolist())
            for k, n in SIZES.items()}  # fmt: skip
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


@pytest.mark.parametrize("mode", ["real", "fake"])
@pytest.mark.parametrize("expression", [
    pytest.param(e, marks=() if k % 8 == 0 else pytest.mark.full) for k, e in enumerate(CASES)
])  # fmt: skip
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
