"""What a backend takes is grouped as PyTorch groups it, and runs to the same results."""

from __future__ import annotations

import importlib
import operator
import random

import pytest

from tests.parity import oracle

torch = pytest.importorskip("torch")


def passes(t, name):
    return importlib.import_module(f"{t.__name__}.fx.passes.{name}")


def equal(function):
    """What both libraries give, which is no error."""
    expected = oracle.compare(function)
    assert not isinstance(expected, oracle.Raised), expected
    return expected


def random_module(t, seed, size):
    """A graph of so many calls, some of which give pairs that are taken apart, and the names of the
    calls that are supported."""
    draw = random.Random(seed)
    graph = t.fx.Graph()
    values = [graph.placeholder("x"), graph.placeholder("y")]
    supported = set()
    share = draw.choice((0.5, 0.7, 0.9))

    def take(node):
        if draw.random() < share:
            supported.add(node.name)
        return node

    for _ in range(size):
        kind = draw.randrange(4)
        recent = values[-draw.choice((2, 4, 8)) :]
        if kind == 0:
            pair = take(graph.call_function(t.split, (draw.choice(recent), 2)))
            parts = [take(graph.call_function(operator.getitem, (pair, i))) for i in (0, 1)]
            values.append(take(graph.call_function(t.cat, (parts,))))
        elif kind == 1:
            values.append(take(graph.call_function(t.sin, (draw.choice(recent),))))
        else:
            given = draw.choice(recent), draw.choice(values)
            values.append(take(graph.call_function((t.add, t.sub)[kind - 2], given)))
    graph.output(tuple(n for n in values if not n.users) or values[-1])
    return t.fx.GraphModule(t.nn.Module(), graph), supported


def partitioned(t, seed, size, **options):
    module, supported = random_module(t, seed, size)
    support = passes(t, "operator_support").create_op_support(lambda _, n: n.name in supported)
    make = passes(t, "infra.partitioner").CapabilityBasedPartitioner
    partitioner = make(module, support, **options)
    x, y = t.linspace(-1, 1, 4), t.linspace(0, 2, 4)
    before = module(x, y)
    found = partitioner.propose_partitions()
    names = [[n.name for n in part.nodes] for part in found]
    kept = len(names)
    if options.get("non_compute_ops"):
        partitioner.remove_bookend_non_compute_ops(found)
        names.append([[n.name for n in part.nodes] for part in found])
    fused = partitioner.fuse_partitions([part for part in found if part.size()])
    after = fused(x, y)
    same = (
        [t.equal(a, b) for a, b in zip(before, after, strict=True)]
        if (isinstance(before, tuple))
        else t.equal(before, after)
    )
    submodules = [m.code for m in fused.children()]
    return names, kept, same, fused.code, submodules, [(n.op, n.name) for n in fused.graph.nodes]


OPTIONS = {
    "plain": {},
    "single": {"allows_single_node_partition": True},
    "alone": {"allowed_single_node_partition_ops": ["torch.sin"]},
    "vertical": {"allows_single_node_partition": True, "skip_horizontal_fusion": True},
    "bookends": {"allows_single_node_partition": True, "non_compute_ops": ["_operator.getitem"]},
}
SIZES = (4, 8, 14, 20)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("seed", range(6))
def test_random_graphs(seed, options):
    size = SIZES[seed % len(SIZES)]
    equal(lambda t: partitioned(t, seed, size, **OPTIONS[options]))


@pytest.mark.full
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("seed", range(6, 200))
def test_many_random_graphs(seed, options):
    size = SIZES[seed % len(SIZES)]
    equal(lambda t: partitioned(t, seed, size, **OPTIONS[options]))


def test_by_a_table_of_targets_and_dtypes():
    def found(t):
        def f(x, n):
            return t.relu(t.add(x, 1)) * t.add(n, n)

        module = t.fx.symbolic_trace(f)
        passes(t, "shape_prop").ShapeProp(module).propagate(t.ones(2), t.ones(2, dtype=t.int64))
        support = passes(t, "operator_support")
        table = {"torch.add": (((t.float32,), None), {}), "torch.relu": None}
        taken = support.OperatorSupport(table)
        submodules = dict(module.named_modules())
        calls = [n for n in module.graph.nodes if n.op == "call_function"]
        return [(n.name, taken.is_node_supported(submodules, n)) for n in calls]

    equal(found)


def circular(t, fuse):
    graph = t.fx.Graph()
    x = graph.placeholder("x")
    a = graph.call_function(t.sin, (x,))
    b = graph.call_function(t.cos, (a,))
    c = graph.call_function(t.add, (a, b))
    graph.output(c)
    module = t.fx.GraphModule(t.nn.Module(), graph)
    utils = passes(t, "utils.fuser_utils")
    if fuse:
        return utils.fuse_by_partitions(module, [{a: None, c: None}])
    return [utils.validate_partition(part) for part in ([a, b], [a, c], [c, a, b], [])]


def test_circles_are_refused_where_partitions_are_given():
    assert equal(lambda t: circular(t, False)) == [True, False, True, True]
    oracle.refused(lambda t: circular(t, True))


def order(t, name, shuffled):
    module, _ = random_module(t, 3, 8)
    nodes = [n for n in module.graph.nodes if n.op == "call_function"]
    if shuffled:  # nodes at the end of the graph though others use them
        for n in nodes[2::3]:
            nodes[-1].append(n)
    sort = getattr(passes(t, "tools_common"), name)
    made = sort(module)
    made.graph.lint()
    return [n.name for n in made.graph.nodes], made.code


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("name", ["legalize_graph", "stable_topological_sort"])
def test_orders(name, shuffled):
    equal(lambda t: order(t, name, shuffled))


def split(t, returns_tuple):
    class Model(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = t.nn.Linear(3, 3)
            self.body = t.nn.Sequential(t.nn.ReLU(), t.nn.Linear(3, 2))
            self.scale = t.nn.Parameter(t.ones(3))

        def forward(self, x, y):
            a = self.first(x) * self.scale
            return self.body(a) + y, a, self.scale

    module = t.fx.symbolic_trace(Model())
    for i, node in enumerate(n for n in module.graph.nodes if n.op.startswith("call")):
        node.tag = ("head", "tail")[i > 1]
    made, moved = passes(t, "split_utils").split_by_tags(
        module, ["head", "tail"], return_fqn_mapping=True, return_tuple=returns_tuple
    )
    x, y = t.ones(2, 3), t.zeros(2, 2)
    same = [t.equal(a, b) for a, b in zip(made(x, y), module(x, y), strict=True)]
    return made.code, made.head.code, made.tail.code, moved, same


@pytest.mark.parametrize("returns_tuple", [False, True])
def test_split_by_tags(returns_tuple):
    *_, same = equal(lambda t: split(t, returns_tuple))
    assert same == [True, True, True]


def splitter(t, limit):
    base = passes(t, "splitter_base")

    class Model(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = t.nn.Linear(3, 3), t.nn.Linear(3, 2)

        def forward(self, x):
            a, b = t.sin(self.first(x)), t.cos(x)
            n = a.size(0)
            return self.last(t.relu(a + b)).reshape(n, 2).neg()

    module = t.fx.symbolic_trace(Model())
    taken = ("torch.sin", "torch.cos", "torch.relu", "neg", "_operator.add")
    support = passes(t, "operator_support").OperatorSupport(dict.fromkeys(taken))
    x = t.ones(2, 3)
    found = base._SplitterBase(
        module, (x,), support, base._SplitterSettingBase(min_acc_module_size=limit)
    )
    result = found.generate_split_results()
    made = result.split_module
    shapes = {
        name: [tuple(v.shape) for v in given] for name, given in result.submodule_inputs.items()
    }
    return (
        made.code,
        {n: m.code for n, m in made.named_children()},
        shapes,
        t.equal(made(x), module(x)),
    )


@pytest.mark.parametrize("limit", [1, 2])
def test_splitters(limit, capsys):
    *_, same = equal(lambda t: splitter(t, limit))
    assert same
