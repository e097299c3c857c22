"""Parameters that a body makes, replaces or deletes, and containers of them."""

from __future__ import annotations

from structure_cases.common import called, case, module


@case
def a_parameter_behind_hasattr(torch, jit):
    def forward(self, x):
        if hasattr(self, "w"):
            y = x * self.w
        else:
            y = x * 1
            self.register_parameter("w", torch.nn.Parameter(x.detach() * 3))
        return y

    return called(jit(module(torch, forward)), torch, 1, 2, 3, 4)


@case
def a_parameter_made_anew_behind_hasattr(torch, jit):
    def forward(self, x):
        scale = self.w if hasattr(self, "w") else 1
        self.w = torch.nn.Parameter(torch.ones(1))
        return x * scale

    return called(jit(module(torch, forward)), torch, 1, 2, 3, 4)


@case
def a_parameter_set_as_an_attribute(torch, jit):
    def forward(self, x):
        n = len(list(self.parameters()))
        setattr(self, f"w{n % 2}", torch.nn.Parameter(x.detach() * 2))
        return x * (n + 1)

    net = module(torch, forward)
    return called(jit(net), torch, 1, 2, 3, 4, 5), [n for n, _ in net.named_parameters()]


@case
def a_parameter_that_was_none(torch, jit):
    def forward(self, x):
        if self.w is None:
            self.w = torch.nn.Parameter(x * 2)
            return x * 1
        return x * self.w

    net = module(torch, forward)
    net.register_parameter("w", None)
    return called(jit(net), torch, 1, 2, 3, 4)


@case
def a_parameter_replaced_at_each_call(torch, jit):
    def forward(self, x):
        self.w = torch.nn.Parameter(self.w.detach() + x)
        return self.w * 2

    net = module(torch, forward)
    net.w = torch.nn.Parameter(torch.ones(1))
    found = called(jit(net), torch, 1, 2, 3, 4)
    return found, isinstance(net.w, torch.nn.Parameter), net.w.is_leaf


@case
def a_parameter_shared_by_name(torch, jit):
    def forward(self, x):
        if "v" not in dict(self.named_parameters(remove_duplicate=False)):
            self.v = self.w
        with torch.no_grad():
            self.v.add_(x)
        return self.w * 1

    net = module(torch, forward)
    net.w = torch.nn.Parameter(torch.ones(1))
    return called(jit(net), torch, 1, 2, 3, 4), net.v is net.w


@case
def a_parameter_deleted(torch, jit):
    def forward(self, x):
        if hasattr(self, "w"):
            y = x * self.w
            delattr(self, "w")
            return y
        return x * 1

    net = module(torch, forward)
    net.w = torch.nn.Parameter(torch.ones(1) * 5)
    return called(jit(net), torch, 1, 2, 3), len(list(net.parameters()))


@case
def a_parameter_dict_that_grows(torch, jit):
    def forward(self, x):
        if len(self.table) < 3:
            self.table[f"k{len(self.table)}"] = torch.nn.Parameter(x.detach() * 1)
        return x * len(self.table) + sum(p.sum() for p in self.table.values())

    net = module(torch, forward)
    net.table = torch.nn.ParameterDict()
    return called(jit(net), torch, 1, 2, 3, 4, 5), list(net.table)


@case
def a_parameter_dict_of_other_values(torch, jit):
    def forward(self, x):
        self.table["n"] = self.table["n"] + 1 if "n" in self.table else 1
        return x * self.table["n"]

    net = module(torch, forward)
    net.table = torch.nn.ParameterDict()
    return called(jit(net), torch, 1, 2, 3, 4)


@case
def a_parameter_dict_that_shrinks(torch, jit):
    def forward(self, x):
        y = x * (1 + len(self.table))
        if len(self.table) > 1:
            self.table.popitem()
        elif len(self.table):
            self.table.clear()
        return y

    net = module(torch, forward)
    net.table = torch.nn.ParameterDict({c: torch.nn.Parameter(torch.ones(1)) for c in "abc"})
    return called(jit(net), torch, 1, 2, 3, 4, 5), list(net.table)


@case
def a_parameter_list_that_grows(torch, jit):
    def forward(self, x):
        if len(self.rows) < 3:
            self.rows.append(torch.nn.Parameter(x.detach() * 1))
        return x * len(self.rows) + sum(p.sum() for p in self.rows)

    net = module(torch, forward)
    net.rows = torch.nn.ParameterList()
    return called(jit(net), torch, 1, 2, 3, 4, 5)


@case
def a_parameter_list_element_exchanged(torch, jit):
    def forward(self, x):
        self.rows[0], self.rows[1] = self.rows[1], self.rows[0]
        return x * self.rows[0]

    net = module(torch, forward)
    net.rows = torch.nn.ParameterList([torch.ones(1) * 2, torch.ones(1) * 5])
    first, second = net.rows
    found = called(jit(net), torch, 1, 2, 3, 4, 5)
    return found, net.rows[0] is second, net.rows[1] is first
