"""no_grad, enable_grad, set_grad_enabled, inference_mode: context, decorator, generator, thread."""

import threading

import pytest

import torchlike as torch


@pytest.fixture
def x():
    yield torch.ones(2, requires_grad=True)
    assert torch.is_grad_enabled(), "a test left grad mode switched off"


@pytest.mark.parametrize(
    "mode",
    [torch.no_grad, torch.inference_mode, lambda: torch.set_grad_enabled(False)],
    ids=["no_grad", "inference_mode", "set_grad_enabled"],
)
def test_as_context_decorator_and_around_generators(x, mode):
    with mode():
        assert not (x * 2).requires_grad

    @mode()
    def doubled(t):
        """Twice."""
        return t * 2

    assert torch.is_grad_enabled()
    assert not doubled(x).requires_grad
    assert doubled.__name__ == "doubled"
    assert doubled.__doc__ == "Twice."

    @mode()
    def steps(t):
        try:
            sent = yield t * 2
            yield sent * 2
        except KeyError:
            yield t * 3
        return

    generator = steps(x)
    assert not next(generator).requires_grad
    assert torch.is_grad_enabled()  # not between its steps
    assert not generator.send(x).requires_grad
    assert not generator.throw(KeyError()).requires_grad
    with pytest.raises(StopIteration):
        next(generator)


def test_nesting_and_exceptions(x):
    with torch.no_grad():
        with torch.enable_grad():
            assert (x * 2).requires_grad
            with torch.set_grad_enabled(False):
                assert not (x * 2).requires_grad
        assert not torch.is_grad_enabled()
    with pytest.raises(ValueError, match="mine"), torch.no_grad():
        raise ValueError("mine")
    mode = torch.no_grad()
    with mode, mode:
        assert not torch.is_grad_enabled()


def test_decorators_without_brackets_and_recursion(x):
    @torch.no_grad
    def depth(n):
        return torch.is_grad_enabled() if n == 0 else depth(n - 1)

    @torch.enable_grad()
    def recorded():
        return (x * 2).requires_grad

    assert depth(3) is False
    with torch.no_grad():
        assert recorded()


def test_set_grad_enabled_acts_at_once(x):
    torch.set_grad_enabled(False)
    try:
        assert not (x * 2).requires_grad
    finally:
        torch.set_grad_enabled(True)


def test_multithreading_is_kept_and_told_again(x):
    asked = torch.autograd.is_multithreading_enabled
    assert asked()
    with torch.autograd.set_multithreading_enabled(False) as entered:
        assert entered is None
        assert not asked()
        (x * 2).sum().backward()
    assert asked()

    @torch.autograd.set_multithreading_enabled(False)
    def inside():
        return asked()

    assert inside() is False
    assert asked()
    torch.autograd.set_multithreading_enabled(False)
    try:
        others: list[bool] = []
        thread = threading.Thread(target=lambda: others.append(asked()))
        thread.start()
        thread.join()
        assert others == [True]
        assert not asked()
    finally:
        torch.autograd.set_multithreading_enabled(True)


def test_each_thread_has_its_own(x):
    seen = []
    with torch.no_grad():
        thread = threading.Thread(target=lambda: seen.append((x * 2).requires_grad))
        thread.start()
        thread.join()
    assert seen == [True]


def test_inference_tensors(x):
    with torch.inference_mode():
        y = x * 2
        y.add_(1)
        made = torch.zeros(2)
    assert y.is_inference()
    assert not y.requires_grad
    for write in (
        lambda: y.add_(1),
        lambda: y.copy_(x),
        lambda: y[0].zero_(),
        lambda: made.mul_(2),
    ):
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
            write()
    with pytest.raises(RuntimeError, match="requires_grad=True on inference tensor"):
        made.requires_grad_()
    assert y.clone().add_(1).tolist() == [4, 4]
    with torch.inference_mode(False):
        assert (x * 2).requires_grad


def test_nothing_is_recorded_in_inference_mode_whatever_is_said(x):
    with torch.inference_mode():
        assert not torch.is_grad_enabled()
        with torch.enable_grad():
            assert torch.is_grad_enabled()
            y = x * 2
            with torch.no_grad():
                assert not torch.is_grad_enabled()
            with torch.inference_mode(False):
                assert (x * 2).requires_grad
            assert torch.is_grad_enabled()
        assert not torch.is_grad_enabled()
        torch.set_grad_enabled(True)
        z = x * 2
        assert torch.is_grad_enabled()
        assert torch.is_inference_mode_enabled()
    for made in (y, z):
        assert made.is_inference()
        assert not made.requires_grad
    assert torch.is_grad_enabled()
    assert not torch.is_inference_mode_enabled()
    assert (x * 2).requires_grad


def test_a_jitted_function_asks_what_was_said_in_inference_mode(x):
    f = torch.jit(lambda x: x * (2 if torch.is_grad_enabled() else 3))
    for _ in range(2):
        with torch.inference_mode():
            with torch.enable_grad():
                assert f(x).tolist() == (x * 2).tolist()
            assert f(x).tolist() == (x * 3).tolist()
    assert f.compiles == 2


def test_backward_under_no_grad(x):
    y = (x * x).sum()
    with torch.no_grad():
        y.backward()
    assert x.grad.tolist() == [2, 2]
    assert not x.grad.requires_grad


@pytest.mark.parametrize("mode", [torch.no_grad(), torch.inference_mode()])
def test_a_class_under_the_mode_makes_its_instances_there(mode):
    class Asked:
        def __init__(self):
            self.recorded = torch.is_grad_enabled()

        def ask(self):
            return torch.is_grad_enabled()

    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):
        made = mode(Asked)
    assert not made().recorded
    assert made().ask()


def test_the_data_of_a_tensor_stay():
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match="Deleting tensor data is not allowed"):
        del x.data
