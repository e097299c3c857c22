"""Recording: the node of an executed op, and how it runs backward.

``execute`` is the one way in which anything computed gets onto the tape: ops, views, write-backs
and backward passes themselves (for create_graph) all go through it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from torchlike import dtypes, errors, meta, modes, tape
from torchlike.dispatch.executable import Executable, flatten
from torchlike.storage import Storage
from torchlike.tape import Edge, Node, gradient_edge
from torchlike.tensor import TENSOR_TYPES, Tensor

_RELEASED: Any = object()


class OpNode(Node):
    """A recorded executable: what it saved, and the edges of the operands that need gradients."""

    __slots__ = ("_n_outputs", "all_edges", "avals", "exe", "residuals", "saved")

    def __init__(
        self, exe: Executable, edges: list[Edge | None], saved: Any, avals: Any, residuals: Any,
        n_outputs: int,
    ) -> None:  # fmt: skip
        super().__init__(exe.name, edges)
        self.exe = exe
        self.saved = saved
        self.avals = avals
        self.residuals = residuals
        self._n_outputs = n_outputs
        #: Edges of every tensor operand (None: needs no gradient), for next_functions.
        self.all_edges: tuple[Edge | None, ...] | None = None

    @property
    def n_outputs(self) -> int:  # type: ignore[override]
        return self._n_outputs

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        edges = self.edges if self.all_edges is None else self.all_edges
        return tuple((None, 0) if e is None else e for e in edges)

    def is_released(self) -> Any:
        """Whether a backward pass freed what this node saved."""
        return self.saved is _RELEASED

    def _check_alive(self) -> None:
        if self.saved is _RELEASED:
            raise RuntimeError(errors.BACKWARD_TWICE)

    def run(self, cotangents: list[Any]) -> Sequence[Any]:
        if self.saved is _RELEASED:
            raise RuntimeError(errors.BACKWARD_TWICE)
        try:
            return self.exe.backward(self.avals)(self.saved, self.residuals, tuple(cotangents))
        except Exception:
            if not meta.involved((self.saved, cotangents)):
                raise
            backward = self.exe.abstract.backward(self.avals)
            return backward(self.saved, self.residuals, tuple(cotangents))

    def run_graph(self, cotangents: list[Tensor | None]) -> Sequence[Any]:
        self._check_alive()
        exe = self.exe
        operands: list[Any] = list(self.saved)
        if exe.rule is not None:
            operands[0] = _rejoined(operands[0], (self, 0))
        else:
            edge_of = dict(zip(exe.wanted, self.edges, strict=True))
            for position, i in enumerate(exe.kept):
                if edge_of.get(i) is not None:
                    operands[position] = _rejoined(operands[position], edge_of[i])
        n_saved = len(operands)
        operands += cotangents
        mask = 0
        arrays = []
        for i, o in enumerate(operands):
            if isinstance(o, Tensor):
                arrays.append(o._read())
                if o.requires_grad:
                    mask |= 1 << i
            else:
                arrays.append(o)
        key = (mask, self.avals)
        double = exe.double.get(key)
        if double is None:
            avals = self.avals

            def pure(*operands: Any) -> tuple[Any, ...]:
                return exe._run_backward(avals, operands[:n_saved], None, operands[n_saved:])

            double = Executable(f"{exe.name}Backward", pure, mask, len(operands))
            exe.double[key] = double
        return flatten(execute(double, arrays, operands))

    def release(self) -> None:
        # A node that saved nothing (a view, a sum) can run again, as in PyTorch.
        if self.exe.saves:
            self.saved = _RELEASED
            self.residuals = None


def _rejoined(array: Any, edge: Edge | None) -> Tensor:
    """A saved array as a tensor with its place in the graph."""
    assert edge is not None
    t = object.__new__(Tensor)
    t._storage = Storage(array)
    node, nr = edge
    if isinstance(node, tape.AccumulateGrad):
        # Gradients reach the leaf through its accumulator; writing to this copy never happens.
        t._requires_grad = True
        t._accumulator = node.variable._accumulator
    else:
        t._node, t._output_nr, t._requires_grad = node, nr, True
    return t


def execute(exe: Executable, arrays: list[Any], operands: Sequence[Any]) -> Any:
    """Run an executable on arrays and record it when it has wanted operands.

    ``operands`` are what the arrays came from (tensors, numbers, None), for their edges. Gives a
    tensor, or a tuple of tensors.
    """
    if not exe.mask:
        try:
            out = exe.forward(*arrays)
        except Exception:
            if not _refused_meta(exe, arrays):
                raise
            return execute(exe.abstract, arrays, operands)
        if type(out) is tuple:
            return tuple([_wrap(o) for o in out])
        return _wrap(out)
    residuals = None
    try:
        if exe.rule is None and (exe.keeps_residuals or modes.current.capture is not None):
            out, residuals = exe.forward_vjp(*arrays)
        else:
            out = exe.forward(*arrays)
    except Exception:
        if not _refused_meta(exe, arrays):
            raise
        return execute(exe.abstract, arrays, operands)
    edges = [gradient_edge(operands[i]) for i in exe.wanted]
    saved, avals = exe.save(arrays, out)
    if type(out) is not tuple:
        t = _wrap(out)
        if out.dtype in dtypes.DIFFERENTIABLE:
            t._node = node = OpNode(exe, edges, saved, avals, residuals, 1)
            t._requires_grad = True
            if len(edges) != len(operands):
                node.all_edges = _all_edges(exe, edges, operands)
        return t
    node = OpNode(exe, edges, saved, avals, residuals, len(out))
    node.all_edges = _all_edges(exe, edges, operands)
    tensors = []
    for i, o in enumerate(out):
        t = _wrap(o)
        if o.dtype in dtypes.DIFFERENTIABLE:
            t._node, t._output_nr, t._requires_grad = node, i, True
        tensors.append(t)
    return tuple(tensors)


def _refused_meta(exe: Executable, arrays: Any) -> Any:
    """Whether a compiled form failed because an operand has no values (see meta.py).

    RuntimeError when another operand, other than a number or indices, has values.
    """
    if type(exe) is not Executable or not meta.involved(arrays):
        return False
    for a in arrays:
        if isinstance(a, jax.Array) and a.ndim and a.dtype in dtypes.DIFFERENTIABLE:
            raise RuntimeError("Tensor on device cpu is not on the expected device meta!")
    return True


def _all_edges(
    exe: Executable, edges: list[Edge | None], operands: Sequence[Any]
) -> tuple[Edge | None, ...]:
    edge_of = dict(zip(exe.wanted, edges, strict=True))
    return tuple(edge_of.get(i) for i, o in enumerate(operands) if type(o) in TENSOR_TYPES)


def _wrap(array: Any) -> Tensor:
    t = object.__new__(Tensor)
    t._storage = Storage(array)
    return t
