"""Iterators, exceptions handled inside, NaN guards: what may be used up, or be true only once."""

import dataclasses
import enum
import itertools
import math

import pytest

import torchlike as torch

X = torch.tensor([1.0, -2.0, 3.0])


def calls(f, *arguments):
    """What a function gives for each argument, compiled, and what it gives eagerly."""
    jitted = torch.jit(f)
    return [jitted(*a).tolist() for a in arguments], [f(*a).tolist() for a in arguments], jitted


def test_a_generator_used_inside():
    def parts(x):
        for k in range(3):
            yield x * k

    def f(x):
        return sum(parts(x)) + next(parts(x))

    found, expected, jitted = calls(f, (X,), (-X,))
    assert found == expected
    assert jitted.compiles == 1


def three_calls(transform, make):
    """Three calls of a function made around an iterator."""
    f = transform(make())
    return [f(X).tolist() for _ in range(3)]


def over_a_list():
    numbers = iter([1.0, 2.0, 3.0])
    return lambda x: x * next(numbers)


def over_a_counter():
    numbers = itertools.count(1)
    return lambda x: x * next(numbers)


@pytest.mark.parametrize("make", [over_a_list, over_a_counter])
def test_an_iterator_from_outside_goes_on_as_in_eager_and_the_third_compilation_says_so(make):
    with pytest.warns(RuntimeWarning, match="elements would be frozen"):
        found = three_calls(torch.jit, make)
    assert found == three_calls(lambda f: f, make)


def test_a_generator_as_argument_is_used_up_at_each_call():
    def f(x, rows):
        return sum((x * k for k in rows), torch.zeros(3))

    jitted = torch.jit(f)
    with pytest.warns(RuntimeWarning, match="elements would be frozen"):
        found = [jitted(X, (k for k in ks)).tolist() for ks in ((1, 2), (3,), (1, 2))]
    assert found == [f(X, (k for k in ks)).tolist() for ks in ((1, 2), (3,), (1, 2))]


def test_a_closure_rebound_between_calls():
    factor = 2.0

    def f(x):
        return x * factor

    jitted = torch.jit(f)
    assert jitted(X).tolist() == (X * 2).tolist()
    factor = 3.0
    assert jitted(X).tolist() == (X * 3).tolist()


def test_a_nan_guard_on_the_loss_skips_the_step():
    def run(transform):
        w = torch.ones(3, requires_grad=True)
        opt = torch.optim.SGD([w], lr=0.1)

        def step(x):
            opt.zero_grad()
            loss = (w * x).log().sum()
            loss.backward()
            bad = torch.isnan(w.grad).any() | torch.isnan(loss)
            w.grad = torch.where(bad, torch.zeros_like(w.grad), w.grad)
            opt.step()
            return loss

        step = transform(step)
        losses = [step(x).item() for x in (X.abs(), X, X.abs())]
        return losses, w.tolist()

    (losses, w), (expected, w_eager) = run(torch.jit), run(lambda f: f)
    assert math.isnan(losses[1])
    assert math.isnan(expected[1])
    assert [losses[0], losses[2]] == pytest.approx([expected[0], expected[2]], rel=1e-5)
    assert w == pytest.approx(w_eager, rel=1e-5)


def test_an_if_on_nan_is_a_branch_of_the_graph():
    def f(x):
        y = x.sqrt()
        if torch.isnan(y).any():
            return torch.nan_to_num(y)
        return y * 2

    found, expected, jitted = calls(f, (X.abs(),), (X,), (X.abs(),))
    assert found == expected
    assert jitted.compiles == 1


def test_raising_on_nan_is_not_forgotten():
    @torch.jit
    def f(x):
        if torch.isnan(x).any():
            raise ValueError("NaN")
        return x * 2

    assert f(torch.ones(2)).tolist() == [2.0, 2.0]
    with pytest.raises(ValueError, match="NaN"):
        f(torch.tensor([1.0, math.nan]))
    assert f.compiles == 1


def test_anomaly_detection_sees_nan_or_says_that_it_does_not():
    @torch.jit
    def f(x):
        w = x.clone().requires_grad_()
        w.sqrt().sum().backward()
        return w.grad

    with torch.autograd.set_detect_anomaly(True), pytest.raises(RuntimeError, match="nan"):
        f(X)


def test_a_nan_in_python_is_no_reason_to_compile_again():
    limit = float("nan")

    def f(x):
        return x + limit

    jitted = torch.jit(f)
    for _ in range(3):
        assert torch.isnan(jitted(X)).all()
    assert jitted.compiles == 1


def test_exceptions_handled_inside():
    table = {"a": 1.0}

    def f(x, key):
        try:
            return x * table[key]
        except KeyError:
            return x - 1
        finally:
            x = None

    found, expected, _ = calls(f, (X, "a"), (X, "b"), (X, "a"))
    assert found == expected
    table["b"] = 5.0
    jitted = torch.jit(f)
    assert jitted(X, "b").tolist() == (X * 5).tolist()


@dataclasses.dataclass
class Options:
    scale: float


class Mode(enum.Enum):
    ADD = 1
    MULTIPLY = 2


def test_dataclasses_and_enums_are_guarded():
    options, holder = Options(2.0), {"mode": Mode.ADD}

    def f(x):
        return x + options.scale if holder["mode"] is Mode.ADD else x * options.scale

    jitted = torch.jit(f)
    for scale, mode in ((2.0, Mode.ADD), (3.0, Mode.ADD), (3.0, Mode.MULTIPLY), (2.0, Mode.ADD)):
        options.scale, holder["mode"] = scale, mode
        assert jitted(X).tolist() == f(X).tolist()


def test_a_mutable_default_argument():
    def f(x, scales=[2.0]):  # noqa: B006 - the footgun is meant
        return x * scales[0]

    jitted = torch.jit(f)
    assert jitted(X).tolist() == (X * 2).tolist()
    f.__defaults__[0][0] = 5.0
    assert jitted(X).tolist() == (X * 5).tolist()


def test_the_order_of_a_set_and_of_a_changed_dictionary():
    weights = {"a": torch.ones(3), "b": torch.full((3,), 2.0)}

    def f(x):
        for w in weights.values():
            x = x * 2 + w
        return x

    jitted = torch.jit(f)
    assert jitted(X).tolist() == f(X).tolist()
    weights["a"] = weights.pop("a")  # the other order
    assert jitted(X).tolist() == f(X).tolist()
    weights["c"] = torch.zeros(3)
    assert jitted(X).tolist() == f(X).tolist()


def test_an_input_of_another_shape_or_dtype_is_another_program():
    def f(x):
        return x.sum() * x.numel()

    inputs = [(torch.ones(2),), (torch.ones(3),), (torch.ones(3, dtype=torch.float64),)]
    found, expected, jitted = calls(f, *inputs, *inputs)
    assert found == expected
    assert jitted.compiles == 3


def test_a_tensor_in_a_string_shows_no_number_of_the_first_call():
    seen = []

    @torch.jit
    def f(x):
        seen.append(f"{x}")
        return x * 2

    f(X)
    assert seen == ["Tensor(<captured>, size=(3,), dtype=torch.float32)"]
