"""``make_fx(tracing_mode="symbolic")``: PyTorch's nodes; graphs that are right for other sizes."""

import importlib
import re

import numpy as np
import pytest
from dispatch_graph_cases import CASES, NAMES, SIZES, SYMBOLIC, function

import torchlike

torch = pytest.importorskip("torch")

#: Sizes of the second run, for those of the first.
OTHER = {2: 4, 3: 5, 4: 6, 5: 7, 6: 8, 8: 10}
#: Graphs with other nodes: equal sizes share a node here, of whichever tensor they are.
SHARED = {
    "x.narrow(0, 1, x.shape[0] - 1)",
    "torch.cat([x, y]).chunk(2)",
    "F.group_norm(img, 2)",
    "grads(F.linear(x, w, b).sum())",
    "grads(x.view(24).sum())",
    "grads(torch.cat([x, y]).sum())",
    "grads(v.expand(4, 6).sum())",
    "grads((x * v).sum())",
    "grads(x.mean(1).sum())",
    "grads(F.layer_norm(x, (6,), v, v).sum())",
    "grads(F.conv2d(img, k).sum())",
    "grads(F.linear(F.relu(F.linear(x, w, b)), w.t()).sum())",
    "grads(x.chunk(2)[0].sum())",
    "grads(F.max_pool2d(img, 2).sum())",
}
#: PyTorch takes resampling and dropout apart, or not, where sizes are symbols; of amax the views
#: come in another order; batch_norm without statistics is another overload.
DIFFERENT = SHARED | {
    "F.interpolate(img, scale_factor=2)",
    "F.batch_norm(img, None, None, training=True)",
    "F.dropout(x, 0.5)",
    "grads(x.amax(1).sum())",
}
#: What cannot be traced with symbols: the words of the refusal.
REFUSED = {'torch.einsum("ij,kj->ik", x, w)': "einsum.default with symbolic sizes"}
EXPRESSIONS = [*SYMBOLIC, *CASES]


def tensors(library, other=False):
    rng = np.random.default_rng(1)
    made = {}
    for name, size in SIZES.items():
        size = [OTHER[n] for n in size] if other else size
        made[name] = library.tensor((rng.random(size, dtype=np.float32) + 0.1).tolist())
    return {**made, "i": library.tensor([0, 2, 1, 3, 4, 4] if other else [0, 2, 1, 3])}


def traced(library, expression):
    proxy_tensor = importlib.import_module(f"{library.__name__}.fx.experimental.proxy_tensor")
    used = [n for n in NAMES if re.search(rf"\b{n}\b", expression)]
    f = function(library, expression, used)
    graph = proxy_tensor.make_fx(f, tracing_mode="symbolic")(*[tensors(library)[n] for n in used])
    nodes = [(n.op, _said(n.target)) for n in graph.graph.nodes]
    return nodes, graph, f, used


def _said(target):
    return getattr(target, "__name__", str(target)) if callable(target) else ""


def flat(out):
    if isinstance(out, (torchlike.Tensor, int, float)):
        return [out]
    return [o for o in out if o is not None]


def number(value):
    return value.detach().numpy() if isinstance(value, torchlike.Tensor) else np.asarray(value)


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param(e, marks=() if k % 30 == 0 else pytest.mark.full)
        for k, e in enumerate(EXPRESSIONS)
    ],
)
def test_graphs_have_pytorchs_nodes_and_run_at_other_sizes(expression):
    if expression in REFUSED:
        with pytest.raises(NotImplementedError, match=REFUSED[expression]):
            traced(torchlike, expression)
        return
    expected = traced(torch, expression)[0]
    nodes, graph, f, used = traced(torchlike, expression)
    assert (nodes == expected) is (expression not in DIFFERENT), f"{expected}\n{nodes}"
    if "dropout" in expression:
        return
    by_value = dict.fromkeys(n for name in used if name != "i" for n in SIZES[name])
    by_value = dict.fromkeys([*by_value, *([4] if "i" in used else [])])
    env = graph.shape_env
    there = {name: OTHER[n] for name, n in env.hints.items()}
    assert set(env.hints.values()) <= set(by_value)
    for other in (False, True):
        if other and not env.holds(there):
            continue
        given = [tensors(torchlike, other)[n] for n in used]
        for a, b in zip(flat(f(*given)), flat(graph(*given)), strict=True):
            np.testing.assert_allclose(number(a), number(b), rtol=1e-5, atol=1e-6)


def test_most_graphs_are_pytorchs():
    assert len(EXPRESSIONS) >= 119
    assert len(DIFFERENT) + len(REFUSED) <= 19


BOTH = [torchlike, torch]


def shape_env(library):
    return importlib.import_module(f"{library.__name__}.fx.experimental.symbolic_shapes").ShapeEnv


def fake_mode(library, **options):
    return importlib.import_module(f"{library.__name__}._subclasses.fake_tensor").FakeTensorMode(
        shape_env=shape_env(library)(), **options
    )


def in_symbols(library):
    """What numbers of symbolic sizes answer, for sizes 4 and 6."""
    mode = fake_mode(library, static_shapes=False)
    x = mode.from_tensor(library.ones(4, 6))
    one = mode.from_tensor(library.ones(1, 3), static_shapes=True)
    n, m = x.shape
    answers = [isinstance((x @ x.t()).shape[0], library.SymInt)]
    answers += [isinstance(n, library.SymInt), type(one.shape[1]), int(n - n)]
    answers += [int(n * m + 1), int(m // n), int(m % n), int(-n), n == 4, n < m, n >= 6, bool(n)]
    answers += [float(n / 2), isinstance(n * 0.5, library.SymFloat), float(m**-0.5), list(range(n))]
    answers += [int(library.sym_max(n, m)), int(library.sym_min(n, 5)), x.dim(), x.is_contiguous()]
    answers += [int(s) for s in (*x.stride(), x.numel(), *x.t().shape, *(x + 1).shape)]
    answers.append(len(library.Size([n, 2])))
    for wrong in (lambda: hash(n), lambda: n + "a", lambda: n // 0):
        with pytest.raises((TypeError, ZeroDivisionError)) as raised:
            wrong()
        answers.append(raised.type)
    return answers


def test_numbers_made_of_sizes():
    assert in_symbols(torchlike) == in_symbols(torch)


def test_ints_among_the_arguments():
    def f(x, n):
        return x.expand(n, *x.shape) * n

    graphs = [
        importlib.import_module(f"{t.__name__}.fx.experimental.proxy_tensor").make_fx(
            f, tracing_mode="symbolic"
        )(t.ones(2, 3), 5)
        for t in BOTH
    ]
    ours, theirs = ([(n.op, _said(n.target)) for n in g.graph.nodes] for g in graphs)
    assert ours == theirs
    assert graphs[0](torchlike.ones(4, 7), 6).tolist() == f(torchlike.ones(4, 7), 6).tolist()


def test_what_was_decided_is_a_guard():
    def f(x):
        return x.sin() if x.shape[0] > 3 else x.cos()

    graph = importlib.import_module("torchlike.fx.experimental.proxy_tensor").make_fx(
        f, tracing_mode="symbolic"
    )(torchlike.ones(4))
    assert graph.shape_env.holds({"s0": 9})
    assert not graph.shape_env.holds({"s0": 3})
    assert "3 < s0" in graph.shape_env.format_guards()


def test_refusals():
    from torchlike._subclasses.fake_tensor import FakeTensorMode
    from torchlike.fx.experimental.proxy_tensor import make_fx
    from torchlike.fx.experimental.symbolic_shapes import ShapeEnv

    fake = FakeTensorMode().from_tensor(torchlike.ones(2, 3))
    with pytest.raises(ValueError, match="has no shape_env"):
        make_fx(lambda x: x + 1, tracing_mode="symbolic")(fake)
    env = ShapeEnv()
    env.reserve(1)
    x = FakeTensorMode(shape_env=env).from_tensor(torchlike.ones(2, 2))
    with pytest.raises(NotImplementedError, match="reserve"):
        env.symbol_for(7)
    with pytest.raises(RuntimeError, match="there are symbols already"):
        env.reserve(9)
    with pytest.raises(NotImplementedError, match="no expression of sizes"):
        2 ** x.shape[0]
    with pytest.raises(NotImplementedError, match="do not fill the memory"):
        x[:, :1].stride()
