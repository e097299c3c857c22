"""Programs whose body changes the structure of modules, hooks or optimizers, or asks for it.

Each takes the library (ours or real PyTorch) and what compiles a function (or leaves it as it is),
and gives what a script sees: results, and what objects hold afterwards.
"""

from __future__ import annotations

import copy
import importlib
from types import SimpleNamespace
from typing import Any

CASES: dict[str, Any] = {}
#: What torchlike.jit does not compile and says so.
REFUSED = {
    "two_tensors_exchanged": "swap_tensors",
    "a_schedule_made_inside": "scheduler.step",
    "a_module_converted_inside": "tensor.data = value",
    "a_module_pruned_inside": "tensor.data = value",
}


def case(program: Any) -> Any:
    CASES[program.__name__] = program
    return program


def called(f: Any, torch: Any, *values: float) -> list[Any]:
    """The results of one call for each value."""
    found = []
    for value in values:
        y = f(torch.tensor([float(value)]))
        found.append(y.tolist() if isinstance(y, torch.Tensor) else y)
    return found


def module(torch: Any, forward: Any, **tensors: Any) -> Any:
    """A module with that forward, and buffers."""

    class Net(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return forward(self, x)

    net = Net()
    for name, t in tensors.items():
        net.register_buffer(name, t)
    return net


# -- buffers ---------------------------------------------------------------------------------------


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


# -- parameters ------------------------------------------------------------------------------------


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


# -- children --------------------------------------------------------------------------------------


def scaling(torch: Any, factor: float) -> Any:
    made = torch.nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        made.weight.fill_(factor)
    return made


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


# -- hooks -----------------------------------------------------------------------------------------


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


# -- optimizers ------------------------------------------------------------------------------------


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


# -- identity --------------------------------------------------------------------------------------


def trained(torch: Any, net: Any, opt: Any, x: Any, steps: int = 4) -> list[float]:
    """Losses of steps that run eagerly."""
    found = []
    for _ in range(steps):
        loss = (net(x) + 1).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        found.append(loss.item())
    return found


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


# -- whole modules changed at once -----------------------------------------------------------------


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


# -- asked for between calls -----------------------------------------------------------------------


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


# -- other mutators of the library -----------------------------------------------------------------


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
