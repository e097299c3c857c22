"""How ranks agree that a check of values has failed which one of them alone has seen fail."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, PartitionSpec

from torchlike._jit.compile.checks import Agreement, operands_of_checks
from torchlike._runtime import value_check
from torchlike._runtime.mixed_operands import spans_processes


def agreement(closed: Any, cotangents: frozenset[Any], ranks: Any) -> Agreement | None:
    """Return what makes one word of those of all ranks that run a traced program; None where there
    is one rank, or where all have the same values.

    ``ranks`` are those of its collectives. A program without has one word too if DTensors are in
    it and a check is of something else, which each process has its own of.
    """
    if ranks is not None:
        return ranks.agreement(closed.jaxpr.eqns)
    if jax.process_count() == 1 or not value_check.has_checks(closed.jaxpr):
        return None
    given = dict(zip(closed.jaxpr.constvars, closed.consts, strict=True))
    shared = {v: x for v, x in given.items() if spans_processes(x)}
    if not shared or shared.keys() >= operands_of_checks(closed, cotangents):
        return None
    return functools.partial(_of_all, next(iter(shared.values())).sharding.mesh)


def _of_all(mesh: Mesh, words: Sequence[Any]) -> Any:
    """Return the first word of any process that says something. To XLA they are one that all have;
    within a manual region each has the word that it computed."""
    rows = jax.shard_map(
        lambda word: lax.all_gather(word, tuple(mesh.axis_names)),
        mesh=mesh,
        in_specs=PartitionSpec(),
        out_specs=PartitionSpec(),
        check_vma=False,
    )(value_check.first_word(jnp.stack(words)))
    return value_check.first_word(rows)
