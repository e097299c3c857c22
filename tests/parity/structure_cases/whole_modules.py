"""Whole modules that a body converts, loads, prunes or switches."""

from __future__ import annotations

from structure_cases.common import called, case, scaling


@case
def a_module_converted_inside(torch, jit):
    net = scaling(torch, 2.0)

    @jit
    def f(x):
        y = net(x.to(net.weight.dtype)) * 1
        net.double() if net.weight.dtype == torch.float32 else net.float()
        return y

    return called(f, torch, 1, 2, 3, 4), str(net.weight.dtype)[-7:]


@case
def a_state_loaded_by_assignment(torch, jit):
    net, other = scaling(torch, 2.0), scaling(torch, 5.0)
    held = net.weight

    @jit
    def f(x):
        y = net(x)
        net.load_state_dict(other.state_dict(), assign=True)
        return y

    return called(f, torch, 1, 2, 3, 4), net.weight is held


@case
def a_weight_normed_inside(torch, jit):
    net = torch.nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        net.weight.fill_(3.0)

    @jit
    def f(x):
        if len(list(net.parameters())) == 1:
            torch.nn.utils.parametrizations.weight_norm(net)
        return net(x) * len(list(net.parameters()))

    return called(f, torch, 1, 2, 3, 4), sorted(n for n, _ in net.named_parameters())


@case
def a_module_pruned_inside(torch, jit):
    net = scaling(torch, 2.0)

    @jit
    def f(x):
        if not hasattr(net, "weight_mask"):
            torch.nn.utils.prune.identity(net, "weight")
        else:
            torch.nn.utils.prune.remove(net, "weight")
        return net(x) * (1 + len(list(net.buffers())))

    return called(f, torch, 1, 2, 3, 4, 5)


@case
def requires_grad_switched_inside(torch, jit):
    net = scaling(torch, 2.0)

    @jit
    def f(x):
        y = net(x).detach() * (1 if net.weight.requires_grad else 3)
        net.requires_grad_(not net.weight.requires_grad)
        return y

    return called(f, torch, 1, 2, 3, 4), net.weight.requires_grad


@case
def the_mode_switched_inside(torch, jit):
    net = torch.nn.Dropout(1.0)

    @jit
    def f(x):
        y = net(x)
        net.train(not net.training)
        return y

    return called(f, torch, 1, 2, 3, 4, 5), net.training
