"""Scripted and traced functions run operation by operation before they are compiled."""

import io

import pytest
from comparing import close

import torchlike as torch
from torchlike.jit import _first_runs

X = torch.tensor([1.0, 2.0, 3.0])


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """What comes often is compiled at the fourth call, and at the second where it is large."""
    monkeypatch.setattr(_first_runs, "SMALL_CALLS", 3)
    monkeypatch.setattr(_first_runs, "LARGE_CALLS", 1)


def norm(x, by: float = 1.0):
    return x * by / (x * x).sum().sqrt()


def test_sizes_that_change_are_never_compiled():
    scripted, traced = torch.jit.script(norm), torch.jit.trace(norm, X)
    for n in range(4, 24):
        x = torch.arange(1.0, n).requires_grad_()
        for f in (scripted, traced):
            f(x).sum().backward()
        close(x.grad, 2 * torch.autograd.grad(norm(x).sum(), x)[0])
    assert (scripted.compiles, traced.compiles) == (0, 1)
    assert scripted.ran_eagerly


@pytest.mark.parametrize(("n", "calls"), [(8, 3), (1 << 13, 1)])
def test_a_size_that_comes_often_is_compiled(n, calls):
    scripted = torch.jit.script(norm)
    x = torch.arange(1.0, n + 1)
    for _ in range(calls):
        close(scripted(x), norm(x))
    assert scripted.compiles == 0
    close(scripted(x), norm(x))
    assert scripted.compiles == 1


def test_calls_with_other_numbers_are_of_one_kind():
    scripted = torch.jit.script(norm)
    for k in range(9):
        close(scripted(X, k / 2), norm(X, k / 2))
    assert 0 < scripted.compiles <= 3  # from then on the number is an input


def test_a_module_with_large_weights_is_compiled_soon():
    scripted = torch.jit.script(torch.nn.Linear(3, 1 << 12))
    scripted(X)
    scripted(X)
    assert scripted._script.compiles == 1


def test_a_scripted_function_within_another_is_a_part_of_it():
    inner = torch.jit.script(norm)
    outer = torch.jit.script(lambda x: inner(x) + int(torch.jit.is_scripting()))
    for _ in range(5):
        close(outer(X), norm(X) + 1)
    assert (inner.compiles, outer.compiles) == (0, 1)
    assert not torch.jit.is_scripting()


def test_a_first_run_that_raises_is_over():
    def wrong(x):
        raise ValueError("no")

    with pytest.raises(torch.jit.Error, match="ValueError: no"):
        torch.jit.script(wrong)(X)
    assert not torch.jit.is_scripting()


def test_a_graph_is_made_of_the_last_example_and_changes_nothing():
    module = torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.Dropout(0.5))
    scripted = torch.jit.script(module)
    scripted(torch.stack([X, 2 * X]))
    state, mean = torch.get_rng_state(), module[0].running_mean.clone()
    assert "rsqrt" in scripted.graph
    assert torch.get_rng_state().tolist() == state.tolist()
    close(module[0].running_mean, mean)
    assert module[0].num_batches_tracked == 1


def test_what_has_only_run_first_is_saved():
    scripted = torch.jit.script(norm)
    scripted(X)
    scripted(X[:2])
    file = io.BytesIO()
    torch.jit.save(scripted, file)
    file.seek(0)
    loaded = torch.jit.load(file)
    close(loaded(2 * X), norm(2 * X))
    close(loaded(2 * X[:2]), norm(2 * X[:2]))


def test_what_cannot_be_compiled_has_neither_graph_nor_file():
    scripted = torch.jit.script(lambda x: x * x.sum().item())
    assert scripted(X).tolist() == [6, 12, 18]
    assert not hasattr(scripted, "graph")
    with pytest.raises(torch.jit.JitCaptureError, match=r"cannot be saved.*\.item\(\)"):
        scripted.save(io.BytesIO())
