"""Errors in scripted code, and scripted code that runs eagerly."""

import io
import warnings

import pytest

import torchlike as torch

X = torch.ones(2)
HEAD = "The following operation failed in the TorchScript interpreter.\n"


def raises_by_value(x):
    if x.sum() > 0:
        raise ValueError("the sum", 3)
    return x


def asserts(x, i: int = 0):
    assert i > 0, "i must be positive"
    return x


def wrong_product(x):
    return x @ torch.ones(3)


def wrong_index(x):
    return x[9]


def wrong_key(x):
    return {"a": x}["b"]


class Checked(torch.nn.Module):
    def forward(self, x):
        if x.dim() != 2:
            raise NotImplementedError(f"not for {x.dim()}")
        return x


# What PyTorch 2.13 gives for these: the type, the line that it shows, the last words.
CASES = [
    (
        raises_by_value,
        torch.jit.Error,
        'raise ValueError("the sum", 3)',
        "builtins.ValueError: ('the sum', 3)",
    ),
    (
        asserts,
        torch.jit.Error,
        'assert i > 0, "i must be positive"',
        "RuntimeError: AssertionError: i must be positive",
    ),
    (
        Checked(),
        torch.jit.Error,
        "raise NotImplementedError(",
        "builtins.NotImplementedError: not for 1",
    ),
    (
        wrong_product,
        RuntimeError,
        "return x @ torch.ones(3)",
        "RuntimeError: inconsistent tensor size",
    ),
    (wrong_index, RuntimeError, "return x[9]", "RuntimeError: index 9 is out of"),
    (wrong_key, RuntimeError, 'return {"a": x}["b"]', "RuntimeError: KeyError: b"),
]


@pytest.mark.parametrize(("fn", "kind", "line", "words"), CASES)
@pytest.mark.filterwarnings("ignore:torchlike.jit")
def test_the_error_of_a_scripted_function(fn, kind, line, words):
    scripted = torch.jit.script(fn)
    for _ in range(2):  # the second call knows that it cannot be compiled, or tries again
        with pytest.raises(kind) as caught:
            scripted(X)
        assert type(caught.value) is kind
        text = str(caught.value)
        assert text.startswith(HEAD)
        assert line in text.split(" <--- HERE")[0]
        assert words in text
    assert not issubclass(torch.jit.Error, RuntimeError)


@pytest.mark.filterwarnings("ignore:torchlike.jit")
def test_an_error_passes_through_a_scripted_caller_once():
    inner = torch.jit.script(raises_by_value)
    outer = torch.jit.script(lambda x: inner(x + 1))
    with pytest.raises(torch.jit.Error) as caught:
        outer(X)
    assert str(caught.value).count(HEAD) == 1
    with pytest.raises(torch.jit.Error, match="the sum"):
        torch.compile(lambda x: inner(x))(X)


def test_wrong_arguments_are_no_error_of_the_body():
    with pytest.raises(TypeError, match="missing 1 required"):
        torch.jit.script(asserts)()


@pytest.mark.usefixtures("compiled_at_once")
def test_code_that_reads_values_runs_eagerly_until_it_is_saved():
    scripted = torch.jit.script(lambda x: x * x.sum().item() + int(torch.jit.is_scripting()))
    with pytest.warns(RuntimeWarning, match=r"runs eagerly.*\.item\(\) needs a value") as told:
        assert scripted(X).tolist() == [3, 3]
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert scripted(X * 2).tolist() == [9, 9]
    assert not torch.jit.is_scripting()
    with pytest.raises(torch.jit.JitCaptureError, match=r"cannot be saved.*\.item\(\)"):
        scripted.save(io.BytesIO())
    with pytest.raises(RuntimeError, match=r"has no graph.*\.item\(\)"):
        _ = scripted.graph


@pytest.mark.usefixtures("compiled_at_once")
def test_a_module_that_reads_values_in_training_alone_is_saved_in_evaluation():
    class Noted(torch.nn.Module):
        def forward(self, x):
            if self.training:
                self.seen = float(x.sum())
            return x * 2

    scripted = torch.jit.script(Noted())
    with pytest.warns(RuntimeWarning, match="runs eagerly"):
        scripted(X)
    assert scripted.seen == 2
    with pytest.raises(torch.jit.JitCaptureError, match="cannot be saved"):
        scripted.save(io.BytesIO())
    scripted.eval()(X)
    file = io.BytesIO()
    scripted.save(file)
    file.seek(0)
    assert torch.jit.load(file)(X).tolist() == [2, 2]
