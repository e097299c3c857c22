"""What scripts say to PyTorch's compiler: settings, explain, reset, marks."""

import subprocess
import sys

import pytest

import torchlike as torch


def branches(x):
    return x * len(str(x.sum().item()))  # needs a value in Python


def test_settings_can_be_made_and_unknown_ones_are_refused():
    config = torch._dynamo.config
    with config.patch(recompile_limit=3, verbose=True), config.patch("trace_numpy", False):
        assert (config.recompile_limit, config.verbose, config.trace_numpy) == (3, True, False)
        assert config.get_config_copy()["recompile_limit"] == 3
    assert (config.recompile_limit, config.verbose, config.trace_numpy) == (8, False, True)
    with pytest.raises(AttributeError, match=r"torch\._dynamo\.config\.nonsense does not exist"):
        config.nonsense = 1
    with pytest.raises(AttributeError, match=r"torch\._dynamo\.config\.nonsense does not exist"):
        _ = config.nonsense
    with torch._functorch.config.patch(activation_memory_budget=0.5):
        assert torch._functorch.config.activation_memory_budget == 0.5
    inductor = torch._inductor.config
    inductor.triton.unique_kernel_names = True
    with inductor.patch({"coordinate_descent_tuning": True}):
        assert inductor.coordinate_descent_tuning
    assert not inductor.coordinate_descent_tuning


def test_a_setting_that_fails_leaves_the_others_as_they_were():
    config = torch._dynamo.config
    with pytest.raises(AttributeError), config.patch(verbose=True, nonsense=1):
        pass
    assert config.verbose is False


def test_a_patch_decorates():
    config = torch._dynamo.config

    @config.patch(verbose=True)
    def inside():
        return config.verbose

    assert (inside(), config.verbose) == (True, False)


def test_suppressed_errors_run_eagerly():
    x = torch.ones(3)
    with pytest.raises(torch.jit.JitCaptureError):
        torch.compile(branches, fullgraph=True)(x)
    with torch._dynamo.config.patch(suppress_errors=True):
        compiled = torch.compile(branches, fullgraph=True)
    with pytest.warns(RuntimeWarning, match="runs eagerly"):
        assert compiled(x).tolist() == [3.0] * 3
    with pytest.raises(torch.jit.JitCaptureError):
        torch.compile(branches, fullgraph=True)(x)


def test_explain_counts_graphs():
    found = torch._dynamo.explain(lambda x: x.sin() + 1)(torch.ones(3))
    assert (found.graph_count, found.graph_break_count) == (1, 0)
    assert found.op_count >= 1
    assert str(found).startswith("Graph Count: 1\nGraph Break Count: 0\n")
    assert torch._dynamo.explain(torch.nn.Linear(2, 2), torch.ones(2)).graph_count == 1


def test_explain_names_what_cannot_be_compiled():
    found = torch._dynamo.explain(branches)(torch.ones(3))
    assert (found.graph_count, found.graph_break_count) == (0, 1)
    assert "item()" in found.break_reasons[0]


def test_reset_forgets_programs():
    @torch.jit
    def double(x):
        return x * 2

    x = torch.ones(3)
    double(x)
    double(x)
    assert double.compiles == 1
    torch._dynamo.reset()
    assert double(x).tolist() == [2.0] * 3
    assert double.compiles == 2
    assert torch._dynamo.reset is torch.compiler.reset


def test_marks_look_at_what_they_are_given():
    x = torch.ones(2, 3)
    torch._dynamo.mark_dynamic(x, 0)
    torch._dynamo.maybe_mark_dynamic(x, [0, -1])
    torch._dynamo.mark_static(x, 0)
    with pytest.raises(IndexError, match="Dimension out of range"):
        torch._dynamo.mark_dynamic(x, 2)
    with pytest.raises(TypeError, match="expects a Tensor"):
        torch._dynamo.mark_dynamic(3, 0)


def test_the_decorators_give_what_computes_the_same():
    x = torch.ones(3)
    for decorate in (
        torch._dynamo.optimize("inductor", nopython=True),
        torch._dynamo.disallow_in_graph,
        torch._dynamo.allow_in_graph,
        torch._dynamo.disable,
    ):
        assert decorate(lambda x: x + 1)(x).tolist() == [2.0] * 3
    torch._dynamo.graph_break()
    assert isinstance(torch.compile(torch.nn.Linear(1, 1)), torch._dynamo.OptimizedModule)
    assert torch._dynamo.eval_frame.OptimizedModule is torch._dynamo.OptimizedModule


def test_run_compiles_nothing_new():
    how = torch.compile(lambda x: torch.compiler.is_compiling())
    x = torch.ones(3)
    ran = [torch._dynamo.run(how)(x), how(x), torch._dynamo.run(how)(x)]
    with torch._dynamo.run():
        ran.append(how(torch.ones(2)))
    assert ran == [False, True, True, False]
    assert torch._dynamo.set_stance is torch.compiler.set_stance


def test_a_forbidden_function_is_refused_inside_only():
    twice, thrice = torch._dynamo.forbid_in_graph([lambda x: x * 2, lambda x: x * 3])
    x = torch.ones(2)
    assert (twice(x) + thrice(x)).tolist() == [5.0, 5.0]
    with pytest.raises(AssertionError, match="Attempt to trace forbidden callable"):
        torch.jit(lambda x: thrice(x))(x)
    with pytest.raises(AssertionError, match="only to callables"):
        torch._dynamo.forbid_in_graph(3)


def test_the_innermost_word_on_graph_breaks_counts():
    x = torch.ones(3)

    @torch._dynamo.error_on_graph_break(True)
    def strict(x):
        return branches(x)

    @torch._dynamo.error_on_graph_break(True)
    def lenient_inside(x):
        with torch._dynamo.error_on_graph_break(False):
            return branches(x)

    with pytest.raises(torch.jit.JitCaptureError):
        torch.compile(strict)(x)
    for fullgraph in (False, True):
        with pytest.warns(RuntimeWarning, match="runs eagerly"):
            found = torch.compile(lenient_inside, fullgraph=fullgraph)(x)
        assert found.tolist() == [3.0] * 3


def test_names_without_another_backend():
    x = torch.ones(3)
    assert torch._dynamo.optimize_assert("eager")(lambda x: x + 1)(x).tolist() == [2.0] * 3
    for refused in (torch._dynamo.register_backend, torch._dynamo.lookup_backend):
        with pytest.raises(NotImplementedError, match="XLA is the only backend"):
            refused("mine")


def test_import_torch_is_enough(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import torch\n"
        "import torch._dynamo\n"
        "import torch._inductor.config as inductor\n"
        "torch._dynamo.config.suppress_errors = True\n"
        "inductor.coordinate_descent_tuning = True\n"
        "torch._inductor.config.triton.unique_kernel_names = True\n"
        "print(torch.compile(lambda x: x + 1)(torch.ones(2)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "torchlike", "run", str(script)], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "tensor([2., 2.])\n"), done.stderr
