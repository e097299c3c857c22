"""One tensor or module that several names hold while a body binds it anew."""

from __future__ import annotations

from types import SimpleNamespace

from structure_cases.common import called, case, scaling, trained


@case
def a_model_and_its_weight_by_another_name(torch, jit):
    t = SimpleNamespace()

    @jit
    def setup(x):
        t.m = torch.nn.LayerNorm(2)
        t.w = t.m.weight
        t.o = torch.optim.SGD(t.m.parameters(), lr=0.1)
        return x * 1

    found = []
    for i in range(3):
        found += called(setup, torch, i)
        found += [t.m.weight is t.w, t.o.param_groups[0]["params"][0] is t.w]
        found += trained(torch, t.m, t.o, torch.tensor([1.0, 2.0]))
    return found


@case
def a_model_and_optimizer_made_in_the_step(torch, jit):
    t = SimpleNamespace(m=None)

    @jit
    def step(x):
        if t.m is None:
            t.m = scaling(torch, 2.0)
            t.o = torch.optim.Adam(t.m.parameters(), lr=0.1)
        loss = (t.m(x) ** 2).sum()
        t.o.zero_grad()
        loss.backward()
        t.o.step()
        return loss.detach()

    found = called(step, torch, 1, 1, 1, 1, 1)
    return found, t.o.param_groups[0]["params"][0] is t.m.weight


@case
def a_sequential_and_its_optimizer_grow(torch, jit):
    net = torch.nn.Sequential(scaling(torch, 2.0))
    opt = torch.optim.SGD(net.parameters(), lr=0.01)

    @jit
    def step(x):
        if len(net) < 3:
            layer = scaling(torch, 1.5)
            net.append(layer)
            opt.add_param_group({"params": list(layer.parameters())})
        loss = net(x).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    found = called(step, torch, 1, 1, 1, 1, 1, 1)
    held = {id(p) for g in opt.param_groups for p in g["params"]}
    return found, [id(p) in held for p in net.parameters()]


@case
def a_parameter_replaced_with_a_new_optimizer(torch, jit):
    net, t = scaling(torch, 2.0), SimpleNamespace(o=None)

    @jit
    def renew(x):
        net.weight = torch.nn.Parameter(net.weight.detach() * x)
        t.o = torch.optim.SGD(net.parameters(), lr=0.1)
        return net.weight.detach() * 1

    found = []
    for i in (1, 2, 3):
        found += called(renew, torch, i)
        found.append(t.o.param_groups[0]["params"][0] is net.weight)
        found += trained(torch, net, t.o, torch.tensor([1.0]))
    return found


@case
def a_buffer_by_another_name(torch, jit):
    net, t = torch.nn.Identity(), SimpleNamespace()

    @jit
    def f(x):
        net.register_buffer("b", x * 2)
        t.m = net.b
        return x * 1

    found = []
    for i in (1, 2, 3):
        found += called(f, torch, i)
        t.m.add_(1)
        found += [t.m is net.b, net.b.tolist()]
    return found


@case
def a_parameter_in_a_list_and_a_closure(torch, jit):
    net, held, last = torch.nn.Identity(), [], None

    @jit
    def f(x):
        nonlocal last
        net.w = torch.nn.Parameter(x * 2)
        held.append(net.w)
        last = {"w": (net.w,)}
        return net.w * 3

    found = []
    for i in (1, 2, 3, 4):
        found += called(f, torch, i)
        found += [held[-1] is net.w, last["w"][0] is net.w, len(held)]
        (net.w * 5).sum().backward()
        found.append(held[-1].grad.tolist())
    return found


@case
def a_result_that_is_held_too(torch, jit):
    held, net = [], torch.nn.Identity()

    @jit
    def f(x):
        y = x * 2
        held.append(y)
        net.last = y
        return y

    found = []
    for i in (1, 2, 3, 4):
        y = f(torch.tensor([float(i)]))
        y.add_(1)
        found += [y is held[-1], y is net.last, held[-1].tolist(), net.last.tolist()]
    return found


@case
def a_result_with_history_that_is_held_too(torch, jit):
    held, w = [], torch.nn.Parameter(torch.ones(1))

    @jit
    def f(x):
        y = (x * w) ** 2
        held.append(y)
        held.append(y * 3)
        return y

    found = []
    for i in (1, 2, 3, 4):
        y = f(torch.tensor([float(i)]))
        found += [y is held[-2], held[-1].requires_grad]
        w.grad = None
        (held[-1] + held[-2]).sum().backward()
        found.append(w.grad.tolist())
    return found


@case
def an_argument_that_is_held(torch, jit):
    t = SimpleNamespace(x=None, xs=[])

    @jit
    def f(x):
        t.x = x
        t.xs.append(x)
        return x * 2

    found = []
    for i in (1, 2, 3, 4):
        x = torch.tensor([float(i)])
        found += f(x).tolist()
        x.add_(10)
        found += [t.x is x, t.xs[-1] is x, t.x.tolist()]
    return found


@case
def an_argument_in_an_optimizer(torch, jit):
    t = SimpleNamespace(o=None)

    @jit
    def f(p):
        t.o = torch.optim.SGD([p], lr=0.5)
        return p * 1

    found = []
    for i in (1, 2, 3, 4):
        p = torch.nn.Parameter(torch.tensor([float(i)]))
        found += f(p).tolist()
        p.grad = torch.ones(1)
        t.o.step()
        found += [t.o.param_groups[0]["params"][0] is p, p.tolist()]
    return found


@case
def a_view_of_an_argument_that_is_held(torch, jit):
    t = SimpleNamespace(v=None)

    @jit
    def f(x):
        t.v = x[:1]
        return x * 2

    found = []
    for i in (1, 2, 3, 4):
        x = torch.tensor([float(i), 0.0])
        found += f(x).tolist()
        x.add_(10)
        found += [t.v.tolist(), t.v._base is x]
    return found


@case
def an_argument_that_becomes_a_buffer(torch, jit):
    net = torch.nn.Identity()

    @jit
    def f(x):
        net.register_buffer("b", x)
        net.last = x
        return x * 2

    found = []
    for i in (1, 2, 3, 4):
        x = torch.tensor([float(i)])
        found += f(x).tolist()
        x.add_(10)
        found += [net.b is x, net.last is x, net.b.tolist()]
    return found


@case
def an_argument_that_becomes_a_parameter(torch, jit):
    net = torch.nn.Identity()

    @jit
    def f(x):
        net.w = torch.nn.Parameter(x)
        return x * 2

    found = []
    for i in (1, 2, 3, 4):
        x = torch.tensor([float(i)])
        found += f(x).tolist()
        x.add_(10)
        found.append(net.w.tolist())
    return found


@case
def tied_weights_of_new_modules(torch, jit):
    t = SimpleNamespace()

    @jit
    def f(x):
        t.a, t.b = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
        t.b.weight = t.a.weight
        return x * 1

    found = []
    for i in (1, 2, 3):
        found += called(f, torch, i)
        found.append(t.a.weight is t.b.weight)
    return found


@case
def a_module_that_is_returned(torch, jit):
    t = SimpleNamespace()

    @jit
    def f(x):
        made = torch.nn.LayerNorm(2)
        t.w = made.weight
        return made

    found = []
    for i in (1, 2, 3):
        made = f(torch.tensor([float(i)]))
        found += [made.weight is t.w, made.weight.tolist()]
    return found


@case
def an_optimizer_state_by_another_name(torch, jit):
    p = torch.nn.Parameter(torch.ones(1))
    opt = torch.optim.SGD([p], lr=0.1, momentum=0.9)
    t = SimpleNamespace(m=None)

    @jit
    def f(x):
        p.grad = x * 1
        opt.step()
        t.m = opt.state[p]["momentum_buffer"]
        return p.detach() * 1

    found = []
    for _ in range(4):
        found += called(f, torch, 1)
        found += [t.m is opt.state[p]["momentum_buffer"], t.m.item()]
    return found


@case
def a_gradient_that_is_held(torch, jit):
    p, t = torch.nn.Parameter(torch.ones(1)), SimpleNamespace(g=None)

    @jit
    def f(x):
        p.grad = None
        (p * x).sum().backward()
        t.g = p.grad
        return x * 1

    found = []
    for i in (1, 2, 3, 4):
        found += called(f, torch, i)
        p.grad.mul_(2)
        found += [t.g is p.grad, t.g.tolist()]
    return found
