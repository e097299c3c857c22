"""``torchlike.jit.explain``: what became of a function: inputs, outputs, guards, cost."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax

from torchlike._jit.call.captured_program import CapturedProgram, Entry
from torchlike._jit.call.function import JitFunction
from torchlike._runtime.lazy import LazyModule
from torchlike._runtime.trees import flatten
from torchlike.jit._optimized_module import jit_function_of
from torchlike.tensor import Tensor

if TYPE_CHECKING:
    from rich.table import Table

consoles, tables = LazyModule("rich.console"), LazyModule("rich.table")


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
    compiled = jit_function_of(fn)
    if not isinstance(compiled, JitFunction):
        compiled = fn = JitFunction(fn)

    def explained(*args: Any, **kwargs: Any) -> Explanation:
        started = time.perf_counter()
        result = fn(*args, **kwargs)
        tensors = [x for x in flatten(result)[0] if isinstance(x, Tensor)]
        jax.block_until_ready([t._storage.cell for t in tensors])
        seconds = time.perf_counter() - started
        program = compiled.program_that_ran()
        if compiled.ran_eagerly:
            return _of_eager(compiled, result, seconds)
        assert program is not None
        return _explanation(compiled._name, program, result, seconds)

    return explained


def _of_eager(compiled: JitFunction, result: Any, seconds: float) -> Explanation:
    """Explain a call that ran eagerly (``fallback="eager"`` or ``warmup``, or
    ``torch.compiler.set_stance`` said so): there is no program to tell about."""
    otherwise = (
        "it warms up (torch.compiler.report() tells from which call on its program is used)"
        if compiled.warms_up
        else "torch.compiler.set_stance"
    )
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
    name: str, program: CapturedProgram, result: Any, call_seconds: float
) -> Explanation:
    cost, values = program.cost(), program.guarded_values
    return Explanation(
        name=name,
        result=result,
        inputs=program.inputs,
        outputs=program.outputs,
        guards=[label for label, _ in values],
        guard_values=[value for _, value in values],
        static_arguments=program.static_arguments,
        not_kept=program.not_kept,
        capture_seconds=program.capture_seconds,
        call_seconds=call_seconds,
        has_backward=program.has_backward,
        **dataclasses.asdict(cost),
    )
