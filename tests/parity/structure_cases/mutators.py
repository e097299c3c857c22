"""The library's other functions that change modules, hooks or optimizers in place."""

from __future__ import annotations

import copy
import importlib
from types import SimpleNamespace

from structure_cases.common import called, case, scaling


@case
def two_tensors_exchanged(torch, jit):
    net, other = scaling(torch, 2.0), scaling(torch, 5.0)

    @jit
    def f(x):
        y = net(x)
        torch.utils.swap_tensors(net.weight, other.weight)
        return y.detach()

    return called(f, torch, 1, 2, 3, 4), net.weight.tolist()


@case
def a_parametrization_registered_and_removed(torch, jit):
    net = scaling(torch, 2.0)
    parametrize = torch.nn.utils.parametrize

    class Doubled(torch.nn.Module):
        def forward(self, w):
            return w * 2

    @jit
    def f(x):
        if not parametrize.is_parametrized(net):
            parametrize.register_parametrization(net, "weight", Doubled())
        return net(x) * len(list(net.modules()))

    found = called(f, torch, 1, 2, 3)
    parametrize.remove_parametrizations(net, "weight")
    return found + called(f, torch, 1, 2, 3)


@case
def a_schedule_made_inside(torch, jit):
    p, t = torch.nn.Parameter(torch.ones(1)), SimpleNamespace(made=None)
    opt = torch.optim.SGD([p], lr=0.5)

    @jit
    def f(x):
        if t.made is None:
            t.made = torch.optim.lr_scheduler.StepLR(opt, step_size=1, gamma=0.1)
        p.grad = x * 1
        opt.step()
        return p.detach() * 1

    found = []
    for i in (1, 1, 1, 1):
        found += called(f, torch, i)
        t.made.step()
    return found, opt.param_groups[0]["initial_lr"]


@case
def an_average_of_a_model(torch, jit):
    net, t = scaling(torch, 2.0), SimpleNamespace(ema=None)

    @jit
    def f(x):
        if t.ema is None:
            t.ema = torch.optim.swa_utils.AveragedModel(net)
        with torch.no_grad():
            net.weight.add_(1)
        t.ema.update_parameters(net)
        return t.ema(x).detach()

    return called(f, torch, 1, 1, 1, 1, 1)


@case
def all_applied_to(torch, jit):
    net = torch.nn.Sequential(scaling(torch, 2.0), torch.nn.Tanh())

    def grow(m):
        if isinstance(m, torch.nn.Linear) and not hasattr(m, "extra"):
            m.register_buffer("extra", torch.ones(1))

    @jit
    def f(x):
        n = len(list(net.buffers()))
        net.apply(grow)
        return x * (n + 1)

    return called(f, torch, 1, 2, 3)


@case
def a_forward_exchanged(torch, jit):
    net = scaling(torch, 2.0)

    @jit
    def f(x):
        y = net(x)
        net.forward = lambda x: x * 7
        return y

    return called(f, torch, 1, 2, 3, 4)


@case
def a_copy_of_a_module_that_is_kept(torch, jit):
    net, t = scaling(torch, 2.0), SimpleNamespace(last=None)

    @jit
    def f(x):
        y = x * 1 if t.last is None else t.last(x)
        if t.last is None:
            t.last = copy.deepcopy(net)
            t.w = t.last.weight
        with torch.no_grad():
            net.weight.add_(1)
        return y

    found = called(f, torch, 1, 2, 3, 4)
    with torch.no_grad():
        t.w.fill_(9.0)
    return found + called(f, torch, 1), t.w is t.last.weight


@case
def containers_added_to_in_place(torch, jit):
    net = torch.nn.ModuleList([scaling(torch, 2.0)])
    seq = torch.nn.Sequential(torch.nn.Identity())
    rows = torch.nn.ParameterList()

    @jit
    def f(x):
        nonlocal net, seq, rows
        n = len(net) + len(seq) + len(rows)
        if n < 8:
            net += [torch.nn.Identity()]
            seq *= 2
            rows += [torch.nn.Parameter(x.detach())]
        return x * n

    return called(f, torch, 1, 2, 3, 4, 5)


@case
def a_parameter_dict_by_all_its_methods(torch, jit):
    pd = torch.nn.ParameterDict()

    @jit
    def f(x):
        n = len(pd)
        if n == 0:
            pd.update({"a": torch.ones(1)})
        elif n == 1:
            pd.setdefault("b", torch.nn.Parameter(x.detach()))
        elif n == 2:
            pd.pop("a")
            pd["c"] = x.detach()
            pd["d"] = x.detach()
        return x * (n + 1) + sum(p.sum() for p in pd.values())

    return called(f, torch, 1, 2, 3, 4, 5), list(pd)


@case
def a_group_extended_in_place(torch, jit):
    first, second = (torch.nn.Parameter(torch.ones(1)) for _ in range(2))
    opt = torch.optim.SGD([first], lr=0.1)

    @jit
    def f(x):
        opt.zero_grad()
        (first * second * x).sum().backward()
        opt.step()
        params = opt.param_groups[0]["params"]
        if len(params) < 2:
            params.append(second)
        return first.detach() + second.detach()

    return called(f, torch, 1, 1, 1, 1)


@case
def a_step_hook_on_all_optimizers(torch, jit):
    p, handles = torch.nn.Parameter(torch.ones(1)), []
    opt = torch.optim.SGD([p], lr=0.1)
    room = importlib.import_module(f"{torch.__name__}.optim.optimizer")
    register = room.register_optimizer_step_post_hook

    def double(optimizer, args, kwargs):
        with torch.no_grad():
            p.mul_(2)

    @jit
    def f(x):
        handles.append(register(double))
        p.grad = x * 1
        opt.step()
        return p.detach() * 1

    try:
        return called(f, torch, 1, 1, 1, 1)
    finally:
        for handle in handles:
            handle.remove()


@case
def a_backward_hook_on_all_modules(torch, jit):
    net, handles = scaling(torch, 2.0), []
    register = torch.nn.modules.module.register_module_full_backward_hook

    @jit
    def f(x):
        h = (x * 1).requires_grad_()
        handles.append(register(lambda m, gi, go: (gi[0] * 3,)))
        net(h).sum().backward()
        return h.grad

    try:
        return called(f, torch, 1, 1, 1)
    finally:
        for handle in handles:
            handle.remove()


@case
def a_hook_on_a_parameter(torch, jit):
    net = scaling(torch, 2.0)

    @jit
    def f(x):
        net.weight.register_hook(lambda g: g * 2)
        net.zero_grad()
        net(x).sum().backward()
        return net.weight.grad * 1

    return called(f, torch, 1, 1, 1, 1)


@case
def a_hook_on_a_new_parameter(torch, jit):
    net = torch.nn.Identity()

    @jit
    def f(x):
        if not hasattr(net, "w"):
            net.w = torch.nn.Parameter(x.detach())
        net.zero_grad()
        (net.w * x).sum().backward()
        return net.w.grad * 1

    found = called(f, torch, 2, 3)
    net.w.register_hook(lambda g: g * 2)
    return found + called(f, torch, 2, 3, 4)


@case
def a_scaler_made_inside(torch, jit):
    p, t = torch.nn.Parameter(torch.ones(1)), SimpleNamespace(made=None)
    opt = torch.optim.SGD([p], lr=0.1)

    @jit
    def f(x):
        if t.made is None:
            t.made = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=1)
        opt.zero_grad()
        t.made.scale((p * x).sum()).backward()
        t.made.step(opt)
        t.made.update()
        return p.detach() * 1

    found = called(f, torch, 1, 1, 1, 1)
    return found, t.made.get_scale()


@case
def a_loss_with_state_made_at_each_call(torch, jit):
    w = torch.nn.Parameter(torch.ones(1))

    @jit
    def f(x):
        made = scaling(torch, 3.0)
        made.register_buffer("b", x * 1)
        made.register_forward_hook(lambda m, args, y: y + 1)
        loss = (made(w) + made.b).sum()
        w.grad = None
        loss.backward()
        return w.grad * loss.detach()

    return called(f, torch, 1, 2, 3, 4)


@case
def an_extra_state(torch, jit):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.n = 0

        def get_extra_state(self):
            return self.n

        def set_extra_state(self, state):
            self.n = state + 1

        def forward(self, x):
            y = x * (self.n + len(self.state_dict()))
            self.load_state_dict(self.state_dict())
            return y

    return called(jit(Net()), torch, 1, 2, 3, 4)


@case
def modules_moved_between_parents(torch, jit):
    left, right = torch.nn.ModuleList([scaling(torch, 2.0)]), torch.nn.ModuleList()

    @jit
    def f(x):
        source, target = (left, right) if len(left) else (right, left)
        y = source[0](x) * (1 if source is left else 10)
        target.append(source.pop(0))
        return y

    return called(f, torch, 1, 2, 3, 4), len(left), len(right)


@case
def tied_weights_untied(torch, jit):
    a, b = scaling(torch, 2.0), scaling(torch, 3.0)
    b.weight = a.weight

    @jit
    def f(x):
        y = a(b(x)).detach()
        if a.weight is b.weight:
            b.weight = torch.nn.Parameter(a.weight.detach() + 1)
        with torch.no_grad():
            a.weight.add_(1)
        return y

    return called(f, torch, 1, 1, 1, 1)
