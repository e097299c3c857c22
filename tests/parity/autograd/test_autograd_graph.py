"""Saved-tensor hooks, checkpointing and the graph functions case by case against PyTorch."""

import importlib

import pytest
from oracle import compare, outcome

import torchlike

torch = pytest.importorskip("torch")

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def leaf(lib, *values):
    return lib.tensor(list(values), requires_grad=True)


def graph(lib):
    return lib.autograd.graph


def checkpoint_of(lib):
    return importlib.import_module(f"{lib.__name__}.utils.checkpoint")


def plain(value):
    if hasattr(value, "tolist"):
        return [round(v, 4) for v in value.double().reshape(-1).tolist()], tuple(value.shape)
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    return value


# -- hooks -----------------------------------------------------------------------------------------


def packs(lib, program):
    """How many tensors a program packs and unpacks, their shapes and flags, and the gradient."""
    seen, unpacked = [], []

    def pack(t):
        seen.append((tuple(t.shape), t.requires_grad, lib.is_grad_enabled()))
        return t.detach().clone()

    x, w = leaf(lib, 0.3, 0.6), leaf(lib, 0.5, 0.2)
    with graph(lib).saved_tensors_hooks(pack, lambda t: (unpacked.append(1), t)[1]):
        out = program(lib, x * 1, w)
    out.sum().backward()
    return seen, len(unpacked), x.grad, w.grad


PROGRAMS = {
    "product": lambda lib, x, w: x * w,
    "chain": lambda lib, x, w: (x * w).exp().sin(),
    "outputs": lambda lib, x, w: x.sigmoid() + w.tanh() + x.relu() + x.sqrt() + x.softmax(0),
    "nothing": lambda lib, x, w: lib.cat([x, w]).sum() + (x - w).view(2, 1) + x.expand(2, 2),
    "matrices": lambda lib, x, w: x.view(1, 2) @ w.view(2, 1),
    "linear": lambda lib, x, w: lib.nn.functional.linear(x.view(1, 2), w.view(1, 2)),
    "number": lambda lib, x, w: x * 2 + w / 3,
    "no gradient wanted": lambda lib, x, w: x * w.detach(),
    "where": lambda lib, x, w: lib.where(lib.tensor([True, False]), x, w),
    "powers": lambda lib, x, w: x**2 + w.square(),
    "written": lambda lib, x, w: x.mul_(w).exp_(),
}


for _name, _program in PROGRAMS.items():
    CASES[f"packs of {_name}"] = lambda lib, p=_program: packs(lib, p)


@case
def nested_hooks(lib):
    seen = []

    def hooks(name):
        return graph(lib).saved_tensors_hooks(
            lambda t: (seen.append(f"pack {name}"), t)[1],
            lambda t: (seen.append(f"unpack {name}"), t)[1],
        )

    x = leaf(lib, 2.0)
    with hooks("outer"):
        a = x.exp()
        with hooks("inner"):
            b = a.sin()
        c = b.cos()
    c.sum().backward()
    return seen, x.grad


def _erring(name, pack, unpack):
    def function(lib):
        x = leaf(lib, 1.0, 2.0)
        with graph(lib).saved_tensors_hooks(pack, unpack):
            y = x * x
        y.sum().backward()

    CASES[name] = function


_erring("unpacked to a number", lambda t: t, lambda t: 3)
_erring("packed in place", lambda t: t.mul_(2), lambda t: t)
_erring("pack raises", lambda t: {}[1], lambda t: t)
_erring("unpack raises", lambda t: 1, lambda t: {}[1])
_erring("unpacked to another shape", lambda t: t, lambda t: t.new_ones(7))


@case
def hooks_forbidden(lib):
    with graph(lib).disable_saved_tensors_hooks("not here"):
        graph(lib).saved_tensors_hooks(lambda t: t, lambda t: t).__enter__()


@case
def hooks_forbidden_inside_hooks(lib):
    hooks = graph(lib).saved_tensors_hooks(lambda t: t, lambda t: t)
    with hooks, graph(lib).disable_saved_tensors_hooks("nor here"):
        pass


@case
def mutation_contexts_nested(lib):
    allow = graph(lib).allow_mutation_on_saved_tensors
    with allow(), allow():
        pass


@case
def mutation_allowed(lib):
    with graph(lib).allow_mutation_on_saved_tensors():
        x = lib.ones(2, 3, requires_grad=True)
        y = x.clone()
        z = (y**2).sum()
        y.sin_()
        z.backward()
    return x.grad


@case
def on_the_cpu(lib):
    x = leaf(lib, 1.0, 2.0)
    with graph(lib).save_on_cpu():
        y = (x * x).exp()
    y.sum().backward()
    return x.grad


@case
def versions_of_no_tensor(lib):
    graph(lib).increment_version(3)


@case
def versions(lib):
    x = lib.ones(1)
    graph(lib).increment_version([x, x])
    return x._version


@case
def an_edge_of_no_gradient(lib):
    graph(lib).get_gradient_edge(lib.ones(1))


@case
def edges_as_roots_and_inputs(lib):
    x = leaf(lib, 2.0)
    y = x * 3
    edge = graph(lib).get_gradient_edge(y)
    z = (y * y).sum()
    return lib.autograd.grad(z, edge), edge.node.name(), edge.output_nr


def _accumulated(lib, *ends):
    """Gradients of two leaves, and of what was made of them, after backward into edges."""
    a, b = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0)
    c = a * b
    edges = [graph(lib).get_gradient_edge({"a": a, "c": c}[end]) for end in ends]
    (c * 2).sum().backward(inputs=edges if len(edges) > 1 else edges[0])
    return [None if t.grad is None else t.grad.tolist() for t in (a, b)]


@case
def backward_into_the_edge_of_a_leaf(lib):
    return _accumulated(lib, "a")


@case
def backward_into_the_edge_of_a_result(lib):
    return _accumulated(lib, "c")


@case
def backward_into_edges(lib):
    return _accumulated(lib, "c", "a")


@case
def hooks_on_several(lib):
    seen = []
    a, b, c = (leaf(lib, float(i)) for i in range(3))
    y, z = a * b, b * c
    both = graph(lib).register_multi_grad_hook
    first = both((y, z), lambda gs: seen.append([g is not None for g in gs]))
    both((y, z), lambda g: seen.append(g.tolist()), mode="any")
    (y + 2 * z).sum().backward(retain_graph=True)
    y.sum().backward(retain_graph=True)
    first.remove()
    (y * z).sum().backward()
    return seen


@case
def hooks_on_several_of_an_unknown_mode(lib):
    graph(lib).register_multi_grad_hook([leaf(lib, 1.0)], print, mode="z")


# -- checkpointing ---------------------------------------------------------------------------------


def _checkpointed(name, **options):
    def function(lib):
        lib.manual_seed(3)
        x, w = leaf(lib, 0.1, 0.2, 0.3, 0.4), leaf(lib, 0.4, 0.3, 0.2, 0.1)
        calls = []

        def inside(a, b):
            calls.append((a.requires_grad, lib.is_grad_enabled()))
            h = lib.nn.functional.dropout(a * b, 0.5)
            return (h * w).exp(), h.sum()

        out, total = checkpoint_of(lib).checkpoint(inside, x * 1, lib.ones(4), **options)
        drawn = lib.rand(2)
        (out.sum() + total).backward()
        return out, total, x.grad, w.grad, calls, drawn, lib.rand(2)

    CASES[name] = function


_checkpointed("without reentrance", use_reentrant=False)
_checkpointed("with reentrance", use_reentrant=True)
_checkpointed("without early stop", use_reentrant=False, early_stop=False)
_checkpointed("with keywords", use_reentrant=True, foo=1)
_checkpointed("with debug and reentrance", use_reentrant=True, debug=True)
_checkpointed("with an unknown check", use_reentrant=False, determinism_check="no")
_checkpointed("with debug and contexts", use_reentrant=False, debug=True, context_fn=lambda: 1)


def _differing(name, first, second, **options):
    def function(lib):
        calls = []

        def inside(a):
            calls.append(1)
            return (first if len(calls) == 1 else second)(a)

        y = checkpoint_of(lib).checkpoint(
            inside, leaf(lib, 0.1, 0.2), use_reentrant=False, **options
        )
        y.sum().backward()
        return len(calls)

    CASES[name] = function


_differing("fewer saved", lambda a: a.sin().sin().sin(), lambda a: a.sin().sin())
_differing("more saved", lambda a: a.sin().sin(), lambda a: a.sin().sin().sin())
_differing("more saved, to the end", lambda a: a.sin(), lambda a: a.sin().sin(), early_stop=False)
_differing("other dtypes", lambda a: a.sin().cos(), lambda a: a.double().sin().cos())


@case
def reentrant_with_grad(lib):
    x = leaf(lib, 1.0)
    y = checkpoint_of(lib).checkpoint(lib.sin, x, use_reentrant=True)
    lib.autograd.grad(y.sum(), x)


@case
def reentrant_without_gradients(lib):
    y = checkpoint_of(lib).checkpoint(lambda a: a.detach(), leaf(lib, 1.0), use_reentrant=True)
    y.sum().backward()


@case
def the_second_run_is_autocast_like_the_first(lib):
    seen = []
    x, w = lib.ones(2, 2, requires_grad=True), lib.ones(2, 2)

    def inside(a):
        y = a @ w
        seen.append(str(y.dtype))
        return y.exp()

    room = checkpoint_of(lib)
    with lib.autocast("cpu", dtype=lib.bfloat16):
        y = room.checkpoint(inside, x, use_reentrant=False)
    y.sum().backward()
    z = room.checkpoint(inside, x, use_reentrant=False)
    with lib.autocast("cpu", dtype=lib.bfloat16):
        z.sum().backward()
    return seen  # values differ in bfloat16's last bit


@case
def nested_regions(lib):
    counts = [0, 0, 0]
    checkpoint = checkpoint_of(lib).checkpoint

    def innermost(a):
        counts[2] += 1
        return a.exp().sin()

    def inner(a):
        counts[1] += 1
        return checkpoint(innermost, a.cos(), use_reentrant=False).exp()

    def outer(a):
        counts[0] += 1
        return checkpoint(inner, a.sin(), use_reentrant=False).cos()

    x = leaf(lib, 0.3, 0.4)
    checkpoint(outer, x, use_reentrant=False).sum().backward()
    return x.grad, counts


@case
def twice_backward(lib):
    x = leaf(lib, 0.3, 0.4)
    y = checkpoint_of(lib).checkpoint(lambda a: a.sin().exp(), x, use_reentrant=False).sum()
    y.backward(retain_graph=True)
    y.backward()
    y.backward()


@case
def in_sequence(lib):
    calls = []

    def part(i):
        return lambda a: (calls.append(i), a.sin())[1]

    x = leaf(lib, 0.3, 0.4)
    y = checkpoint_of(lib).checkpoint_sequential(
        [part(i) for i in range(5)], 2, x, use_reentrant=False
    )
    y.sum().backward()
    return x.grad, calls


@case
def early_stop_by_context(lib):
    room, calls = checkpoint_of(lib), []
    inside = lambda a: (a.sin().exp(), calls.append(1))[0]  # noqa: E731
    for enabled in (False, True):
        with room.set_checkpoint_early_stop(enabled):
            y = room.checkpoint(inside, leaf(lib, 1.0), use_reentrant=False)
        y.sum().backward()
    return len(calls)


#: Where the words differ: (PyTorch's begin so, torchlike's so).
WORDS = {"unpacked to another shape": ("The size of tensor", "Output of saved tensor")}
#: Products keep the same tensors in another order (or transposed): how many are packed.
KEEPS = {"packs of matrices": (2, 2), "packs of linear": (2, 2)}


@pytest.mark.parametrize("name", CASES)
def test_as_in_pytorch(name):
    def case(lib):
        return plain(CASES[name](lib))

    if name in WORDS:
        raised = [outcome(case, lib) for lib in (torch, torchlike)]
        assert [r.type for r in raised] == ["RuntimeError"] * 2
        assert all(r.words.startswith(w) for r, w in zip(raised, WORDS[name], strict=True))
    elif name in KEEPS:
        (theirs, _, *gradients), (ours, _, *own) = (
            outcome(case, lib) for lib in (torch, torchlike)
        )
        assert (len(theirs), len(ours), gradients) == (*KEEPS[name], own)
    else:
        compare(case, words=100, warned=60)


def node_types(lib, x):
    """The names of the classes of a graph's nodes, as programs that draw graphs write them."""
    written = x.clone()
    written[0] = 3
    outputs = [(x * 2).relu(), x[:1], x.exp().sum(), written, x.view(2, 1).t()]
    found = [type(out.grad_fn).__name__ for out in outputs]
    return found + [type(outputs[0].grad_fn.next_functions[0][0]).__name__]


@pytest.mark.parametrize("hooks", [False, True])
def test_a_nodes_class_has_its_name(hooks):
    found = []
    for lib in (torchlike, torch):
        if hooks:
            with graph(lib).saved_tensors_hooks(lambda t: t, lambda t: t):
                found.append(node_types(lib, leaf(lib, 0.3, 0.6)))
        else:
            found.append(node_types(lib, leaf(lib, 0.3, 0.6)))
    assert found[0] == found[1]
