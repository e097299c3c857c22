"""Large results in the memory of earlier ones; made small here, so that 64 KiB are large."""

import gc
import threading

import numpy as np
import pytest

import torchlike as torch
from torchlike._runtime import recycling

N = 1 << 14


@pytest.fixture(autouse=True)
def small(monkeypatch, compiled_at_once):
    monkeypatch.setattr(recycling, "_LEAST", 1 << 16)
    monkeypatch.setattr(recycling, "_FEWEST", 1 << 13)
    monkeypatch.setattr(recycling, "_MOST", 1 << 18)
    monkeypatch.setattr(recycling, "_enabled", True)
    recycling._free.clear()
    forget()
    yield
    forget()
    recycling._free.clear()


def forget():
    """Executables that were traced where other results are large."""
    for function in (torch.add, torch.mul, torch.exp, torch.sin):
        function.spec.cache.clear()


def test_a_result_takes_the_memory_of_one_that_is_gone():
    x = torch.arange(float(N))
    first, second, third = x + 1, x + 2, x + 3
    del first
    (spare,) = recycling._free
    fourth = x + 4
    assert spare.is_deleted()
    assert not recycling._free
    for k, t in enumerate((second, third, fourth), 2):
        np.testing.assert_array_equal(t.jax(), np.arange(N, dtype=np.float32) + k)


def test_not_for_what_is_done_a_few_times():
    x = torch.arange(float(N))
    for k in range(3):
        assert len(recycling._free) == k
        y = x + k
        del y
    assert not any(a.is_deleted() for a in recycling._free)
    (exe,) = torch.add.spec.cache.values()
    assert exe._into is None  # nothing more was compiled
    _ = x + 3
    assert exe._into is not None


def test_only_where_it_is_of_the_same_kind():
    x = torch.arange(float(N))
    for _ in range(4):
        y = x + 1
        del y
    wide = torch.arange(float(2 * N))
    for _ in range(5):
        assert (wide * 2).sum() == 2 * N * (2 * N - 1)
        torch.testing.assert_close((x.to(torch.int32) + 1)[5], torch.tensor(6, dtype=torch.int32))
    assert {a.dtype.name for a in recycling._free} == {"float32", "int32"}


HOLDERS = {
    "another name": lambda y: y,
    "a view": lambda y: y[1:],
    "a view of a view": lambda y: y.view(2, -1)[1],
    "detached": lambda y: y.detach(),
    "jax": lambda y: y.jax(),
    "numpy": lambda y: y.numpy(),
    "a map of the array": lambda y: np.asarray(y.jax()),
    "dlpack": lambda y: np.from_dlpack(y.jax()),
    "storage": lambda y: y.untyped_storage(),
    "a graph": lambda y: torch.ones(N, requires_grad=True) * y,
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_what_somebody_holds_stays(holder):
    def values(held):
        if isinstance(held, torch.UntypedStorage):
            return np.array(held.tolist())
        return np.array(held.detach() if isinstance(held, torch.Tensor) else held)

    x = torch.arange(float(N))
    for _ in range(4):
        y = x + 1
        held = HOLDERS[holder](y)
        before = values(held)
        del y
        for k in range(5):
            z = x + k
            del z
        np.testing.assert_array_equal(values(held), before)


def test_programs_give_the_same_numbers(monkeypatch):
    def run():
        x = torch.linspace(-1, 1, N)
        total = x.clone()
        kept = []
        for k in range(12):
            y = torch.exp(x * k).add_(1)
            total += torch.sin(y * 2 + x) * y
            if k % 3 == 0:
                kept.append(total * k)
        return [np.array(t) for t in (total, *kept)]

    with_memory = run()
    monkeypatch.setattr(recycling, "_enabled", False)
    forget()
    for a, b in zip(with_memory, run(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_no_more_is_put_aside_than_allowed():
    x = torch.arange(float(N))
    results = [x + k for k in range(10)]
    results.clear()
    assert 0 < sum(a.nbytes for a in recycling._free) <= recycling._MOST


def test_results_in_cycles():
    x = torch.arange(float(N))
    for _ in range(3):
        y = x + 1
        setattr(y, "own", y)  # noqa: B010
        del y
        gc.collect()
    assert recycling._free


def test_backward_and_compiled_functions():
    x = torch.linspace(0, 1, N).requires_grad_()
    compiled = torch.jit(lambda t: torch.sin(t * 3) + t)
    for _ in range(4):
        x.grad = None
        with torch.no_grad():
            shifted = x + 1
            shifted = shifted * 2
        (torch.sin(x * 2) * shifted).sum().backward()
        expected = 2 * np.cos(2 * np.array(x.detach())) * np.array(shifted)
        assert x.grad is not None
        np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-5, atol=1e-5)
        with torch.no_grad():
            torch.testing.assert_close(compiled(x), torch.sin(x * 3) + x)


def test_several_threads():
    wrong = []

    def work(k):
        x = torch.full((N,), float(k))
        for i in range(30):
            y = (x + i) * 2
            if not bool((y == 2 * (k + i)).all()):
                wrong.append((k, i))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_an_error_leaves_operands_alone():
    x = torch.arange(float(N))
    for _ in range(4):
        y = x + 1
        del y
    with pytest.raises(RuntimeError, match="must match"):
        _ = x + torch.ones(N - 1)
    assert float((x + 1)[-1]) == N


def test_an_exported_program_has_no_condition_on_what_is_large():
    linear = torch.nn.Linear(128, 128)
    shapes = ({0: torch.export.Dim("batch")},)
    program = torch.export.export(linear, (torch.randn(3, 128),), dynamic_shapes=shapes)
    x = torch.randn(200, 128)
    torch.testing.assert_close(program.module()(x), linear(x))
