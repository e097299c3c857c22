"""What a compiled function does to Python objects from outside is done at each call, as eagerly."""

import collections
import warnings
import weakref

import pytest

import torchlike as torch
from tests.jit.effects_programs import PROGRAMS, Box
from tests.jit.effects_state import described


def run(make, wrap, calls=5):
    """What each call gave and left, and the function."""
    function, objects = make()
    wrapped, found = wrap(function), []
    for i in range(calls):
        x = torch.arange(3.0) + i
        found.append((described((wrapped(x), objects, x)), getattr(wrapped, "ran_eagerly", None)))
    return [text for text, _ in found], [eager for _, eager in found], wrapped


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_five_calls_leave_what_eager_calls_leave(name):
    make, compiles = PROGRAMS[name]
    expected, _, _ = run(make, lambda f: f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, eager, compiled = run(make, torch.compile)
    assert found == expected
    assert eager == [False] * 5
    assert compiled.compiles == compiles


def test_the_table_is_long_enough():
    assert len(PROGRAMS) >= 60


def test_the_script_may_change_what_the_body_changes():
    def trained(wrap):
        box, seen = Box(h=torch.zeros(3), log=[], table={}, n=0), []

        def f(x):
            box.h = (0 if box.h is None else box.h * 0.5) + x
            box.n += 1
            box.log.append(x * box.n)
            box.table["x"] = x
            return box.h.sum()

        g = wrap(f)
        between = {
            2: lambda: vars(box).update(h=None, n=100),
            3: lambda: vars(box).update(h=torch.ones(1), log=[]),
            4: lambda: vars(box).update(h=torch.ones(3, dtype=torch.float64), table={"z": 1}),
            5: lambda: vars(box).update(h=3.0, n=0.5),
        }
        for i in range(8):
            seen.append(described((g(torch.arange(3.0) + i), box)))
            between.get(i, str)()
        return seen

    assert trained(torch.compile) == trained(lambda f: f)


def test_two_functions_share_what_one_of_them_changes():
    box = Box(h=torch.zeros(2), n=0)

    @torch.compile
    def f(x):
        box.h = box.h + x
        box.n += 1
        return box.h.sum()

    @torch.compile
    def g(x):
        return x * box.h * box.n

    @torch.compile
    def h(x):
        return x * table["h"] + table["n"]

    x, table = torch.ones(2), {"h": torch.zeros(2), "n": 0}

    @torch.compile
    def writes(x):
        table["h"] = table["h"] + x
        table["n"] += 1

    for i in range(1, 8):
        f(x), writes(x)
        assert g(x).tolist() == [i * i] * 2
        assert h(x).tolist() == [i + i] * 2
    assert [function.compiles for function in (f, g, h, writes)] == [1, 2, 2, 2]
    assert not any(function.ran_eagerly for function in (f, g, h, writes))


def test_a_module_counter_that_only_one_of_two_functions_reads():
    net = torch.nn.Linear(1, 1)
    net.calls = 0

    @torch.compile
    def counts(x):
        net.calls += 1
        return x * 2

    reads = torch.compile(lambda x: x * net.calls)
    x = torch.ones(1)
    for i in range(1, 5):
        counts(x)
        assert reads(x).item() == i


def test_an_error_of_the_body_leaves_what_it_leaves_eagerly():
    def left(wrap):
        box, found = Box(n=0, log=[]), []

        def f(x):
            box.n += 1
            box.log.append(x * box.n)
            if box.n == 3:
                raise ValueError("no")
            box.after = x
            return x * box.n

        g = wrap(f)
        for i in range(6):
            try:
                found.append(described(g(torch.ones(2) * i)))
            except ValueError as error:
                found.append(str(error))
            found.append(described(box))
        return found

    assert left(torch.compile) == left(lambda f: f)


def test_a_check_of_values_that_fails_leaves_what_it_leaves_eagerly(capsys):
    box = Box(before=None, after=None, h=torch.zeros(3))

    @torch.compile
    def f(x, i):
        print("begins")  # noqa: T201
        box.before = x * 2
        box.h = box.h + 1
        y = x[i]
        box.after = x * 3
        return y

    x = torch.arange(3.0)
    for _ in range(2):
        f(x, torch.tensor(1))
    box.before = box.after = None
    with pytest.raises(IndexError):
        f(x, torch.tensor(7))
    assert box.before.tolist() == [0, 2, 4]
    assert box.after is None
    assert box.h.tolist() == [3] * 3
    assert f(x, torch.tensor(2)).item() == 2
    assert (box.h.tolist(), f.compiles, f.ran_eagerly) == ([4] * 3, 1, False)
    assert capsys.readouterr().out == "begins\n" * 4


def test_what_is_kept_joins_the_tape():
    weight, box = torch.ones(3, requires_grad=True), Box(loss=None)

    @torch.compile
    def f(x):
        box.loss = (weight * x).sum()
        return x + 1

    for i in range(3):
        f(torch.arange(3.0) + i)
        weight.grad = None
        box.loss.backward()
        assert weight.grad.tolist() == [i, i + 1, i + 2]
    assert (f.compiles, f.ran_eagerly) == (1, False)


def test_attributes_of_tensors_that_move_are_not_overlooked():
    box = Box(h=torch.zeros(2))

    @torch.compile
    def f(x):
        scale = getattr(box.h, "scale", 1)
        box.h = box.h + x
        return box.h * scale

    x = torch.ones(2)
    assert [f(x)[0].item() for _ in range(3)] == [1, 2, 3]
    assert f.compiles == 1
    box.h.scale = 10
    assert [f(x)[0].item() for _ in range(2)] == [40, 5]
    old = weakref.ref(box.h)
    f(x)
    assert old() is None


def test_a_set_that_was_emptied_gets_all_again():
    seen = {1}

    @torch.compile
    def f(x):
        seen.add(1)
        seen.add(2)
        return x * 2

    f(torch.ones(1)), f(torch.ones(1))
    seen.clear()
    f(torch.ones(1))
    assert seen == {1, 2}


def test_tracers_are_left_nowhere():
    box = Box(h=torch.zeros(2), log=[], n=0)

    def f(x):
        box.h = box.h + x
        box.log.append(box.h)
        box.n += 1
        raise_here()
        return box.h

    def raise_here():
        if box.n > 2:
            raise KeyError("late")

    g = torch.compile(f)
    g(torch.ones(2)), g(torch.ones(2))
    with pytest.raises(KeyError):
        g(torch.ones(2))
    assert box.h.tolist() == [3, 3]
    assert [t.tolist() for t in box.log] == [[1, 1], [2, 2], [3, 3]]
    assert type(box.n) is int


def by_a_length(box, x):
    box.log.append(x)
    return x * len(box.log)


def by_a_number_that_python_needs(box, x):
    box.n += 1
    return x * len(range(box.n))


READ_AND_CHANGED = [by_a_length, by_a_number_that_python_needs]


@pytest.mark.parametrize("body", READ_AND_CHANGED)
def test_what_would_compile_at_each_call_runs_eagerly_and_is_told_once(body):
    box = Box(log=collections.deque(), n=0)
    f, x = torch.compile(lambda x: body(box, x)), torch.ones(2)
    with pytest.warns(
        RuntimeWarning, match=r"runs eagerly.*changes itself.*test_effects\.py"
    ) as told:
        found = [f(x)[0].item() for _ in range(7)]
    assert found == [1, 2, 3, 4, 5, 6, 7]
    assert (len(told), f.compiles, f.ran_eagerly) == (1, 4, True)


def test_a_gradient_of_a_gradient_is_never_of_other_numbers():
    box = Box(n=1)

    @torch.compile
    def f(x):
        box.n += 1
        return (x**3 * box.n).sum()

    for i in range(4):
        x = torch.ones(2, requires_grad=True)
        (gradient,) = torch.autograd.grad(f(x), x, create_graph=i < 0)
        assert gradient.tolist() == [3 * (i + 2)] * 2
    x = torch.ones(2, requires_grad=True)
    with pytest.raises((NotImplementedError, RuntimeError)):
        torch.autograd.grad(f(x), x, create_graph=True)


def test_functions_that_may_not_fall_back_count_once_per_program():
    box = Box(n=0)

    @torch.jit
    def f(x):
        box.n += 1
        return x * 2

    for _ in range(3):
        f(torch.ones(1))
    assert (box.n, f.compiles) == (1, 1)


def aliased(box, x):
    box.a, box.b = {"h": box.b["h"] + x}, box.a
    return box.a["h"].sum()


def changed_and_replaced(box, x):
    box.a["h"] = box.a["h"] + 1
    old, box.a = box.a, {"h": box.a["h"] * 2 + x}
    return old["h"].sum()


def returns_what_it_replaces(box, x):
    old = box.a
    box.a = {"h": old["h"] + x}
    return old["h"] * 2, box.b["h"]


def keeps_what_it_replaces(box, x):
    box.kept.append(box.a)
    box.a = {"h": box.a["h"] + x}
    return box.kept[0]["h"] + x


def reads_by_two_ways(box, x):
    box.a = {"h": box.a["h"] + x}
    return box.first["h"] + box.a["h"]


def compares(box, x):
    is_first = box.a is box.first
    box.a = {"h": box.a["h"] + x}
    return x * 2 if is_first else x * 3


@pytest.mark.filterwarnings("ignore:torchlike.jit")
@pytest.mark.parametrize(
    "body",
    [
        aliased,
        changed_and_replaced,
        returns_what_it_replaces,
        keeps_what_it_replaces,
        reads_by_two_ways,
        compares,
    ],
)
@pytest.mark.parametrize("shared", [False, True])
def test_a_container_that_is_replaced_is_the_one_that_is_there(body, shared):
    def trained(wrap):
        first = {"h": torch.zeros(3)}
        box = Box(a=first, b=first if shared else {"h": torch.ones(3)}, first=first, kept=[])
        call, seen = wrap(lambda x: body(box, x)), []
        between = {
            3: lambda: vars(box).update(a={"h": torch.ones(3), "n": 1}),
            4: lambda: vars(box).update(a=box.b),
            5: lambda: vars(box).update(a={"h": torch.ones(1)}, first=None or box.a),
        }
        for i in range(7):
            between.get(i, str)()
            seen.append(described((call(torch.arange(3.0) + i), box)))
        return seen

    assert trained(torch.compile) == trained(lambda f: f)


def test_another_function_reads_what_one_replaces():
    box = Box(state={"h": torch.zeros(2), "n": 1})

    @torch.compile
    def step(x):
        box.state = {"h": box.state["h"] + x, "n": 1}
        return x

    @torch.compile
    def look():
        return box.state["h"] * box.state["n"]

    for k in range(4):
        step(torch.ones(2))
        assert look().tolist() == [k + 1.0] * 2
    assert (step.compiles, look.compiles) == (1, 1)
