"""One compiled call for all parameters of a group.

An optimizer gives a rule for one parameter, a pure function; here it is mapped over the group in
one jitted function, which is found again by its key. Parameters and state are donated where their
cells are the arrays' only owners, so the update happens in their memory.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from torchlike._core import dtypes, modes, overrides
from torchlike._core.dispatch.copying import array_to_device_of
from torchlike._core.dispatch.executable import unwatched
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike._core.storage import host_value
from torchlike._extensions import meta
from torchlike._extensions.sparse_array import SparseArray
from torchlike._ops.memory_order import strides_like
from torchlike._ops.unfused import unfused
from torchlike._runtime import first_calls, mixed_operands, targets, x64
from torchlike._runtime.first_calls import DECLINED
from torchlike._runtime.inlining import AT_ONCE
from torchlike.autograd.conditional_grad import GIVEN
from torchlike.optim.handed_over import handed_over
from torchlike.tensor import Tensor

_config: Any = jax.config  # gets its fields one by one

#: rule(parameter, gradient, states, scalars) -> (parameter, states)
Rule = Callable[[Any, Any, tuple[Any, ...], tuple[Any, ...]], tuple[Any, tuple[Any, ...]]]

_compiled: dict[Any, tuple[Any, Any]] = {}


def _functions(key: Any, rule: Rule, n: int, n_states: int) -> tuple[Any, Any]:
    """Return the group's update, compiled without and with donation."""
    found = _compiled.get(key)
    if found is None:

        def update(
            rule: Rule, owned: Any, gradients: tuple[Any, ...], scalars: Any
        ) -> tuple[Any, ...]:
            x64.require()
            return updated(rule, owned, gradients, scalars, n, n_states)

        name = f"optimizer step {getattr(rule, '__name__', '')}".rstrip()
        flat = functools.partial(update, functools.partial(_flat, rule))
        plain = first_calls.jit(
            unwatched(targets.precise(functools.partial(update, rule))), name=name, inline=AT_ONCE
        )
        found = plain, first_calls.jit(flat, name=name, like=plain, donate_argnums=0)
        _compiled[key] = found
    return found


#: Elements of the smallest kernel that gets a conditional of its own, some microseconds.
_LONG = 1 << 15


def _flat(rule: Rule, p: Any, g: Any, states: tuple[Any, ...], scalars: Any) -> tuple[Any, ...]:
    """Apply ``rule`` to kernels (O, I, 3, 3) as if they had one dimension.

    XLA's loops over them are three elements long: SGD with momentum on 9 million of them 9.3 ms,
    flat 4.0, AdamW 22 and 9. It moves a reshape out of the rule's way, but not across the bounds of
    a conditional. (In a jitted ResNet step it makes no difference: updates run beside the rest.)
    """
    if p.ndim < 3 or p.size < _LONG or any(s.shape not in (p.shape, ()) for s in states):
        return rule(p, g, states, scalars)

    def on_flat(p: Any, g: Any, *states: Any) -> tuple[Any, ...]:
        p2, states2 = rule(p, g, states, scalars)
        return p2, tuple([s.astype(old.dtype) for s, old in zip(states2, states, strict=True)])

    flat = [s.reshape(-1) if s.ndim else s for s in states]
    p2, states2 = unfused(
        on_flat, p.reshape(-1), g.reshape(-1), *flat, otherwise=lambda p, g, *states: (p, states)
    )
    return p2.reshape(p.shape), tuple(
        [s.reshape(old.shape) for s, old in zip(states2, states, strict=True)]
    )


def updated(
    rule: Rule, owned: Sequence[Any], gradients: Sequence[Any], scalars: Any, n: int, n_states: int
) -> tuple[Any, ...]:
    """Map ``rule`` over ``n`` parameters, which ``owned`` lists before all their states, and return
    their new values in that order."""
    new: list[Any] = [None] * len(owned)
    # Traced once for each shape: of a GPT's 52 parameters (9 shapes) in 20 instead of 68 ms.
    # While a program for NumPy is traced, no function is jitted but this one.
    inside = jax.disable_jit(_config.jax_disable_jit)
    one = jax.jit(inside(functools.partial(one_step, rule)), inline=AT_ONCE)
    with jax.disable_jit(False):
        for i in range(n):
            places = [i, *range(n + i * n_states, n + (i + 1) * n_states)]
            p, *states = [owned[k] for k in places]
            for k, array in zip(places, one(p, gradients[i], tuple(states), scalars), strict=True):
                new[k] = array
    return tuple(new)


def one_step(rule: Rule, p: Any, g: Any, states: tuple[Any, ...], scalars: Any) -> list[Any]:
    """Return a parameter and its states after a step, in the dtypes that they had."""
    p2, states2 = _on_real_floats(rule, p, g.astype(p.dtype), states, scalars)
    return [x.astype(old.dtype) for x, old in zip((p2, *states2), (p, *states), strict=True)]


def _on_real_floats(rule: Rule, p: Any, g: Any, states: Any, scalars: Any) -> tuple[Any, ...]:
    """Apply the rule to floats that it can compute with.

    Half precision is widened to float32 for the step: in bfloat16 0.999 is 1. Complex numbers are
    pairs of reals, as PyTorch's view_as_real makes them.
    """
    if p.dtype in (jnp.bfloat16, jnp.float16):
        widened = [s.astype(jnp.float32) for s in states]
        return rule(p.astype(jnp.float32), g.astype(jnp.float32), tuple(widened), scalars)
    if not jnp.iscomplexobj(p):
        return rule(p, g, states, scalars)
    pairs = [_as_pairs(s) if jnp.iscomplexobj(s) else s for s in states]
    p2, states2 = rule(_as_pairs(p), _as_pairs(g), tuple(pairs), scalars)
    back = [
        _as_complex(new) if jnp.iscomplexobj(old) else new
        for old, new in zip(states, states2, strict=True)
    ]
    return _as_complex(p2), tuple(back)


def _as_pairs(x: Any) -> jax.Array:
    return jnp.stack([x.real, x.imag], -1)


def _as_complex(x: Any) -> jax.Array:
    return jax.lax.complex(x[..., 0], x[..., 1])


def update_group(
    key: Any,
    rule: Rule,
    params: Sequence[Tensor],
    states: Sequence[Sequence[Tensor]],
    scalars: Sequence[Callable[[], Any]],
) -> None:
    """Apply ``rule`` to every parameter and its states, in place.

    ``scalars`` give the hyperparameters that change from step to step (the learning rate); while a
    function is being captured they become inputs of its program.
    """
    n = len(params)
    if not n:
        return
    if len(set(map(id, params))) < n:
        repeatedly(update_group, key, rule, params, states, scalars)
        return
    if mixed_operands.refuse.is_provided:
        placed = [i for i, p in enumerate(params) if p._storage.is_placed]
        if 0 < len(placed) < n:  # one program would spread the plain ones over all processes
            rest = [i for i in range(n) if i not in set(placed)]
            for part in (placed, rest):
                update_group(
                    key, rule, [params[i] for i in part], [states[i] for i in part], scalars
                )
            return
    if overrides.dispatch is not None and any(p._handles for p in params):
        handed_over(update_group, one_step, key, rule, params, states, scalars)
        return
    capture = modes.current.capture
    owners = [*params, *(s for group in states for s in group)]
    gradients = tuple([gradient_array(p) for p in params])
    values = tuple([modes.running_capture().per_call_value(get) for get in scalars])
    plain, donating = _functions((key, n), rule, n, len(states[0]) if states else 0)
    whole = all(t._view is None for t in owners)
    donate = capture is None and whole and all(t._storage.is_sole_owner() for t in owners)
    owned = tuple([t._value_now() for t in owners])
    new = DECLINED
    if any(type(array) is np.ndarray for array in (*owned, *gradients)):
        new = plain.by_numpy(owned, gradients, values)
        if new is DECLINED:
            owned = tuple([t._read() for t in owners])
    try:
        if new is not DECLINED:
            pass
        elif capture is None:
            new = (donating if donate else plain)(owned, gradients, values)
        else:
            new = capture.unseen(plain, owned, gradients, values)
    except TypeError:
        if not meta.involved((owned, gradients)):
            raise
        new = meta.call(plain, owned, gradients, values)
    if capture is not None and capture.conditions:
        new = _where_there_is_one(capture, params, owned, new)
    if mixed_operands.delivered.is_provided:  # a program on a mesh may give plain ones
        mixed_operands.delivered([t._storage for t in owners], new)
    for t, array in zip(owners, new, strict=True):
        t._write(array)


def _where_there_is_one(
    capture: Any, params: Sequence[Tensor], owned: Sequence[Any], new: Sequence[Any]
) -> list[Any]:
    """Keep the update for those parameters alone that have a gradient, where that depends on a
    value at run time."""
    n = len(params)
    n_states = len(owned) // n - 1
    kept = list(new)
    for i, p in enumerate(params):
        condition = capture.condition_of(p._grad)[GIVEN]
        if condition is True:
            continue
        for k in (i, *range(n + i * n_states, n + (i + 1) * n_states)):
            kept[k] = jnp.where(condition, new[k], owned[k])
    return kept


def repeatedly(
    update: Callable[..., None],
    key: Any,
    rule: Rule,
    params: Sequence[Tensor],
    states: Sequence[Sequence[Tensor]],
    scalars: Sequence[Callable[[], Any]],
) -> None:
    """Call ``update`` several times where a group lists a parameter more than once: it steps as
    often."""
    rounds: list[list[int]] = []
    times: dict[int, int] = {}
    for i, p in enumerate(params):
        k = times[id(p)] = times.get(id(p), -1) + 1
        rounds += [[]] if k == len(rounds) else []
        rounds[k].append(i)
    for chosen in rounds:
        update(key, rule, [params[i] for i in chosen], [states[i] for i in chosen], scalars)


def gradient_array(p: Tensor) -> Any:
    """Return the value of a parameter's gradient; a sparse one is made dense."""
    g = p._held_grad()
    assert g is not None
    array = g._value_now()
    return array.dense() if type(array) is SparseArray else array


def zeros_outside(p: Tensor, dtype: Any = None, shape: Any = None) -> Tensor:
    """Return a state tensor of zeros that counts as having existed before a running capture."""
    return full_outside(p, 0, dtype, shape)


def full_outside(p: Tensor, value: Any, dtype: Any = None, shape: Any = None) -> Tensor:
    """Return a state tensor full of a number, made outside of a running capture; by default shaped
    like the parameter."""
    unseen = modes.running_capture().unseen
    with modes.outside():
        return unseen(_full, p, value, dtype, shape)


def _full(p: Tensor, value: Any, dtype: Any, shape: Any) -> Tensor:
    if p._handles and shape is None:
        return NAMESPACES[""]["full_like"](p, value)
    if p._handles and overrides.state.dispatch_modes:
        return NAMESPACES[""]["full"](shape, value, dtype=dtypes.from_numpy_dtype(dtype))
    aval = tuple(p.shape) if shape is None else shape
    kind = dtype or p.dtype.numpy
    # From the host: a compiled fill takes 20 ms for each shape that parameters have.
    array: Any = meta.MetaArray(aval, kind)
    if not p.is_meta:
        array = array_to_device_of(host_value(np.full(aval, value, kind)), p)
    storage = p._storage.alike(array)
    if shape is None and not p.is_contiguous():
        storage.strides = strides_like(p._geometry)
    return Tensor._on(storage)
