"""Choices by given probabilities: ``bernoulli`` and ``multinomial``."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._core import dtypes, modes, views
from torchlike._core.dispatch.copying import array_to_device_of
from torchlike._core.dispatch.out import check_overlap
from torchlike._core.dispatch.registry import composite
from torchlike._core.dispatch.schema import require_tensor
from torchlike._core.layouts import contiguous_format
from torchlike._core.storage import host_value
from torchlike._core.tape import check_in_place
from torchlike._extensions import boxes
from torchlike._extensions.meta import MetaArray
from torchlike._ops import value_checks
from torchlike._ops.memory_order import strides_like
from torchlike._ops.outputs import write_out
from torchlike._ops.random.sampling import (
    Sized,
    along_memory,
    by_values,
    check_parameters,
    draw,
    drawn,
    for_each_example,
    in_a_row,
    in_memory_order,
    refill,
    replace,
    source_of,
)
from torchlike._ops.value_checks import refuse_tensor, refuse_where, values_of
from torchlike._runtime import first_calls
from torchlike._runtime.inlining import AT_ONCE
from torchlike.random import bernoulli as coins
from torchlike.random import continuous
from torchlike.random import uniform as uniforms
from torchlike.random.cuda.fills import multinomial_units as units_of_samples
from torchlike.random.multinomial import winners as race_winners
from torchlike.tensor import Tensor, wrap

_less = first_calls.jit(jnp.less, name="less", inline=AT_ONCE)
_less_equal = first_calls.jit(jnp.less_equal, name="less_equal", inline=AT_ONCE)


def _check_probability(p: float, name: str = "bernoulli_") -> None:
    if not 0.0 <= p <= 1.0:
        raise RuntimeError(f"{name} expects p to be in [0, 1], but got p={p:g}")


@composite(namespaces=())
def bernoulli_(input: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Fill with ones of probability ``p`` (a number, or a tensor of probabilities) and zeros."""
    dtype = input.dtype.numpy
    if isinstance(p, Tensor):
        chosen = _bernoulli_each(p.expand(input.shape), generator, dtype, input)
        check_in_place(input)
        views.check_writable(input._geometry)
        return replace(input, chosen, "Bernoulli1")
    _check_probability(float(p))
    return refill(
        input,
        generator,
        lambda s: lambda e: coins.bernoulli(e, s, dtype, float(p)),
        "Bernoulli2",
    )


_NO_PROBABILITY = "Expected p_in >= 0 && p_in <= 1 to be true, but got false."


def _is_no_probability(values: Any) -> Any:
    return ~((values >= 0) & (values <= 1))


def _bernoulli_each(
    p: Tensor, generator: Any, dtype: np.dtype, filled: Tensor | None = None
) -> Any:
    """Draw zeros and ones by each element's probability. The uniforms are drawn, the comparison is
    traced; where nothing is traced, NumPy compares what it has drawn.

    They are drawn in the order in which what is ``filled`` lies in memory.
    """
    check_parameters(p)
    if p.dtype.category < 2:
        raise RuntimeError(
            "expected probabilities tensor to have floating type, got "
            f"{dtypes.scalar_type(p.dtype)}"
        )
    values = None
    if p.numel():
        refuse_tensor(p, _is_no_probability, RuntimeError, _NO_PROBABILITY)
        if not modes.is_capturing():
            values = boxes.innermost(p.detach())._value("bernoulli")
    n, shape = p.numel(), tuple(p.shape)
    at = p if filled is None else filled
    of_gpu = source_of(generator, at).is_of_gpu
    wide = (dtype == np.float64) if of_gpu else p.dtype.name == "float64"
    kind = np.dtype(np.float64 if wide else np.float32)

    def units(size: tuple[int, ...]) -> Any:
        return lambda e: coins.coin_units(e, size, wide)

    if filled is not None and n:
        fill = along_memory(filled, shape, filled._geometry.stride, units)
    else:
        fill = Sized(units, shape)
    if of_gpu:  # its uniform numbers are of (0, 1]
        units_drawn = draw(generator, fill, at).astype(kind)
        return boxes.apply(_less_equal, units_drawn, p._read().astype(kind)).astype(dtype)
    if values is not None and not modes.current.levels:
        bounds = values.astype(kind)
        return draw(generator, lambda e: np.asarray(fill(e) < bounds, dtype, order="C"), at)
    return boxes.apply(_less, draw(generator, fill, at), p._read().astype(kind)).astype(dtype)


@composite(pointwise=True, differentiable=False)
def bernoulli(input: Tensor, p: Any = None, *, generator: Any = None, out: Any = None) -> Tensor:
    """Draw zeros and ones by the probabilities in ``input`` (or with one probability ``p``)."""
    require_tensor(input, "bernoulli")
    if p is not None:
        check_parameters(input)
        held = in_a_row(input.detach().clone(memory_format=contiguous_format))
        return held.bernoulli_(p, generator=generator)
    if input.is_meta:
        return write_out(out, wrap(MetaArray(input.shape, input.dtype.numpy)))
    kind = input.dtype if out is None else out.dtype
    if out is not None:
        check_overlap(out, (input,), "bernoulli")
    if kind.is_complex and input.numel():
        scalar = dtypes.scalar_type(kind)
        raise NotImplementedError(f"\"bernoulli_tensor_cpu_self_\" not implemented for '{scalar}'")
    result = drawn(
        wrap(array_to_device_of(_bernoulli_each(input, generator, kind.numpy), input)), input
    )
    return write_out(out, result, resizes=True)


# -- multinomial -----------------------------------------------------------------------------------


@composite(differentiable=False)
def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: Any = False,
    *,
    generator: Any = None,
    out: Any = None,
) -> Tensor:
    """Draw indices by the weights in each row. input: (n,) or (rows, n) -> (num_samples,) or (rows,
    num_samples), int64.

    RuntimeError for negative, infinite or all-zero weights, or too many samples without
    replacement.

    Example:
      >>> torch.multinomial(torch.tensor([0.0, 1.0]), 3, replacement=True)
      tensor([1, 1, 1])
    """
    if input.dim() not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if input.dtype.category != 2:
        raise RuntimeError(
            "multinomial only supports floating-point dtypes for input, got: "
            f"{dtypes.scalar_type(input.dtype)}"
        )
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    categories = input.shape[-1]
    if not replacement and num_samples > categories:
        raise RuntimeError(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement"
        )
    if input.is_meta:
        return write_out(out, wrap(MetaArray((*input.shape[:-1], num_samples), np.int64)))

    def sample(input: Tensor) -> Tensor:
        weights = input.detach()._value_now()
        of_gpu = source_of(generator, input).is_of_gpu
        value_checks.run(_check_weights, [weights], "multinomial")
        if not replacement or num_samples == 1:
            size, kind = tuple(input.shape), input.dtype.numpy
            along = strides_like(input._geometry)
            q = draw(
                generator,
                in_memory_order(
                    size, along, lambda s: lambda e: continuous.exponential(e, s, kind, 1.0)
                ),
                input,
            )
            index = _by_race(weights, q, num_samples, of_gpu)
        elif of_gpu:
            index = _with_replacement_of_gpu(weights, num_samples, generator, input)
        else:
            index = _with_replacement(weights, num_samples, generator)
        return wrap(index.astype(np.int64))

    return write_out(out, by_values(sample, for_each_example(input)), resizes=True)


def _by_race(weights: Any, q: Any, k: int, of_gpu: bool) -> Any:
    """Return the indices of the ``k`` largest of weight / q. Ties (weights of 0, values of 16 bits)
    come as PyTorch's CPU selects them; compiled, where no host can follow that, and for a GPU, the
    earliest first."""
    if not modes.is_capturing() and not of_gpu:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            race = np.asarray(weights) / np.asarray(q)
        rows = race.reshape(-1, race.shape[-1])
        return host_value(race_winners(rows, k).reshape(*race.shape[:-1], k))
    race = jnp.asarray(weights) / jnp.asarray(q)
    if k == 1:
        return jnp.argmax(race, axis=-1, keepdims=True)
    return lax.top_k(race, k)[1]


def _check_weights(weights: Any) -> None:
    w = values_of(weights).astype(np.float64)
    words = "probability tensor contains either `inf`, `nan` or element < 0"
    refuse_where(~((w >= 0) & (w < np.inf)), RuntimeError, words)
    words = "invalid multinomial distribution (sum of probabilities <= 0)"
    refuse_where(w.sum(-1) <= 0, RuntimeError, words)


def _with_replacement(weights: Any, k: int, generator: Any) -> Any:
    """Draw by inverse transform sampling per row, on a running sum from left to right."""
    rows = weights.reshape(math.prod(weights.shape[:-1]), weights.shape[-1])
    if not rows.shape[0]:
        return jnp.zeros((*weights.shape[:-1], k), np.int64)
    u = draw(generator, lambda e: uniforms.unit_doubles(e, rows.shape[0] * k).reshape(-1, k))
    if not modes.is_capturing():
        w = np.asarray(rows)
        w = w.astype(np.float32) if w.dtype.itemsize == 2 else w
        cumulative = np.add.accumulate(w, axis=-1)
        cumulative = cumulative / cumulative[:, -1:]
        cumulative[:, -1] = 1
        found = [
            np.searchsorted(c.astype(np.float64), x)
            for c, x in zip(cumulative, np.asarray(u), strict=True)
        ]
        return host_value(np.stack(found).reshape(*weights.shape[:-1], k))
    w = rows.astype(np.float32) if rows.dtype.itemsize == 2 else rows
    cumulative = jnp.cumsum(w, -1)
    cumulative = (cumulative / cumulative[:, -1:]).at[:, -1].set(1).astype(np.float64)
    index = (cumulative[:, None, :] < u[:, :, None]).sum(-1)
    return index.reshape(*weights.shape[:-1], k)


def _with_replacement_of_gpu(weights: Any, k: int, generator: Any, at: Tensor) -> Any:
    """Draw by the running sum of each row's shares, as PyTorch's kernel for a GPU looks them up."""
    rows = jnp.asarray(weights).reshape(math.prod(weights.shape[:-1]), weights.shape[-1])
    count = rows.shape[0]
    if not count:
        return jnp.zeros((*weights.shape[:-1], k), np.int64)
    u = jnp.asarray(draw(generator, lambda e: units_of_samples(e, count, k), at))
    return _looked_up(rows, u).reshape(*weights.shape[:-1], k)


@jax.jit
def _looked_up(rows: Any, u: Any) -> jax.Array:
    shares = rows / rows.sum(-1, keepdims=True)
    cumulative = jnp.cumsum(shares, -1)
    found = jax.vmap(jnp.searchsorted)(cumulative, u.astype(rows.dtype))
    # From a share of nothing, or beyond the last, to the one before it that has some.
    places = jnp.arange(rows.shape[1], dtype=np.int64)
    last = lax.cummax(jnp.where(shares > 0, places, 0), axis=1)
    return jnp.take_along_axis(last, jnp.minimum(found, rows.shape[1] - 1), axis=1)
