"""Captures a step without values, and compiles it for a topology."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from torchlike._core import devices, modes
from torchlike._jit.call.captured_program import CapturedProgram
from torchlike._jit.call.tracer import MODES_IN_KEY, Call, FunctionTracer, capturing
from torchlike._jit.guards.keys import Numbers, signature, static_key
from torchlike._runtime import compilation_cache, targets
from torchlike._runtime.trees import flatten_arguments
from torchlike.jit._optimized_module import uncompiled
from torchlike.porting.plan import program_text, schedulers, weightless
from torchlike.porting.plan.flops import flops_of
from torchlike.porting.plan.leaves import Leaf, Names, Rule, leaves_of, shardings
from torchlike.porting.plan.topologies import Topology
from torchlike.tensor import Tensor

#: Of what an error speaks that asks a tensor on the meta device for its value.
ABSENT_VALUES = ("no data", "on meta tensors")


class StepReadsValues(RuntimeError):
    """A step that asks for a tensor's value, which a plan does not have."""


@dataclass(frozen=True)
class CapturedStep:
    """A step, captured for a platform.

    Attributes:
      name: of the function.
      program: its program.
      leaves: its inputs.
      flops: of its products and convolutions, on all devices together, by unit (`flops_of`).
      seconds: that the capture took.
    """

    name: str
    program: CapturedProgram
    leaves: list[Leaf]
    flops: dict[str, int]
    seconds: float

    @property
    def updates(self) -> bool:
        """Whether the step writes to parameters, rather than to their gradients alone."""
        written = self.program.written
        of_sources = zip(self.leaves, self.program.sources, strict=True)
        return any(leaf.kind == "parameters" and source in written for leaf, source in of_sources)


@dataclass(frozen=True)
class CompiledStep:
    """A captured step, compiled for a topology.

    Attributes:
      placed: the sharding of each input.
      executable: what JAX compiled (``memory_analysis``, ``cost_analysis``).
      text: the optimised program.
      seconds: that XLA took.
    """

    captured: CapturedStep
    topology: Topology
    mesh: Mesh
    placed: list[NamedSharding]
    executable: Any
    text: str
    seconds: float


def captured(
    step: Callable[..., Any],
    args: Any,
    kwargs: Any,
    platform: str,
    partitions: int = 1,
    *,
    has_run: bool = False,
) -> CapturedStep:
    """Capture a call of ``step`` for ``partitions`` devices of a platform: run it once eagerly,
    so that the state which it makes at its first call exists, and then trace it. One that
    ``has_run`` is only traced, which changes nothing.

    Where model and arguments are on the meta device, nothing is computed; otherwise the eager run
    is a step like any other. Schedulers of learning rates are no part of what is traced.

    Raises:
      StepReadsValues: the step asks for the value of a tensor on the meta device.
      JitCaptureError: it cannot be compiled as a whole.
    """
    step = uncompiled(step)
    name = getattr(step, "__qualname__", type(step).__name__)
    if not has_run:
        run_once(step, args, kwargs)
    names = Names.collect()
    started = time.perf_counter()
    device, mapping = modes.current.device, devices.mapping()
    # What the step makes, or moves, on the meta device is an array of the program.
    modes.current.device = None
    devices.map_types({**dict.fromkeys(mapping, "cpu"), "meta": "cpu"})
    try:
        with targets.platform(platform, partitions), weightless.cells(), schedulers.resting():
            call = _call(args, kwargs)
            tracer = FunctionTracer(step, name, Numbers(step, None, None, None))
            with capturing:
                traced = tracer.program_of(call, silent=True)
            program = CapturedProgram(name, traced.program, traced.key)
            inputs = leaves_of(program, names)
            flops = dict(flops_of(program.equations(), platform))
            traced.trace.capture.undo_python()
            traced.trace.outputs.cut()
    finally:
        modes.current.device = device
        devices.map_types(mapping)
    return CapturedStep(name, program, inputs, flops, time.perf_counter() - started)


def run_once(step: Callable[..., Any], args: Any, kwargs: Any) -> None:
    """Run a step eagerly. StepReadsValues where it asks for a value that a plan does not have."""
    try:
        step(*args, **kwargs)
    except (NotImplementedError, RuntimeError) as error:
        if not any(words in str(error) for words in ABSENT_VALUES):
            raise
        name = getattr(step, "__qualname__", type(step).__name__)
        raise StepReadsValues(
            f"{name} reads the value of a tensor ({_place(error)}): a plan has none. Return the "
            "tensor and read it outside of the step, or give a model and an example batch with "
            "values (on the CPU instead of the meta device)"
        ) from error


def _call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    leaves, structure = flatten_arguments(args, kwargs)
    first: dict[int, int] = {}
    key = [signature(x, first) if isinstance(x, Tensor) else static_key(x) for x in leaves]
    tensors = [x for x in leaves if isinstance(x, Tensor)]
    return Call((*(None,) * MODES_IN_KEY, *key), tensors, leaves, structure, ())


def compiled(
    step: CapturedStep,
    topology: Topology,
    mesh: Mesh,
    rule: Rule | Mapping[str, PartitionSpec],
    compiler_options: Mapping[str, Any] | None = None,
) -> CompiledStep:
    """Compile a captured step for the devices of ``mesh``; each input as ``rule`` shards it, and
    what replaces an input as that."""
    program, placed = step.program, shardings(step.leaves, mesh, rule)
    avals = [
        jax.ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type, sharding=sharding)
        for a, sharding in zip(program.avals, placed, strict=True)
    ]
    function = program.function
    with targets.platform(topology.platform, len(topology.devices)):
        outputs, tree = jax.tree.flatten(jax.eval_shape(function, *avals))
        kept: list[Any] = [None] * len(outputs)
        for o, where in enumerate(program.written):
            source = next((i for i, x in enumerate(program.sources) if x == where), None)
            if source is not None and outputs[o].shape == avals[source].shape:
                kept[o] = placed[source]
        jitted = jax.jit(
            function,
            donate_argnums=program.donated,
            out_shardings=jax.tree.unflatten(tree, kept),
        )
        started = time.perf_counter()
        with compilation_cache.unused(), program_text.kept(topology.platform) as (options, text_of):
            executable = jitted.lower(*avals).compile(
                compiler_options={**options, **(compiler_options or {})}
            )
            seconds = time.perf_counter() - started
            text = text_of(executable)
    return CompiledStep(step, topology, mesh, placed, executable, text, seconds)


def _place(error: BaseException) -> str:
    """Return the line of the user's that an error went through last."""
    found, tb = "", error.__traceback__
    while tb is not None:
        name = tb.tb_frame.f_code.co_filename
        if "/torchlike/" not in name.replace("\\", "/") and "/jax/" not in name:
            found = f"{name}:{tb.tb_lineno}"
        tb = tb.tb_next
    return found or "in the step"
