"""Operators, constants and named tuples in traced graphs; copies, and the lines of a failure."""

import copy
import typing
import warnings

import pytest
from oracle import compare

torch = pytest.importorskip("torch")


class Pair(typing.NamedTuple):
    x: object
    y: object

    def _custom_fx_repr_fn(self):
        return f"Pair({self.x}, {self.y})"


def graph_of(t, f, **kwargs):
    return t.fx.symbolic_trace(f, **kwargs)


def names_operators(t):
    def f(x):
        return (
            t.ops.aten.add(x, 1),
            t.ops.aten.add.Tensor(x, x),
            t.ops.aten.cat.default([x, x]),
            t.ops.aten.relu_(x),
        )

    g = graph_of(t, f)
    return g.code, str(g.graph), g(t.arange(-2.0, 2.0))


def local_tuple(t):
    class Both(typing.NamedTuple):
        first: object
        second: object

    def f(x):
        return Both(x, x + 1)

    g = graph_of(t, f)
    return g.code, tuple(g(t.ones(2)))


def global_tuple(t):
    g = graph_of(t, lambda x: Pair(x, 2))
    return g.code, g(3).y


def written_constant(t):
    def f(x):
        count = t.tensor(3)
        count.add_(1)
        return x + count

    g = importlib_make_fx(t)(f)(t.ones(2))
    return g.code, g(t.ones(2)), g(t.ones(2))


def importlib_make_fx(t):
    # `torch.fx.experimental.proxy_tensor` is not imported with torch.fx in either library.
    import importlib

    return importlib.import_module(f"{t.__name__}.fx.experimental.proxy_tensor").make_fx


def many_arguments(t):
    class Sum(t.nn.Module):
        def forward(self, *args, **kwargs):
            return args[0] + args[1]

    g = graph_of(t, Sum(), concrete_args=(t.fx.PH, t.fx.PH))
    return g.code, g(t.ones(1), t.ones(1))


def kept_in_copies(t):
    g = graph_of(t, t.nn.Linear(2, 2))
    g.add_submodule("more", t.nn.ReLU())
    g.register_buffer("count", t.ones(1))
    g.meta["self"] = g
    made = copy.deepcopy(g)
    return list(made._modules), list(made._buffers), made.meta["self"] is made


def copied_proxy(t):
    g = graph_of(t, lambda x: x + 1)
    node = list(g.graph.nodes)[-2]
    made = copy.deepcopy(t.fx.Proxy(node))
    return made.node is node, made.node.name, [n.name for n in made.node.graph.nodes]


def copied_tracer(t):
    tracer = t.fx.Tracer()
    tracer.trace(lambda x: x.relu())
    return str(copy.deepcopy(tracer).graph)


def lines_of_nodes(t):
    def f(a, b):
        return t.sin(a) + t.cos(b)

    g = graph_of(t, f)
    first = dict(g._lineno_map)
    g.graph.on_generate_code(lambda _: lambda code: ["pass\n", *code])
    g.recompile()
    return first, dict(g._lineno_map), g.code


def no_such_attribute(t):
    g = graph_of(t, t.nn.Linear(2, 2))
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        g.graph.get_attr("absent")
        g.graph.get_attr("no.such")
    return [str(w.message) for w in heard]


def no_such_module(t):
    graph_of(t, t.nn.Linear(2, 2)).graph.call_module("absent")


def no_such_method(t):
    tracer = t.fx.Tracer()
    tracer.traced_func_name = "absent"
    tracer.trace(t.nn.Identity())


def kept_meta(t):
    g = graph_of(t, lambda x: t.sin(x).cos())
    for i, node in enumerate(g.graph.nodes):
        node.meta["stack_trace"] = f"line {i}"
        node.meta["source_fn_stack"] = [("f", "g")]
    made = t.fx.Transformer(g).transform()
    calls = [n for n in made.graph.nodes if n.op.startswith("call")]
    return [(n.stack_trace, n.meta["source_fn_stack"]) for n in calls]


def user_class(t):
    class Own(t.fx.GraphModule):
        def __init__(self, root, graph):
            super().__init__(root, graph)
            self.calls = 0

        def __call__(self, *args):
            self.calls += 1
            return super().__call__(*args)

    root = t.nn.ReLU()
    g = Own(root, t.fx.Tracer().trace(root))
    g(t.ones(1))
    return g.calls, isinstance(g, Own), copy.deepcopy(g).training


@pytest.mark.parametrize(
    "case",
    [
        names_operators,
        local_tuple,
        global_tuple,
        written_constant,
        many_arguments,
        kept_in_copies,
        copied_proxy,
        copied_tracer,
        lines_of_nodes,
        no_such_attribute,
        no_such_module,
        no_such_method,
        kept_meta,
        user_class,
    ],
)
def test_traced_as_by_pytorch(case):
    compare(case)


def test_a_failing_line_of_the_source_is_shown(capsys):
    def f(t):
        g = graph_of(t, lambda x: x.no_such_method())
        with pytest.raises(AttributeError):
            g(t.ones(1))
        return "Call using an FX-traced Module, line 5 of" in capsys.readouterr().err

    assert compare(f)


def test_a_failing_module_is_not_shown(capsys):
    def f(t):
        g = graph_of(t, t.nn.Sequential(t.nn.Linear(3, 4)))
        with pytest.raises(RuntimeError):
            g(t.ones(5, 5))
        return "Call using" in capsys.readouterr().err

    assert not compare(f)
