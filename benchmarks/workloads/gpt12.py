"""The GPT of ``gpt`` three times as deep: what grows with the length of the graph."""

from __future__ import annotations

from benchmarks.workloads import gpt
from benchmarks.workloads.contract import Problem

LAYERS = 12
TITLE = gpt.TITLE.replace(f"{gpt.LAYERS} layers", f"{LAYERS} layers")
in_torch, in_jax, in_nnx = gpt.in_torch, gpt.in_jax, gpt.in_nnx


def problem(seed: int = 0) -> Problem:
    return gpt.problem(seed, LAYERS)
