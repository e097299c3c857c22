"""The primitives by which a traced program says that a value is not allowed, and keeps its state.

An operation that looks at values (is this index in range?) cannot raise while it is traced. It
binds ``value_check`` instead: an equation without results, whose effect keeps it alive through
JAX's own transformations, branches and loops. ``kept`` marks what a program is about to write to
state: where a check fails, the old value has to stay. The compiler turns both into arithmetic (see
``_jit/program/checks.py``). Lowered as they are, by whoever does not know them, they do nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import debug, lax

from torchlike._runtime.jax_private import primitives
from torchlike._runtime.patches import at_import

#: How many numbers a check may say beside that it failed.
DETAILS = 3


@dataclass(frozen=True, slots=True)
class Site:
    """Says where in the user's code a check stands, and which error it is to raise there."""

    error: type[Exception]
    #: What the error says: ``{0}`` and so on are the details.
    words: str
    #: Which of the details are floats.
    floats: tuple[bool, ...] = ()
    #: `` (train.py:40)``.
    line: str = ""
    #: Whether the user's code raises there, so that the call is made eagerly where the check fails.
    is_users: bool = False

    def raised(self, details: Sequence[int], more: str = "") -> Exception:
        """Return the error, for the details as a program gives them."""
        values = [
            np.int64(x).view(np.float64).item() if is_float else int(x)
            for x, is_float in zip(details, self.floats, strict=False)
        ]
        return self.error(self.words.format(*values) + more)


class ValueCheck(debug.DebugEffect):
    """That an equation says whether values are allowed. Of the kind that JAX's prints have, it may
    stand wherever they may: in branches, loops, checkpoints, functions with gradients of their own.
    """


_EFFECT = ValueCheck()
#: ``check.bind(failed, *details, site=site)``: a bool, and `DETAILS` integers.
check = primitives.make_primitive("value_check", is_many=True)
#: ``kept.bind(new, old)``: ``new``, but ``old`` where a check of the program fails.
kept = primitives.make_primitive("kept")


def has_checks(jaxpr: Any) -> bool:
    """Return whether a traced program, or a branch or loop in it, checks values."""
    return any(type(effect) is ValueCheck for effect in jaxpr.effects)


def bind(failed: Any, details: Sequence[Any], site: Site) -> None:
    """Say that a check has failed where ``failed`` (a traced bool) is True."""
    check.bind(failed, *details, *[jnp.int64(0)] * (DETAILS - len(details)), site=site)


def first(failed: Any, picked: Sequence[Any]) -> tuple[Any, Any, list[Any]]:
    """Return whether any of traced bools is True, where the first is, and what stands there in
    arrays of as many elements (or of one).

    The place is a minimum: ``argmax`` reduces two arrays at once, which XLA's CPU compiler does an
    element at a time.
    """
    failed = failed.reshape(-1)
    if failed.size == 1:
        return failed[0], 0, [x.reshape(-1)[0] for x in picked]
    n = jnp.asarray(failed.size, np.int32)  # in an exported program the call's
    at = jnp.min(jnp.where(failed, lax.iota(np.int32, failed.size), n))
    found = [
        lax.dynamic_index_in_dim(x.reshape(-1), 0 if x.size == 1 else at, keepdims=False)
        for x in picked
    ]
    return at < n, at, found


def first_word(words: Any) -> Any:
    """Return the first row of a traced array of words that says something: see `late_checks`."""
    return words[jnp.argmax(words[:, 0] != 0)]


@check.def_effectful_abstract_eval
def _(failed: Any, *details: Any, site: Site) -> Any:
    return [], {_EFFECT}


@check.def_impl
def _(failed: Any, *details: Any, site: Site) -> list[Any]:
    if bool(failed):
        raise site.raised([int(d) for d in details])
    return []


def _of_examples(operands: Any, dims: Any, *, site: Site) -> Any:
    """Bind the check of all examples of a ``jax.vmap``: it fails where one of them does."""
    failed, *details = [
        jnp.moveaxis(x, d, 0) if isinstance(d, int) else x
        for x, d in zip(operands, dims, strict=True)
    ]
    if not isinstance(dims[0], int):
        size = max(d.size for d in details)
        failed = jnp.broadcast_to(failed, (size,))
    failed, _, details = first(failed, details)
    return check.bind(failed, *details, site=site), []


at_import.PRIMITIVES.note()
primitives.set_batching(check, _of_examples)
primitives.set_jvp(check, lambda primals, tangents, *, site: (check.bind(*primals, site=site), []))
primitives.set_lowering(check, lambda ctx, *operands, site: [])


kept.def_abstract_eval(lambda new, old: new)
kept.def_impl(lambda new, old: new)
primitives.set_lowering(kept, lambda ctx, new, old: [new])
