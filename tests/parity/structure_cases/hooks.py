"""Hooks of modules that a body registers or removes."""

from __future__ import annotations

from types import SimpleNamespace

from structure_cases.common import called, case, module, scaling


@case
def a_forward_hook_registered_inside(torch, jit):
    net = scaling(torch, 2.0)

    @jit
    def f(x):
        y = net(x)
        if len(net._forward_hooks) < 3:
            net.register_forward_hook(lambda m, args, y: y + 1)
        return y

    return called(f, torch, 1, 2, 3, 4, 5)


@case
def a_forward_hook_registered_at_each_call(torch, jit):
    net = scaling(torch, 2.0)

    @jit
    def f(x):
        net.register_forward_hook(lambda m, args, y: y + 1)
        return net(x)

    return called(f, torch, 1, 2, 3, 4, 5), len(net._forward_hooks)


@case
def a_pre_hook_registered_inside(torch, jit):
    def forward(self, x):
        self.child.register_forward_pre_hook(lambda m, args: (args[0] + 1,))
        return self.child(x)

    net = module(torch, forward)
    net.child = torch.nn.Identity()
    return called(jit(net), torch, 1, 2, 3, 4)


@case
def a_hook_that_is_removed_again(torch, jit):
    net, seen = scaling(torch, 2.0), SimpleNamespace(last=None)

    @jit
    def f(x):
        found = []
        handle = net.register_forward_hook(lambda m, args, y: found.append(y))
        y = net(x)
        handle.remove()
        return y + found[0]

    return called(f, torch, 1, 2, 3, 4), len(net._forward_hooks), seen.last


@case
def a_hook_that_removes_itself(torch, jit):
    net, kept = scaling(torch, 2.0), SimpleNamespace()

    def hook(m, args, y):
        kept.handle.remove()
        return y + 100

    kept.handle = net.register_forward_hook(hook)
    return called(jit(lambda x: net(x)), torch, 1, 2, 3, 4), len(net._forward_hooks)


@case
def a_full_backward_hook_added_inside(torch, jit):
    net = scaling(torch, 2.0)

    @jit
    def f(x):
        x.requires_grad_(False)
        net.zero_grad()
        h = (x * 1).requires_grad_()
        net(h).sum().backward()
        net.register_full_backward_hook(lambda m, gi, go: (gi[0] * 2,))
        return h.grad

    return called(f, torch, 1, 2, 3, 4), len(net._backward_hooks)


@case
def a_full_backward_pre_hook_added_inside(torch, jit):
    net = scaling(torch, 2.0)

    @jit
    def f(x):
        net.register_full_backward_pre_hook(lambda m, go: (go[0] * 2,))
        h = (x * 1).requires_grad_()
        net(h).sum().backward()
        return h.grad

    return called(f, torch, 1, 2, 3, 4), net.weight.grad.tolist()


@case
def a_hook_on_all_modules(torch, jit):
    net, handles = scaling(torch, 2.0), []
    register = torch.nn.modules.module.register_module_forward_hook

    @jit
    def f(x):
        handles.append(register(lambda m, args, y: y + 1))
        return net(x)

    try:
        return called(f, torch, 1, 2, 3, 4)
    finally:
        for handle in handles:
            handle.remove()


@case
def a_hook_on_registration(torch, jit):
    handles = []
    register = torch.nn.modules.module.register_module_buffer_registration_hook

    def forward(self, x):
        if not handles:
            handles.append(register(lambda m, name, b: b * 10))
        self.register_buffer("b", x * 1)
        return self.b * 1

    try:
        return called(jit(module(torch, forward)), torch, 1, 2, 3, 4)
    finally:
        for handle in handles:
            handle.remove()


@case
def a_state_dict_hook_registered_inside(torch, jit):
    def add(module, state, prefix, meta):
        state["n"] = len(state)

    def forward(self, x):
        n = len(self.state_dict())
        if n < 1:
            self._register_state_dict_hook(add)
        return x * (n + 1)

    return called(jit(module(torch, forward)), torch, 1, 2, 3, 4)


@case
def a_state_dict_hook_registered_between_calls(torch, jit):
    def add(module, state, prefix, meta):
        state["n"] = len(state)

    net = module(torch, lambda self, x: x * (1 + len(self.state_dict())))
    f = jit(net)
    found = called(f, torch, 1, 2, 3)
    net._register_state_dict_hook(add)
    return found + called(f, torch, 1, 2, 3)


@case
def a_hook_that_takes_kwargs_between_calls(torch, jit):
    net = scaling(torch, 2.0)
    f = jit(lambda x: net(x))
    found = called(f, torch, 1, 2, 3)
    handle = net.register_forward_hook(lambda m, args, kwargs, y: y + 1, with_kwargs=True)
    found += called(f, torch, 1, 2, 3)
    handle.remove()
    return found + called(f, torch, 1, 2, 3)
