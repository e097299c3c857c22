"""Checks of values: written once, for eager calls and for compiled programs.

An op's check (``check=`` where it is registered) is a function of its operands that calls
`refuse_where` or `refuse_outside`. On values these raise. In a capture, where there are none yet,
they become a part of the program, which raises the same error once it has run (`value_check`).
Under ``vmap`` a check fails where one of the examples does.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import core, lax

from torchlike._core import casts, cells, modes
from torchlike._core.casts import NUMBERS
from torchlike._core.dispatch.call import run_check
from torchlike._core.dispatch.executable import Executable
from torchlike._runtime import value_check
from torchlike._runtime.jax_private.equations import is_read
from torchlike._runtime.jax_private.symbolic_sizes import is_symbolic
from torchlike._runtime.mixed_operands import own_values
from torchlike._runtime.value_check import DETAILS, Site
from torchlike.tensor import Tensor

if TYPE_CHECKING:
    from torchlike._core.cells import Argument, Array

#: Classes of operands that have values: a set look-up (0.2 us) rather than 3 us of tests. JAX's own
#: is added when the first array comes, for naming it here would start a backend.
_WITH_VALUES = {np.ndarray, type(None), *NUMBERS}


class Flag(NamedTuple):
    """What a traced check found: where the error would stand, whether it is due, its details."""

    site: Site
    failed: jax.Array
    details: list[jax.Array]


class _Found(threading.local):
    """Where the flags of the check go that this thread traces; None while checks raise."""

    flags: list[Flag] | None = None


_found = _Found()


def refuse_where(bad: Array, error: type[Exception], words: str, *picked: Array) -> None:
    """Raise ``error(words)`` where any element of ``bad`` is True.

    ``words`` is a template: ``{0}`` and so on are what stands in the arrays ``picked`` at the place
    of the first True, and ``{at}`` is that place, in row-major order.
    """
    if _found.flags is not None:
        if np.size(bad):
            _found.flags.append(_flag(bad, error, words, picked))
        return
    flags = np.asarray(bad)
    if flags.any():
        at = int(np.argmax(flags))
        values = [np.asarray(x).reshape(-1) for x in picked]
        values = [x[at if x.size > 1 else 0].item() for x in values]
        raise error(words.format(*values, at=at))


def refuse_outside(
    index: Array,
    low: int,
    high: int,
    error: type[Exception],
    words: str,
    besides: int | None = None,
) -> None:
    """Raise ``error(words)`` where an index array leaves ``[low, high)``; ``{0}`` is the first that
    does. An index ``besides`` is allowed. Indices of other dtypes are left to who reads them."""
    values = values_of(index)
    if values.size == 0 or values.dtype.kind not in "iu":
        return
    if _found.flags is None and _is_inside(values, low, high):
        return
    bad = _outside(values, low, high)
    refuse_where(bad if besides is None else bad & (values != besides), error, words, values)


#: What reads the bits of an integer as one without a sign, for which those below 0 are large.
_UNSIGNED = {np.dtype(f"i{n}"): np.dtype(f"u{n}") for n in (1, 2, 4, 8)}


def _is_inside(values: np.ndarray, low: int, high: int) -> bool:
    """Return whether all integers on the host are in ``[low, high)``: from 0 on by one reduction
    in the place of two."""
    if type(low) is int and not low:
        values = values.view(_UNSIGNED.get(values.dtype, values.dtype))
        return bool(np.maximum.reduce(values, axis=None) < high)
    return bool(values.min() >= low and values.max() < high)


def _outside(values: Any, low: int, high: int) -> Array:
    """Return where integers leave ``[low, high)``: in a trace by one unsigned comparison."""
    if _found.flags is None or values.dtype.itemsize < 4:
        return (values < low) | (values >= high)
    unsigned = np.dtype(f"uint{8 * values.dtype.itemsize}")
    shifted = lax.bitcast_convert_type(
        values if type(low) is int and not low else values - low, unsigned
    )
    return shifted >= jnp.asarray(high - low, unsigned)


def is_traced() -> bool:
    """Return whether the check that runs is being traced: it sees no values."""
    return _found.flags is not None


def values_of(operand: Any) -> Any:
    """Return the values of an operand of the check that runs: on the host; in a trace as it is."""
    return own_values(operand) if _found.flags is None else jnp.asarray(operand)


def _flag(bad: Array, error: type[Exception], words: str, picked: Sequence[Array]) -> Flag:
    failed, at, details = value_check.first(jnp.asarray(bad), [jnp.asarray(x) for x in picked])
    if "{at}" in words:
        words, details = words.replace("{at}", f"{{{len(details)}}}"), [*details, jnp.asarray(at)]
    floats = tuple(d.dtype.kind not in "iub" for d in details)
    details = [
        lax.bitcast_convert_type(d.astype(np.float64), np.int64) if is_float else d.astype(np.int64)
        for d, is_float in zip(details, floats, strict=True)
    ]
    return Flag(Site(error, words, floats), failed, details)


def _with_sizes(flags: list[Flag], operands: Sequence[Any]) -> list[Flag]:
    """Have the errors of a program whose sizes are not known yet say the sizes of its call."""
    sizes = {str(n): n for x in operands for n in (*np.shape(x), np.size(x)) if is_symbolic(n)}
    if not sizes:
        return flags
    pattern = "|".join(map(re.escape, sorted(sizes, key=len, reverse=True)))
    named = re.compile(rf"(?:size |length |tensor of |\[0, )({pattern})(?![\w*+^])")
    found = []
    for site, failed, details in flags:
        words, more = site.words, list(details)
        while len(more) < DETAILS and (name := named.search(words)):
            words = f"{words[: name.start(1)]}{{{len(more)}}}{words[name.end(1) :]}"
            more.append(jnp.asarray(sizes[name[1]], np.int64))
        floats = (*site.floats, *(False,) * (len(more) - len(details)))
        found.append(Flag(Site(site.error, words, floats), failed, more))
    return found


# -- where checks are run --------------------------------------------------------------------------


@run_check.by
def run(check: Callable[..., None], arrays: Sequence[Argument], key: Hashable) -> None:
    """Run ``check(*arrays)``, with the values of this call, or (in a capture) of each call of the
    program. ``key`` stands for all that the check depends on beside the arrays."""
    capture = modes.current.capture
    if capture is None and _WITH_VALUES.issuperset(map(type, arrays)):
        check(*arrays)
        return
    if capture is not None and not capture.checks_values:
        return
    kind = cells.kind_among(arrays)
    if kind is not None and not kind.has_values:
        return  # without values, or sparse: their rules look
    if kind is not None and kind.is_array:
        operands = _traced(check, arrays, key).without_unread(arrays)
        kind.before_check(operands)
        check(*operands)
        return
    if kind is None and capture is None:
        if not any(isinstance(a, core.Tracer) for a in arrays):
            _WITH_VALUES.update(map(type, arrays))
            check(*arrays)
        return  # inside jax.jit and the like there are no values to look at
    traced = _traced(check, arrays, key)
    operands = [a for a in arrays if a is not None]
    found = traced.inlined(operands) if kind is None else traced.of_kind(kind, operands)
    line = "" if capture is None else capture.note_check()
    for site, (failed, *details) in zip(traced.sites, found, strict=True):
        if isinstance(failed, core.Tracer):
            if capture is not None:
                value_check.bind(failed, details, Site(site.error, site.words, site.floats, line))
        elif failed:
            raise site.raised([int(d) for d in details])


def refuse_unfit(value: Any, dtype: np.dtype) -> None:
    """Raise RuntimeError where a 0-dim array that becomes elements of an array of ``dtype`` is out
    of its range (`casts.check_fits`)."""
    if _found.flags is None:
        _check_element(value, dtype)
    elif getattr(value, "dtype", dtype) != dtype and value.ndim == 0:
        words = f"value cannot be converted to type {casts.c_type_name(dtype)} without overflow"
        refuse_where(~casts.traced_fits(value, np.dtype(dtype)), RuntimeError, words)


def _check_element(value: Any, dtype: np.dtype) -> None:
    """Apply ``check_fits`` to a 0-dim array that becomes elements of an array of ``dtype``, where
    there is a value to look at."""
    if (
        getattr(value, "dtype", dtype) != dtype
        and value.ndim == 0
        and isinstance(value, (jax.Array, np.ndarray))
        and not isinstance(value, core.Tracer)
    ):
        casts.check_fits(value.item(), dtype)


# -- of composites and modules ---------------------------------------------------------------------


def refuse_tensor(
    t: Tensor, bad: Callable[[Any], Array], error: type[Exception], words: str, key: Hashable = ()
) -> None:
    """Raise ``error(words)`` where ``bad``, a function of a tensor's values, is True.

    ``{0}`` is the first value of which it is, and ``{at}`` where that stands. ``key`` stands for
    what ``bad`` depends on.
    """

    def check(values: Array) -> None:
        values = values_of(values)
        refuse_where(bad(values), error, words, values)

    if t.is_meta:
        return
    if modes.current.levels:
        cell = t._read()
        t = cell.innermost(t) if type(cell) in cells.KINDS else t  # all examples
    of = getattr(bad, "func", bad)
    run(check, [t._value_now()], (of.__module__, of.__qualname__, key, error, words))


def require(holds: Tensor, error: type[Exception], message: str) -> None:
    """Raise ``error(message)`` unless all elements of a tensor are true, or not zero."""
    refuse_tensor(holds, _is_zero, error, message.replace("{", "{{").replace("}", "}}"))


def _is_zero(values: jax.Array) -> jax.Array:
    return values == 0


def refuse_unfit_tensor(t: Tensor, dtype: np.dtype) -> None:
    """Apply `refuse_unfit` to the values of a tensor."""
    run(lambda value: refuse_unfit(value, dtype), [t._value_now()], ("unfit", dtype))


class _TracedCheck:
    """Traces a check of arrays of some shapes and dtypes, as a function that gives flags."""

    def __init__(self, check: Callable[..., None], arrays: Sequence[Argument]) -> None:
        self.sites: list[Site] = []
        self._check = check
        self._is_none = [a is None for a in arrays]
        self._jaxpr: Any = None
        self._is_read: list[bool] | None = None
        n = len(arrays) - sum(self._is_none)
        self._executable = Executable("ValueCheck", self._flat, 0, n, differentiable=False)

    def _flags(self, *operands: object) -> list[Flag]:
        given = iter(operands)
        previous, _found.flags = _found.flags, []
        try:
            self._check(*[None if none else next(given) for none in self._is_none])
            found = _found.flags
        finally:
            _found.flags = previous
        found = _with_sizes(found, operands)
        self.sites = [flag.site for flag in found]
        return found

    def _flat(self, *operands: object) -> tuple[jax.Array, ...]:
        return tuple(
            [x for _, failed, details in self._flags(*operands) for x in (failed, *details)]
        )

    def without_unread(self, arrays: Sequence[Any]) -> list[Any]:
        """Return operands with zeros in the place of what the check does not read the values of,
        so that who looks at them asks for none that are not computed yet."""
        if self._is_read is None:
            self._is_read = is_read(self._of(arrays).jaxpr)
        read = iter(self._is_read)
        return [
            np.broadcast_to(np.zeros((), a.dtype), a.shape)
            if a is not None and not next(read) and type(a) in cells.KINDS
            else a
            for a in arrays
        ]

    def _of(self, arrays: Sequence[Argument]) -> Any:
        if self._jaxpr is None:
            operands = [a for a in arrays if a is not None]
            self._jaxpr = jax.make_jaxpr(self._flat)(*map(_abstract, operands))
        return self._jaxpr

    def inlined(self, operands: Sequence[Argument]) -> list[list[Any]]:
        """Take the check into the trace that runs; give its flags."""
        closed = self._of(operands)
        return self._grouped(core.eval_jaxpr(closed.jaxpr, closed.consts, *operands))

    def of_kind(self, kind: type[cells.StandIn], operands: list[Any]) -> list[list[Any]]:
        """Give the flags of operands of a kind of cell: those of the first example that fails."""
        found = kind.outputs_of(self._executable, operands)
        return [
            [failed, *details]
            for each in self._grouped(found)
            for failed, _, details in [value_check.first(each[0], each[1:])]
        ]

    def _grouped(self, flat: Sequence[Argument]) -> list[list[Any]]:
        values = iter(flat)
        return [[next(values) for _ in range(1 + len(site.floats))] for site in self.sites]


#: Traced checks, by what they depend on.
_cache: dict[Hashable, _TracedCheck] = {}
_MOST = 4096


def _traced(check: Callable[..., None], arrays: Sequence[Any], key: Hashable) -> _TracedCheck:
    if any(is_symbolic(n) for a in arrays for n in np.shape(a)):
        return _TracedCheck(check, arrays)  # expressions of another trace cannot be compared
    whole = key, tuple([_aval(a) for a in arrays])
    found = _cache.get(whole)
    if found is None:
        if len(_cache) >= _MOST:
            _cache.clear()
        found = _cache[whole] = _TracedCheck(check, arrays)
    return found


def _abstract(a: Any) -> object:
    return a if type(a) in NUMBERS else jax.ShapeDtypeStruct(a.shape, a.dtype)


def _aval(a: Any) -> Hashable:
    if a is None or type(a) in NUMBERS:
        return type(a)
    return tuple(a.shape), a.dtype
