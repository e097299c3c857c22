"""Random tensors: PyTorch's numbers for a seed, eager and jitted alike (see `sampling`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from torchlike._core import casts, dtypes, modes
from torchlike._core.dispatch.registry import composite
from torchlike._core.dispatch.schema import plain_number, require_tensor
from torchlike._extensions.meta import MetaArray
from torchlike._ops.creation.filled import sized
from torchlike._ops.creation.wrap_result import checked_size, numpy_dtype, out_dtype
from torchlike._ops.outputs import write_out
from torchlike._ops.promotion import check_broadcast
from torchlike._ops.random.sampling import (
    Fill,
    Sized,
    check_parameters,
    draw,
    drawn,
    make,
    make_like,
    order_of_examples,
    refill,
)
from torchlike._ops.value_checks import refuse_tensor
from torchlike.random import continuous, integers, permutation
from torchlike.random import normal as normals
from torchlike.random import uniform as uniforms
from torchlike.tensor import Tensor, wrap

# -- uniform and normal ----------------------------------------------------------------------------


def _require_float(dtype: np.dtype, name: str) -> None:
    if dtypes.from_numpy_dtype(dtype).category < 2:
        scalar = dtypes.scalar_type(dtype)
        raise NotImplementedError(f"\"{name}\" not implemented for '{scalar}'")


_SAYS = """Draw random numbers of the given size: {name}.

The size is numbers or one sequence of them; the dtype is a floating point or complex one.
NotImplementedError for others.

Example:
  >>> _ = torch.manual_seed(0)
  >>> torch.{name}(2, 3).shape, torch.{name}((4,), dtype=torch.float64).dtype
  (torch.Size([2, 3]), torch.float64)
"""


def _size_function(name: str, fill_of: Callable[..., Fill], kernel: str) -> None:
    """Register ``name`` and ``name_like``, which draw from ``fill_of(shape, dtype,
    contiguous)``."""

    def function(
        *size: Any,
        generator: Any = None,
        out: Any = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: Any = False,
        pin_memory: Any = False,
        names: Any = None,
        **kw: Any,
    ) -> Tensor:
        shape = sized(size, kw, name)
        kind = out_dtype(out, dtype)
        _require_float(kind, kernel)
        return make(
            Sized(lambda s: fill_of(s, kind, True), shape),
            generator,
            shape,
            kind,
            out,
            device,
            requires_grad,
            layout,
        )

    def like(
        input: Tensor,
        *,
        generator: Any = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: Any = False,
        pin_memory: Any = False,
        memory_format: Any = None,
    ) -> Tensor:
        require_tensor(input, f"{name}_like")
        kind = input.dtype.numpy if dtype is None else numpy_dtype(dtype)
        _require_float(kind, kernel)
        return make_like(
            input,
            lambda s, c: fill_of(s, kind, c),
            generator,
            kind,
            device,
            requires_grad,
            memory_format,
        )

    function.__doc__ = _SAYS.format(name=name)
    like.__doc__ = f"Draw as ``{name}``, with the size, dtype and memory order of ``input``."
    composite(name, method=False)(function)
    composite(f"{name}_like", method=False, pointwise=True, differentiable=False)(like)


_size_function("rand", lambda s, d, c: lambda e: uniforms.uniform(e, s, d), "check_uniform_bounds")
_size_function(
    "randn", lambda s, d, c: lambda e: normals.normal(e, s, d, 0.0, 1.0, c), "normal_kernel_cpu"
)


@composite(namespaces=())
def uniform_(
    input: Tensor, from_: float = 0.0, to: float = 1.0, *, generator: Any = None, **kw: Any
) -> Tensor:
    """Fill with uniform numbers of ``[from, to)``. RuntimeError when from > to.

    Returns the tensor, of any shape and a floating point dtype.

    Example:
      >>> x = torch.empty(100).uniform_(2, 3)
      >>> bool(((x >= 2) & (x < 3)).all())
      True
    """
    low = float(plain_number(kw.pop("from", kw.pop("a", from_)), "uniform_", "from", 1))
    high = float(plain_number(kw.pop("b", to), "uniform_", "to", 2))
    dtype = input.dtype.numpy
    _require_float(dtype, "check_uniform_bounds")
    if low > high:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}"
        )
    return refill(
        input, generator, lambda s: lambda e: uniforms.uniform(e, s, dtype, low, high), "Uniform0"
    )


@composite(namespaces=())
def normal_(input: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with normal numbers. RuntimeError when std is negative.

    Returns the tensor, of any shape and a floating point or complex dtype.

    Example:
      >>> torch.empty(3).normal_(mean=5, std=0)
      tensor([5., 5., 5.])
    """
    plain_number(mean, "normal_", "mean", 1)
    _check_std(plain_number(std, "normal_", "std", 2))
    dtype = input.dtype.numpy
    _require_float(dtype, "normal_kernel_cpu")
    contiguous = input.is_contiguous() and order_of_examples(input) is None
    return refill(
        input,
        generator,
        lambda s: lambda e: normals.normal(e, s, dtype, float(mean), float(std), contiguous),
        "Normal0",
    )


def _check_std(std: Any) -> None:
    if not isinstance(std, Tensor) and std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")


def _is_negative(values: Any) -> Any:
    return values < 0


@composite(method=False)
def normal(
    mean: Any,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Any = None,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: Any = False,
    pin_memory: Any = False,
) -> Tensor:
    """Draw normal numbers with mean and standard deviation given as numbers or tensors."""
    _check_std(std)
    tensors = [v for v in (mean, std) if isinstance(v, Tensor)]
    if not tensors:
        shape = checked_size((size,), "normal")
        kind = out_dtype(out, dtype)
        return make(
            Sized(lambda s: lambda e: normals.normal(e, s, kind, float(mean), float(std)), shape),
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
        return write_out(out, wrap(MetaArray(shape, tensors[0].dtype.numpy)), cast=True)
    if type(mean) in casts.NUMBERS and not dtypes.is_half(std.dtype.numpy):
        casts.check_fits(mean, std.dtype.numpy)
    if isinstance(std, Tensor) and std.numel():
        words = "normal expects all elements of std >= 0.0"
        refuse_tensor(std, _is_negative, RuntimeError, words)
    check_broadcast(*tensors)
    check_parameters(*tensors)
    shape = np.broadcast_shapes(*(tuple(t.shape) for t in tensors))
    # The noise is made in the memory of the result; PyTorch resizes that first only where the
    # deviations are a tensor, else the noise has to broadcast with the means.
    kind = (tensors[0] if out is None else out).dtype.numpy
    scale = 1.0 if isinstance(std, Tensor) else float(std)
    if out is not None and not isinstance(std, Tensor):
        shape = tuple(out.shape)
    if out is not None:
        _require_float(out.dtype.numpy, "normal_kernel_cpu")
    z = wrap(
        draw(
            generator,
            Sized(lambda s: lambda e: normals.normal(e, s, kind, 0.0, scale), shape),
            tensors[0],
        )
    )
    with modes.unrecorded():
        # Detached: nothing of the parameters' tangents is in a sample either.
        mean, std = [v.detach() if isinstance(v, Tensor) else v for v in (mean, std)]
        if isinstance(std, Tensor):  # in place in PyTorch: each step in the dtype of the noise
            result = ((z * std).to(z.dtype) + mean).to(z.dtype)
        else:
            result = mean.contiguous() + z
    return write_out(out, drawn(result, *tensors), cast=True)


# -- integers --------------------------------------------------------------------------------------


def _range(name: str, low: Any, high: Any) -> tuple[Any, Any]:
    """Return the ends of ``[low, high)``; one alone is ``high``. TypeError for none."""
    if low is None and high is None:
        raise TypeError(f'{name}() missing 1 required positional arguments: "high"')
    return (0, low if high is None else high) if low is None or high is None else (low, high)


@composite(method=False)
def randint(
    low: Any = None,
    high: Any = None,
    size: Any = None,
    *,
    generator: Any = None,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: Any = False,
    pin_memory: Any = False,
) -> Tensor:
    """Draw integers of ``[low, high)`` (``randint(high, size)``: from 0), int64 by default.

    RuntimeError unless ``low`` is below ``high``.

    Example:
      >>> x = torch.randint(3, 6, (100,))
      >>> x.dtype, sorted(set(x.tolist()))
      (torch.int64, [3, 4, 5])
    """
    if size is None:
        low, high, size = None, low, high
    low, high = _checked_range(*_range("randint", low, high))
    shape = checked_size((size,), "randint")
    kind = out_dtype(out, dtype, dtypes.int64)
    return make(
        Sized(lambda s: lambda e: integers.randint(e, s, kind, low, high), shape),
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


@composite(method=False, pointwise=True, differentiable=False)
def randint_like(
    input: Tensor,
    low: Any = None,
    high: Any = None,
    *,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: Any = False,
    layout: Any = None,
    memory_format: Any = None,
) -> Tensor:
    """Draw integers as ``randint`` does, with the size and dtype of ``input``."""
    low, high = _checked_range(*_range("randint_like", low, high))
    kind = numpy_dtype(dtype or input.dtype)
    return make_like(
        input,
        lambda s, c: lambda e: integers.randint(e, s, kind, low, high),
        generator,
        kind,
        device,
        requires_grad,
        memory_format,
    )


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
    bounds = (
        ()
        if not given
        else (int(given[0]), None if len(given) == 1 or given[1] is None else int(given[1]))
    )
    dtype = input.dtype.numpy
    # With a range; with an end; with neither.
    node = f"Random{2 - len(args) - len(kw)}"
    return refill(input, generator, lambda s: lambda e: integers.random(e, s, dtype, *bounds), node)


@composite(method=False)
def randperm(
    n: int,
    *,
    generator: Any = None,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: Any = False,
    pin_memory: Any = False,
) -> Tensor:
    """Draw a random permutation of 0..n-1.

    RuntimeError for a negative n.

    Example:
      >>> sorted(torch.randperm(4).tolist())
      [0, 1, 2, 3]
    """
    n = int(n)
    if n < 0:
        raise RuntimeError(f"n must be non-negative, got {n}")
    kind = out_dtype(out, dtype, dtypes.int64)
    return make(
        lambda e: permutation.randperm(e, n, kind),
        generator,
        (n,),
        kind,
        out,
        device,
        requires_grad,
        each=False,
    )


# -- fills by one uniform number each --------------------------------------------------------------


def _one_uniform(
    name: str,
    fill: Callable[..., np.ndarray],
    names: tuple[str, ...],
    defaults: tuple[float, ...],
    check: Callable[..., None],
) -> None:
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
        return refill(input, generator, lambda s: lambda e: fill(e, s, dtype, *params), node)

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
