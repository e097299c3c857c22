"""Children that a body adds, exchanges or removes, and containers of them."""

from __future__ import annotations

from structure_cases.common import called, case, module, scaling


@case
def a_module_list_that_is_appended_to(torch, jit):
    def forward(self, x):
        if len(self.layers) < 3:
            self.layers.append(scaling(torch, 2.0))
        for layer in self.layers:
            x = layer(x)
        return x

    net = module(torch, forward)
    net.layers = torch.nn.ModuleList()
    return called(jit(net), torch, 1, 2, 3, 4, 5)


@case
def a_module_list_that_is_extended(torch, jit):
    def forward(self, x):
        if len(self.layers) < 4:
            self.layers.extend([scaling(torch, 2.0), torch.nn.Identity()])
        for layer in self.layers:
            x = layer(x)
        return x

    net = module(torch, forward)
    net.layers = torch.nn.ModuleList()
    return called(jit(net), torch, 1, 2, 3, 4, 5)


@case
def a_module_list_that_is_inserted_into(torch, jit):
    def forward(self, x):
        if len(self.layers) < 3:
            self.layers.insert(0, scaling(torch, float(len(self.layers))))
        for layer in self.layers:
            x = layer(x) + 1
        return x

    net = module(torch, forward)
    net.layers = torch.nn.ModuleList([torch.nn.Identity()])
    return called(jit(net), torch, 1, 2, 3, 4, 5)


@case
def a_module_list_whose_children_are_exchanged(torch, jit):
    def forward(self, x):
        m = self.layers
        m[0], m[1] = m[1], m[0]
        return m[0](x)

    net = module(torch, forward)
    net.layers = torch.nn.ModuleList([scaling(torch, 2.0), scaling(torch, 5.0)])
    return called(jit(net), torch, 1, 2, 3, 4, 5)


@case
def a_module_list_that_shrinks(torch, jit):
    def forward(self, x):
        if len(self.layers) > 1:
            del self.layers[0]
        for layer in self.layers:
            x = layer(x)
        return x

    net = module(torch, forward)
    net.layers = torch.nn.ModuleList([scaling(torch, float(n)) for n in (2, 3, 5)])
    return called(jit(net), torch, 1, 2, 3, 4), [n for n, _ in net.named_parameters()]


@case
def a_module_list_that_is_popped(torch, jit):
    def forward(self, x):
        last = self.layers.pop(-1) if len(self.layers) > 1 else self.layers[0]
        return last(x)

    net = module(torch, forward)
    net.layers = torch.nn.ModuleList([scaling(torch, float(n)) for n in (2, 3, 5)])
    return called(jit(net), torch, 1, 2, 3, 4), [n for n, _ in net.named_parameters()]


@case
def a_sequential_that_grows(torch, jit):
    net = torch.nn.Sequential(scaling(torch, 2.0))

    @jit
    def f(x):
        if len(net) < 3:
            net.append(scaling(torch, 3.0))
        return net(x)

    return called(f, torch, 1, 2, 3, 4, 5)


@case
def a_sequential_element_set(torch, jit):
    net = torch.nn.Sequential(scaling(torch, 2.0), torch.nn.Identity())

    @jit
    def f(x):
        y = net(x)
        net[1] = torch.nn.ReLU() if isinstance(net[1], torch.nn.Identity) else torch.nn.Tanh()
        return y

    return called(f, torch, -1, -2, -3, -4)


@case
def a_module_dict_that_grows_and_shrinks(torch, jit):
    def forward(self, x):
        if "a" in self.table:
            y = self.table["a"](x)
            self.table.pop("a")
            self.table["b"] = scaling(torch, 7.0)
            return y
        if "b" in self.table:
            y = self.table["b"](x)
            self.table.clear()
            return y
        self.table.update({"a": scaling(torch, 3.0)})
        return x * 1

    net = module(torch, forward)
    net.table = torch.nn.ModuleDict()
    return called(jit(net), torch, 1, 2, 3, 4, 5, 6, 7), list(net.table)


@case
def a_child_replaced_by_assignment(torch, jit):
    def forward(self, x):
        y = self.child(x)
        self.child = scaling(torch, self.n_of(self.child) + 1.0)
        return y

    net = module(torch, forward)
    net.child = scaling(torch, 1.0)
    net.n_of = lambda child: 2.0 if isinstance(child, torch.nn.Linear) else 0.0
    return called(jit(net), torch, 1, 2, 3, 4), net.child.weight.item()


@case
def a_child_made_lazily(torch, jit):
    def forward(self, x):
        if not hasattr(self, "child"):
            self.child = scaling(torch, 4.0)
            return x * 1
        return self.child(x)

    return called(jit(module(torch, forward)), torch, 1, 2, 3, 4)


@case
def a_child_set_to_none(torch, jit):
    def forward(self, x):
        if self.child is None:
            return x * 1
        y = self.child(x)
        self.child = None
        return y

    net = module(torch, forward)
    net.child = scaling(torch, 4.0)
    return called(jit(net), torch, 1, 2, 3), list(net._modules)


@case
def a_child_added_by_name(torch, jit):
    def forward(self, x):
        n = len(list(self.children()))
        if n < 3:
            self.add_module(f"m{n}", torch.nn.Identity())
        return x * (n + 1)

    net = module(torch, forward)
    return called(jit(net), torch, 1, 2, 3, 4, 5), [n for n, _ in net.named_children()]


@case
def a_child_set_by_path(torch, jit):
    net = torch.nn.Sequential(torch.nn.Sequential(scaling(torch, 2.0)))

    @jit
    def f(x):
        y = net(x)
        net.set_submodule("0.0", scaling(torch, 3.0 if len(list(net.modules())) == 3 else 9.0))
        return y

    return called(f, torch, 1, 2, 3, 4)


@case
def a_child_deleted(torch, jit):
    def forward(self, x):
        if hasattr(self, "child"):
            y = self.child(x)
            del self.child
            return y
        return x * 1

    net = module(torch, forward)
    net.child = scaling(torch, 4.0)
    return called(jit(net), torch, 1, 2, 3), list(net.state_dict())


@case
def a_child_replaced_in_named_modules(torch, jit):
    """As quantization and adapters do: every Linear becomes another module, once."""
    net = torch.nn.Sequential(scaling(torch, 2.0), torch.nn.ReLU(), scaling(torch, 3.0))

    class Doubled(torch.nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            return self.inner(x) * 2

    @jit
    def f(x):
        for name, child in list(net.named_children()):
            if isinstance(child, torch.nn.Linear):
                setattr(net, name, Doubled(child))
        return net(x)

    return called(f, torch, 1, 2, 3, 4), [n for n, _ in net.named_parameters()]


@case
def parameters_are_counted(torch, jit):
    net = torch.nn.Sequential(torch.nn.Linear(1, 1))

    @jit
    def f(x):
        n = len(list(net.parameters()))
        if n < 6:
            net.append(torch.nn.Linear(1, 1))
        return x * n

    return called(f, torch, 1, 2, 3, 4, 5)
