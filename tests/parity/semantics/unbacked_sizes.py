"""Exported and traced graphs with sizes and numbers that only values tell."""

from __future__ import annotations

import importlib
import io
from typing import Any


def _at(t: Any, place: str) -> Any:
    return importlib.import_module(f"{t.__name__}.{place}")


def _program(t: Any, function: Any, *args: Any) -> Any:
    module = type("M", (t.nn.Module,), {"forward": lambda self, *a: function(t, *a)})()
    return t.export.export(module, args)


def _outcome(function: Any, *args: Any) -> Any:
    try:
        return function(*args)
    except Exception as error:
        return type(error).__name__


def _calls(function: Any, *calls: Any) -> Any:
    """A behaviour: what an exported function gives for calls, the first of which is the example, as
    it is, decomposed and loaded from a file."""

    def behaviour(t: Any) -> Any:
        given = [call(t) for call in calls]
        program = _program(t, function, *given[0])
        file = io.BytesIO()
        t.export.save(program, file)
        file.seek(0)
        programs = [program, program.run_decompositions(), t.export.load(file)]
        return [[_outcome(p.module(), *call) for call in given] for p in programs]

    behaviour.__module__ = __name__
    return behaviour


def _refused(function: Any, example: Any) -> Any:
    """A behaviour: the type of error in which an export ends."""

    def behaviour(t: Any) -> Any:
        return _outcome(_program, t, function, *example(t))

    behaviour.__module__ = __name__
    return behaviour


def _numbers(*numbers: Any) -> Any:
    return lambda t: tuple([t.tensor(n) for n in numbers])


def _of_known_size(t: Any, x: Any) -> Any:
    n = x.item()
    t._check(n >= 0)
    t._check(n < 10)
    return t.zeros(n)


def _size(t: Any, x: Any) -> Any:
    n = x.item()
    t._check_is_size(n)
    return t.arange(n) * 2


def _branch(t: Any, x: Any) -> Any:
    n = x.item()
    t._check(n > 3)
    return x if n > 2 else -x


def _half(t: Any, x: Any) -> Any:
    n = x.item()
    t._check(n >= 0)
    m = n // 2
    t._check(m >= 0)
    return t.ones(m)


def _equal(t: Any, x: Any, y: Any) -> Any:
    n = x.item()
    t._check(n == y.shape[0])
    return t.ones(n) + y


def _within(t: Any, x: Any, n: Any) -> Any:
    k = n.item()
    t._check(k >= 0)
    t._check(k <= x.shape[0])
    return k


def _row(t: Any, x: Any, n: Any) -> Any:
    k = n.item()
    t._check(k >= 0)
    t._check(k < x.shape[0])
    return x[k] * 2


def _sum(t: Any, x: Any) -> Any:
    a, b = x.tolist()
    return a + 2 * b


_FIVE = [0.0, 1.0, 2.0, 3.0, 4.0]


def operators_of_a_traced_size(t: Any) -> Any:
    make_fx = _at(t, "fx.experimental.proxy_tensor").make_fx
    graph = make_fx(lambda x: t.zeros(x.item()), tracing_mode="symbolic")(t.tensor(3))
    return [str(n.target) for n in graph.graph.nodes], graph(t.tensor(5))


def symbols_and_their_bounds(t: Any) -> Any:
    program = _program(t, _of_known_size, t.tensor(3))
    return {str(k): str(v) for k, v in program.range_constraints.items()}


def the_symbol_of_a_value(t: Any) -> Any:
    program = _program(t, lambda t, x: x.item() + 1, t.tensor(3))
    return [str(n.meta["val"]) for n in program.graph.nodes if n.op == "call_function"]


def two_questions_for_one_value(t: Any) -> Any:
    found = _program(t, lambda t, x: x.item() + x.item(), t.tensor(3)).graph
    return [str(n.meta.get("val")) for n in found.nodes if n.op == "call_function"]


def fakes_with_sizes_of_values(t: Any) -> Any:
    fakes = _at(t, "_subclasses.fake_tensor")
    env = _at(t, "fx.experimental.symbolic_shapes").ShapeEnv()
    with fakes.FakeTensorMode(shape_env=env):
        x = t.ones(3)
        return [str(x.nonzero().shape), str(x[x > 0].shape), str(x.long().sum().item())]


def conditions_that_nobody_knows(t: Any) -> Any:
    fakes = _at(t, "_subclasses.fake_tensor")
    shapes = _at(t, "fx.experimental.symbolic_shapes")
    with fakes.FakeTensorMode(shape_env=shapes.ShapeEnv()):
        n = t.ones(3).nonzero().shape[0]
    return [
        str(n > 2),
        type(n > 2).__name__,
        shapes.guard_or_false(n > 2),
        shapes.guard_or_true(n > 2),
        shapes.statically_known_true(n >= 0),
        shapes.statically_known_true(n > 2),
        _outcome(bool, n > 2),
        _outcome(int, n),
    ]


_TABLE = {
    "a_size_that_is_checked": _calls(_of_known_size, *map(_numbers, (3, 5, 12, 0))),
    "a_number_that_is_a_size": _calls(_size, *map(_numbers, (3, 5, -1))),
    "a_branch_that_a_check_decides": _calls(_branch, *map(_numbers, (5, 4, 1))),
    "half_of_a_number": _calls(_half, *map(_numbers, (4, 7))),
    "a_number_that_is_a_size_of_another": _calls(
        _equal, _numbers(3, [1.0] * 3), _numbers(2, [1.0] * 3)
    ),
    "the_greater_of_a_number_and_nothing": _calls(
        lambda t, x: t.sym_max(x.item(), 0) + 1, _numbers(3), _numbers(-5)
    ),
    "a_sum_of_a_list": _calls(_sum, _numbers([1, 2]), _numbers([5, -6])),
    "places_that_are_not_zero": _calls(
        lambda t, x: x.nonzero(), _numbers([1, 0]), _numbers([0, 0]), _numbers([2, 3])
    ),
    "how_many_are_not_zero": _calls(
        lambda t, x: x.nonzero().shape[0] + 1, _numbers([1, 0]), _numbers([0, 0])
    ),
    "a_sum_of_what_a_mask_chooses": _calls(
        lambda t, x: x[x > 0].sum() * 2, _numbers([1.0, -1]), _numbers([-1.0, -2])
    ),
    "rows_that_a_mask_chooses": _calls(
        lambda t, x, m: t.cat([x[m], x]),
        _numbers([[1.0, 2], [3, 4]], [True, False]),
        _numbers([[1.0, 2], [3, 4]], [False, False]),
    ),
    "what_a_mask_selects": _calls(
        lambda t, x: t.masked_select(x, x > 1) + 1, _numbers([1.0, 2]), _numbers([0.0, 0])
    ),
    "a_matrix_of_what_a_mask_chooses": _calls(
        lambda t, x: x[x > 0].view(-1, 1) @ t.ones(1, 3), _numbers([1.0, -1]), _numbers([1.0, 2])
    ),
    "a_part_that_is_narrowed": _calls(
        lambda t, x, n: x.narrow(0, 0, _within(t, x, n)), *[_numbers(_FIVE, n) for n in (3, 5, 9)]
    ),
    "a_part_that_is_sliced": _calls(
        lambda t, x, n: x[: _within(t, x, n)], *[_numbers(_FIVE, n) for n in (3, 5, 0, 9)]
    ),
    "a_row_by_its_number": _calls(_row, *[_numbers(_FIVE, n) for n in (3, 1, 7)]),
    "a_factor_that_is_a_value": _calls(
        lambda t, x: x * x.sum().item(), _numbers([1.0, -1]), _numbers([1.0, 2])
    ),
    "a_branch_on_a_number": _refused(lambda t, x: x if x.item() > 0 else -x, _numbers(3)),
    "a_branch_on_a_float": _refused(lambda t, x: x if x.item() > 0 else -x, _numbers(3.0)),
    "a_branch_on_a_bool": _refused(lambda t, x: x if x.any().item() else -x, _numbers([1, 2])),
    "a_loop_over_a_number": _refused(
        lambda t, x: [t.ones(1) for _ in range(x.item())], _numbers(3)
    ),
    "a_plain_number_of_a_value": _refused(lambda t, x: t.zeros(int(x)), _numbers(3)),
    "a_row_by_a_number_that_is_not_checked": _calls(
        lambda t, x, n: x[n.item()], *[_numbers(_FIVE, n) for n in (3, 1, 7)]
    ),
    "a_choice_without_dimensions_of_one": _calls(
        lambda t, x: x[x > 0].squeeze(), _numbers([1.0, -1])
    ),
    "unique_values": _calls(lambda t, x: x.unique(), _numbers([1, 1, 2]), _numbers([3, 3, 3])),
}
globals().update(_TABLE)
