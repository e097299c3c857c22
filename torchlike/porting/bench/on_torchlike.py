"""The rows of torchlike and of JAX: eager, deferred, compiled, and JAX by hand.

``python -m torchlike.porting.bench.on_torchlike TARGET`` times a function in text, asked through a
pipe; `bench` of a function that is at hand makes the same rows in its own process.
"""

from __future__ import annotations

import importlib
import json
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

import torchlike
from torchlike import nn
from torchlike._runtime import first_calls, pending
from torchlike.jit._decorator import jit
from torchlike.porting import torch_alias
from torchlike.porting.allocator import tune_allocator
from torchlike.porting.bench.candidates import GRADIENTS, WEIGHTS, tensors_in, ways
from torchlike.porting.bench.targets import BenchTarget, arguments_of, function_of
from torchlike.porting.bench.timing import Candidate
from torchlike.porting.bench.workbench import Bench, LocalWorkbench, serve
from torchlike.porting.divergence.digests import Digest, digests
from torchlike.porting.plan.work import peak_of, work_of
from torchlike.porting.version import own_version

#: The first is NumPy's, the second compiles, and what that gives may have a layout of its own.
_SETTLING_CALLS = 4
EAGER, DEFERRED, COMPILED, BY_HAND = "eager", "deferred", "compiled", "JAX by hand"


def main(argv: list[str]) -> None:
    tune_allocator()
    torch_alias.install()
    target = BenchTarget(**json.loads(argv[0]))
    serve(LocalWorkbench(lambda sizes: _of_target(target, sizes)))


def _of_target(target: BenchTarget, sizes: dict[str, int]) -> Bench:
    functional = importlib.import_module("torchlike.nn.functional")
    names = {"torch": torchlike, "nn": nn, "F": functional, "math": math}
    function = function_of(target.function, names)
    arguments = arguments_of(torchlike, target, function, sizes, names)
    by_hand = None
    if target.jax is not None:
        known = {"jax": jax, "jnp": jax.numpy, "lax": jax.lax, "np": np}
        by_hand = function_of(target.jax, known)
    return rows(function, arguments, by_hand, target.gradients)


def rows(
    function: Callable[..., Any],
    arguments: Sequence[Any],
    by_hand: Callable[..., Any] | None,
    gradients: bool,
) -> Bench:
    """Return torchlike's rows for a function and its arguments, and JAX's where it is given."""
    made: dict[tuple[str, str], Candidate] = {}
    compiled: dict[str, Any] = {}
    for mode, (call, given) in ways(torchlike, function, arguments, gradients).items():
        compiled[mode] = jit(call, warmup=0, fallback="eager")
        made[EAGER, mode] = _settling(lambda call=call, given=given: _at_once(call, given))
        # A deferred result that nobody asks for is never computed.
        made[DEFERRED, mode] = _settling(
            lambda call=call, given=given: _deferred(call, given), finish_each=True
        )
        made[COMPILED, mode] = Candidate(lambda run=compiled[mode], given=given: run(*given), _wait)
        if by_hand is not None:
            run, arrays = _by_hand(by_hand, given, mode)
            made[BY_HAND, mode] = Candidate(
                lambda run=run, arrays=arrays: run(*arrays), jax.block_until_ready
            )
    device = jax.local_devices()[0]
    about = {
        "torchlike": f"{own_version()} on {device.platform} ({device.device_kind})",
        "JAX": jax.__version__,
    }

    def work(row: str, mode: str) -> dict[str, Any] | None:
        program = compiled[mode].program_that_ran() if row == COMPILED else None
        if program is None:
            return None
        found = work_of(program)
        return {"flops": found.flops, "bytes": found.bytes, "peak": peak_of()}

    return Bench(made, about, _digests, work=work)


def _settling(call: Callable[[], Any], finish_each: bool = False) -> Candidate:
    """Return what is timed once the operations are compiled that a loop of calls compiles."""

    def settle() -> None:
        with first_calls.settling():
            for _ in range(_SETTLING_CALLS):
                _wait(call())

    return Candidate(call, _wait, finish_each, settle)


def _wait(result: Any) -> None:
    del result
    pending.fence()


def _at_once(call: Callable[..., Any], given: Sequence[Any]) -> Any:
    with torchlike.deferred(False):
        return call(*given)


def _deferred(call: Callable[..., Any], given: Sequence[Any]) -> Any:
    with torchlike.deferred(True):
        result = call(*given)
        for tensor in tensors_in(torchlike, result):
            tensor.detach().jax()
        return result


def _by_hand(
    function: Callable[..., Any], given: Sequence[Any], mode: str
) -> tuple[Callable[..., Any], list[Any]]:
    """Return JAX's function, compiled, and its arguments as arrays."""
    arrays = [a.detach().jax() if isinstance(a, torchlike.Tensor) else a for a in given]
    statics = tuple(i for i, a in enumerate(arrays) if not isinstance(a, jax.Array))
    if mode != GRADIENTS:
        return jax.jit(function, static_argnums=statics), arrays
    wanted = tuple(
        i for i, a in enumerate(given) if isinstance(a, torchlike.Tensor) and a.requires_grad
    )

    made = jax.eval_shape(lambda *args: jax.tree.leaves(function(*args)), *arrays)
    weights = [
        jax.numpy.linspace(*WEIGHTS, math.prod(x.shape), dtype=x.dtype).reshape(x.shape)
        for x in made
    ]

    # An argument: XLA would compute what follows from constants when it compiles.
    def gradients(weights: list[jax.Array], *args: Any) -> Any:
        def of_wanted(*leaves: Any) -> Any:
            given = list(args)
            for i, leaf in zip(wanted, leaves, strict=True):
                given[i] = leaf
            return jax.tree.leaves(function(*given))

        return jax.vjp(of_wanted, *(args[i] for i in wanted))[1](weights)

    return jax.jit(gradients, static_argnums=tuple(i + 1 for i in statics)), [weights, *arrays]


def _digests(value: Any) -> list[Digest]:
    if not any(True for _ in tensors_in(torchlike, value)):  # JAX's arrays
        value = jax.tree.map(lambda x: torchlike.from_numpy(np.array(x)), value)
    return digests(value, torchlike.Tensor, lambda t: np.asarray(t.detach().jax()))


if __name__ == "__main__":
    main(sys.argv[1:])
