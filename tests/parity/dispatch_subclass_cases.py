"""Programs on wrapper subclasses and modes, run by PyTorch and by torchlike: what they give is
compared. Each takes ``torch`` and gives plain values and tensors."""

from __future__ import annotations

import copy
import io
import pickle


def two_tensor(torch, log=None):
    """A wrapper of two tensors that does to both what is done to it."""
    from importlib import import_module

    dispatch = import_module(torch.__name__ + ".utils._python_dispatch")
    pytree = import_module(torch.__name__ + ".utils._pytree")

    class Two(torch.Tensor):
        @staticmethod
        def __new__(cls, a, b, requires_grad=False):
            made = torch.Tensor._make_wrapper_subclass(
                cls,
                a.size(),
                strides=a.stride(),
                storage_offset=a.storage_offset(),
                dtype=a.dtype,
                device=a.device,
                layout=a.layout,
                requires_grad=requires_grad,
            )
            made.a, made.b = a, b
            return made

        def __init__(self, a, b, requires_grad=False):
            pass

        __torch_function__ = torch._C._disabled_torch_function_impl

        def __repr__(self):
            return f"Two({self.a}, {self.b})"

        def __tensor_flatten__(self):
            return ["a", "b"], None

        @staticmethod
        def __tensor_unflatten__(inner, meta, size, stride):
            return Two(inner["a"], inner["b"])

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            if log is not None:
                log.append(str(func))
            first = pytree.tree_map(lambda x: x.a if isinstance(x, Two) else x, (args, kwargs))
            second = pytree.tree_map(lambda x: x.b if isinstance(x, Two) else x, (args, kwargs))
            out_a, out_b = func(*first[0], **first[1]), func(*second[0], **second[1])
            flat_a, spec = pytree.tree_flatten(out_a)
            flat_b = pytree.tree_leaves(out_b)
            flat = [
                Two(x, y) if isinstance(x, torch.Tensor) else x
                for x, y in zip(flat_a, flat_b, strict=True)
            ]
            out = pytree.tree_unflatten(flat, spec)
            return dispatch.return_and_correct_aliasing(func, args, kwargs, out)

    return Two


def made(torch, log=None, requires_grad=False):
    Two = two_tensor(torch, log)
    a = torch.arange(6.0).reshape(2, 3) + 1
    return Two(a, a * 2, requires_grad)


def parts(t):
    return type(t).__name__, t.a, t.b


def arithmetic(torch):
    x = made(torch)
    return [parts(y) for y in (x + 1, x * x, x.t(), x.sum(), x[0], x.exp().relu(), x @ x.t())]


def attributes(torch):
    x = made(torch)
    said = x.shape, str(x.dtype), str(x.device), x.stride(), x.dim(), x.numel(), x.is_contiguous()
    return (*said, x.requires_grad, x.is_leaf, str(x.layout), x.element_size(), x.storage_offset())


def transposed(torch):
    x = made(torch).t()
    return x.shape, x.stride(), x.is_contiguous(), parts(x.contiguous())


def gradient(torch):
    x = made(torch, requires_grad=True)
    (x * 3).exp().log().sum().backward()
    return parts(x.grad)


def gradient_twice(torch):
    x = made(torch, requires_grad=True)
    for _ in range(2):
        (x * x).sum().backward()
    return parts(x.grad)


def gradient_function(torch):
    x = made(torch, requires_grad=True)
    (g,) = torch.autograd.grad((x**3).sum(), x)
    return parts(g), x.grad is None


def second_gradient(torch):
    x = made(torch, requires_grad=True)
    (g,) = torch.autograd.grad((x * x * x).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    return parts(g.detach()), parts(h)


def with_plain(torch):
    x, p = made(torch, requires_grad=True), torch.ones(2, 3, requires_grad=True)
    (x * p).sum().backward()
    return parts(x.grad), type(p.grad).__name__


def calls_of_linear(torch):
    log = []
    x = made(torch, log)
    log.clear()
    torch.nn.functional.linear(x, torch.ones(4, 3), torch.zeros(4))
    torch.nn.functional.softmax(x, 1)
    x.reshape(3, 2).flatten()
    return log


def calls_of_backward(torch):
    log = []
    x = made(torch, log, requires_grad=True)
    y = torch.nn.functional.relu(x * 2).sum()
    log.clear()
    y.backward()
    return log


def in_place(torch):
    x = made(torch)
    y = x.add_(1)
    x.mul_(2).zero_().fill_(3)
    return y is x, parts(x), x._version >= 0


def out_argument(torch):
    x, y = made(torch), made(torch)
    z = torch.add(x, x, out=y)
    return z is y, parts(y)


def parameter(torch):
    p = torch.nn.Parameter(made(torch))
    return (
        type(p).__name__,
        isinstance(p, torch.nn.Parameter),
        p.requires_grad,
        p.is_leaf,
        (parts(p.detach())),
    )


def module(torch):
    m = torch.nn.Linear(3, 2, bias=False)
    m.weight = torch.nn.Parameter(made(torch))
    loss = m(torch.ones(1, 3)).sum()
    loss.backward()
    return (
        [n for n, _ in m.named_parameters()],
        parts(m.weight.grad),
        (type(m.state_dict()["weight"]).__name__),
    )


def sgd(torch):
    p = torch.nn.Parameter(made(torch))
    optimizer = torch.optim.SGD([p], lr=0.1, foreach=False)
    (p * p).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    return parts(p.detach()), p.grad is None


def adam(torch):
    p = torch.nn.Parameter(made(torch))
    optimizer = torch.optim.AdamW([p], lr=0.1, foreach=False)
    for _ in range(3):
        optimizer.zero_grad()
        (p * p).sum().backward()
        optimizer.step()
    return parts(p.detach()), parts(optimizer.state[p]["exp_avg"])


def momentum(torch):
    p = torch.nn.Parameter(made(torch))
    optimizer = torch.optim.SGD([p], lr=0.1, momentum=0.9, foreach=False)
    for _ in range(2):
        optimizer.zero_grad()
        (p * p).sum().backward()
        optimizer.step()
    return parts(p.detach())


def deep_copy(torch):
    x = made(torch)
    Two = type(x)
    Two.__deepcopy__ = lambda self, memo: Two(
        copy.deepcopy(self.a, memo), copy.deepcopy(self.b, memo), self.requires_grad
    )
    y = copy.deepcopy(x)
    y.a.zero_()
    return parts(x), parts(y)


def deep_copy_by_clone(torch):
    x = made(torch)
    y = copy.deepcopy(x)
    y.a.zero_()
    return parts(x), parts(y), y.requires_grad


def pickled(torch):
    x = made(torch)
    Two = type(x)
    Two.__qualname__ = Two.__name__ = f"Two_{torch.__name__}"
    globals()[Two.__name__] = Two
    y = pickle.loads(pickle.dumps(x))
    return type(y) is Two, parts(y)[1:], y.shape, y.requires_grad


def int8_weight(torch):
    """A linear layer whose weight is int8 values and scales, as weight-only quantization has it."""

    class Int8(torch.Tensor):
        @staticmethod
        def __new__(cls, values, scale):
            return torch.Tensor._make_wrapper_subclass(cls, values.shape, dtype=scale.dtype)

        def __init__(self, values, scale):
            self.values8, self.scale = values, scale

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func is torch.nn.functional.linear:
                x, w, *bias = args
                out = (x @ w.values8.to(x.dtype).t()) * w.scale
                return out if not bias or bias[0] is None else out + bias[0]
            with torch._C.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            aten = torch.ops.aten
            if func in (aten.detach.default, aten.clone.default):
                return Int8(func(args[0].values8), func(args[0].scale))
            raise NotImplementedError(str(func))

    layer = torch.nn.Linear(4, 3)
    weight = (torch.arange(12.0).reshape(3, 4) - 6) / 7
    scale = weight.abs().amax(1) / 127
    values = torch.round(weight / scale[:, None]).to(torch.int8)
    layer.weight = torch.nn.Parameter(Int8(values, scale), requires_grad=False)
    with torch.no_grad():
        layer.bias.fill_(0.5)
    x = torch.arange(8.0).reshape(2, 4)
    state = layer.state_dict()
    try:
        layer.weight + 1
    except NotImplementedError as error:
        refused = str(error)
    kinds = [type(w).__name__ for w in (layer.weight, state["weight"], copy.deepcopy(layer).weight)]
    return layer(x).detach(), list(state), kinds, refused


def transform(torch):
    from importlib import import_module

    dispatch = import_module(torch.__name__ + ".utils._python_dispatch")
    x = made(torch)
    y = dispatch.transform_subclass(x, lambda name, t: t + (1 if name == "a" else 2))
    return (
        parts(y),
        dispatch.is_traceable_wrapper_subclass(x),
        (dispatch.is_traceable_wrapper_subclass(x.a)),
    )


def functions_give_lists(torch):
    x = made(torch)
    return [parts(y) for y in (*x.chunk(2), *x.unbind(), *x.max(1), torch.cat([x, x]), x.std())]


def modes(torch):
    from importlib import import_module

    dispatch = import_module(torch.__name__ + ".utils._python_dispatch")
    log = []

    class Named(dispatch.TorchDispatchMode):
        def __init__(self, name):
            super().__init__()
            self.name = name

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            log.append((self.name, str(func)))
            return func(*args, **(kwargs or {}))

    with Named("outer"):
        with Named("inner"):
            torch.ones(2) + 1
            with dispatch._disable_current_modes():
                torch.ones(3) * 2
        torch.zeros(2)
    torch.zeros(3)
    return log


def mode_over_subclass(torch):
    from importlib import import_module

    dispatch = import_module(torch.__name__ + ".utils._python_dispatch")
    log, seen = [], []
    x = made(torch, log)
    log.clear()

    class Mode(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append((str(func), [t.__name__ for t in types]))
            return func(*args, **(kwargs or {}))

    with Mode():
        x + 1
    return log, seen


def mode_changes_results(torch):
    from importlib import import_module

    dispatch = import_module(torch.__name__ + ".utils._python_dispatch")

    class Doubled(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            return out * 2 if func is torch.ops.aten.add.Tensor else out

    x = torch.ones(3, requires_grad=True)
    with Doubled():
        y = (x + 1) * 3
        y.sum().backward()
    return y.detach(), x.grad


def mode_is_left_by_an_error(torch):
    from importlib import import_module

    dispatch = import_module(torch.__name__ + ".utils._python_dispatch")

    class Broken(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            raise ValueError(str(func))

    try:
        with Broken():
            torch.ones(2)
    except ValueError as error:
        return str(error), (torch.ones(2) + 1), dispatch._get_current_dispatch_mode() is None
    return None


def everyone_declines(torch):
    class Shy(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    x = torch.Tensor._make_wrapper_subclass(Shy, (2,))
    try:
        x + 1
    except TypeError as error:
        return str(error).split("\n")[0]
    return None


def both_protocols(torch):
    log = []

    class Both(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            log.append(("function", func.__name__))
            return super().__torch_function__(func, types, args, kwargs or {})

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            log.append(("dispatch", str(func)))
            plain = [a.inner if isinstance(a, Both) else a for a in args]
            out = func(*plain, **(kwargs or {}))
            made = torch.Tensor._make_wrapper_subclass(cls, out.shape, dtype=out.dtype)
            made.inner = out
            return made

    x = torch.Tensor._make_wrapper_subclass(Both, (2,))
    x.inner = torch.ones(2)
    log.clear()
    y = torch.relu(x)
    return log, type(y).__name__


def same_memory_subclass(torch):
    log = []

    class Logged(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

        @staticmethod
        def __new__(cls, elem):
            made = torch.Tensor._make_subclass(cls, elem, elem.requires_grad)
            made.elem = elem
            return made

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            log.append(str(func))
            plain = [a.elem if isinstance(a, Logged) else a for a in args]
            out = func(*plain, **(kwargs or {}))
            return Logged(out) if isinstance(out, torch.Tensor) else out

    x = Logged(torch.ones(3))
    y = (x + 2).sum()
    return log, type(y).__name__, y.elem, y.item()


def overload_objects(torch):
    add = torch.ops.aten.add
    table = {add.Tensor: 1, torch.ops.aten.mm.default: 2}
    return (
        str(add),
        str(add.Tensor),
        repr(add.Tensor),
        add.Tensor.name(),
        add.Tensor.__name__,
        add.overloads()[0],
        add.Tensor is add.Tensor,
        table[torch.ops.aten.mm.default],
        add.Tensor.overloadpacket is add,
        str(add.Tensor._schema),
        add.Tensor.namespace,
        add.Tensor._overloadname,
        str(torch.ops.aten.relu_.default._schema),
        torch.ops.aten.add_.Tensor._schema.is_mutable,
        add.out._schema.is_mutable,
        [a.name for a in add.Tensor._schema.arguments],
        torch.ops.aten.t.default.is_view,
        add.Tensor(torch.ones(2), 1, alpha=3),
    )


def pickled_overload(torch):
    op = torch.ops.aten.sum.dim_IntList
    return copy.deepcopy(op) is op


def saved_and_loaded(torch):
    x = torch.nn.Parameter(torch.ones(2))
    stream = io.BytesIO()
    torch.save({"x": x}, stream)
    stream.seek(0)
    return torch.load(stream)["x"].detach(), len(pickle.dumps(torch.Size([2]))) > 0


def recorded_jacobian(torch):
    x = made(torch)
    found = torch.autograd.functional.jacobian(lambda x: x.exp().sum(1), x, create_graph=True)
    return type(found).__name__, found.requires_grad, parts(found.detach())


def detached(torch):
    x = made(torch, requires_grad=True)
    y = x.detach()
    z = (x * 2).detach()
    (x * y).sum().backward()
    return y.requires_grad, y.is_leaf, z.requires_grad, (y * 2).requires_grad, parts(x.grad)


PROGRAMS = [
    f
    for f in list(globals().values())
    if callable(f)
    and getattr(f, "__module__", None) == __name__
    and f.__name__ not in ("two_tensor", "made", "parts")
]
