"""``torchlike.jit.explain``: what became of a function: inputs, outputs, guards, cost."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax

from torchlike._jit.compile.program import Program
from torchlike._jit.fallback.recompile_messages import is_tensor_key, shown
from torchlike._jit.function import JitFunction
from torchlike._jit.guards.guard import GuardSet
from torchlike._jit.guards.modules import ModuleGuard
from torchlike._jit.guards.naming import leaf_names, parameter_names
from torchlike._jit.guards.optimizers import OptimizerGuard
from torchlike._jit.guards.tensors import TensorGuard
from torchlike._jit.guards.values import ValueGuard, describe
from torchlike._runtime.lazy import LazyModule
from torchlike._runtime.trees import flatten
from torchlike.tensor import Tensor

if TYPE_CHECKING:
    from rich.table import Table

consoles, tables = LazyModule("rich.console"), LazyModule("rich.table")


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
class Explanation:
    """What ``explain`` found. ``str()`` and ``.table`` show it.

    Attributes:
      inputs, outputs: an `Entry` for each array.
      guards: what has to hold for the program to be used again; ``guard_values`` are their values.
      flops, bytes_accessed: XLA's estimates for one call.
      argument_bytes, output_bytes, temporary_bytes: what the program needs in memory.
      compile_seconds, capture_seconds, call_seconds: what took how long, in seconds.

    Example:
      >>> found = torchlike.jit.explain(lambda x: (x * x).sum())(torch.ones(8))
      >>> [(entry.name, entry.shape, entry.dtype) for entry in found.inputs]
      [('x', (8,), 'float32')]
      >>> found.output_bytes, found.has_backward
      (4, False)
    """

    name: str
    #: What the call returned (it was made: a training step has taken its step).
    result: Any
    inputs: list[Entry]
    outputs: list[Entry]
    guards: list[str]
    #: The values of ``guards``, in a few words.
    guard_values: list[str]
    #: Plain values among the arguments that the program is compiled for, by their names.
    static_arguments: dict[str, str]
    #: Why the program is not kept for the next call; "" when it is.
    not_kept: str
    flops: float
    bytes_accessed: float
    #: Bytes of arguments, outputs and temporaries of the executable.
    argument_bytes: int
    output_bytes: int
    temporary_bytes: int
    #: Instructions of the optimized program.
    instructions: int
    #: Seconds XLA took (the persistent cache makes them fewer).
    compile_seconds: float
    #: Seconds that running the Python body took when the program was captured, and seconds of this
    #: call until its results were there (the first one's capture and compilation among them).
    capture_seconds: float
    call_seconds: float
    has_backward: bool

    @property
    def table(self) -> Table:
        """A rich table."""
        table = tables.Table(title=f"torchlike.jit: {self.name}", show_lines=False)
        for column in ("", "name", "shape", "dtype", "donated"):
            table.add_column(column)
        for entry in (*self.inputs, *self.outputs):
            table.add_row(
                entry.role,
                entry.name,
                str(list(entry.shape)),
                entry.dtype,
                "yes" if entry.donated else "",
            )
        table.add_section()
        for name, value in self.static_arguments.items():
            table.add_row("static argument", name, value, "", "")
        for guard, value in zip(self.guards, self.guard_values, strict=True):
            table.add_row("guard", guard, value, "", "")
        table.add_section()
        for what, value in (
            ("flops", f"{self.flops:,.0f}"),
            ("bytes accessed", f"{self.bytes_accessed:,.0f}"),
            ("argument bytes", f"{self.argument_bytes:,}"),
            ("output bytes", f"{self.output_bytes:,}"),
            ("temporary bytes", f"{self.temporary_bytes:,}"),
            ("instructions", f"{self.instructions:,}"),
            ("capture time", f"{self.capture_seconds * 1e3:.1f} ms"),
            ("compile time", f"{self.compile_seconds * 1e3:.1f} ms"),
            ("this call", f"{self.call_seconds * 1e3:.1f} ms"),
            ("backward", "a second executable" if self.has_backward else "none outside"),
            ("kept", f"no: {self.not_kept}" if self.not_kept else "yes"),
        ):
            table.add_row(what, value, "", "", "")
        return table

    def __str__(self) -> str:
        console = consoles.Console(width=120, color_system=None)
        with console.capture() as captured:
            console.print(self.table)
        return captured.get()


def explain(fn: Callable[..., Any]) -> Callable[..., Explanation]:
    """Return a function that calls ``fn`` compiled and tells about the program that ran:
    ``explain(fn)(*args)``.

    The call is a real one: state is changed as by any call.

    Args:
      fn: a function or module, or one that ``torchlike.jit`` gave.

    Returns:
      a function of ``fn``'s arguments that gives an `Explanation`, whose ``result`` is what the
      call returned.

    Raises:
      JitCaptureError: from the call, where the function cannot be compiled.

    Example:
      >>> found = torchlike.jit.explain(torch.nn.functional.relu)(torch.tensor([-1.0, 2.0]))
      >>> found.result, found.not_kept
      (tensor([0., 2.]), '')
    """
    compiled = fn if isinstance(fn, JitFunction) else JitFunction(fn)

    def explained(*args: Any, **kwargs: Any) -> Explanation:
        started = time.perf_counter()
        result = compiled(*args, **kwargs)
        tensors = [x for x in flatten(result)[0] if isinstance(x, Tensor)]
        jax.block_until_ready([t._storage.cell for t in tensors])
        seconds = time.perf_counter() - started
        program = compiled.latest
        if compiled.ran_eagerly:
            return _of_eager(compiled, result, seconds)
        assert program is not None
        return _explanation(compiled, program, result, seconds)

    return explained


def _of_eager(compiled: JitFunction, result: Any, seconds: float) -> Explanation:
    """Explain a call that ran eagerly (``fallback="eager"`` or ``warmup``, or
    ``torch.compiler.set_stance`` said so): there is no program to tell about."""
    otherwise = "it warms up" if compiled.warms_up else "torch.compiler.set_stance"
    why = [otherwise, *compiled.fell_back.values()][-1]
    return Explanation(
        name=compiled._name,
        result=result,
        inputs=[],
        outputs=[],
        guards=[],
        guard_values=[],
        static_arguments={},
        capture_seconds=0.0,
        call_seconds=seconds,
        not_kept=f"ran eagerly: {why}",
        flops=0.0,
        bytes_accessed=0.0,
        argument_bytes=0,
        output_bytes=0,
        temporary_bytes=0,
        instructions=0,
        compile_seconds=0.0,
        has_backward=False,
    )


def _explanation(
    compiled: JitFunction, program: Program, result: Any, call_seconds: float
) -> Explanation:
    arguments, numbers, static = _names_of_arguments(compiled, program)
    started = time.perf_counter()
    executable = program.forward.lower(*program.inputs.avals).compile()
    seconds = time.perf_counter() - started
    cost = executable.cost_analysis() or {}
    memory = executable.memory_analysis()
    names = _storage_names(program.guards)
    values = program.guards.of(ValueGuard)
    inputs = []
    for i, (aval, (kind, what)) in enumerate(
        zip(program.inputs.avals, program.inputs.sources, strict=True)
    ):
        role, name = _role(kind, what, names, arguments)
        if kind == "number":
            name = numbers[what] if what < len(numbers) else "computed from the arguments"
        if kind == "host":
            place = getattr(program.inputs.getters[what], "place", None)
            name = "a random draw" if place is None else place[1]
        donated = i in program.inputs.donated
        inputs.append(Entry(role, name, tuple(aval.shape), str(aval.dtype), donated))
    outputs = [
        Entry(role, name, tuple(aval.shape), str(aval.dtype))
        for aval, (role, name) in zip(
            executable.out_info, _output_roles(program, names, arguments), strict=False
        )
    ]
    return Explanation(
        name=compiled._name,
        result=result,
        inputs=inputs,
        outputs=outputs,
        guards=[g.label for g in values],
        guard_values=[describe(g.before()) for g in values],
        static_arguments=static,
        capture_seconds=program.capture_seconds,
        call_seconds=call_seconds,
        not_kept="" if program.cacheable else program.why_not,
        flops=float(cost.get("flops", 0.0)),
        bytes_accessed=float(cost.get("bytes accessed", 0.0)),
        argument_bytes=getattr(memory, "argument_size_in_bytes", 0),
        output_bytes=getattr(memory, "output_size_in_bytes", 0),
        temporary_bytes=getattr(memory, "temp_size_in_bytes", 0),
        instructions=_instructions(executable),
        compile_seconds=seconds,
        has_backward=program.gradient.executable is not None,
    )


def _names_of_arguments(
    compiled: JitFunction, program: Program
) -> tuple[list[str], list[str], dict[str, str]]:
    """Return the names of the tensors among the arguments and of the traced numbers, each in order,
    and all other arguments with their values."""
    kept = compiled._cache.programs.items()
    key: Any = next((k for k, programs in kept if program in programs), compiled._cache.latest_key)
    names = leaf_names(key[0], parameter_names(compiled._fn))
    parts = dict(zip(names, key[-len(names) :] if names else (), strict=True))
    tensors = [name for name, part in parts.items() if is_tensor_key(part)]
    roots = getattr(program.numbers, "positions", ())
    numbers = [names[i] for i in roots]
    return (
        tensors,
        numbers,
        {
            name: shown(part)
            for name, part in parts.items()
            if name not in tensors and name not in numbers
        },
    )


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


def _role(kind: str, what: Any, names: dict[int, str], arguments: Sequence[str]) -> tuple[str, str]:
    if kind == "fixed":
        return "hidden input", names.get(id(what), "a tensor")
    if kind == "slot":
        return "hidden input", _slot_name(what, names)
    if kind == "argument":
        return "argument", str(arguments[what])
    if kind == "offset":
        return "number", f"where {arguments[what[0]]} begins"
    return ("number", "") if kind == "number" else ("host value", "")


def _slot_name(slot: Any, names: dict[int, str]) -> str:
    storage = getattr(slot.owner, "_storage", None)
    owner = names.get(id(storage), type(slot.owner).__name__)
    return f"{owner}.{slot.name.removeprefix('_')}"


def _output_roles(
    program: Program, names: dict[int, str], arguments: Sequence[str]
) -> list[tuple[str, str]]:
    roles = []
    for kind, what in program.outputs.written:
        if kind == "argument":
            roles.append(("written argument", arguments[what]))
        else:
            roles.append(("hidden output", _role(kind, what, names, arguments)[1]))
    slots = {t.output: s for s, t in program.outputs.slots if t is not None and t.output >= 0}
    for i in range(program.outputs.n_made):
        if i in slots:
            roles.append(("hidden output", _slot_name(slots[i], names)))
        else:
            roles.append(("result", str(i)))
    return roles + [("kept for backward", "")] * len(program.gradient.residual_avals)
