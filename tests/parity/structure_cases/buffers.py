"""Buffers that a body registers, replaces or deletes."""

from __future__ import annotations

from structure_cases.common import called, case, module


@case
def a_buffer_behind_hasattr(torch, jit):
    def forward(self, x):
        if not hasattr(self, "run"):
            self.register_buffer("run", x * 1)
        else:
            self.run = self.run + x
        return self.run * 1

    return called(jit(module(torch, forward)), torch, 0, 1, 2, 3, 4)


@case
def a_buffer_behind_getattr(torch, jit):
    def forward(self, x):
        run = getattr(self, "run", None)
        if run is None:
            self.register_buffer("run", x * 1)
        else:
            self.run = run + x
        return self.run * 1

    return called(jit(module(torch, forward)), torch, 0, 1, 2, 3, 4)


@case
def a_buffer_behind_the_table(torch, jit):
    def forward(self, x):
        if "run" not in self._buffers:
            self.register_buffer("run", x * 1)
        else:
            self.run = self.run + x
        return self.run * 1

    return called(jit(module(torch, forward)), torch, 0, 1, 2, 3, 4)


@case
def a_buffer_behind_try(torch, jit):
    def forward(self, x):
        try:
            self.run = self.run + x
        except AttributeError:
            self.register_buffer("run", x * 1)
        return self.run * 1

    return called(jit(module(torch, forward)), torch, 0, 1, 2, 3, 4)


@case
def a_buffer_behind_dir(torch, jit):
    def forward(self, x):
        if "run" not in dir(self):
            self.register_buffer("run", x * 1)
        else:
            self.run = self.run + x
        return self.run * 1

    return called(jit(module(torch, forward)), torch, 0, 1, 2, 3, 4)


@case
def a_buffer_that_was_none(torch, jit):
    def forward(self, x):
        if self.run is None:
            self.run = x * 1
        else:
            self.run = self.run + x
        return self.run * 1

    return called(jit(module(torch, forward, run=None)), torch, 0, 1, 2, 3, 4)


@case
def a_buffer_of_the_class_buffer(torch, jit):
    def forward(self, x):
        if not hasattr(self, "run"):
            self.run = torch.nn.Buffer(x * 1)
        else:
            self.run = self.run + x
        return self.run * 1

    return called(jit(module(torch, forward)), torch, 0, 1, 2, 3, 4)


@case
def a_buffer_registered_at_each_call(torch, jit):
    def forward(self, x):
        before = sum(b.sum() for b in self.buffers()) if len(list(self.buffers())) else x * 0
        self.register_buffer("last", x * 2)
        return before + self.last

    net = module(torch, forward)
    return called(jit(net), torch, 1, 2, 3, 4), net.last.tolist()


@case
def a_buffer_that_is_not_persistent(torch, jit):
    def forward(self, x):
        y = x + len(self.state_dict())
        self.register_buffer("b", x * 1, persistent="b" in self.state_dict())
        return y

    net = module(torch, forward, b=torch.ones(1))
    f = jit(net)
    found = called(f, torch, 1, 2, 3)
    net.register_buffer("b", torch.ones(1), persistent=False)
    found += called(f, torch, 1, 2, 3)
    net.register_buffer("b", torch.ones(1), persistent=True)
    return found + called(f, torch, 1, 2), sorted(net.state_dict())


@case
def a_buffer_made_in_a_loop(torch, jit):
    def forward(self, x):
        for i in range(3):
            if not hasattr(self, f"b{i}"):
                self.register_buffer(f"b{i}", x * i)
                break
        return x + sum(b.sum() for b in self.buffers())

    net = module(torch, forward)
    return called(jit(net), torch, 1, 2, 3, 4, 5), [n for n, _ in net.named_buffers()]


@case
def a_buffer_counted_by_named_buffers(torch, jit):
    def forward(self, x):
        n = len(dict(self.named_buffers()))
        if n < 2:
            self.register_buffer(f"b{n}", x * 1)
        return x * (n + 1)

    return called(jit(module(torch, forward)), torch, 1, 2, 3, 4, 5)


@case
def a_buffer_counted_by_state_dict(torch, jit):
    def forward(self, x):
        n = len(self.state_dict())
        if n < 2:
            self.register_buffer(f"b{n}", x * 1)
        return x * (n + 1)

    return called(jit(module(torch, forward)), torch, 1, 2, 3, 4, 5)


@case
def a_buffer_of_another_module(torch, jit):
    net = torch.nn.Linear(1, 1)

    @jit
    def f(x):
        if not hasattr(net, "seen"):
            net.register_buffer("seen", x * 1)
        net.seen = net.seen + 1
        return net.seen * x

    return called(f, torch, 1, 2, 3, 4), sorted(net.state_dict())


@case
def a_buffer_deleted(torch, jit):
    def forward(self, x):
        if hasattr(self, "b"):
            y = x + self.b
            del self.b
            return y
        self.register_buffer("b", x * 10)
        return x * 1

    return called(jit(module(torch, forward)), torch, 1, 2, 3, 4, 5)


@case
def a_buffer_deleted_between_calls(torch, jit):
    def forward(self, x):
        if not hasattr(self, "run"):
            self.register_buffer("run", x * 1)
        self.run = self.run + x
        return self.run * 1

    net = module(torch, forward)
    f = jit(net)
    found = called(f, torch, 1, 2, 3)
    del net.run
    found += called(f, torch, 1, 2, 3)
    net.run = None
    del net.run
    return found + called(f, torch, 1, 2)


@case
def a_buffer_set_to_none_between_calls(torch, jit):
    def forward(self, x):
        state = ("nothing" if self.run is None else "a tensor") if hasattr(self, "run") else "-"
        if state != "a tensor":
            self.register_buffer("run", x * 1)
        self.run = self.run + x
        return self.run + len(state)

    net = module(torch, forward)
    f = jit(net)
    found = called(f, torch, 1, 2, 3)
    net.run = None
    found += called(f, torch, 1, 2, 3)
    del net.run
    return found + called(f, torch, 1, 2, 3)


@case
def a_buffer_replaced_by_a_parameter(torch, jit):
    def forward(self, x):
        y = x * (1 + len(list(self.parameters())))
        if "b" in self._buffers:
            self.b = torch.nn.Parameter(x * 3)
        return y * self.b

    return called(jit(module(torch, forward, b=torch.ones(1))), torch, 1, 2, 3, 4)


@case
def a_cache_of_buffers_by_length(torch, jit):
    def forward(self, x):
        name = f"mask{len(x)}"
        if not hasattr(self, name):
            self.register_buffer(name, torch.arange(len(x)) * 1.0, persistent=False)
        return (x * getattr(self, name)).sum()

    net = module(torch, forward)
    f = jit(net)
    found = [f(torch.ones(n) * n).item() for n in (2, 2, 3, 4, 3, 5, 2, 5, 4, 3)]
    return found, sorted(n for n, _ in net.named_buffers()), len(net.state_dict())


@case
def a_plain_tensor_behind_hasattr(torch, jit):
    def forward(self, x):
        if not hasattr(self, "run"):
            self.run = x * 1
        else:
            self.run = self.run + x
        return self.run * 1

    return called(jit(module(torch, forward)), torch, 0, 1, 2, 3, 4)


@case
def a_plain_attribute_that_is_none_or_missing(torch, jit):
    def forward(self, x):
        if not hasattr(self, "kept"):
            self.kept = None
            return x * 1
        if self.kept is None:
            self.kept = x * 2
            return x * 2
        return x + self.kept

    net = module(torch, forward)
    f = jit(net)
    found = called(f, torch, 1, 2, 3, 4, 5)
    del net.kept
    return found + called(f, torch, 1, 2, 3)


@case
def a_tensor_attribute_missing_again(torch, jit):
    def forward(self, x):
        y = x * (2 if hasattr(self, "h") else 1)
        self.h = y * 1
        return y

    net = module(torch, forward)
    f = jit(net)
    found = called(f, torch, 1, 2, 3)
    net.h = None
    found += called(f, torch, 1, 2)
    del net.h
    return found + called(f, torch, 1, 2)
