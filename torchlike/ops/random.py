"""Random tensors: PyTorch's numbers for a seed, eager and jitted alike.

Numbers are made on the host. While a capture runs, a draw becomes an input of the program: the same
draw is made again, in the same order, before every later run; so a seed gives the same masks and
samples eagerly and jitted, and the generator advances the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike import boxes, devices, dtypes, errors, modes, views
from torchlike.dispatch.inplace import assign
from torchlike.dispatch.memory_order import strides_like
from torchlike.dispatch.out import check_overlap
from torchlike.dispatch.registry import composite, op
from torchlike.dispatch.schema import Input, Inputs, plain_number
from torchlike.layouts import contiguous_format
from torchlike.memory_size import allocating
from torchlike.meta import MetaArray
from torchlike.ops.creation import (
    checked_size,
    finish_into,
    numpy_dtype,
    out_dtype,
    sized,
)
from torchlike.ops.outputs import given
from torchlike.ops.promotion import check_broadcast
from torchlike.random import bernoulli as coins
from torchlike.random import continuous, integers, permutation
from torchlike.random import normal as normals
from torchlike.random import uniform as uniforms
from torchlike.random.engine import Engine
from torchlike.random.generator import Generator, default_generator
from torchlike.random.multinomial import winners as race_winners
from torchlike.storage import device_array
from torchlike.tape import check_in_place
from torchlike.tensor import Tensor, wrap

Fill = Callable[[Engine], np.ndarray]


def draw(generator: Generator | None, fill: Fill) -> Any:
    """``fill(engine)`` as an array; while capturing, an input that is drawn anew for each run.

    Inside a ``vmap`` with randomness="different" it is drawn once for each example, in order.
    """
    levels = boxes.drawing_levels()
    if not levels:
        return _draw(generator, fill)
    sizes = tuple(level.size for level in levels)

    def rows(engine: Engine) -> np.ndarray:
        drawn = np.stack([fill(engine) for _ in range(math.prod(sizes))])
        return drawn.reshape(*sizes, *drawn.shape[1:])

    made = wrap(_draw(generator, rows))
    for level in levels:
        made = wrap(boxes.Batched(level, made))
    return made._read()


def by_values(sample: Callable[..., Tensor], *parameters: Tensor) -> Tensor:
    """``sample(*parameters)``, which looks at values, inside of transforms too: without tangents,
    and in a ``vmap`` for all examples at once, along a first dimension, as PyTorch draws.

    RuntimeError in PyTorch's words where the examples are to have the same random numbers.
    """
    cells = [p._read() for p in parameters]
    level: Any = boxes.top(cells)
    if level is None:
        return sample(*parameters)
    boxed = [type(c) in boxes.BOXES and c.level is level for c in cells]
    inside = [c.value if b else p for c, b, p in zip(cells, boxed, parameters, strict=True)]
    rows = [b and getattr(c, "batched", False) for c, b in zip(cells, boxed, strict=True)]
    if not any(rows):
        return by_values(sample, *inside)
    if level not in boxes.drawing_levels():
        raise RuntimeError(errors.VMAP_SAME_OF_EACH)
    rank = 1 + max(p.dim() for p in parameters)
    inside = [
        t.reshape(t.shape[0], *[1] * (rank - t.dim()), *t.shape[1:]) if is_rows else t
        for t, is_rows in zip(inside, rows, strict=True)
    ]
    levels = modes.current.levels
    modes.current.levels = tuple([one for one in levels if one is not level])
    try:
        return wrap(boxes.Batched(level, by_values(sample, *inside)))
    finally:
        modes.current.levels = levels


def _draw(generator: Generator | None, fill: Fill) -> Any:
    source = default_generator if generator is None else generator
    if not isinstance(source, Generator):
        raise TypeError(f"generator must be a torch.Generator, not {type(source).__name__}")

    def numbers() -> np.ndarray:
        with source.engine.lock:
            return fill(source.engine)

    capture = modes.current.capture
    if capture is None:
        return device_array(numbers())
    source.to_be_undone()
    return capture.host_value(numbers)


def _in_memory_order(
    size: tuple[int, ...], stride: tuple[int, ...], fill: Callable[[tuple[int, ...]], Fill]
) -> Fill:
    """Elements are produced in memory order: a transposed tensor is filled along its memory."""
    if views.is_contiguous(size, stride):
        return fill(size)
    order = views.dense_order(size, stride)
    inner = fill(tuple(size[d] for d in order))
    back = np.argsort(order)
    return lambda engine: inner(engine).transpose(back)


def _overwriting(name: str, grad_name: str) -> Any:
    """What a fill records of a tensor that requires grad: values that do not depend on it."""

    @op(f"{name}_fill", namespaces=(), method=False, inplace=True, needs="nothing",
        grad_name=grad_name)  # fmt: skip
    def overwritten(input: Input, values: Input):
        """The values that were drawn; the gradient of ``input`` is zero."""
        return values

    return overwritten.spec.in_place


#: By the name of the node, which for overloads is not the function's.
_RECORDED = {
    node: _overwriting(node.lower(), f"{node.rstrip('012')}Backward{node[-1]}")
    for node in (
        "Normal0", "Uniform0", "Exponential0", "Geometric0", "Cauchy0", "LogNormal0",
        "Bernoulli1", "Bernoulli2", "Random0", "Random1", "Random2",
    )
}  # fmt: skip


def _replace(t: Tensor, values: Any, node: str) -> Tensor:
    """``values`` in place of what ``t`` held. It stays in the graph where it was, with gradient
    zero before."""
    if t.requires_grad and modes.current.grad_enabled:
        return _RECORDED[node](t, wrap(values))
    assign(t, wrap(values))
    return t


def _refill(
    t: Tensor, generator: Any, fill: Callable[[tuple[int, ...]], Fill], node: str
) -> Tensor:
    """Fill in place: the old value is gone."""
    check_in_place(t)
    views.check_writable(t._geometry)
    if t.numel() and not t.is_meta:
        size, stride, _ = t._geometry
        _replace(t, draw(generator, _in_memory_order(size, stride, fill)), node)
    return t


def _made(
    fill: Fill, generator: Any, size: tuple[int, ...], dtype: np.dtype, out: Any, device: Any,
    requires_grad: Any, layout: Any = None, each: Any = True,
) -> Tensor:  # fmt: skip
    if devices.resolve(device).type == "meta":
        array: Any = MetaArray(size, dtype)
    else:
        with allocating(size, dtype):
            array = draw(generator, fill)
    return finish_into(out, array, device, requires_grad, layout, each=each)


def _made_like(
    model: Tensor, fill_of: Callable[[tuple[int, ...], bool], Fill], generator: Any,
    dtype: np.dtype, device: Any, requires_grad: Any, memory_format: Any,
) -> Tensor:  # fmt: skip
    """Random numbers in the memory order of a model; ``fill_of(size, contiguous)``."""
    size = model._geometry.size
    stride = strides_like(model._geometry, memory_format)
    contiguous = views.is_contiguous(size, stride)
    fill = _in_memory_order(size, stride, lambda s: fill_of(s, contiguous))
    made = _made(fill, generator, size, dtype, None, device or model.device, requires_grad)
    if stride != views.contiguous_strides(size):
        made._storage.strides = stride
    return made


# -- uniform and normal ----------------------------------------------------------------------------


def _require_float(dtype: np.dtype, name: str) -> None:
    if dtypes.from_numpy_dtype(dtype).category < 2:
        scalar = dtypes.scalar_type(dtype)
        raise NotImplementedError(f"\"{name}\" not implemented for '{scalar}'")


def _size_function(name: str, fill_of: Callable[..., Fill], kernel: str) -> None:
    """``name`` and ``name_like`` from ``fill_of(shape, dtype, contiguous)``."""

    def function(
        *size: Any, generator: Any = None, out: Any = None, dtype: Any = None, layout: Any = None,
        device: Any = None, requires_grad: Any = False, pin_memory: Any = False, names: Any = None,
        **kw: Any,
    ) -> Tensor:  # fmt: skip
        shape = sized(size, kw, name)
        kind = out_dtype(out, dtype)
        _require_float(kind, kernel)
        return _made(fill_of(shape, kind, True), generator, shape, kind, out, device, requires_grad,
                     layout)  # fmt: skip

    def like(
        input: Tensor, *, generator: Any = None, dtype: Any = None, layout: Any = None,
        device: Any = None, requires_grad: Any = False, pin_memory: Any = False,
        memory_format: Any = None,
    ) -> Tensor:  # fmt: skip
        kind = input.dtype.numpy if dtype is None else numpy_dtype(dtype)
        _require_float(kind, kernel)
        return _made_like(input, lambda s, c: fill_of(s, kind, c), generator, kind, device,
                          requires_grad, memory_format)  # fmt: skip

    function.__doc__ = f"Random numbers of the given size: {name}."
    like.__doc__ = f"``{name}`` with the size, dtype and memory order of ``input``."
    composite(name, method=False)(function)
    composite(f"{name}_like", method=False)(like)


_size_function("rand", lambda s, d, c: lambda e: uniforms.uniform(e, s, d), "check_uniform_bounds")
_size_function(
    "randn", lambda s, d, c: lambda e: normals.normal(e, s, d, 0.0, 1.0, c), "normal_kernel_cpu"
)


@composite(namespaces=())
def uniform_(
    input: Tensor, from_: float = 0.0, to: float = 1.0, *, generator: Any = None, **kw: Any
) -> Tensor:
    """Fill with uniform numbers of ``[from, to)``. RuntimeError when from > to."""
    low = float(plain_number(kw.pop("from", kw.pop("a", from_)), "uniform_", "from", 1))
    high = float(plain_number(kw.pop("b", to), "uniform_", "to", 2))
    dtype = input.dtype.numpy
    _require_float(dtype, "check_uniform_bounds")
    if low > high:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}"
        )
    return _refill(
        input, generator, lambda s: lambda e: uniforms.uniform(e, s, dtype, low, high), "Uniform0"
    )


@composite(namespaces=())
def normal_(input: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with normal numbers. RuntimeError when std is negative."""
    plain_number(mean, "normal_", "mean", 1)
    _check_std(plain_number(std, "normal_", "std", 2))
    dtype = input.dtype.numpy
    _require_float(dtype, "normal_kernel_cpu")
    contiguous = input.is_contiguous()
    return _refill(
        input, generator,
        lambda s: lambda e: normals.normal(e, s, dtype, float(mean), float(std), contiguous),
        "Normal0",
    )  # fmt: skip


def _check_std(std: Any) -> None:
    if not isinstance(std, Tensor) and std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")


@composite(method=False)
def normal(
    mean: Any, std: Any = 1.0, size: Any = None, *, generator: Any = None, out: Any = None,
    dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: Any = False,
    pin_memory: Any = False,
) -> Tensor:  # fmt: skip
    """Normal numbers with mean and standard deviation given as numbers or tensors."""
    _check_std(std)
    tensors = [v for v in (mean, std) if isinstance(v, Tensor)]
    if not tensors:
        shape = checked_size((size,), "normal")
        kind = out_dtype(out, dtype)
        return _made(
            lambda e: normals.normal(e, shape, kind, float(mean), float(std)),
            generator,
            shape,
            kind,
            out,
            device,
            requires_grad,
            layout,
        )
    if any(t.is_meta for t in tensors):
        shape = np.broadcast_shapes(*(tuple(t.shape) for t in tensors))
        return given(out, wrap(MetaArray(shape, tensors[0].dtype.numpy)), cast=True)
    if isinstance(std, Tensor) and modes.current.capture is None and (
        std.numel() and float(boxes.innermost(std).detach().min()) < 0
    ):  # fmt: skip
        raise RuntimeError("normal expects all elements of std >= 0.0")
    check_broadcast(*tensors)
    shape = np.broadcast_shapes(*(tuple(t.shape) for t in tensors))
    # The noise is made in the memory of the result; PyTorch resizes that first only where the
    # deviations are a tensor, else the noise has to broadcast with the means.
    kind = (tensors[0] if out is None else out).dtype.numpy
    scale = 1.0 if isinstance(std, Tensor) else float(std)
    if out is not None and not isinstance(std, Tensor):
        shape = tuple(out.shape)
    if out is not None:
        _require_float(out.dtype.numpy, "normal_kernel_cpu")
    z = wrap(draw(generator, lambda e: normals.normal(e, shape, kind, 0.0, scale)))
    with modes.unrecorded():
        # Detached: nothing of the parameters' tangents is in a sample either.
        mean, std = [v.detach() if isinstance(v, Tensor) else v for v in (mean, std)]
        result = z * std + mean if isinstance(std, Tensor) else mean.contiguous() + z
    return given(out, _drawn(result, *tensors), cast=True)


@op("drawn", namespaces=(), method=False, needs="nothing", grad_name="DrawnBackward0")
def _drawn_op(values: Input, parameters: Inputs):
    """The values; their gradient to what they were drawn with is zero."""
    return values


def _drawn(values: Tensor, *parameters: Tensor) -> Tensor:
    """Draws require grad where their parameters do, as in PyTorch, with gradients of zero."""
    wanted = modes.current.grad_enabled and any(p.requires_grad for p in parameters)
    return _drawn_op(values, list(parameters)) if wanted else values


# -- integers --------------------------------------------------------------------------------------


def _range(name: str, low: Any, high: Any) -> tuple[Any, Any]:
    """The ends of ``[low, high)``; one alone is ``high``. TypeError for none."""
    if low is None and high is None:
        raise TypeError(f'{name}() missing 1 required positional arguments: "high"')
    return (0, low if high is None else high) if low is None or high is None else (low, high)


@composite(method=False)
def randint(
    low: Any = None, high: Any = None, size: Any = None, *, generator: Any = None, out: Any = None,
    dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: Any = False,
    pin_memory: Any = False,
) -> Tensor:  # fmt: skip
    """Integers of ``[low, high)`` (``randint(high, size)``: from 0), int64 by default."""
    if size is None:
        low, high, size = None, low, high
    low, high = _checked_range(*_range("randint", low, high))
    shape = checked_size((size,), "randint")
    kind = out_dtype(out, dtype, dtypes.int64)
    return _made(
        lambda e: integers.randint(e, shape, kind, low, high),
        generator,
        shape,
        kind,
        out,
        device,
        requires_grad,
        layout,
    )


def _checked_range(low: Any, high: Any) -> tuple[int, int]:
    low, high = int(low), int(high)
    if low >= high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    return low, high


@composite(method=False)
def randint_like(
    input: Tensor, low: Any = None, high: Any = None, *, generator: Any = None, dtype: Any = None,
    device: Any = None, requires_grad: Any = False, layout: Any = None, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """``randint`` with the size and dtype of ``input``."""
    low, high = _checked_range(*_range("randint_like", low, high))
    kind = numpy_dtype(dtype or input.dtype)
    return _made_like(input, lambda s, c: lambda e: integers.randint(e, s, kind, low, high),
                      generator, kind, device, requires_grad, memory_format)  # fmt: skip


@composite(namespaces=())
def random_(input: Tensor, *args: Any, generator: Any = None, **kw: Any) -> Tensor:
    """Fill with integers: ``random_(from, to)`` of ``[from, to)`` (to None: up to the largest),
    ``random_(to)`` of ``[0, to)``, ``random_()`` over the dtype's exact range.
    """
    given = [*args, kw["to"]] if "to" in kw else list(args)
    given = [kw["from"], *given] if "from" in kw else given
    if len(given) > 2 or kw.keys() - {"from", "to"}:
        raise TypeError("random_() takes from and to, or to, or nothing")
    if len(given) == 1 and "from" not in kw:
        given = [0, *given]
    bounds = () if not given else (
        int(given[0]), None if len(given) == 1 or given[1] is None else int(given[1]))  # fmt: skip
    dtype = input.dtype.numpy
    # With a range; with an end; with neither.
    node = f"Random{2 - len(args) - len(kw)}"
    return _refill(
        input, generator, lambda s: lambda e: integers.random(e, s, dtype, *bounds), node
    )


@composite(method=False)
def randperm(
    n: int, *, generator: Any = None, out: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: Any = False, pin_memory: Any = False,
) -> Tensor:  # fmt: skip
    """A random permutation of 0..n-1."""
    n = int(n)
    if n < 0:
        raise RuntimeError(f"n must be non-negative, got {n}")
    kind = out_dtype(out, dtype, dtypes.int64)
    return _made(lambda e: permutation.randperm(e, n, kind), generator, (n,), kind,
                 out, device, requires_grad, each=False)  # fmt: skip


# -- bernoulli and the other one-uniform fills -----------------------------------------------------


def _check_probability(p: float, name: str = "bernoulli_") -> None:
    if not 0.0 <= p <= 1.0:
        raise RuntimeError(f"{name} expects p to be in [0, 1], but got p={p:g}")


@composite(namespaces=())
def bernoulli_(input: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Fill with ones of probability ``p`` (a number, or a tensor of probabilities) and zeros."""
    dtype = input.dtype.numpy
    if isinstance(p, Tensor):
        chosen = _bernoulli_each(p.expand(input.shape), generator, input._geometry.stride)
        check_in_place(input)
        views.check_writable(input._geometry)
        return _replace(input, chosen.astype(dtype), "Bernoulli1")
    _check_probability(float(p))
    return _refill(
        input, generator,
        lambda s: lambda e: coins.bernoulli(e, s, dtype, float(p)), "Bernoulli2",
    )  # fmt: skip


def _bernoulli_each(p: Tensor, generator: Any, stride: tuple[int, ...] | None = None) -> Any:
    """Bools by each element's probability. The uniforms are drawn, the comparison is traced.

    They are drawn in the order in which what is filled lies in memory (``stride``).
    """
    if p.dtype.category < 2:
        raise RuntimeError("expected probabilities tensor to have floating type, got "
                           f"{dtypes.scalar_type(p.dtype)}")  # fmt: skip
    if modes.current.capture is None and p.numel():
        values = boxes.innermost(p.detach())._value("bernoulli")
        if not ((values >= 0) & (values <= 1)).all():
            raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    n, shape = p.numel(), tuple(p.shape)
    along = stride if stride is not None and n else views.contiguous_strides(shape)
    if p.dtype.name == "float64":
        fill = _in_memory_order(
            shape, along, lambda s: lambda e: uniforms.unit_doubles(e, n).reshape(s)
        )
        return boxes.apply(jnp.less, draw(generator, fill), p._read())
    fill = _in_memory_order(
        shape, along, lambda s: lambda e: uniforms.unit_floats(e.words32(n)).reshape(s)
    )
    u = draw(generator, fill)
    return boxes.apply(jnp.less, u, p._read().astype(np.float32))


@composite()
def bernoulli(input: Tensor, p: Any = None, *, generator: Any = None, out: Any = None) -> Tensor:
    """Zeros and ones by the probabilities in ``input`` (or with one probability ``p``)."""
    if p is not None:
        return (
            input.detach().clone(memory_format=contiguous_format).bernoulli_(p, generator=generator)
        )
    if input.is_meta:
        return given(out, wrap(MetaArray(input.shape, input.dtype.numpy)))
    kind = input.dtype if out is None else out.dtype
    if out is not None:
        check_overlap(out, (input,), "bernoulli")
    if kind.is_complex and input.numel():
        scalar = dtypes.scalar_type(kind)
        raise NotImplementedError(f"\"bernoulli_tensor_cpu_self_\" not implemented for '{scalar}'")
    result = _drawn(wrap(_bernoulli_each(input, generator).astype(kind.numpy)), input)
    return given(out, result, resizes=True)


def _one_uniform(name: str, fill: Callable[..., np.ndarray], names: tuple[str, ...],
                 defaults: tuple[float, ...], check: Callable[..., None]) -> None:  # fmt: skip
    def method(input: Tensor, *args: Any, generator: Any = None, **kw: Any) -> Tensor:
        given = {**dict(zip(names, defaults, strict=False)), **dict(zip(names, args, strict=False))}
        for key, value in kw.items():
            if key not in names:
                raise TypeError(f"{name}() got an unexpected keyword argument '{key}'")
            given[key] = value
        for key in names:
            if key not in given:
                raise TypeError(f'{name}() missing 1 required positional arguments: "{key}"')
        params = [float(given[key]) for key in names]
        check(*params)
        dtype = input.dtype.numpy
        return _refill(input, generator, lambda s: lambda e: fill(e, s, dtype, *params), node)

    node = "".join(part.capitalize() for part in name.split("_")) + "0"
    method.__doc__ = f"Fill with random numbers: {name.rstrip('_')} of {', '.join(names)}."
    composite(name, namespaces=())(method)


def _check_exponential(lambd: float) -> None:
    if lambd <= 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")


def _check_geometric(p: float) -> None:
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")


def _check_cauchy(median: float, sigma: float) -> None:
    if sigma <= 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")


def _check_log_normal(mean: float, std: float) -> None:
    if std <= 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")


_one_uniform("exponential_", continuous.exponential, ("lambd",), (1.0,), _check_exponential)
_one_uniform("geometric_", continuous.geometric, ("p",), (), _check_geometric)
_one_uniform("cauchy_", continuous.cauchy, ("median", "sigma"), (0.0, 1.0), _check_cauchy)
_one_uniform("log_normal_", continuous.log_normal, ("mean", "std"), (1.0, 2.0), _check_log_normal)


# -- multinomial -----------------------------------------------------------------------------------


@composite()
def multinomial(
    input: Tensor, num_samples: int, replacement: Any = False, *, generator: Any = None,
    out: Any = None,
) -> Tensor:  # fmt: skip
    """Indices drawn by the weights in each row. input: (n,) or (rows, n) -> (num_samples,) or
    (rows, num_samples), int64.

    RuntimeError for negative, infinite or all-zero weights, or too many samples without
    replacement.
    """
    if input.dim() not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if input.dtype.category != 2:
        raise RuntimeError("multinomial only supports floating-point dtypes for input, got: "
                           f"{dtypes.scalar_type(input.dtype)}")  # fmt: skip
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    categories = input.shape[-1]
    if not replacement and num_samples > categories:
        raise RuntimeError(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement"
        )
    if input.is_meta:
        return given(out, wrap(MetaArray((*input.shape[:-1], num_samples), np.int64)))

    def sample(input: Tensor) -> Tensor:
        weights = input.detach()._read()
        if modes.current.capture is None:
            _check_weights(np.asarray(weights))
        if not replacement or num_samples == 1:
            size, kind = tuple(input.shape), input.dtype.numpy
            along = strides_like(input._geometry)
            q = draw(generator, _in_memory_order(
                size, along, lambda s: lambda e: continuous.exponential(e, s, kind, 1.0)
            ))  # fmt: skip
            index = _by_race(weights, q, num_samples)
        else:
            index = _with_replacement(weights, num_samples, generator)
        return wrap(index.astype(np.int64))

    return given(out, by_values(sample, input), resizes=True)


def _by_race(weights: Any, q: Any, k: int) -> Any:
    """Those with the largest of weight / q. Equals (weights of 0, values of 16 bits) come as
    PyTorch selects them; compiled, where no host can follow that, the earliest first."""
    if modes.current.capture is None:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            race = np.asarray(weights) / np.asarray(q)
        rows = race.reshape(-1, race.shape[-1])
        return jnp.asarray(race_winners(rows, k).reshape(*race.shape[:-1], k))
    if k == 1:
        return jnp.argmax(weights / q, axis=-1, keepdims=True)
    return lax.top_k(weights / q, k)[1]


def _check_weights(weights: np.ndarray) -> None:
    w = weights.astype(np.float64)
    if not (np.isfinite(w) & (w >= 0)).all():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (w.sum(-1) <= 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")


def _with_replacement(weights: Any, k: int, generator: Any) -> Any:
    """Inverse transform sampling per row, on a running sum from left to right."""
    rows = weights.reshape(math.prod(weights.shape[:-1]), weights.shape[-1])
    if not rows.shape[0]:
        return jnp.zeros((*weights.shape[:-1], k), np.int64)
    u = draw(generator, lambda e: uniforms.unit_doubles(e, rows.shape[0] * k).reshape(-1, k))
    if modes.current.capture is None:
        w = np.asarray(rows)
        w = w.astype(np.float32) if w.dtype.itemsize == 2 else w
        cumulative = np.add.accumulate(w, axis=-1)
        cumulative = cumulative / cumulative[:, -1:]
        cumulative[:, -1] = 1
        found = [np.searchsorted(c.astype(np.float64), x) for c, x in zip(
            cumulative, np.asarray(u), strict=True)]  # fmt: skip
        return jnp.asarray(np.stack(found)).reshape(*weights.shape[:-1], k)
    w = rows.astype(np.float32) if rows.dtype.itemsize == 2 else rows
    cumulative = jnp.cumsum(w, -1)
    cumulative = (cumulative / cumulative[:, -1:]).at[:, -1].set(1).astype(np.float64)
    index = (cumulative[:, None, :] < u[:, :, None]).sum(-1)
    return index.reshape(*weights.shape[:-1], k)
