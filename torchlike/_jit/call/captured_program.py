"""`CapturedProgram`: a compiled program of a function, for whoever looks at it from outside."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax

from torchlike._jit.call.recompile_messages import is_tensor_key, leaf_names, shown
from torchlike._jit.guards.guard import GuardSet, ValueGuard, describe
from torchlike._jit.guards.modules import ModuleGuard, OptimizerGuard
from torchlike._jit.guards.sources import CellSource, InputNames, InputSource
from torchlike._jit.guards.tensors import TensorGuard
from torchlike._jit.program.program import Program
from torchlike._jit.trace.outputs import Template
from torchlike.tensor import Tensor


@dataclasses.dataclass(frozen=True)
class Entry:
    """One array that goes into or comes out of a program.

    Attributes:
      role: what it is to the program: "argument", "parameter", "result" and kin.
      name: its name in the user's code.
      shape: its shape.
      dtype: its dtype's name.
      donated: whether the program takes its memory for a result.

    Example:
      >>> from torchlike.jit import Entry
      >>> Entry("argument", "x", (2, 3), "float32")
      Entry(role='argument', name='x', shape=(2, 3), dtype='float32', donated=False)
    """

    role: str
    name: str
    shape: tuple[int, ...]
    dtype: str
    donated: bool = False


@dataclasses.dataclass(frozen=True)
class ProgramCost:
    """What XLA says of a program once it is compiled.

    Attributes:
      argument_bytes, output_bytes, temporary_bytes: bytes of arguments, outputs and temporaries of
        the executable.
      instructions: instructions of the optimized program.
      compile_seconds: seconds XLA took (the persistent cache makes them fewer).
    """

    flops: float
    bytes_accessed: float
    argument_bytes: int
    output_bytes: int
    temporary_bytes: int
    instructions: int
    compile_seconds: float


class CapturedProgram:
    """One compiled program of a function: ``torchlike.jit(f).programs()`` gives those that it has.

    Attributes:
      name: the function's name.

    Example:
      >>> double = torchlike.jit(lambda x: 2 * x)
      >>> double(torch.ones(3))
      tensor([2., 2., 2.])
      >>> len(double.programs()[0].sources)
      1
    """

    def __init__(
        self, name: str, program: Program, key: tuple[Any, ...], parameters: Sequence[str] = ()
    ) -> None:
        """Look at ``program``, which calls of this key run, of a function with these
        parameters."""
        self.name = name
        self._program = program
        self._key = key
        self._parameters = parameters

    def __repr__(self) -> str:
        n, m = len(self.sources), len(self._program.guards)
        return f"<program of {self.name}: {n} inputs, {m} guards>"

    def is_of(self, program: Program | None) -> bool:
        """Return whether this is a look at ``program``."""
        return self._program is program

    @property
    def sources(self) -> list[InputSource]:
        """Where a call finds each input, in the order of the executable's arguments."""
        return self._program.inputs.sources

    @property
    def avals(self) -> list[jax.ShapeDtypeStruct]:
        """Shapes and dtypes of the inputs."""
        return self._program.inputs.avals

    @property
    def donated(self) -> tuple[int, ...]:
        """The inputs whose memory is given up, because an output overwrites them."""
        return self._program.inputs.donated

    @property
    def written(self) -> list[CellSource]:
        """Where the first outputs are written to."""
        return self._program.outputs.written

    @property
    def new_results(self) -> list[int | None]:
        """Of the tensors that a call gives back, in order, the output that each is; None for one
        that is no new tensor of its own."""
        n = len(self.written)
        leaves = [x for x in self._program.outputs.result[0] if isinstance(x, Template)]
        return [None if x.output < 0 or x.view is not None else n + x.output for x in leaves]

    @property
    def inputs(self) -> list[Entry]:
        """The inputs: arguments, hidden inputs (parameters, buffers, gradients, state of an
        optimizer), per-call values and traced numbers."""
        donated = set(self._program.inputs.donated)
        return [
            Entry(*source.explain(self._names), tuple(aval.shape), str(aval.dtype), i in donated)
            for i, (aval, source) in enumerate(zip(self.avals, self.sources, strict=True))
        ]

    @property
    def outputs(self) -> list[Entry]:
        """The outputs: what is written, results, and what backward keeps."""
        found = zip(jax.tree.leaves(self._lowered.out_info), self._output_roles(), strict=False)
        return [Entry(*role, tuple(aval.shape), str(aval.dtype)) for aval, role in found]

    @property
    def guards(self) -> list[str]:
        """What the program depends on besides the key of a call, in words."""
        return [guard.describe() for guard in self._program.guards.guards]

    @property
    def guarded_values(self) -> list[tuple[str, str]]:
        """The plain Python values among the guards, modules' attributes among them: their names,
        and what they were."""
        guards = self._program.guards
        found = [(guard.label, describe(guard.before())) for guard in guards.of(ValueGuard)]
        return found + [value for guard in guards.of(ModuleGuard) for value in guard.values]

    @property
    def static_arguments(self) -> dict[str, str]:
        """Plain values among the arguments that the program is compiled for, by their names."""
        tensors, numbers = self._names.arguments, self._names.numbers
        return {
            name: shown(part)
            for name, part in self._parts.items()
            if name not in tensors and name not in numbers
        }

    @property
    def not_kept(self) -> str:
        """Why the program is not kept for the next call; "" when it is."""
        return "" if self._program.cacheable else self._program.why_not

    @property
    def has_backward(self) -> bool:
        """Whether backward through a call runs a second executable."""
        return self._program.gradient.executable is not None

    @property
    def updates(self) -> bool:
        """Whether a call writes to tensors from outside or binds attributes."""
        return self._program.updates

    @property
    def capture_seconds(self) -> float:
        """Seconds that the run of the Python body took."""
        return self._program.capture_seconds

    @property
    def has_per_call_values(self) -> bool:
        """Whether Python provides numbers at each call: random draws, an optimizer's rate."""
        return bool(self._program.inputs.getters)

    @property
    def function(self) -> Callable[..., Any]:
        """The function of the inputs' arrays to the outputs', for JAX to trace and compile."""
        return getattr(self._program.forward, "__wrapped__", self._program.forward)

    def values(self, arguments: Sequence[Tensor]) -> list[Any]:
        """Return the arrays that the cells among the inputs hold at a call with these tensors as
        arguments."""
        return [storage.read() for storage in self._program.storages(arguments)]

    def run(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """Return the outputs for these inputs. Nothing is written to."""
        return self._program.forward(*arrays)

    def equations(self) -> Any:
        """Return the jaxpr without the call of ``jax.jit`` around it."""
        return self._program.forward.trace(*self.avals).jaxpr.jaxpr

    def backward_equations(self) -> Any:
        """Return the jaxpr of the backward pass that a call leaves to be run; None without one."""
        gradient = self._program.gradient
        if gradient.executable is None:
            return None
        kept = tuple([self.avals[i] for i in gradient.kept_inputs])
        residuals = tuple(gradient.residual_avals), kept
        cotangents = tuple(gradient.cotangent_avals)
        return gradient.executable.trace(residuals, cotangents).jaxpr.jaxpr

    def jaxpr(self) -> Any:
        """Return the program as a ``jax.core.ClosedJaxpr``, of the inputs to the outputs."""
        return jax.make_jaxpr(self._program.forward)(*self.avals)

    def stablehlo(self) -> str:
        """Return the program as StableHLO text."""
        return self._lowered.as_text()

    def cost(self) -> ProgramCost:
        """Compile the program ahead of time, and return what XLA says of it."""
        started = time.perf_counter()
        executable = self._program.forward.lower(*self.avals).compile()
        seconds = time.perf_counter() - started
        cost = executable.cost_analysis() or {}
        memory = executable.memory_analysis()
        return ProgramCost(
            flops=float(cost.get("flops", 0.0)),
            bytes_accessed=float(cost.get("bytes accessed", 0.0)),
            argument_bytes=getattr(memory, "argument_size_in_bytes", 0),
            output_bytes=getattr(memory, "output_size_in_bytes", 0),
            temporary_bytes=getattr(memory, "temp_size_in_bytes", 0),
            instructions=_instructions(executable),
            compile_seconds=seconds,
        )

    @functools.cached_property
    def _lowered(self) -> Any:
        return self._program.forward.lower(*self.avals)

    @functools.cached_property
    def _parts(self) -> dict[str, Any]:
        """The parts of the key that stand for the leaves of a call, by the leaves' names."""
        names = leaf_names(self._key[0], self._parameters)
        return dict(zip(names, self._key[-len(names) :] if names else (), strict=True))

    @functools.cached_property
    def _names(self) -> InputNames:
        names = list(self._parts)
        return InputNames(
            _storage_names(self._program.guards),
            [name for name, part in self._parts.items() if is_tensor_key(part)],
            [names[i] for i in getattr(self._program.numbers, "positions", ())],
            self._program.inputs.getters,
        )

    def _output_roles(self) -> list[tuple[str, str]]:
        what, names, roles = self._program.outputs, self._names, []
        for where in what.written:
            role, name = where.explain(names)
            roles.append(("written argument" if role == "argument" else "hidden output", name))
        slots = {t.output: s for s, t in what.slots if t is not None and t.output >= 0}
        for i in range(what.n_made):
            if i in slots:
                roles.append(("hidden output", names.of_slot(slots[i])))
            else:
                roles.append(("result", str(i)))
        if self._program.words is not None:
            roles.append(("checks of values", ""))
        kept = len(self._program.gradient.residual_avals)
        return roles + [("kept for backward", "")] * kept


def _instructions(executable: Any) -> int:
    """Count the instructions in the entry computation, its parameters not counted."""
    entry = executable.as_text().partition("\nENTRY ")[2].partition("\n}")[0]
    return sum(" = " in line and " parameter(" not in line for line in entry.splitlines())


def _storage_names(guards: GuardSet) -> dict[int, str]:
    """Return the names of tensors that the program reached: {id(storage): name}."""
    names = {id(g.storage): g.label for g in guards.of(TensorGuard)}
    for module in (guard.module for guard in guards.of(ModuleGuard)):
        for table in ("_parameters", "_buffers"):
            for name, t in module.__dict__.get(table, {}).items():
                if t is not None:
                    names.setdefault(id(t._storage), f"{type(module).__name__}.{name}")
    for optimizer in guards.of(OptimizerGuard):
        optimizer.name_states(names)
    return names
