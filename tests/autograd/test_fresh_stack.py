"""Backward passes within backward passes use up no Python stack, and keep the thread's modes."""

import threading

import pytest

import torchlike as torch
from torchlike.autograd import fresh_stack


def nested(depth, seen):
    class Deep(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with torch.enable_grad():
                ctx.x = (x.detach() - 1).requires_grad_()
            return ctx.x.detach()

        @staticmethod
        def backward(ctx, g):
            seen.append((threading.current_thread(), torch.is_anomaly_enabled()))
            if ctx.x.item() > 0:
                with torch.enable_grad():
                    Deep.apply(ctx.x).sum().backward()
            return g

    x = torch.tensor([float(depth)], requires_grad=True)
    Deep.apply(x).sum().backward()
    return x.grad.tolist()


def test_passes_in_each_other_go_on_in_other_threads():
    seen = []
    assert nested(fresh_stack.PASSES + 5, seen) == [1.0]
    assert len(seen) == fresh_stack.PASSES + 5
    assert len({thread for thread, _ in seen}) == 2


def test_modes_go_along():
    seen = []
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        nested(fresh_stack.PASSES + 5, seen)
    assert all(anomaly for _, anomaly in seen)


def test_errors_come_back():
    def broken():
        raise KeyError("inside")

    with pytest.raises(KeyError, match="inside"):
        fresh_stack.call(broken)


def test_modes_that_are_left_are_the_callers():
    before = torch.is_grad_enabled()
    try:
        fresh_stack.call(lambda: torch.set_grad_enabled(not before))
        assert torch.is_grad_enabled() is not before
    finally:
        torch.set_grad_enabled(before)


@pytest.mark.full
def test_ten_thousand_passes_in_each_other():
    assert nested(10_000, []) == [1.0]
