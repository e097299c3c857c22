"""Optimizers that a body makes, extends or loads the state of."""

from __future__ import annotations

from types import SimpleNamespace

from structure_cases.common import called, case, scaling


@case
def a_group_added_inside(torch, jit):
    first = torch.nn.Parameter(torch.ones(1))
    second = torch.nn.Parameter(torch.ones(1))
    opt = torch.optim.SGD([first], lr=0.1)

    @jit
    def f(x):
        try:
            opt.add_param_group({"params": [second]})
            n = 1
        except ValueError:
            n = 2
        return x * 0 + n

    return called(f, torch, 1, 2, 3, 4), len(opt.param_groups)


@case
def a_group_added_once_and_trained(torch, jit):
    first = torch.nn.Parameter(torch.ones(1))
    second = torch.nn.Parameter(torch.ones(1))
    opt = torch.optim.SGD([first], lr=0.1)

    @jit
    def f(x):
        loss = (first * second * x).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if len(opt.param_groups) < 2:
            opt.add_param_group({"params": [second], "lr": 0.5})
        return loss.detach()

    found = called(f, torch, 1, 1, 1, 1, 1)
    return found, first.tolist(), second.tolist()


@case
def an_optimizer_made_in_the_first_step(torch, jit):
    net, kept = scaling(torch, 2.0), SimpleNamespace(opt=None)

    @jit
    def f(x):
        if kept.opt is None:
            kept.opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        loss = net(x).sum()
        kept.opt.zero_grad()
        loss.backward()
        kept.opt.step()
        return loss.detach()

    return called(f, torch, 1, 1, 1, 1, 1), net.weight.tolist()


@case
def a_step_hook_registered_inside(torch, jit):
    p = torch.nn.Parameter(torch.ones(1))
    opt = torch.optim.SGD([p], lr=0.1)

    def double(optimizer, args, kwargs):
        with torch.no_grad():
            p.mul_(2)

    @jit
    def f(x):
        p.grad = x * 1
        opt.step()
        opt.register_step_post_hook(double)
        return p.detach() * 1

    return called(f, torch, 1, 1, 1, 1)


@case
def a_new_optimizer_for_each_step(torch, jit):
    p = torch.nn.Parameter(torch.ones(1))

    @jit
    def f(x):
        opt = torch.optim.SGD([p], lr=0.1)
        opt.zero_grad()
        (p * x).sum().backward()
        opt.step()
        return p.detach() * 1

    return called(f, torch, 1, 1, 1, 1)


@case
def an_optimizer_state_loaded_inside(torch, jit):
    p = torch.nn.Parameter(torch.ones(1))
    opt = torch.optim.SGD([p], lr=0.1, momentum=0.5)
    saved = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0).state_dict()
    saved["param_groups"][0]["momentum"] = 0.0

    @jit
    def f(x):
        p.grad = x * 1
        opt.step()
        opt.load_state_dict(saved)
        return p.detach() * 1

    return called(f, torch, 1, 1, 1, 1)
