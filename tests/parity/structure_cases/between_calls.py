"""Structure that plain code changes between two calls, and that the body asks for."""

from __future__ import annotations

from structure_cases.common import called, case, module, scaling


@case
def hooks_cleared_in_their_table(torch, jit):
    net = scaling(torch, 2.0)
    net.register_forward_hook(lambda m, args, y: y + 1)
    f = jit(lambda x: net(x))
    found = called(f, torch, 1, 2, 3)
    net._forward_hooks.clear()
    return found + called(f, torch, 1, 2)


@case
def values_of_a_parameter_dict_between_calls(torch, jit):
    def forward(self, x):
        return x * self.table["n"] + self.table["w"] + len(self.table)

    net = module(torch, forward)
    net.table = torch.nn.ParameterDict({"n": 2, "w": torch.ones(1)})
    f = jit(net)
    found = called(f, torch, 1, 2, 3)
    net.table["n"] = 5
    found += called(f, torch, 1, 2)
    net.table["w"] = torch.ones(1) * 10
    found += called(f, torch, 1, 2)
    net.table["more"] = 0
    return found + called(f, torch, 1, 2)


@case
def values_of_a_parameter_list_between_calls(torch, jit):
    def forward(self, x):
        return x * self.rows[0] + self.rows[1]

    net = module(torch, forward)
    net.rows = torch.nn.ParameterList([2, torch.ones(1)])
    f = jit(net)
    found = called(f, torch, 1, 2, 3)
    net.rows[0] = 5
    found += called(f, torch, 1, 2)
    net.rows[1] = torch.ones(1) * 10
    return found + called(f, torch, 1, 2)


@case
def an_attribute_bound_by_another_function(torch, jit):
    net = torch.nn.Identity()

    @jit
    def asks(x):
        return x * (2 if hasattr(net, "h") else 1)

    @jit
    def binds(x):
        net.h = x * 3
        return x

    found = called(asks, torch, 1, 2) + called(binds, torch, 1) + called(asks, torch, 1, 2)
    del net.h
    found += called(asks, torch, 1, 2) + called(binds, torch, 1) + called(asks, torch, 1, 2)
    net.h = None
    return found + called(asks, torch, 1, 2)


@case
def a_buffer_bound_by_another_function(torch, jit):
    net = torch.nn.Identity()

    @jit
    def asks(x):
        return x * (1 + len(dict(net.named_buffers())))

    @jit
    def binds(x):
        net.register_buffer("b", x * 3)
        return x

    found = called(asks, torch, 1, 2) + called(binds, torch, 1, 2, 3) + called(asks, torch, 1, 2)
    del net.b
    return found + called(asks, torch, 1, 2) + called(binds, torch, 1) + called(asks, torch, 1)


@case
def a_group_removed_between_calls(torch, jit):
    first, second = (torch.nn.Parameter(torch.ones(1)) for _ in range(2))
    opt = torch.optim.SGD([first], lr=0.1)

    @jit
    def f(x):
        try:
            opt.add_param_group({"params": [second]})
        except ValueError:
            return x * 2
        return x * 1

    found = called(f, torch, 1, 2, 3)
    opt.param_groups.pop()
    return found + called(f, torch, 1, 2, 3)


@case
def a_module_in_a_table_of_the_users(torch, jit):
    nets = {"a": scaling(torch, 2.0)}

    @jit
    def f(x):
        if "b" not in nets:
            nets["b"] = scaling(torch, 3.0)
            nets["a"].register_buffer("n", x * 1)
        return nets["b"](nets["a"](x)) + nets["a"].n

    return called(f, torch, 1, 2, 3, 4)


@case
def a_name_taken_behind_except(torch, jit):
    net = torch.nn.Identity()

    @jit
    def f(x):
        try:
            net.register_parameter("w", torch.nn.Parameter(torch.ones(1)))
        except KeyError:
            return x * 2
        return x * 3

    found = called(f, torch, 1, 2)
    net.__dict__["w"] = 1
    found += called(f, torch, 1, 2)
    del net.w
    return found + called(f, torch, 1, 2)
