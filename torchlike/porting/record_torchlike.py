"""Runs a script on torchlike and records it: the child process of `torchlike compare`.

``python -m torchlike.porting.record_torchlike [OPTION] RESULT [-m] SCRIPT ...``; the environment
variable ``TORCHLIKE_COMPILE`` says what is compiled. ``--find-step`` looks for a function that is a
whole training step; ``--whole-step=LINE`` compiles the one that begins there; ``--observe=JSON``
notes what ``compare --find-divergence`` compares.
"""

from __future__ import annotations

import functools
import json
import sys
import warnings
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

import torchlike
from torchlike import nn, optim, overrides
from torchlike._jit.call.function import functions as jit_functions
from torchlike.optim import optimizer
from torchlike.porting import compiled, torch_alias
from torchlike.porting.allocator import tune_allocator
from torchlike.porting.divergence import programs
from torchlike.porting.divergence.framework import of_torchlike
from torchlike.porting.divergence.observe import OPTION, observe
from torchlike.porting.plan.work import peak_of, work_of
from torchlike.porting.recorder import RecordedFramework
from torchlike.porting.recording import record
from torchlike.porting.version import own_version
from torchlike.utils.data.dataloader import DataLoader, _BaseDataLoaderIter


def main(argv: list[str]) -> None:
    option, _, value = argv[0].partition("=") if argv[0].startswith("--") else ("", "", "")
    line = value if option == "--whole-step" else ""
    if line:  # the report says so, and why
        warnings.filterwarnings("ignore", "torchlike.jit: .* runs eagerly, because", RuntimeWarning)
    tune_allocator()
    torch_alias.install()
    lowered, programs_read = _watch_autocast(), _watch_cache()
    torchlike.jit.set_warmup(0)  # what is compiled is compared, from its first step on
    compiled.apply(compiled.mode_from_environment())
    if option == OPTION:
        framework = of_torchlike(torchlike, optimizer, overrides, programs)
        marked, compile_ = programs.watch_marks(), torchlike.compile
        observe(framework, json.loads(value), argv[1:], marked=marked, compile=compile_)
        return
    recorded = RecordedFramework(
        tensor=torchlike.Tensor,
        module=nn.Module,
        optimizer=optim.Optimizer,
        compilers=((torchlike, "compile"), (torchlike.jit, "jit")),
        keep=_keep,
        read=lambda array: float(np.asarray(array)),
        wait=_wait,
        scaler=torchlike.amp.GradScaler,
        loading=((DataLoader, "__iter__"), (_BaseDataLoaderIter, "__next__")),
    )
    record(
        recorded,
        lambda: {**_about(), "autocast": sorted(lowered), "programs": programs_read},
        argv[1:] if option else argv,
        find_step=option == "--find-step",
        whole_step=int(line) if line else None,
    )


def _watch_autocast() -> set[str]:
    """Return a set that gets the dtypes to which regions of the script cast."""
    lowered: set[str] = set()
    enter = torchlike.amp.autocast.__enter__

    @functools.wraps(enter)
    def noted(region: torchlike.amp.autocast) -> torchlike.amp.autocast:
        if region._enabled:
            lowered.add(region.fast_dtype.name)
        return enter(region)

    torchlike.amp.autocast.__enter__ = noted  # type: ignore[method-assign]
    return lowered


def _watch_cache() -> dict[str, int]:
    """Return counts of the programs that XLA is asked for, and of those found in the folder of
    compiled ones."""
    counts = {"asked": 0, "found": 0}
    names = {"compile_requests_use_cache": "asked", "cache_hits": "found"}

    def heard(event: str, **_: Any) -> None:
        of_cache, _sep, what = event.rpartition("/")
        if of_cache == "/jax/compilation_cache" and what in names:
            counts[names[what]] += 1

    jax.monitoring.register_event_listener(heard)
    return counts


def _keep(loss: torchlike.Tensor) -> jax.Array | None:
    array = loss.detach().jax()
    return None if isinstance(array, Tracer) else array


def _wait(optimizer: optim.Optimizer) -> None:
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if not parameter.is_meta:
                parameter.detach().jax().block_until_ready()


def _about() -> dict[str, Any]:
    first_calls = torchlike.compiler.report().rows
    return {
        "framework": "torchlike",
        "version": own_version(),
        "device": jax.default_backend(),
        "seed": torchlike.initial_seed(),
        "compiles": compiled.mode_from_environment() != "off",
        "by_numpy": sum(row.calls for row in first_calls),
        "compiled": sum(row.compiled for row in first_calls),
        "work": _work(),
    }


def _work() -> dict[str, Any] | None:
    """Return what the largest program of the run computes; None where there is none."""
    programs = [f.program_that_ran() for f in jit_functions()]
    ran = [(work_of(p), p.name) for p in programs if p is not None]
    if not ran:
        return None
    work, name = max(ran, key=lambda found: found[0].total)
    return {"program": name, "flops": work.flops, "bytes": work.bytes, "peak": peak_of()}


if __name__ == "__main__":
    main(sys.argv[1:])
