"""Arguments that choose no program, NumPy arrays and lists that are nested too deeply: refused by
torchlike.jit, run eagerly by torch.compile."""

import functools

import numpy as np
import pytest

import torchlike as torch


def added(x, array):
    array += 1
    return x + torch.from_numpy(array)


def test_refused_where_everything_is_compiled():
    for compiled in (torch.jit(added), torch.compile(added, fullgraph=True)):
        with pytest.raises(TypeError, match="NumPy array was passed to a jitted function"):
            compiled(torch.ones(2), np.ones(2))
    with pytest.raises(TypeError, match="NumPy array was passed"):
        torch.jit(lambda f, x: f(x))(functools.partial(added, array=np.ones(2)), torch.ones(2))


def test_run_eagerly_under_compile():
    f = torch.compile(added)
    with pytest.warns(RuntimeWarning, match="NumPy array was passed"):
        assert f(torch.ones(2), np.ones(2)).tolist() == [3.0, 3.0]
    array = np.zeros(3)
    for turn in (1.0, 2.0):  # told once
        assert f(torch.ones(3), array).tolist() == [1.0 + turn] * 3
    assert array.tolist() == [2.0] * 3
    assert f.compiles == 0


def test_other_calls_are_compiled():
    @torch.compile
    def scaled(x, by):
        return x * torch.as_tensor(by)

    with pytest.warns(RuntimeWarning, match="NumPy array was passed"):
        scaled(torch.ones(2), np.ones(2))
    for _ in range(2):
        assert scaled(torch.ones(2), torch.full((2,), 3.0)).tolist() == [3.0, 3.0]
    assert scaled.compiles == 1


def test_a_list_that_is_nested_too_deeply():
    deep = []
    for _ in range(5000):
        deep = [deep]

    def f(x, held):
        return x + len(held[0])

    with pytest.raises(TypeError, match="nested too deeply"):
        torch.jit(f)(torch.ones(2), deep)
    with pytest.warns(RuntimeWarning, match="nested too deeply"):
        assert torch.compile(f)(torch.ones(2), deep).tolist() == [2.0, 2.0]
