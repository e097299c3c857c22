"""Constant folding, common subexpressions, rewriting tracers, sources of nodes, pass managers."""

import importlib
from typing import Any, NamedTuple

import pytest
from oracle import compare

import torchlike

torch = pytest.importorskip("torch")


def part(t, path):
    return importlib.import_module(f"{t.__name__}.fx.{path}")


def folded(t):
    class Model(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = t.nn.Parameter(t.arange(3.0))
            self.lin = t.nn.Linear(3, 3)

        def forward(self, x):
            a = self.w + self.w
            return x * a + self.lin(a) + self.w

    model = Model()
    g = part(t, "experimental.const_fold").split_const_subgraphs(model)
    x = t.ones(2, 3)
    before = g.has_folding_been_run
    same = t.equal(g(x), model(x))
    kinds = [(n, p.requires_grad) for n, p in g.named_parameters() if "FOLDED" in n]
    ops = [n.op for n in g.graph.nodes if n.op.startswith("call")]
    return before, g.has_folding_been_run, same, kinds, len(ops), g.const_subgraph_module is None


def not_folded(t):
    fold = part(t, "experimental.const_fold")
    none = fold.split_const_subgraphs(t.nn.Sequential(t.nn.ReLU()))
    skipped = fold.split_const_subgraphs(
        Twice(t), skip_folding_node_fn=lambda node: node.op == "call_function"
    )
    x = t.ones(3)
    return [(g.const_subgraph_module is None, g(x)) for g in (none, skipped)]


def Twice(t):
    class Twice(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = t.nn.Parameter(t.arange(3.0))

        def forward(self, x):
            return x + self.w * 2

    return Twice()


def common(t):
    def f(x):
        a, b = x.cos() + 1, x.cos() + 1
        return t.cat([a, b]).sum(0) + t.rand(2).sum() * 0 + t.rand(2).sum() * 0

    g = part(t, "experimental.proxy_tensor").make_fx(f)(t.ones(2))
    cse = part(t, "passes.dialect.common.cse_pass")
    made, changed = cse.CSEPass(banned_ops=cse.get_CSE_banned_ops())(g)
    targets = [str(n.target) for n in made.graph.nodes if n.op == "call_function"]
    return changed, targets, made(t.zeros(2))


def test_calls_with_numbers_of_other_types_differ():
    # PyTorch's pass takes them for one, and gives integers for both.
    t = torchlike

    def f(x):
        return (x + 1) * (x + 1.0), x * True, x * 1

    g = part(t, "experimental.proxy_tensor").make_fx(f)(t.ones(2, dtype=t.int32))
    made = part(t, "passes.dialect.common.cse_pass").CSEPass()(g).graph_module
    kinds = [r.dtype for r in made(t.ones(2, dtype=t.int32))]
    assert kinds == [t.float32, t.int32, t.int32]


def rewritten(t):
    class Checked(t.nn.Module):
        def forward(self, x, n: int):
            assert n == 2, "two"
            return (x + n).relu()

    tracer = part(t, "experimental.rewriter").RewritingTracer()
    graph = tracer.trace(t.nn.Sequential(Checked())[0])
    g = t.fx.GraphModule(tracer.root, graph)
    with pytest.raises(AssertionError, match="two"):
        g(t.ones(1), 3)
    return g(t.ones(1), 2), [n.name for n in g.graph.nodes]


def annotated_twice(t):
    x = t.fx.Proxy(t.fx.Graph().placeholder("x"))
    annotate = part(t, "annotate").annotate
    assert annotate(3, int) == 3
    annotate(annotate(x, int), float)


def sources(t):
    g = t.fx.symbolic_trace(Twice(t))
    for i, node in enumerate(g.graph.nodes):
        if node.op in ("call_function", "get_attr"):
            node.meta["source_fn_stack"] = [(f"call_{i // 3}", t.nn.Linear)]
    m = part(t, "passes.utils.source_matcher_utils")
    found = m.get_source_partitions(g.graph, [t.nn.Linear, t.nn.ReLU])
    parts = found[t.nn.Linear]
    connected = m.check_subgraphs_connected(*parts), m.check_subgraphs_connected(*parts[::-1])
    return (
        len(found),
        connected,
        [
            [
                sorted(n.name for n in nodes)
                for nodes in (p.nodes, p.input_nodes, p.output_nodes, p.params)
            ]
            for p in parts
        ],
    )


def passes(t, *names, steps=1, wrap=True, constraints=()):
    m = part(t, "passes.infra.pass_manager")

    def exchange(a, b):
        def run(g):
            for n in g.graph.find_nodes(op="call_function", target=a):
                n.target = b

        run.__name__ = f"{a.__name__}_to_{b.__name__}"
        return m.pass_result_wrapper(run) if wrap else run

    made = [exchange(getattr(t, a), getattr(t, b)) for a, b in (n.split() for n in names)]
    order = [m.this_before_that_pass_constraint(made[i], made[j]) for i, j in constraints]
    manager = m.PassManager(made, order, steps)
    g, changed = manager(t.fx.symbolic_trace(lambda x: t.add(x, x)))
    g.recompile()
    return changed, g.code, [p.__name__ for p in manager.passes]


def ordered(t):
    return passes(t, "mul sub", "add mul", constraints=[(1, 0)])


def in_a_circle(t):
    with pytest.raises(RuntimeError, match="Circular dependency detected"):
        passes(t, "mul sub", "add mul", constraints=[(1, 0), (0, 1)])


def without_a_result(t):
    passes(t, "add mul", wrap=False)


def wrong_check(t):
    part(t, "passes.infra.pass_manager").PassManager().add_checks(lambda a, b: None)


@pytest.mark.parametrize(
    "case",
    [
        folded,
        not_folded,
        common,
        rewritten,
        annotated_twice,
        sources,
        ordered,
        in_a_circle,
        wrong_check,
    ],
)
def test_as_by_pytorch(case):
    compare(case)


def test_a_pass_that_fails_is_named():
    # PyTorch's words lack the blank between their two sentences, in the error's cause.
    compare(without_a_result)


def test_annotated_names_have_types():
    # PyTorch finds `annotate` only where the module of the function has imported it.
    t = torchlike

    class Typed(t.nn.Module):
        def forward(self, x):
            y: t.Tensor = x + 1
            return y.relu()

    graph = part(t, "experimental.rewriter").RewritingTracer().trace(Typed())
    assert [n.type for n in graph.nodes] == [None, t.Tensor, None, None]


def long_message(t):
    class Checked(t.nn.Module):
        def forward(self, x, n: int):
            assert n == 2, """a message
of two lines"""
            return x + n

    tracer = part(t, "experimental.rewriter").RewritingTracer()
    g = t.fx.GraphModule(tracer.root, tracer.trace(Checked()))
    return g.code


def matches(t, pattern, f):
    m = part(t, "passes.utils.matcher_utils")
    graphs = [t.fx.symbolic_trace(g).graph for g in (pattern, f)]
    return [
        sorted((p.name, str(g)) for p, g in found.nodes_map.items())
        for found in m.SubgraphMatcher(graphs[0]).match(graphs[1])
    ]


def defaults_are_known(t):
    pool = t.ops.aten.max_pool2d_with_indices.default

    def pattern(x, size, stride):
        return pool(x, size, stride, padding=[0, 0])

    return matches(t, pattern, lambda x: pool(x, [2, 2], stride=[2, 2]))


def a_way_out_and_back(t):
    def pattern(a, b):
        first = t.relu(a)
        return first, first * b

    def f(x):
        y = t.relu(x)
        return t.sum(y * t.sigmoid(y), dim=1)

    return matches(t, pattern, f)


def fused_of_two_dtypes(t):
    model = t.nn.Sequential(t.nn.Conv2d(2, 3, 1, bias=False, dtype=t.bfloat16), t.nn.BatchNorm2d(3))
    fused = part(t, "experimental.optimization").fuse(model.eval())
    x = t.ones(1, 2, 2, 2, dtype=t.bfloat16)
    return [p.dtype == t.bfloat16 for p in fused.parameters()], fused(x).dtype == t.bfloat16


def trees_of_modules(t):
    class Sum(t.nn.Module):
        def forward(self, x, scale):
            return x["a"] * scale + x["b"][0]

    tree = {"a": t.fx.PH, "b": [t.fx.PH]}
    g = t.fx.symbolic_trace(Sum(), concrete_args={"x": tree})
    again = t.fx.symbolic_trace(g)
    value = {"a": t.ones(1), "b": [t.ones(1)]}
    return g.code, again.code, g(value, 2), again(value, 2)


class Pair(NamedTuple):
    x: Any
    y: Any


def named_trees(t):
    given = {"p": Pair(t.fx.PH, t.fx.PH)}
    g = t.fx.symbolic_trace(lambda p: p.x - p.y, concrete_args=given)
    return [f(Pair(t.ones(1), t.ones(1) * 3)) for f in (g, t.fx.symbolic_trace(g))]


@pytest.mark.parametrize(
    "case",
    [
        long_message,
        defaults_are_known,
        a_way_out_and_back,
        fused_of_two_dtypes,
        trees_of_modules,
        named_trees,
    ],
)
def test_found_as_by_pytorch(case):
    compare(case)
