"""Hooks around forward and backward."""

import pytest

import torchlike as torch
import torchlike.nn as nn
from torchlike.nn.modules import module as module_hooks


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor(3.0))

    def forward(self, x, plus=0.0):
        return x * self.w + plus


def test_forward_hooks_see_and_replace():
    m, log = Scale(), []
    first = m.register_forward_pre_hook(lambda m, args: (args[0] + 1,))
    m.register_forward_pre_hook(
        lambda m, args, kwargs: (args, kwargs | {"plus": 10.0}), with_kwargs=True
    )
    m.register_forward_hook(lambda m, args, out: log.append(args[0].item()))
    m.register_forward_hook(
        lambda m, args, kwargs, out: out + kwargs["plus"], with_kwargs=True, prepend=True
    )
    assert m(torch.tensor(1.0)).item() == 26
    first.remove()
    assert m(torch.tensor(1.0), plus=5.0).item() == 23
    assert log == [2, 1]


def test_a_pre_hook_with_kwargs_returns_a_pair():
    m = Scale()
    m.register_forward_pre_hook(lambda m, args, kwargs: 3, with_kwargs=True)
    with pytest.raises(RuntimeError, match="must return None or a tuple of"):
        m(torch.ones(1))


def test_always_called_hooks_run_when_forward_fails():
    class Broken(nn.Module):
        def forward(self, x):
            raise ValueError("broken")

    m, log = Broken(), []
    m.register_forward_hook(lambda *a: log.append("usual"))
    m.register_forward_hook(lambda m, args, out: log.append(out), always_call=True)
    with pytest.raises(ValueError, match="broken"):
        m(1)
    assert log == [None]


def test_full_backward_hooks_see_and_replace_gradients():
    m, log = Scale(), []
    m.register_full_backward_pre_hook(lambda m, go: (go[0] * 2,))
    m.register_full_backward_hook(
        lambda m, gi, go: log.append((gi[0].item(), gi[1], go[0].item())) or (gi[0] + 100, None)
    )
    x = torch.tensor(2.0, requires_grad=True)
    m(x, 1.0).backward()
    assert log == [(6.0, None, 2.0)]
    assert x.grad.item() == 106
    assert m.w.grad.item() == 4


def test_full_backward_hook_without_inputs_that_require_grad():
    m, log = Scale(), []
    m.register_full_backward_hook(lambda m, gi, go: log.append((gi, go[0].item())))
    with pytest.warns(UserWarning, match="no inputs require gradients"):
        m(torch.tensor(2.0)).backward()
    assert log == [((None,), 1.0)]
    assert m.w.grad.item() == 2


def test_a_backward_hook_returns_as_many_gradients():
    m = Scale()
    m.register_full_backward_hook(lambda m, gi, go: (gi[0], gi[0]))
    with pytest.raises(RuntimeError, match="invalid number of grad_input, got 2, but expected 1"):
        m(torch.ones((), requires_grad=True)).backward()


def test_the_two_kinds_of_backward_hook_exclude_each_other():
    m, log = Scale(), []
    m.register_backward_hook(lambda m, gi, go: log.append(go[0].item()))
    with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full"):
        m.register_full_backward_hook(lambda *a: None)
    with pytest.warns(FutureWarning, match="This hook will be missing some grad_input"):
        m(torch.ones(())).backward()
    assert log == [1.0]


def test_hooks_leave_no_grad_alone():
    m = Scale()
    m.register_full_backward_hook(lambda *a: None)
    with torch.no_grad():
        assert m(torch.ones(())).item() == 3


def test_global_hooks():
    log = []
    handles = [
        module_hooks.register_module_forward_pre_hook(lambda m, args: log.append("pre")),
        module_hooks.register_module_forward_hook(lambda m, args, out: log.append("post")),
        module_hooks.register_module_full_backward_hook(lambda m, gi, go: log.append("backward")),
        module_hooks.register_module_parameter_registration_hook(
            lambda m, name, p: log.append(f"parameter {name}")
        ),
        module_hooks.register_module_buffer_registration_hook(
            lambda m, name, b: log.append(f"buffer {name}")
        ),
        module_hooks.register_module_module_registration_hook(
            lambda m, name, child: log.append(f"module {name}")
        ),
    ]
    try:
        m = Scale()
        m.child = nn.ReLU()
        m.register_buffer("b", torch.ones(1))
        m(torch.ones((), requires_grad=True)).backward()
    finally:
        for handle in handles:
            handle.remove()
    Scale()(torch.ones(()))
    assert log == ["parameter w", "module child", "buffer b", "pre", "post", "backward"]


def test_what_is_kept_beside_a_global_hook_goes_with_it():
    handle = module_hooks.register_module_forward_hook(
        lambda m, args, kwargs, out: None, with_kwargs=True, always_call=True
    )
    tables = (
        module_hooks._global_forward_hooks,
        module_hooks._global_forward_hooks_with_kwargs,
        module_hooks._global_forward_hooks_always_called,
    )
    assert all(handle.id in table for table in tables)
    handle.remove()
    assert not any(handle.id in table for table in tables)
