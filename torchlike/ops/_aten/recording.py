"""Gradients above the handlers: a recorded operator is a node whose backward pass calls operators.

The node keeps the arguments of the call. Its backward pass is a formula in terms of aten's
operators where `derivatives` has one, and else one operator ``torchlike::<name>_backward``: so
handlers see the calls of the backward pass as they see those of the forward pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torchlike._core import dtypes, errors, modes, overrides, tape
from torchlike._core.dispatch.registry import OPTIONS
from torchlike._core.tape import Node, gradient_edge
from torchlike.ops._aten import derivatives, handlers, vjps
from torchlike.ops._aten.handlers import tensors_of
from torchlike.tensor import Tensor, wrap

_CHANGED = (
    "one of the variables needed for gradient computation has been modified by an inplace operation"
)
#: Operators whose result has no gradient, whatever their arguments, though no definition says so.
_NO_GRADIENT_TEXT = """
    _local_scalar_dense new_zeros new_ones new_full new_empty new_empty_strided
    floor_divide heaviside nextafter"""
_NO_GRADIENT = frozenset(_NO_GRADIENT_TEXT.split())


class DispatchNode(Node):
    """A recorded operator."""

    in_tensors = True
    __slots__ = (
        "_n_outputs",
        "args",
        "avals",
        "formula",
        "kwargs",
        "outputs",
        "overload",
        "versions",
        "wanted",
    )

    def __init__(self, name: str, overload: Any, args: Any, kwargs: Any) -> None:
        self.wanted = [t for t in tensors_of((*args, *kwargs.values())) if t.requires_grad]
        super().__init__(name, [gradient_edge(t) for t in self.wanted])
        self.overload = overload
        self.args: Any = args
        self.kwargs: Any = kwargs
        self.formula = derivatives.formula_of(overload)
        self.versions: list[tuple[Tensor, int]] = []
        self.outputs: list[Any] = []
        self.avals: list[Any] = []
        self._n_outputs = 1

    @property
    def n_outputs(self) -> int:  # type: ignore[override]
        return self._n_outputs

    def keep(self, outputs: Sequence[Tensor]) -> None:
        """Record the operator's results: its backward pass may need the values."""
        self._n_outputs = max(len(outputs), 1)
        # What the operator itself writes (running means) is written by now.
        given = tensors_of((*self.args, *self.kwargs.values()))
        self.versions = [(t, t._storage.version) for t in given]
        self.avals = [(tuple(o.shape), o.dtype) for o in outputs]
        saved = () if self.formula is None else self.formula.results
        with modes.unrecorded():
            self.outputs = [
                None if i not in saved else (o.detach() if self.gives_gradient(i, o) else o)
                for i, o in enumerate(outputs)
            ]

    def gives_gradient(self, i: int, output: Tensor) -> bool:
        """Return whether a result is differentiable."""
        first = self.formula is not None and self.formula.only_first
        return output.dtype.numpy in dtypes.DIFFERENTIABLE and not (first and i)

    def is_released(self) -> bool:
        return self.args is None

    def release(self) -> None:
        if self.formula is None or self.formula.saves:
            self.args = self.kwargs = None
            self.outputs, self.versions = [], []

    def result(self, i: int) -> Tensor:
        """Return a result of the operator with its place in the graph."""
        found = self.outputs[i]
        if not self.gives_gradient(i, found):
            return found
        with modes.unrecorded():
            found = found.detach()
        if modes.current.grad_enabled:
            found._node, found._output_nr, found._requires_grad = self, i, True
        return found

    def run(self, cotangents: list[Any]) -> Sequence[Any]:
        given = [None if c is None else wrap(c) for c in cotangents]
        return [None if g is None else g._value_now() for g in self.run_graph(given)]

    def run_graph(self, cotangents: list[Tensor | None]) -> Sequence[Any]:
        if self.args is None:
            raise RuntimeError(errors.BACKWARD_TWICE)
        if self.formula is None or self.formula.saves:
            written = self.args[0] if self.overload._schema.is_mutable else None
            for t, version in self.versions:
                if t._storage.version != version and t is not written:
                    raise RuntimeError(_CHANGED)
        if self.formula is None:
            return vjps.gradients(self, cotangents)
        return derivatives.gradients(self, cotangents)


def _node_name(overload: Any) -> str:
    base = overload.operator.name.strip("_").split(".")[0]
    return "".join(part.capitalize() for part in base.split("_")) + "Backward0"


def has_no_gradient(overload: Any) -> bool:
    """Return whether an operator's results have no gradient, whatever its arguments."""
    name = overload.operator.name.rstrip("_")
    return name in _NO_GRADIENT or not OPTIONS.get(name, {}).get("differentiable", True)


def recorded(overload: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> overrides.Result:
    """Run the operator and return its result, recorded in the graph where an argument requires
    grad."""
    if (
        not modes.current.grad_enabled
        or has_no_gradient(overload)
        or not any(t.requires_grad for t in tensors_of((*args, *kwargs.values())))
    ):
        return handlers.handled(overload, args, kwargs)
    schema = overload._schema
    written = [a for a in schema.arguments if a.is_written]
    target = args[0] if written and args and isinstance(args[0], Tensor) else None
    if target is not None:
        tape.check_in_place(target, True)
        if target._base is not None:
            raise NotImplementedError(
                f"{overload}: writing to a view in place what requires grad, or whose base does, "
                "where __torch_dispatch__ is asked: the base would not know of the gradient; make "
                "the whole of parts (torch.stack, torch.cat), or write to a clone"
            )
        formula = derivatives.formula_of(overload)
        if formula is None or formula.overwrites(target, args, kwargs):
            with modes.unrecorded():
                args_kept = (target.clone(), *args[1:])
        else:
            args_kept = args
    else:
        args_kept = args
    node = DispatchNode(_node_name(overload), overload, args_kept, kwargs)
    if target is not None and args_kept is not args:
        node.wanted = [t for t in tensors_of((*args, *kwargs.values())) if t.requires_grad]
        node.edges = [gradient_edge(t) for t in node.wanted]
    result = handlers.handled(overload, args, kwargs)
    return _attached(node, result, target)


def _attached(node: DispatchNode, result: Any, target: Tensor | None) -> Any:
    """Attach the node to the results that may have gradients."""
    if target is not None:
        node.keep([target])
        if target._node is not None or target._requires_grad or node.wanted:
            target._history += 1
            target._node, target._output_nr, target._requires_grad = node, 0, True
        return target if isinstance(result, Tensor) else result
    flat = [result] if isinstance(result, Tensor) else list(tensors_of((result,)))
    fresh = []
    for o in flat:
        if any(o is t for t in node.wanted) or o._node is not None:
            with modes.unrecorded():
                same = o.detach()
            fresh.append(same)
        else:
            fresh.append(o)
    node.keep(fresh)
    for i, o in enumerate(fresh):
        if node.gives_gradient(i, o):
            o._node, o._output_nr, o._requires_grad = node, i, True
            o._made_by = ""
    if isinstance(result, Tensor):
        return fresh[0]
    return type(result)(fresh) if type(result) in (tuple, list) else _rebuilt(result, fresh)


def _rebuilt(result: Any, fresh: list[Tensor]) -> Any:
    return type(result)._make(fresh) if hasattr(result, "_make") else type(result)(fresh)
