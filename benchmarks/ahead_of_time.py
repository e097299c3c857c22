"""What XLA's compiler for a GPU takes for the programs of a training script, without a GPU.

    pip install 'torchlike[plan]' 'nvidia-cuda-nvcc==13.*'    XLA's compiler for GPUs, and ptxas
    python -m benchmarks.ahead_of_time                        six scripts, three ways each
    python -m benchmarks.ahead_of_time --nets gpt2 --frameworks deferred --card a100
    python -m benchmarks.ahead_of_time --random               the random numbers beside jax.random

A net of `on_device` trains for `STEPS` steps on a device of the CPU's that stands for a GPU, traced
as for one. Of each program that JAX is about to compile the jaxpr is kept, and a program that gives
zeros takes its place: nothing is computed, so that whole nets take seconds. Then XLA compiles what
was kept for the card, to its machine code.

Seconds are of processor time, with ptxas's. XLA tries out kernels for products only where there is
a GPU: there each distinct product takes longer, however many programs they are in.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks import build, clock, frameworks, hlo_work
from benchmarks.on_device import FRAMEWORKS, STEPS
from benchmarks.pool import ROOT
from benchmarks.workloads.on_accelerators import NETS

#: The scripts that had not compiled their operations in 45 seconds on a GPU, and three nets.
SIX = ("vae", "words", "adder", "cnn", "gpt2", "unet")
MODES = ("torchlike", "deferred", "torchlike.jit")
#: What a program's text has where it waits for the host or takes from it while it runs.
_FROM_HOST = re.compile(r"infeed|outfeed|\b(?:send|recv)\(|host_memory|callback|S\(5\)")
_MOST_DRAWN = 1 << 20


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nets", nargs="+", choices=NETS, default=list(SIX))
    parser.add_argument("--frameworks", nargs="+", choices=MODES, default=list(MODES))
    parser.add_argument("--card", default="h100", help="of torchlike plan's names")
    parser.add_argument("--tiny", action="store_true", help="small nets")
    parser.add_argument("--random", action="store_true", help="random numbers instead of nets")
    parser.add_argument("--json", type=Path, help="write lines of JSON here, too")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if lacks := _lacks():
        print(lacks, file=sys.stderr)
        return
    if options.worker:
        net, label = options.worker
        print(json.dumps(measured(net, label, options.card, options.tiny)), flush=True)
        return
    if options.random:
        Console().print(_table_of_draws(draws(options.card)))
        return
    found = {}
    for net in options.nets:
        for label in options.frameworks:
            found[net, label] = line = _run(net, label, options.card, options.tiny)
            print(json.dumps(line), file=sys.stderr)
            if options.json:
                with options.json.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")
    Console().print(_table(found))


def _lacks() -> str:
    """Return what to install, where XLA's compiler for GPUs is not; else nothing."""
    from torchlike.porting.plan.topologies import missing

    package = missing("cuda")
    return (
        ""
        if package is None
        else (
            f"nothing is measured: {package} is not installed (pip install 'torchlike[plan]' "
            "'nvidia-cuda-nvcc==13.*')"
        )
    )


def _run(net: str, label: str, card: str, tiny: bool) -> dict[str, Any]:
    """Measure one net in one way in a process of its own, and return its line."""
    command = [sys.executable, "-m", "benchmarks.ahead_of_time", "--worker", net, label]
    command += ["--card", card, *(["--tiny"] if tiny else [])]
    environment = {**os.environ, "TORCHLIKE_EAGER": FRAMEWORKS[label][1]}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    lines = [text for text in done.stdout.splitlines() if text.startswith("{")]
    if done.returncode or not lines:
        raise RuntimeError(f"{net} in {label}: {done.stderr.strip()[-2000:]}")
    return json.loads(lines[-1])


# -- in the process of one job ---------------------------------------------------------------------


class Program(NamedTuple):
    """What JAX was about to compile."""

    jaxpr: Any
    donated: tuple[bool, ...]


class Compiled(NamedTuple):
    """What XLA made of a program for the card: its text, and the processor seconds it took."""

    text: str
    seconds: float


@contextmanager
def kept_programs() -> Iterator[list[Program]]:
    """Keep each program that JAX lowers within the ``with`` block, and have one that gives zeros
    run in its place."""
    import jax
    import jax.numpy as jnp
    from jax._src.interpreters import pxla

    found: list[Program] = []
    lower, is_ours = pxla.lower_sharding_computation, False

    def instead(closed: Any, api: str, name: str, *rest: Any, **options: Any) -> Any:
        nonlocal is_ours
        if is_ours:
            return lower(closed, api, name, *rest, **options)
        found.append(Program(closed, rest[4]))
        is_ours = True
        try:
            of_zeros = jax.make_jaxpr(
                lambda *_: [jnp.zeros(o.shape, o.dtype) for o in closed.out_avals]
            )(*map(_abstract, closed.in_avals))
            of_zeros = of_zeros.replace(
                jaxpr=of_zeros.jaxpr.replace(debug_info=closed.jaxpr.debug_info)
            )
            return lower(of_zeros, api, name, *rest, **options)
        finally:
            is_ours = False

    pxla.lower_sharding_computation = instead
    try:
        yield found
    finally:
        pxla.lower_sharding_computation = lower


def _abstract(aval: Any, **on: Any) -> Any:
    import jax

    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type, **on)


def programs_of(net: str, label: str, tiny: bool) -> tuple[list[Program], int]:
    """Return the programs that a net compiles until step `STEPS`, and how many of them make it."""
    from torchlike._runtime import compilation_cache, platforms, targets

    platforms.stand_for_gpu()
    framework = frameworks.parse(FRAMEWORKS[label][0])
    library, _ = build.import_library(framework)
    with compilation_cache.unused(), kept_programs() as found, targets.platform("gpu", 1):
        library.set_default_device("cuda")
        library.manual_seed(0)
        made = NETS[net](library, tiny)
        n_making = len(found)
        library.set_default_device(None)
        runner = build.training_in_torch(framework, library, made)
        for _ in range(STEPS):
            clock.timed_call(runner)
    return found, n_making


def compiled(program: Program, card: str) -> Compiled:
    """Compile a program for one card of a kind."""
    import jax
    import numpy as np
    from jax import core

    from torchlike._runtime import compilation_cache, targets
    from torchlike.porting.plan.topologies import topology

    there = jax.sharding.SingleDeviceSharding(topology(f"{card}:1").devices[0])
    consts = [np.asarray(c) if isinstance(c, jax.Array) else c for c in program.jaxpr.consts]
    avals = [_abstract(a, sharding=there) for a in program.jaxpr.in_avals]

    def run(*operands: Any) -> Any:
        return core.eval_jaxpr(program.jaxpr.jaxpr, consts, *operands)

    donated = tuple(i for i, is_donated in enumerate(program.donated) if is_donated)
    jitted = jax.jit(run, donate_argnums=donated, out_shardings=there)
    with targets.platform("cuda", 1), compilation_cache.unused():
        lowered = jitted.trace(*avals).lower(lowering_platforms=("cuda",))
        started = _processor_seconds()
        executable = lowered.compile()
        seconds = _processor_seconds() - started
        return Compiled(executable.as_text() or "", seconds)


def _processor_seconds() -> float:
    return sum(os.times()[:4])  # of this process and those that it started


def measured(net: str, label: str, card: str, tiny: bool) -> dict[str, Any]:
    """Return the line of a net in one way."""
    programs, n_making = programs_of(net, label, tiny)
    made = [compiled(program, card) for program in programs]
    seconds = [one.seconds for one in made]
    avals = [a for p in programs[n_making:] for a in p.jaxpr.in_avals]
    return {
        "net": net,
        "framework": label,
        "programs": len(made),
        "of making": n_making,
        "seconds": round(sum(seconds), 2),
        "seconds of making": round(sum(seconds[:n_making]), 2),
        "longest": round(max(seconds), 2),
        "kernels of the longest": _kernels(max(made, key=lambda one: one.seconds).text),
        "from the host": sum(len(_FROM_HOST.findall(one.text)) for one in made),
        "keys": sum(a.shape == (4,) and a.dtype.name == "uint32" for a in avals),
    }


def _kernels(text: str) -> int:
    """Return how many kernels and calls into libraries the entry of a program starts."""
    entry = text[text.index("\nENTRY ") :]
    return len(re.findall(r" (?:fusion|custom-call|while|sort|copy)\(", entry))


# -- random numbers --------------------------------------------------------------------------------


def draws(card: str) -> dict[str, dict[str, float]]:
    """Return what a million numbers take on the card in each way: kernels, and arithmetic for each
    number in additions."""
    import jax

    import torchlike as torch
    from torchlike._runtime import platforms

    platforms.stand_for_gpu()
    generator = torch.Generator("cuda").manual_seed(0)
    here = {"device": "cuda", "generator": generator}
    n, key = _MOST_DRAWN, jax.eval_shape(lambda: jax.random.key(0))
    philox = jax.eval_shape(lambda: jax.random.key(0, impl="rbg"))
    ours: dict[str, Callable[[], Any]] = {
        "rand": lambda: torch.rand(n, **here),
        "randn": lambda: torch.randn(n, **here),
        "randint": lambda: torch.randint(10, (n,), **here),
        "bernoulli": lambda: torch.full((n,), 0.5, device="cuda").bernoulli(generator=generator),
    }
    theirs: dict[str, Callable[[Any], Any]] = {
        "rand": lambda k: jax.random.uniform(k, (n,)),
        "randn": lambda k: jax.random.normal(k, (n,)),
        "randint": lambda k: jax.random.randint(k, (n,), 0, 10),
        "bernoulli": lambda k: jax.random.bernoulli(k, 0.5, (n,)),
    }
    found: dict[str, dict[str, float]] = {}
    for name, draw in ours.items():
        with torch.deferred(False), kept_programs() as programs:
            draw()
        largest = max(programs, key=lambda p: len(p.jaxpr.eqns))
        found[name] = _of_draw(compiled(largest, card), n)
        for other, of in (("jax.random", key), ("jax.random, rbg", philox)):
            jaxpr = jax.make_jaxpr(theirs[name])(of)
            made = compiled(Program(jaxpr, (False,)), card)
            found[name] |= {f"{k} of {other}": v for k, v in _of_draw(made, n).items()}
    return found


def _of_draw(made: Compiled, n: int) -> dict[str, float]:
    return {"kernels": _kernels(made.text), "work": round(hlo_work.work(made.text) / n, 1)}


# -- tables ----------------------------------------------------------------------------------------


def _table(found: dict[tuple[str, str], dict[str, Any]]) -> Table:
    columns = ("programs", "of making", "seconds", "seconds of making", "longest")
    columns += ("kernels of the longest", "from the host", "keys")
    table = Table("net", "framework", *columns)
    for (net, label), line in found.items():
        table.add_row(net, label, *(str(line[c]) for c in columns))
    return table


def _table_of_draws(found: dict[str, dict[str, float]]) -> Table:
    columns = list(next(iter(found.values())))
    table = Table("a million of", *columns)
    for name, line in found.items():
        table.add_row(name, *(str(line[c]) for c in columns))
    return table


if __name__ == "__main__":
    main()
