"""torch.compiler: the stance, and what else scripts say to the compiler."""

import numpy as np
import pytest

import torchlike as torch

X = torch.arange(3.0)


@pytest.fixture(autouse=True)
def the_stance_is_put_back():
    yield
    torch.compiler.set_stance("default")


def seen(calls):
    """A function that remembers how each call ran."""

    @torch.compile
    def double(x):
        return x * 2, "compiled" if torch.compiler.is_compiling() else "eager"

    def call(x):
        result, how = double(x)
        calls.append(how)
        assert result.tolist() == [2 * v for v in x.tolist()]

    call.compiled = double
    return call


def test_force_eager_runs_everything_eagerly():
    calls = []
    double = seen(calls)
    double(X)
    with torch.compiler.set_stance("force_eager"):
        for _ in range(2):
            double(X)
    double(X)
    assert calls == ["compiled", "eager", "eager", "compiled"]
    assert double.compiled.compiles == 1


def test_force_eager_reaches_modules_methods_and_data_dependent_code():
    module = torch.nn.Linear(3, 2)
    wanted = module(X)
    compiled = torch.compile(module)

    class Box:
        @torch.jit
        def first(self, x):
            return x[int(x.sum().item()) :]  # needs a value in Python

    torch.compiler.set_stance("force_eager")
    torch.testing.assert_close(compiled(X), wanted)
    assert Box().first(X[:2]).tolist() == [1.0]
    torch.compiler.set_stance("default")
    with pytest.raises(torch.jit.JitCaptureError):
        Box().first(X[:2])


def test_eager_on_recompile_uses_what_is_compiled():
    calls = []
    double = seen(calls)
    with torch.compiler.set_stance("eager_on_recompile"):
        double(X)
    double(X)
    with torch.compiler.set_stance("eager_on_recompile"):
        double(X)
        double(X[:2].clone())
    assert calls == ["eager", "compiled", "compiled", "eager"]


def test_fail_on_recompile_says_what_changed():
    double = seen([])
    with (
        torch.compiler.set_stance("fail_on_recompile"),
        pytest.raises(RuntimeError, match=r"Detected recompile when torch\.compile stance is"),
    ):
        double(X)
    double(X)
    with torch.compiler.set_stance("fail_on_recompile"):
        double(X)
        with pytest.raises(RuntimeError, match=r"shape of argument `x` changed: \(3,\) → \(2,\)"):
            double(torch.ones(2))
    double(torch.ones(2))


def test_eager_then_compile_defers_once_a_function():
    calls = []
    double = seen(calls)
    torch.compiler.set_stance("eager_then_compile")
    for x in (X, X, X, torch.ones(2)):
        double(x)
    assert calls == ["eager", "compiled", "compiled", "compiled"]


def test_a_decorated_function_runs_under_its_stance():
    calls = []
    double = seen(calls)

    @torch.compiler.set_stance("force_eager")
    def inside():
        return double(X)

    double(X)  # decorating did not change the stance
    inside()
    double(X)
    assert calls == ["compiled", "eager", "compiled"]

    @torch.compiler.set_stance("force_eager")
    def rows():
        yield double(X)
        yield double(X)

    for _ in rows():
        double(X)
    assert calls[3:] == ["eager", "compiled", "eager", "compiled"]


def test_stances_nest_and_survive_errors():
    calls = []
    double = seen(calls)
    with torch.compiler.set_stance("force_eager"):
        with torch.compiler.set_stance("default"):
            double(X)
        double(X)
        with pytest.raises(ZeroDivisionError), torch.compiler.set_stance("fail_on_recompile"):
            raise ZeroDivisionError
        double(X)
    double(X)
    assert calls == ["compiled", "eager", "eager", "compiled"]


@pytest.mark.usefixtures("compiled_at_once")
def test_scripts_and_exports_compile_whatever_the_stance():
    torch.compiler.set_stance("force_eager")
    scripted = torch.jit.script(lambda x: (x + 1, torch.compiler.is_compiling()))
    assert scripted(X)[1] is False
    assert scripted.compiles == 1
    assert torch.export.export(torch.nn.Linear(3, 2), (X,)).module()(X).shape == (2,)


def test_explain_says_that_the_stance_left_a_call_eager():
    double = seen([])
    double(X)
    with torch.compiler.set_stance("force_eager"):
        assert (
            torch.jit.explain(double.compiled)(X).not_kept
            == "ran eagerly: torch.compiler.set_stance"
        )
    assert torch.jit.explain(double.compiled)(X).not_kept == ""


def test_what_a_stance_refuses():
    with pytest.raises(RuntimeError, match=r"invalid torch\.compile stance 'lazy'"):
        torch.compiler.set_stance("lazy")
    with pytest.raises(RuntimeError, match="non-default stance cannot have force_backend set"):
        torch.compiler.set_stance("force_eager", force_backend="eager")
    for options in (
        {"force_backend": "eager"},
        {"skip_guard_eval_unsafe": True},
        {"stance": "aot_eager_then_compile"},
    ):
        with pytest.raises(NotImplementedError, match=r"torch\.compiler\.set_stance"):
            torch.compiler.set_stance(**options)

    @torch.compile
    def inside(x):
        torch.compiler.set_stance("force_eager")
        return x

    with pytest.raises(RuntimeError, match=r"attempted to set_stance in a torch\.compile region"):
        inside(X)
    calls = []
    seen(calls)(X)
    assert calls == ["compiled"]  # nothing refused was set


def test_wrap_numpy():
    @torch.compiler.wrap_numpy
    def moments(x, *, scale):
        return {"mean": np.mean(x) * scale, "square": x**2}

    found = moments(X, scale=3)
    assert found["mean"].item() == 3.0
    assert found["square"].tolist() == [0.0, 1.0, 4.0]
    with pytest.raises(torch.jit.JitCaptureError):
        torch.jit(moments)(X, scale=3)
    with pytest.raises(RuntimeError, match="requires grad"):
        moments(X.clone().requires_grad_(), scale=3)


def test_the_rest_gives_what_computes_the_same():
    compiler = torch.compiler
    assert compiler.compile is torch.compile
    assert compiler.nested_compile_region(max_reuse_entries=3)(torch.sin) is torch.sin
    assert compiler.substitute_in_graph(max)(torch.sin) is torch.sin
    with pytest.raises(TypeError):
        compiler.substitute_in_graph(3)
    assert compiler.skip_all_guards_unsafe([1, 2]) == [True, True]
    assert compiler.get_default_backend() == "inductor"
    compiler.set_default_backend("eager")
    assert compiler.get_default_backend() == "eager"
    compiler.set_default_backend(None)
    assert compiler.get_default_backend() == "inductor"
    assert compiler.set_enable_guard_collectives(False) is False
    for refused in (
        lambda: compiler.set_enable_guard_collectives(True),
        compiler.save_cache_artifacts,
        lambda: compiler.load_cache_artifacts(b""),
        lambda: compiler.load_compiled_function(None),
    ):
        with pytest.raises(NotImplementedError):
            refused()
