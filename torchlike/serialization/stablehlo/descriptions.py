"""What goes into an exported program and comes out of it, as plain data: names of the model's
state, positions of arguments, numbers of outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torchlike._jit.guards.sources import ArgumentCell, CellSource
from torchlike._jit.trace.outputs import NumberTemplate
from torchlike.tensor import Tensor


class Unexportable(RuntimeError):
    """A function that holds what an exported program cannot.

    ``torch.export``, ``torch.jit.save``, ``to_jax`` and ``save_stablehlo`` raise it; the message
    says what it is.

    Example:
      >>> try:
      ...     torchlike.export.to_jax(torch.nn.Dropout(), (torch.ones(3),))
      ... except torchlike.export.Unexportable:
      ...     print("a program of JAX alone draws no random numbers")
      a program of JAX alone draws no random numbers
    """


def argument(x: Any) -> list[Any]:
    """Return how an argument is described: its dtype, or its value."""
    if isinstance(x, Tensor):
        return ["tensor", str(x.dtype.numpy)]
    if x is None or isinstance(x, (bool, int, float, str)):
        return ["plain", x]
    raise Unexportable(
        f"an argument is a {type(x).__name__}: only tensors and plain values are kept"
    )


def written(where: CellSource, names: dict[int, str]) -> list[Any]:
    """Return what a cell that the program writes to is called."""
    if isinstance(where, ArgumentCell):
        return ["argument", where.position]
    name = names.get(id(where.captured()))
    if name is None:
        raise Unexportable("it writes to a tensor that is no state of the module")
    return ["state", name]


def slots(bound: Sequence[tuple[Any, Any]], names: dict[int, str]) -> list[Any]:
    """Return what the names are called that the program binds anew, and the outputs they get."""
    return [_slot(slot, template, names) for slot, template in bound if not _stays(slot, template)]


def _stays(slot: Any, template: Any) -> bool:
    """Return whether a name was bound to the tensor that it had: ``self.seen += 1``."""
    return template is not None and template.whole and template.slot is slot


def _slot(slot: Any, template: Any, names: dict[int, str]) -> Any:
    """Return what a name that the program binds anew is called, and the output that it gets."""
    initial = slot.initial
    name = names.get(id(initial._storage)) if isinstance(initial, Tensor) else None
    if name is None or template is None or template.output < 0 or slot.name == "_grad":
        raise Unexportable(f"it binds `{type(slot.owner).__name__}.{slot.name.removeprefix('_')}`")
    return [name, template.output]


def result(x: Any, names: dict[int, str]) -> Any:
    """Return how a result is described: a plain value, something given, or an output."""
    if isinstance(x, NumberTemplate):
        return {"number": x.kind.__name__, "output": x.output}
    if not hasattr(x, "existing"):
        if x is None or isinstance(x, (bool, int, float, str)):
            return x
        raise Unexportable(
            f"it returns a {type(x).__name__}: only tensors and plain values are kept"
        )
    if x.argument >= 0:
        return {"same": ["argument", x.argument]}
    if x.whole:
        name = names.get(id(x.slot.initial._storage))
        if name is None:
            raise Unexportable("it returns a tensor from outside")
        return {"same": ["state", name]}
    if x.existing is not None:
        name = names.get(id(x.existing._storage))
        if name is None:
            raise Unexportable("it returns a tensor from outside")
        return {"same": ["state", name]}
    return {"output": x.output, "root": x.root}


def boundary(b: Any, names: dict[int, str]) -> Any:
    """Return where a gradient goes: to which argument or state; None for nowhere."""
    if isinstance(b, int):
        return ["argument", b]
    if isinstance(b, Tensor) and id(b._storage) in names:
        return ["state", names[id(b._storage)]]
    return None
