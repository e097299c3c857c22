"""Programs that call modules, as scripts do; run eagerly, by `torch.compile`, and deferred.

A program gives numbers (a list of arrays or floats). ``compile`` is `torch.compile` or nothing.
"""

import functools
import weakref
from collections import namedtuple

import numpy as np

import torchlike as torch
from torchlike import nn

PROGRAMS = {}


def program(fn):
    PROGRAMS[fn.__name__] = fn
    return fn


def net(*more):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 4), nn.Tanh(), *more, nn.Linear(4, 1))


def points():
    return torch.linspace(-1, 1, 10).reshape(5, 2)


def gradient(y, x, **options):
    return torch.autograd.grad(y.sum(), x, create_graph=True, **options)[0]


def trained(model, loss, compile, steps=3):
    """The losses and parameters of some steps of SGD."""
    optimizer = torch.optim.SGD(model.parameters(), 0.05)

    def step():
        optimizer.zero_grad()
        value = loss(model)
        value.backward()
        optimizer.step()
        return value.item()

    call = compile(step)
    return [*(call() for _ in range(steps)), *(p.detach().numpy() for p in model.parameters())]


@program
def physics_informed(compile):
    def loss(model):
        x = points().requires_grad_()
        u = model(x)
        first = gradient(u, x)
        second = gradient(first[:, 0], x)
        return (second[:, 0] + u[:, 0]).square().mean()

    return trained(net(), loss, compile)


@program
def physics_informed_of_third_order(compile):
    def loss(model):
        x = points().requires_grad_()
        third = gradient(gradient(gradient(model(x), x), x), x)
        return third.square().mean()

    return trained(net(), loss, compile)


@program
def gradient_penalty(compile):
    def loss(model):
        x = points().requires_grad_()
        return (gradient(model(x), x).norm(dim=1) - 1).square().mean()

    return trained(net(), loss, compile)


@program
def gradient_penalty_through_batch_norm(compile):
    def loss(model):
        x = points().requires_grad_()
        return gradient(model(x), x).square().mean()

    return trained(net(nn.BatchNorm1d(4)), loss, compile)


@program
def second_order_through_batch_norm(compile):
    def loss(model):
        x = points().requires_grad_()
        return gradient(gradient(model(x), x), x).square().mean()

    return trained(net(nn.BatchNorm1d(4)), loss, compile)


@program
def hessian_vector_product(compile):
    model, x = net(), points()

    def step():
        parameters = list(model.parameters())
        grads = torch.autograd.grad(model(x).square().sum(), parameters, create_graph=True)
        product = sum((g * torch.ones_like(g)).sum() for g in grads)
        found = torch.autograd.grad(product, parameters)
        return [f.numpy() for f in found]

    call = compile(step)
    return [x for _ in range(3) for x in call()]


@program
def meta_learning(compile):
    def loss(model):
        x = points()
        weights = list(model.parameters())
        inner = model(x).square().mean()
        grads = torch.autograd.grad(inner, weights, create_graph=True)
        moved = [w - 0.1 * g for w, g in zip(weights, grads, strict=True)]
        names = [name for name, _ in model.named_parameters()]
        return (
            torch.func.functional_call(model, dict(zip(names, moved, strict=True)), (x,))
            .square()
            .mean()
        )

    return trained(net(), loss, compile)


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(2, 2)

    def forward(self, x):
        h = self.linear(x)
        return h, h * 2


@program
def retain_grad_of_an_output(compile):
    model, found = Pair(), []

    def step():
        h, y = model(points())
        h.retain_grad()
        y.sum().backward()
        found.append(h.grad.numpy().copy())
        return y.sum().item()

    call = compile(step)
    return [*(call() for _ in range(3)), *found]


@program
def gradient_of_an_output_with_respect_to_another(compile):
    model = Pair()

    def step():
        h, y = model(points())
        return torch.autograd.grad(y.square().sum(), h)[0].numpy().copy()

    call = compile(step)
    return [call() for _ in range(3)]


@program
def hook_on_an_output(compile):
    model, found = Pair(), []

    def step():
        h, y = model(points())
        h.register_hook(lambda g: found.append(g.sum().item()))
        y.sum().backward()
        return y.sum().item()

    call = compile(step)
    return [*(call() for _ in range(3)), *found]


@program
def output_written_in_place(compile):
    model = Pair()

    def step():
        h, y = model(points())
        h.mul_(2)
        (h + y).sum().backward()
        return [h.sum().item(), y.sum().item(), model.linear.weight.grad.sum().item()]

    call = compile(step)
    return [x for _ in range(3) for x in call()]


class FromNumPy(nn.Module):
    def forward(self, array, scale):
        return torch.from_numpy(array).float() * scale


@program
def numpy_array_as_argument(compile):
    model, array = FromNumPy(), np.arange(3.0)

    def step(scale):
        result = model(array, torch.tensor(scale)).sum().item()
        array[0] += 1
        return result

    call = compile(step)
    return [call(2.0) for _ in range(4)]


class Hooked(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(2, 1)
        self.my_hooks = [lambda x: x * 2]
        self.more_hooks = (len,)
        self.last_hooks = "none"

    def forward(self, x):
        x = self.linear(x)
        for hook in self.my_hooks:
            x = hook(x)
        return x


@program
def list_that_is_called_hooks(compile):
    model = Hooked()
    first = trained(model, lambda m: m(points()).square().mean(), compile)
    model.my_hooks.append(lambda x: x + 1)
    return [*first, *trained(model, lambda m: m(points()).square().mean(), compile)]


class NoLength(tuple):
    __slots__ = ()

    def __len__(self):
        raise TypeError("no length")


class TakesTuple(nn.Module):
    def forward(self, x, shape):
        return x * shape[0]


@program
def tuple_without_a_length(compile):
    model, shape = TakesTuple(), NoLength((3, 4))

    def step():
        return model(points(), shape).sum().item()

    call = compile(step)
    return [call() for _ in range(3)]


class HoldsTuple(nn.Module):
    def __init__(self):
        super().__init__()
        self.shape = NoLength((3, 4))

    def forward(self, x):
        return x * self.shape[1]


@program
def attribute_without_a_length(compile):
    model = HoldsTuple()
    call = compile(lambda: model(points()).sum().item())
    return [call() for _ in range(3)]


class HalfBuilt(functools.partial):
    @property
    def func(self):
        raise AttributeError("not built yet")


class HoldsPartial(nn.Module):
    def __init__(self):
        super().__init__()
        self.activation = HalfBuilt(torch.tanh)

    def forward(self, x):
        return self.activation(x) if x.shape[0] > 100 else x * 2


@program
def partial_that_is_half_built(compile):
    model = HoldsPartial()
    call = compile(lambda: model(points()).sum().item())
    return [call() for _ in range(3)]


@program
def per_sample_gradients_by_hooks(compile):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 3), nn.Sigmoid(), nn.Linear(3, 1))
    inputs, found = {}, []

    def forward_hook(module, given, output):
        inputs[module] = given[0]

    def backward_hook(module, grad_input, grad_output):
        found.append(
            torch.einsum("no,ni->noi", grad_output[0], inputs[module].detach()).numpy().copy()
        )

    for layer in model:
        if isinstance(layer, nn.Linear):
            layer.register_forward_hook(forward_hook)
            layer.register_full_backward_hook(backward_hook)

    def step():
        value = model(points().requires_grad_()).square().sum()
        value.backward()
        return value.item()

    call = compile(step)
    return [*(call() for _ in range(3)), *found]


@program
def gradients_asked_inside_hooks(compile):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 3), nn.Sigmoid(), nn.Linear(3, 1))
    kept, found = {}, []

    def forward_hook(module, given, output):
        kept[module] = given[0], output

    def backward_hook(module, grad_input, grad_output):
        output = kept[module][1]
        grads = torch.autograd.grad(
            output, list(module.parameters()), grad_output[0], retain_graph=True
        )
        found.extend(g.numpy().copy() for g in grads)

    for layer in model:
        if isinstance(layer, nn.Linear):
            layer.register_forward_hook(forward_hook)
            layer.register_full_backward_hook(backward_hook)

    def step():
        value = model(points().requires_grad_()).square().sum()
        value.backward(retain_graph=True)
        return value.item()

    call = compile(step)
    return [*(call() for _ in range(3)), *found]


@program
def walk_of_the_graph(compile):
    model = net()

    def step():
        y = model(points())
        names, nodes = [], [y.grad_fn]
        while nodes:
            node = nodes.pop()
            names.append(type(node).__name__)
            nodes += [x for x, _ in node.next_functions if x is not None]
        return [names.count(x) for x in ("AddmmBackward0", "TanhBackward0", "AccumulateGrad")]

    call = compile(step)
    return [x for _ in range(3) for x in call()]


@program
def name_of_the_graph(compile):
    model = net()
    call = compile(lambda: len(model(points()).grad_fn.name()) + model(points()).sum().item())
    return [call() for _ in range(3)]


@program
def variables_of_the_graph(compile):
    model = net()
    shapes = {id(p): i for i, p in enumerate(model.parameters())}

    def step():
        nodes, found = [model(points()).grad_fn], []
        while nodes:
            node = nodes.pop(0)
            if hasattr(node, "variable"):
                found.append(shapes[id(node.variable)])
            nodes += [x for x, _ in node.next_functions if x is not None]
        return found

    call = compile(step)
    return [x for _ in range(3) for x in call()]


@program
def weak_reference_to_the_owner(compile):
    class Part(nn.Module):
        def __init__(self, owner):
            super().__init__()
            self.owner = weakref.proxy(owner)

        def forward(self, x):
            return x * self.owner.scale

    class Owner(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = 2.0
            self.part = Part(self)

        def forward(self, x):
            return self.part(x)

    model = Owner()
    call = compile(lambda: model(points()).abs().sum().item())
    found = [call() for _ in range(3)]
    model.scale = 5.0
    return [*found, call()]


@program
def dead_proxy_as_argument(compile):
    class Ignores(nn.Module):
        def forward(self, x, other):
            return x * 2

    model, gone = Ignores(), weakref.proxy(nn.Linear(1, 1))
    call = compile(lambda: model(points(), gone).abs().sum().item())
    return [call() for _ in range(3)]


class Unequal:
    def __eq__(self, other):
        raise ValueError("not to be compared")

    __hash__ = object.__hash__


@program
def attribute_that_cannot_be_compared(compile):
    class Holds(nn.Module):
        def __init__(self):
            super().__init__()
            self.marks = [Unequal()]

        def forward(self, x):
            return x * len(self.marks)

    model = Holds()
    call = compile(lambda: model(points()).abs().sum().item())
    found = [call() for _ in range(2)]
    model.marks = [Unequal(), Unequal()]
    return [*found, call(), call()]


class Shy:
    def __getattr__(self, name):
        raise RuntimeError(f"{name} is not for you")


@program
def object_whose_attributes_raise(compile):
    class Holds(nn.Module):
        def __init__(self):
            super().__init__()
            self.shy = Shy()

        def forward(self, x):
            return x if self.shy is None else x * 3

    model = Holds()
    call = compile(lambda: model(points()).abs().sum().item())
    return [call() for _ in range(3)]


class BadDictionary(dict):
    def __getitem__(self, key):
        raise RuntimeError("not by key")

    def items(self):
        raise RuntimeError("no items")

    def values(self):
        raise RuntimeError("no values")

    def __iter__(self):
        raise RuntimeError("no keys")


@program
def dictionary_whose_methods_raise(compile):
    class Takes(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = BadDictionary(a=1)

        def forward(self, x, table):
            return x * len(table) * len(self.table)

    model, table = Takes(), BadDictionary(a=1, b=2)
    call = compile(lambda: model(points(), table).abs().sum().item())
    return [call() for _ in range(3)]


@program
def property_that_raises(compile):
    class Holds(nn.Module):
        @property
        def secret(self):
            raise RuntimeError("secret")

        def forward(self, x):
            try:
                return x * self.secret
            except RuntimeError:
                return x * 4

    model = Holds()
    call = compile(lambda: model(points()).abs().sum().item())
    return [call() for _ in range(3)]


@program
def list_that_contains_itself(compile):
    class Takes(nn.Module):
        def forward(self, x, nested):
            return x * len(nested)

    nested = [1]
    nested.append(nested)
    model = Takes()
    call = compile(lambda: model(points(), nested).abs().sum().item())
    return [call() for _ in range(3)]


@program
def named_tuples_and_generators(compile):
    Result = namedtuple("Result", "a b")

    class Gives(nn.Module):
        def forward(self, x):
            return (Result(x * i, i) for i in range(3))

    model = Gives()
    call = compile(lambda: sum(r.a.abs().sum().item() + r.b for r in model(points())))
    return [call() for _ in range(3)]


@program
def error_of_the_module(compile):
    class Refuses(nn.Module):
        def forward(self, x):
            if x.sum() < 100:
                raise ValueError("too small")
            return x

    model = Refuses()

    def step():
        try:
            return model(points()).sum().item()
        except ValueError as error:
            return float(len(str(error)))

    call = compile(step)
    return [call() for _ in range(3)]


@program
def anomaly_detection(compile):
    model = net()

    def loss(model):
        with torch.autograd.detect_anomaly():
            return model(points()).square().mean()

    return trained(model, loss, compile)


@program
def gradient_checkpoint_of_a_module(compile):
    model = net()
    return trained(
        model,
        lambda m: torch.utils.checkpoint.checkpoint(m, points(), use_reentrant=False).mean(),
        compile,
    )


@program
def saved_tensors_of_the_node(compile):
    model = nn.Tanh()

    class Wrap(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = model

        def forward(self, x):
            return self.inner(x)

    wrap = Wrap()

    def step():
        y = wrap(points().requires_grad_())
        return y.grad_fn._saved_result.sum().item()

    call = compile(step)
    return [call() for _ in range(3)]


@program
def dropout_under_higher_derivatives(compile):
    def loss(model):
        x = points().requires_grad_()
        return gradient(gradient(model(x).square(), x), x).square().mean()

    found = trained(net(nn.Dropout(0.5)), loss, compile)
    return [*found, torch.rand(3).numpy()]


class Remembers(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(2, 2)
        self.register_buffer("h", torch.zeros(2))
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x):
        y = torch.tanh(self.linear(x) + self.h)
        self.h = y.detach().mean(0)
        self.count += 1
        return y * self.count


@program
def buffers_under_higher_derivatives(compile):
    def loss(model):
        x = points().requires_grad_()
        y = model(x)
        return gradient(gradient(y, x), x).square().mean()

    model = Remembers()
    found = trained(model, loss, compile)
    return [*found, model.h.numpy(), model.count.item()]


class Comparable:
    """Compares itself only until it is told not to."""

    broken = False

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        if self.broken:
            raise ValueError("not to be compared any more")
        return self.value == other.value

    def __hash__(self):
        return hash(self.value)


@program
def comparison_that_begins_to_raise(compile):
    class Holds(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = {Comparable(1): 2.0}

        def forward(self, x):
            return x * sum(self.table.values())

    model = Holds()
    call = compile(lambda: model(points()).abs().sum().item())
    found = [call() for _ in range(3)]
    Comparable.broken = True
    model.table = {Comparable(1): 4.0}
    found.append(call())
    Comparable.broken = False
    return found


@program
def hooks_that_a_context_switches_on(compile):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 3), nn.Sigmoid(), nn.Linear(3, 1))
    found, active = [], []

    def hook(module, grad_input, grad_output):
        if active:
            found.append(grad_output[0].square().sum().item())

    for layer in model:
        layer.register_full_backward_hook(hook)

    def step():
        value = model(points().requires_grad_()).square().sum()
        active.append(1)
        value.backward()
        active.clear()
        return value.item()

    call = compile(step)
    return [*(call() for _ in range(3)), *found]


@program
def tensor_hook_inside_that_a_context_switches_on(compile):
    found, active = [], []

    class Watched(nn.Linear):
        def forward(self, x):
            y = super().forward(x).tanh()
            y.register_hook(lambda g: g * 2 if active else g)
            return y.square()

    torch.manual_seed(0)
    model = Watched(2, 2)

    def step():
        model.zero_grad()
        value = model(points()).sum()
        active.append(1)
        value.backward()
        active.clear()
        found.append(model.weight.grad.numpy().copy())
        return value.item()

    call = compile(step)
    return [*(call() for _ in range(3)), *found]


@program
def nodes_that_a_forward_hook_collects(compile):
    """As Torch-Pruning finds out which module made which node."""
    model, by_node = net(), {}
    for layer in model:
        layer.register_forward_hook(lambda m, _, y: by_node.update({y.grad_fn: m}))

    def step():
        by_node.clear()
        nodes, found = [model(points()).grad_fn], []
        while nodes:
            node = nodes.pop(0)
            found.append(node in by_node)
            nodes += [x for x, _ in node.next_functions if x is not None]
        return found

    call = compile(step)
    return [x for _ in range(3) for x in call()]
