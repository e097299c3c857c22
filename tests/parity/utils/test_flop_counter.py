"""Counted operations and the modules that run, as in PyTorch."""

import copy
import importlib

import pytest

import torchlike
from tests.parity.oracle import compare, refused

torch = pytest.importorskip("torch")


def counter(t, **options):
    module = importlib.import_module(f"{t.__name__}.utils.flop_counter")
    return module.FlopCounterMode(display=False, **options)


def counts(t, run):
    """Operations by module and operator."""
    with counter(t) as counted:
        run(t)
    found = counted.get_flop_counts()
    shown = {m: {str(op): n for op, n in sorted(of.items(), key=str)} for m, of in found.items()}
    return dict(sorted(shown.items())), counted.get_total_flops()


def convolutions(t):
    x = t.ones(2, 4, 6, 6, requires_grad=True)
    layers = t.nn.Conv2d(4, 6, 3, groups=2, stride=2), t.nn.ConvTranspose2d(6, 3, 2)
    y = x
    for layer in layers:
        y = layer(y)
    y.sum().backward()


def attention(t):
    x = t.ones(2, 3, 8)
    t.nn.MultiheadAttention(8, 2, batch_first=True)(x, x, x)[0].sum().backward()


def products(t):
    a, b = t.ones(3, 4, requires_grad=True), t.ones(4, 5)
    (a @ b).sum().backward()
    t.addmm(t.ones(5), a, b)
    t.baddbmm(t.ones(1), t.ones(2, 3, 4), t.ones(2, 4, 5))
    t.nn.functional.linear(t.ones(2, 3, 4), t.ones(5, 4), t.ones(5)) + 1
    t.matmul(t.ones(2, 3, 4), t.ones(4))
    t.tensordot(a, b, 1)


def parts(t):
    block = t.nn.Sequential(t.nn.Linear(4, 8), t.nn.ReLU(), t.nn.Linear(8, 2))
    t.nn.Sequential(block, t.nn.Linear(2, 3)).train()(t.ones(5, 4)).sum().backward()


@pytest.mark.parametrize("run", [convolutions, attention, products, parts])
def test_operations_by_module_and_operator(run):
    compare(lambda t: counts(t, run))


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ab,bc->ac", [(3, 4), (4, 5)]),
        ("ab,bc", [(3, 4), (4, 5)]),
        ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]),
        ("...ab,...bc->...ac", [(2, 3, 4), (2, 4, 5)]),
        ("abz,bc->ac", [(3, 4, 2), (4, 5)]),
        ("ab,ab->ab", [(3, 4), (3, 4)]),
        ("ab,cb,cd->ad", [(2, 3), (4, 3), (4, 5)]),
    ],
)
def test_operations_of_einsum(equation, shapes):
    """PyTorch runs several operators, here it is one."""

    def total(t):
        return counts(t, lambda t: t.einsum(equation, *[t.ones(s) for s in shapes]))[1]

    def both_ways(t):
        operands = [t.ones(s, requires_grad=True) for s in shapes]
        return counts(t, lambda t: t.einsum(equation, *operands).sum().backward())[1]

    compare(total)
    if len(shapes) == 2 and "z" not in equation:
        compare(both_ways)


def test_operations_of_recurrent_cells():
    def total(t, kind):
        layer = getattr(t.nn, kind)(4, 5)
        state = (t.ones(2, 5), t.ones(2, 5)) if kind == "LSTMCell" else t.ones(2, 5)

        def run(t):
            out = layer(t.ones(2, 4), state)
            (out[0] if kind == "LSTMCell" else out).sum().backward()

        return counts(t, run)[1]

    for kind in ("LSTMCell", "GRUCell", "RNNCell"):
        compare(lambda t, kind=kind: total(t, kind))


def test_operations_of_recurrent_layers():
    """By hand: each weight is multiplied once in each step. (PyTorch has other kernels.)"""
    layer = torchlike.nn.GRU(4, 5)
    forward = 2 * 2 * 3 * (15 * 4 + 15 * 5)
    assert counts(torchlike, lambda t: layer(t.ones(2, 3, 4)))[1] == forward
    theirs = counts(torch, lambda t: t.nn.GRU(4, 5)(t.ones(2, 3, 4)))[1]
    assert forward == theirs


def test_operations_of_attention():
    """Two products of the same size; five for the gradients. PyTorch counts them on GPUs."""
    q = torchlike.ones(2, 4, 8, 16, requires_grad=True)
    one = 2 * 2 * 4 * 8 * 8 * 16

    def run(t):
        return t.nn.functional.scaled_dot_product_attention(q, q, q)

    assert counts(torchlike, run)[1] == 2 * one
    assert counts(torchlike, lambda t: run(t).sum().backward())[1] == 7 * one


def test_products_of_several_matrices():
    def run(t):
        t.linalg.multi_dot([t.ones(3, 4), t.ones(4, 5), t.ones(5, 6)])
        t.linalg.multi_dot([t.ones(4), t.ones(4, 5), t.ones(5)])

    three = 2 * 3 * 4 * 5 + 2 * 3 * 5 * 6
    assert counts(torchlike, run)[1] == three + 2 * 4 * 5 + 2 * 4
    compare(lambda t: counts(t, lambda t: t.linalg.matrix_power(t.ones(3, 3), 3))[1])


def test_formulas_of_ones_own():
    def counted(t):
        five = {t.ops.aten.add: lambda *shapes, out_shape: 5}
        with counter(t, custom_mapping=five) as found:
            t.ones(2) + t.ones(2)

        def of_values(*args, out_val):
            return out_val.numel()

        of_values._get_raw = True
        with counter(t, custom_mapping={t.ops.aten.add: of_values}) as raw:
            t.ones(2, 3) + t.ones(2, 3)
        return found.get_total_flops(), raw.get_total_flops()

    assert compare(counted) == (5, 6)


def test_an_operator_of_ones_own():
    def counted(t):
        module = importlib.import_module(f"{t.__name__}.utils.flop_counter")

        @t.library.custom_op("counted::triple", mutates_args=())
        def triple(x: t.Tensor) -> t.Tensor:
            return x * 3

        packet = t.ops.counted.triple
        module.flop_registry.pop(packet, None)
        module.register_flop_formula(packet)(lambda x, *, out_shape: 7 * x[0])
        with counter(t) as found:
            triple(t.ones(2))
        return found.get_total_flops()

    assert compare(counted) == 14
    for target in ("aten.add.Tensor", "aten.mm"):
        refused(
            lambda t, target=target: importlib.import_module(
                f"{t.__name__}.utils.flop_counter"
            ).register_flop_formula(eval(f"t.ops.{target}"))(lambda *a: 0),
            words=60,
        )


def test_the_table():
    net = torchlike.nn.Sequential(torchlike.nn.Linear(4, 8), torchlike.nn.Linear(8, 2))
    with counter(torchlike) as counted:
        net(torchlike.ones(5, 4))
        torchlike.ones(2, 2) @ torchlike.ones(2, 2)
    rows = [line.split() for line in counted.get_table().splitlines()]
    assert rows[0] == ["Module", "FLOP", "%", "Total"]
    assert rows[2:6] == [
        ["Global", "496.000", "100.00%"],
        ["-", "aten.addmm", "480.000", "96.77%"],
        ["-", "aten.mm", "16.000", "3.23%"],
        ["Sequential", "480.000", "96.77%"],
    ]
    assert counter(torchlike).get_table().splitlines()[-1].split() == ["Global", "0", "0%"]


def test_which_modules_run():
    def seen(t):
        module = importlib.import_module(f"{t.__name__}.utils.module_tracker")
        found = []

        class Inner(t.nn.Module):
            def forward(self, x):
                y = x * 2
                found.append((sorted(tracker.parents), tracker.is_bw))
                y.register_hook(lambda g: found.append((sorted(tracker.parents), tracker.is_bw)))
                return {"y": y}

        class Outer(t.nn.Module):
            def __init__(self):
                super().__init__()
                self.parts = t.nn.ModuleList([Inner()])
                self.last = Inner()

            def forward(self, x):
                return self.last(self.parts[0](x)["y"])["y"]

        net = Outer()
        with module.ModuleTracker() as tracker:
            for _ in range(2):
                net(t.ones(2, requires_grad=True)).sum().backward()
                found.append((sorted(tracker.parents), tracker.is_bw))
        before = copy.copy(found)
        net(t.ones(2))
        return before

    compare(seen)
