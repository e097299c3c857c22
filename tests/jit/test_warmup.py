"""``warmup=k``: which calls run eagerly, what is traced, and what a call may do meanwhile."""

import logging
import sys

import pytest

import torchlike as torch
from torchlike import nn
from torchlike._core.errors import JitCaptureError


def test_calls_that_ran_eagerly_are_counted_for_each_shape():
    f = torch.jit(lambda x: x * 2 + 1, warmup=2)
    eager = []
    for size in (3, 3, 4, 3, 3, 4, 4, 5, 4):
        x = torch.arange(size).float()
        assert f(x).tolist() == (x * 2 + 1).tolist()
        eager.append(f.ran_eagerly)
    assert eager == [True, True, True, False, False, True, False, True, False]
    assert f.compiles == 2  # 5 came once


def test_print_and_counters_come_once_a_call(capsys):
    seen = []

    def f(x):
        print("called")  # noqa: T201
        print("to a file", file=sys.stderr)  # noqa: T201
        seen.append(1)
        return x + 1

    compiled = torch.compile(f, options={"warmup": 3})
    for _ in range(5):
        compiled(torch.ones(2))
    said = capsys.readouterr()
    assert said.out == "called\n" * 5
    assert said.err == "to a file\n" * 5
    assert len(seen) == 5


def test_a_modules_counter_is_no_other_program():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            return x * 2

    for compiled in (
        torch.jit(Counting(), warmup=2),
        torch.compile(Counting(), options={"warmup": 2}).forward,
    ):
        for n in (2, 2, 2, 3, 3, 3, 2, 3):
            assert compiled(torch.ones(n)).tolist() == [2] * n
        assert compiled.compiles == 2
        assert not compiled.ran_eagerly


def test_a_number_that_counts_up_is_traced():
    f = torch.jit(lambda x, i: x * i, warmup=2)
    for i in range(8):
        assert f(torch.ones(2), i).tolist() == [i, i]
    assert f.compiles == 1
    assert not f.ran_eagerly


def test_a_python_value_that_changes_is_another_kind():
    scale = [2.0]
    f = torch.jit(lambda x: x * scale[0], warmup=2)
    eager = []
    for value in (2, 2, 2, 3, 3, 3, 2):
        scale[0] = float(value)
        assert f(torch.ones(1)).item() == value
        eager.append(f.ran_eagerly)
    assert eager == [True, True, False, True, True, False, False]
    assert f.compiles == 2


def test_what_cannot_be_kept_compiles_after_the_warm_up():
    calls = [0]

    def f(x):
        calls[0] += 1
        return x * calls[0]

    compiled = torch.jit(f, warmup=2)
    with pytest.warns(RuntimeWarning, match="was compiled 3 times and cannot be kept"):
        got = [compiled(torch.ones(1)).item() for _ in range(6)]
    assert got == [1, 2, 3, 4, 5, 6]
    assert compiled.compiles == 5  # the second call was traced, and is not made twice


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.filterwarnings("ignore:torchlike.jit")
def test_what_cannot_be_undone_is_done_once(k, capsys):
    """A trace that took from an iterator is the call."""
    numbers = iter(range(10))

    def f(x):
        print("called")  # noqa: T201
        return x + next(numbers)

    compiled = torch.jit(f, warmup=k)
    assert [compiled(torch.zeros(1)).item() for _ in range(8)] == list(range(8))
    assert capsys.readouterr().out == "called\n" * 8


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.filterwarnings("ignore:torchlike.jit")
def test_structure_that_the_first_call_makes(k):
    class Running(nn.Module):
        def forward(self, x):
            if not hasattr(self, "total"):
                self.register_buffer("total", torch.zeros(2))
            self.total += x
            return self.total * 1

    module = torch.jit(Running(), warmup=k)
    for i in range(1, 8):
        assert module(torch.ones(2)).tolist() == [i, i]
    assert not module.ran_eagerly


def test_a_function_that_falls_back():
    def f(x):
        return x * 2 if x.sum().item() > 0 else x

    compiled = torch.compile(f, options={"warmup": 2})
    assert compiled(torch.ones(1)).item() == 2
    with pytest.warns(RuntimeWarning, match="runs eagerly, because it cannot be compiled"):
        assert compiled(torch.ones(1)).item() == 2
    assert compiled(-torch.ones(1)).item() == -1
    assert compiled.compiles == 0


@pytest.mark.parametrize(
    "wrap",
    [
        lambda f: torch.jit(f, warmup=2),
        lambda f: torch.compile(f, fullgraph=True, options={"warmup": 2}),
    ],
)
def test_fullgraph_raises_where_it_traces(wrap):
    w = torch.zeros(1)

    def f(x):
        w.add_(1)
        return float(x.sum())

    compiled = wrap(f)
    assert compiled(torch.ones(2)) == 2
    with pytest.raises(JitCaptureError, match=r"test_warmup\.py"):
        compiled(torch.ones(2))
    assert w.item() == 1  # what was traced is undone, and nothing ran


def test_an_error_of_the_body_is_raised():
    def f(x):
        if x.shape[0] == 3:
            raise KeyError("three")
        return x + 1

    for compiled in (torch.jit(f, warmup=2), torch.compile(f, options={"warmup": 2})):
        for size in (2, 3, 2, 3, 2, 3):
            if size == 3:
                with pytest.raises(KeyError, match="three"):
                    compiled(torch.ones(3))
            else:
                assert compiled(torch.ones(2)).tolist() == [2, 2]


def test_within_another_capture_it_is_part_of_that():
    inner = torch.jit(lambda x: x * 3, warmup=5)
    outer = torch.jit(lambda x: inner(x) + 1)
    assert outer(torch.ones(1)).item() == 4
    assert outer.compiles == 1
    assert inner.compiles == 0


def test_compiled_functions_that_it_calls_are_eager_meanwhile():
    inner = torch.jit(lambda x: x * 3)
    outer = torch.jit(lambda x: inner(x) + 1, warmup=2)
    for _ in range(4):
        assert outer(torch.ones(1)).item() == 4
    assert inner.compiles == 0
    assert outer.compiles == 1
    assert inner(torch.ones(1)).item() == 3
    assert inner.compiles == 1


def test_state_written_and_donated():
    cache = torch.zeros(4)
    held = cache.view(2, 2)

    def f(x):
        cache[1:3].add_(x)
        return cache * 1

    compiled = torch.jit(f, warmup=2)
    for i in range(1, 6):
        assert compiled(torch.ones(2)).tolist() == [0, i, i, 0]
        assert held.tolist() == [[0, i], [i, 0]]
    assert compiled.compiles == 1


def test_a_random_stream_goes_on():
    def run(wrap):
        torch.manual_seed(3)
        f = wrap(lambda x: x + torch.rand(2) + torch.randn(2))
        return torch.stack([f(torch.zeros(2)) for _ in range(6)]), torch.rand(3)

    for got, expected in zip(run(lambda f: torch.jit(f, warmup=3)), run(lambda f: f), strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-6, atol=1e-7)


def test_inputs_that_want_gradients():
    f = torch.jit(lambda x: (x**3).sum(), warmup=2)
    for i in range(5):
        x = torch.full((2,), float(i), requires_grad=True)
        (g,) = torch.autograd.grad(f(x), x, create_graph=True)
        torch.testing.assert_close(g, 3 * x.detach() ** 2, check_stride=False)
        (h,) = torch.autograd.grad(g.sum(), x)
        torch.testing.assert_close(h, 6 * x.detach())
    assert f.compiles == 1


def test_an_optimized_module_and_a_module_compiled_in_place():
    x = torch.ones(1, 2)
    for compile in (
        lambda m: torch.compile(m, options={"warmup": 2}),
        lambda m: (m.compile(options={"warmup": 2}), m)[1],
    ):
        module = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
        expected = module(x)
        compiled = compile(module)
        inner = compiled.__dict__.get("forward") or compiled.__dict__["_compiled_call_impl"]
        eager = []
        for _ in range(4):
            torch.testing.assert_close(compiled(x), expected)
            eager.append(inner.ran_eagerly)
        assert eager == [True, True, False, False]


def test_the_setting_for_all_functions():
    torch.jit.set_warmup(1)
    try:
        f, g = torch.jit(lambda x: x + 1), torch.jit(lambda x: x + 1, warmup=0)
    finally:
        torch.jit.set_warmup(None)
    f(torch.ones(1)), g(torch.ones(1))
    assert f.ran_eagerly
    assert not g.ran_eagerly


@pytest.mark.parametrize("stance", ["fail_on_recompile", "eager_on_recompile"])
def test_under_a_stance_a_program_that_is_being_compiled_is_one(stance):
    f = torch.jit(lambda x: x + 1, warmup=3)
    f(torch.ones(1)), f(torch.ones(1))
    with torch.compiler.set_stance(stance):
        f(torch.ones(1))
        assert f.ran_eagerly
        f(torch.ones(1))
        assert not f.ran_eagerly
        if stance == "fail_on_recompile":
            with pytest.raises(RuntimeError, match="Detected recompile"):
                f(torch.ones(2))
        else:
            f(torch.ones(2))
            f(torch.ones(2))
            f(torch.ones(2))
            f(torch.ones(2))
            assert f.ran_eagerly


def test_reset_forgets_what_is_being_compiled():
    f = torch.jit(lambda x: x + 1, warmup=2)
    f(torch.ones(1)), f(torch.ones(1))
    f.reset()
    f(torch.ones(1))
    assert f.ran_eagerly


def test_explain_says_so():
    f = torch.jit(lambda x: x + 1, warmup=1)
    assert "warms up" in torch.jit.explain(f)(torch.ones(1)).not_kept
    assert torch.jit.explain(f)(torch.ones(1)).not_kept == ""


def test_a_recompilation_is_told(caplog):
    f = torch.jit(lambda x: x + 1, warmup=1)
    with caplog.at_level(logging.INFO, "torchlike.recompiles"):
        f(torch.ones(2)), f(torch.ones(2)), f(torch.ones(3)), f(torch.ones(3))
    (message,) = [r.getMessage() for r in caplog.records if r.name == "torchlike.recompiles"]
    assert "(2,) → (3,)" in message


@pytest.mark.parametrize(
    ("bad", "error", "words"),
    [
        (-1, ValueError, "warmup must be a number of calls, 0 or more, not -1"),
        (1.5, TypeError, "warmup must be an int, a number of calls, not float"),
        ("2", TypeError, "not str"),
        (True, TypeError, "not bool"),
    ],
)
def test_bad_numbers(bad, error, words):
    for ask in (
        lambda: torch.jit(lambda x: x, warmup=bad),
        lambda: torch.compile(lambda x: x, options={"warmup": bad}),
        lambda: torch.jit.set_warmup(bad),
    ):
        with pytest.raises(error, match=words):
            ask()
