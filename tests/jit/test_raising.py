"""What a compiled function leaves behind when it raises an error of its own."""

import pytest

import torchlike as torch


def make():
    log = []

    def step(x, k):
        log.append(k)
        x.add_(1)
        if k:
            raise ValueError("stop")
        return x * 2

    return step, log


@pytest.mark.parametrize("wrap", [lambda fn: fn, torch.compile], ids=["eager", "compiled"])
def test_what_was_done_before_the_error_stays_done(wrap):
    step, log = make()
    step = wrap(step)
    seen = []
    for k in (0, 1, 1, 0):
        x = torch.zeros(2)
        if k:
            with pytest.raises(ValueError, match="stop"):
                step(x, k)
        else:
            assert step(x, k).tolist() == [2.0, 2.0]
        seen.append(x.tolist())
    assert log == [0, 1, 1, 0]
    assert seen == [[1.0, 1.0]] * 4


def test_a_jitted_function_that_raises_has_done_nothing():
    step, log = make()
    x = torch.zeros(2)
    with pytest.raises(ValueError, match="stop"):
        torch.jit(step)(x, 1)
    assert log == []
    assert x.tolist() == [0.0, 0.0]


def test_an_error_of_the_capture_alone_runs_eagerly_and_is_told():
    def fn(x):
        if torch.compiler.is_compiling():
            raise RuntimeError("not here")
        return x + 1

    compiled = torch.compile(fn)
    with pytest.warns(RuntimeWarning, match="RuntimeError: not here"):
        assert compiled(torch.zeros(2)).tolist() == [1.0, 1.0]
    assert compiled(torch.ones(2)).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("wrap", [torch.jit, torch.compile], ids=["jit", "compile"])
def test_an_inference_tensor_has_a_program_of_its_own(wrap):
    def fn(x):
        return x + 1 if x.is_inference() else x - 1

    compiled = wrap(fn)
    with torch.inference_mode():
        inferred, part = torch.zeros(2), torch.zeros(4)[:2]
    for x in (torch.zeros(2), inferred, torch.zeros(2), part, torch.zeros(4)[:2], inferred):
        assert compiled(x).tolist() == fn(x).tolist()
