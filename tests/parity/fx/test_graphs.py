"""Graphs, their source and their results are PyTorch's."""

import builtins
import copy
import importlib
import pickle

import pytest
from fx_models import FUNCTIONS, MODELS, REFUSED

import torchlike
from torchlike._core import overrides

torch = pytest.importorskip("torch")

BOTH = (torch, torchlike)


@pytest.fixture(autouse=True)
def _awake():
    overrides.enable()


def traced(t, name, **kwargs):
    t.manual_seed(0)
    return t.fx.symbolic_trace(MODELS[name](t).eval(), **kwargs)


def inputs(t, name):
    shape = {"Convolutions": (1, 1, 8, 8), "Embeddings": None}.get(name, (2, 4))
    return (
        t.tensor([[0, 1], [2, 1]])
        if shape is None
        else t.linspace(-1, 1, t.Size(shape).numel()).reshape(shape)
    )


@pytest.mark.parametrize("name", MODELS)
def test_models_have_the_same_graphs_and_results(name):
    theirs, ours = traced(torch, name), traced(torchlike, name)
    assert str(ours.graph) == str(theirs.graph)
    assert ours.code == theirs.code
    assert str(ours) == str(theirs)
    expected = theirs(inputs(torch, name))
    for module in (
        ours,
        torchlike.fx.Transformer(ours).transform(),
        copy.deepcopy(ours),
        torchlike.jit(ours),
        torchlike.fx.Interpreter(ours).run,
    ):
        result = module(inputs(torchlike, name))
        torch.testing.assert_close(
            torch.tensor(result.tolist()), expected.detach(), rtol=1e-5, atol=1e-6
        )


@pytest.mark.parametrize("name", MODELS)
def test_what_passes_find_is_the_same(name):
    found = []
    for t in BOTH:
        module = traced(t, name)
        shapes = importlib.import_module(f"{t.__name__}.fx.passes.shape_prop")
        split = importlib.import_module(f"{t.__name__}.fx.passes.split_module")
        shapes.ShapeProp(module).propagate(inputs(t, name))
        shapes = [
            (n.name, tuple(n.meta["tensor_meta"].shape), n.meta["tensor_meta"].stride)
            for n in module.graph.nodes
            if hasattr(n.meta.get("tensor_meta"), "shape")
        ]
        nodes = list(module.graph.nodes)
        half = {n: int(i > len(nodes) // 2) for i, n in enumerate(nodes)}
        parts = split.split_module(module, module, half.__getitem__)
        found.append((shapes, parts.code, [m.code for m in parts.children() if hasattr(m, "code")]))
    assert found[1] == found[0]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("interactive", [False, True])
def test_functions_have_the_same_graphs(name, interactive, monkeypatch):
    if interactive:  # what Python's prompt, and doctest, bind to the last value
        monkeypatch.setattr(builtins, "_", 3, raising=False)
    theirs, ours = (t.fx.symbolic_trace(FUNCTIONS[name](t)) for t in BOTH)
    assert str(ours.graph) == str(theirs.graph)
    assert ours.code == theirs.code
    again = torchlike.fx.symbolic_trace(ours)
    assert [n.op for n in again.graph.nodes] == [n.op for n in ours.graph.nodes]


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_graph_holds_is_refused_in_the_same_words(name):
    def said(t):
        with pytest.raises(Exception) as caught:
            t.fx.symbolic_trace(REFUSED[name](t))
        return caught.type.__name__, str(caught.value)

    assert said(torchlike) == said(torch)


def module(t, name="Residual"):
    return traced(t, name)


EDITS = {
    "insert": lambda t, g: _insert(t, g),
    "erase": lambda t, g: g.graph.eliminate_dead_code(),
    "replace": lambda t, g: t.fx.replace_pattern(g, lambda a, b: a + b, lambda a, b: t.sub(a, b)),
    "replace call": lambda t, g: t.fx.replace_pattern(
        g, lambda a: t.relu(a), lambda a: a.sigmoid().neg()
    ),
    "retarget": lambda t, g: [
        setattr(n, "target", t.tanh) for n in g.graph.nodes if n.target is t.relu
    ],
    "rename": lambda t, g: [n._rename("other") for n in g.graph.nodes if n.op == "call_module"],
    "types": lambda t, g: [
        setattr(n, "type", int) for n in g.graph.nodes if n.op == "call_function"
    ],
}


def _insert(t, g):
    for n in list(g.graph.nodes):
        if n.op == "call_module":
            with g.graph.inserting_after(n):
                made = g.graph.call_function(t.neg, (n,))
            n.replace_all_uses_with(made)
            made.args = (n,)


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("name", ["Residual", "Functional", "Sequence"])
def test_edits_have_the_same_effect(name, edit):
    codes = []
    for t in BOTH:
        g = traced(t, name)
        EDITS[edit](t, g)
        g.graph.lint()
        g.recompile()
        codes.append((g.code, str(g.graph), [[u.name for u in n.users] for n in g.graph.nodes]))
    assert codes[1] == codes[0]


def test_concrete_arguments():
    def f(x, flag=True, n=3):
        return x + n if flag else x

    def tree(d, y):
        return {"a": d["x"] + d["z"][0], "b": (y,)}

    for t in BOTH:
        g = t.fx.symbolic_trace(f, concrete_args={"flag": True})
        h = t.fx.symbolic_trace(tree, concrete_args={"d": {"x": t.fx.PH, "z": [t.fx.PH]}})
        result = h({"x": t.ones(1), "z": [t.ones(1)]}, t.zeros(1))
        found = g.code, str(g.graph), h.code, str(h.graph), result["a"].tolist(), len(result["b"])
        if t is torch:
            expected = found
    assert found == expected


def test_pickles():
    for name in MODELS:
        ours = traced(torchlike, name)
        loaded = pickle.loads(pickle.dumps(ours))
        assert loaded.code == ours.code
        x = inputs(torchlike, name)
        assert torchlike.equal(loaded(x), ours(x))


def test_tables(capsys):
    tabulate = pytest.importorskip("tabulate")
    g = traced(torchlike, "Residual")
    g.graph.print_tabular()
    rows = [[n.op, n.name, n.target, n.args, n.kwargs] for n in g.graph.nodes]
    expected = tabulate.tabulate(rows, headers=["opcode", "name", "target", "args", "kwargs"])
    assert capsys.readouterr().out == expected + "\n"


def test_errors_of_the_interpreter_name_the_node():
    for t in BOTH:
        g = traced(t, "Residual")
        with pytest.raises(RuntimeError) as caught:
            t.fx.Interpreter(g).run(t.ones(3, 3))
        assert "While executing %linear" in str(caught.value) or "While executing %" in str(
            caught.value
        )


def test_lint_finds_uses_before_definitions():
    for t in BOTH:
        g = t.fx.Graph()
        x = g.placeholder("x")
        a = g.call_function(t.relu, (x,))
        b = g.call_function(t.neg, (a,))
        g.output(b)
        b.append(a)
        with pytest.raises(RuntimeError, match="used before it has been defined"):
            g.lint()


def test_nodes_that_are_used_are_not_erased():
    for t in BOTH:
        g = traced(t, "Residual").graph
        with pytest.raises(RuntimeError, match="it still had 1 users in the graph"):
            g.erase_node(next(n for n in g.nodes if n.op == "call_module"))


def test_arguments_do_not_change_in_place():
    for t in BOTH:
        g = t.fx.Graph()
        x = g.placeholder("x")
        args = g.call_function(t.cat, ([x, x],)).args[0]
        with pytest.raises(TypeError, match="does not support mutation"):
            args.append(1)


def test_hooks_hear_of_nodes():
    def heard(t):
        said = []
        g = traced(t, "Residual")
        g._register_create_node_hook(lambda node: said.append(("made", node.name)))
        g._register_erase_node_hook(lambda node: said.append(("erased", node.name)))
        g._register_deepcopy_hook(lambda made: said.append(("copied", type(made).__name__)))
        first = next(n for n in g.graph.nodes if n.op == "call_module")

        def replaced(old, new, user):
            said.append((old.name, new, user.name))

        with g._set_replace_hook(replaced):
            with g.graph.inserting_after(first):
                made = g.graph.call_method("neg", (first,))
            first.replace_all_uses_with(made, lambda user: user is not made)
        made.replace_all_uses_with(first)
        g.graph.erase_node(made)
        copy.deepcopy(g).graph.call_function(t.relu, ())
        with pytest.raises(AssertionError, match="must be a callable"):
            g._register_create_node_hook(3)
        return said

    assert heard(torchlike) == heard(torch)
