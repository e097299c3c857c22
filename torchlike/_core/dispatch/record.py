"""``execute`` runs an executable and, where gradients are wanted, hangs an `OpNode` on the result.

``execute`` is the one way in which anything computed gets onto the tape: ops, views, write-backs
and backward passes themselves (for create_graph) all go through it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from torchlike._core import cells, dtypes, errors, modes, tape
from torchlike._core.dispatch.executable import Executable, called, flatten
from torchlike._core.overrides import TENSOR_TYPES
from torchlike._core.storage import device_array
from torchlike._core.tape import Edge, Node, gradient_edge
from torchlike._core.tensor_values import keep_read
from torchlike._runtime import first_calls
from torchlike._runtime.first_calls import DECLINED
from torchlike._runtime.first_calls.settings import settings
from torchlike._runtime.provided import Provided
from torchlike.tensor import Tensor, wrap

if TYPE_CHECKING:
    from torchlike._core.cells import Argument, Result, Value
    from torchlike._core.dispatch.executable import Aval, Gradients, Residuals

_RELEASED: Any = object()
class_shown = Provided("gives the class as which a node (its class, its name) is shown, or None")


class OpNode(Node):
    """A recorded executable: what it saved, and the edges of the operands that need gradients."""

    __slots__ = ("_n_outputs", "avals", "exe", "residuals", "saved", "shown_operands")
    #: Whether it refuses itself to run after a tensor that it saved was written to.
    refuses_writes = False

    def __init__(
        self,
        exe: Executable,
        edges: list[Edge | None],
        saved: tuple[Argument, ...],
        avals: tuple[Aval | None, ...],
        residuals: Residuals | None,
        n_outputs: int,
        shown_operands: tuple[int, ...] | None = None,
    ) -> None:
        super().__init__(exe.name, edges)
        self.exe = exe
        self.saved = saved
        self.avals = avals
        self.residuals = residuals
        self._n_outputs = n_outputs
        #: Which operands have an entry in next_functions; None where it is those with an edge.
        self.shown_operands = shown_operands

    @property
    def n_outputs(self) -> int:  # type: ignore[override]
        return self._n_outputs

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        edges: Sequence[Edge | None] = self.edges
        if self.shown_operands is not None:
            edge_of = dict(zip(self.exe.wanted, edges, strict=True))
            edges = [edge_of.get(i) for i in self.shown_operands]
        return tuple((None, 0) if e is None else (e[0].shown(), e[1]) for e in edges)

    def shown(self) -> Node:
        kind = class_shown(type(self), self.short_name())
        if kind is not None:
            self.__class__ = kind
        return self

    def is_released(self) -> bool:
        return self.saved is _RELEASED

    def _check_alive(self) -> None:
        if self.saved is _RELEASED:
            raise RuntimeError(errors.BACKWARD_TWICE)

    def run(self, cotangents: list[Any]) -> Sequence[Value | None]:
        if self.saved is _RELEASED:
            raise RuntimeError(errors.BACKWARD_TWICE)
        exe = self.exe
        if exe.identity_grad_for is not None:
            passed = exe.passed_on(self.saved, self.avals, cotangents[0])
            if passed is not None:
                return passed
        try:
            backward: Any = exe.backward(self.avals)
            watcher = modes.current.watcher
            if watcher is None or (watcher.is_eager and not watcher.defers):
                if type(cotangents[0]) is np.ndarray and self.residuals is None:
                    return first_calls.call(backward, self.saved, None, tuple(cotangents))
                return backward(self.saved, self.residuals, tuple(cotangents))
            if watcher.defers and hasattr(backward, "by_numpy"):
                return first_calls.call(backward, self.saved, self.residuals, tuple(cotangents))
            return called(exe, backward, self.saved, self.residuals, tuple(cotangents))
        except Exception:
            kind = cells.kind_among([*self.saved, *cotangents])
            if kind is None:
                raise
            return kind.backward(self, cotangents)

    def run_graph(self, cotangents: list[Tensor | None]) -> tuple[Tensor, ...]:
        self._check_alive()
        exe = self.exe
        operands: list[Any] = list(self.saved)
        if exe.rule is not None:
            operands[0] = rejoined(operands[0], (self, 0))
        else:
            edge_of = dict(zip(exe.wanted, self.edges, strict=True))
            for position, i in enumerate(exe.saved):
                if edge_of.get(i) is not None:
                    operands[position] = rejoined(operands[position], edge_of[i])
        operands += cotangents
        mask = 0
        arrays = []
        for i, o in enumerate(operands):
            if isinstance(o, Tensor):
                arrays.append(o._read())
                if o.requires_grad and modes.current.grad_enabled:
                    mask |= 1 << i
            else:
                arrays.append(o)
        return flatten(execute(self.backward_executable(mask, len(operands)), arrays, operands))

    def backward_executable(self, mask: int, n_operands: int) -> Executable:
        """Return the backward as an executable of what was saved and of the cotangents, made where
        there is none yet."""
        exe, avals, n_saved = self.exe, self.avals, len(self.saved)
        # Of optional operands may depend how many outputs there are, and so cotangents.
        key = (mask, avals, n_operands)
        found = exe.double.get(key)
        if found is None:

            def pure(*operands: Argument) -> Gradients:
                return exe._run_backward(avals, operands[:n_saved], None, operands[n_saved:])

            found = Executable(f"{exe.name}Backward", pure, mask, n_operands, library=exe.library)
            exe.double[key] = found
        return found

    def kept_values(self) -> Sequence[Argument]:
        """Return the saved values, as arrays and numbers."""
        self._check_alive()
        return self.saved

    def release(self) -> None:
        # A node that saved nothing (a view, a sum) can run again, as in PyTorch.
        if self.exe.saves:
            self.saved = _RELEASED
            self.residuals = None


def unwritten(array: object, edge: Edge | None) -> Tensor | None:
    """Return the leaf whose value a saved array is, unless it was written to since: PyTorch hands
    out the very object."""
    if edge is None or not isinstance(edge[0], tape.AccumulateGrad):
        return None
    leaf = edge[0].variable
    # Read as a capture sees it, which keeps what it writes out of the cell.
    same = leaf._view is None and leaf._storage.host is None and leaf._storage.value() is array
    return leaf if same else None


def rejoined(array: Value, edge: Edge | None) -> Tensor:
    """Make a tensor of a saved array, with its place in the graph."""
    assert edge is not None
    t = wrap(array)
    node, nr = edge
    if isinstance(node, tape.AccumulateGrad):
        # Gradients reach the leaf through its accumulator; writing to this copy never happens.
        t._requires_grad = True
        t._accumulator = node.variable._accumulator
    else:
        t._node, t._output_nr, t._requires_grad = node, nr, True
    return t


def snapshot(t: Tensor) -> Tensor:
    """Return a new tensor with the value that ``t`` has now and its place in the graph: later
    writes to ``t`` do not reach it."""
    edge = gradient_edge(t)
    if edge is None:
        return wrap(t._read())
    same = rejoined(t._read(), edge)
    if isinstance(edge[0], tape.AccumulateGrad):
        node = edge[0]
        same._accumulator = lambda: node  # kept alive: no graph may hold it yet
    return same


def to_device(arrays: list[Argument], operands: Sequence[Any]) -> None:
    """Turn the host values among ``arrays`` and in the cells of ``operands`` into jax arrays."""
    for i, array in enumerate(arrays):
        if type(array) is np.ndarray:
            o = operands[i]
            arrays[i] = o._read() if type(o) in TENSOR_TYPES else device_array(array)


def keep_on_host(arrays: list[Any], operands: Sequence[Any]) -> None:
    """Have the small parameters that NumPy has just read be host values: inference reads them again
    and again, and to show NumPy a jax array takes 1 to 3 µs."""
    for array, o in zip(arrays, operands, strict=True):
        if type(o) in TENSOR_TYPES and o._requires_grad and type(array) is not np.ndarray:
            small = math.prod(array.shape) * array.dtype.itemsize <= settings.host_bytes
            if small and array is o._storage.cell:  # and not of a view
                keep_read(o._storage, np.asarray(array))


def execute(
    exe: Executable, arrays: list[Any], operands: Sequence[Any], on_host: Any = False
) -> Any:
    """Run an executable on arrays and record it when it has wanted operands.

    ``operands`` are what the arrays came from (tensors, numbers, None), for their edges, and
    ``on_host`` is the queue that records the call, or True where some of these are host values.
    Gives a tensor, or a tuple of tensors.
    """
    residuals = None
    selecting = tape.saving.selecting if exe.mask else None
    known = None if selecting is None else selecting.recall(exe)
    out: Any = DECLINED
    try:
        if known is not None:
            out, residuals = known
        elif on_host:
            keeps = exe.keeps_residuals and exe.mask and exe.rule is None
            # Under hooks on saved tensors a forward run again must save as many as the first.
            if keeps and on_host is not True and tape.saving.make is None:
                out, residuals = first_calls.call(cast(Any, exe.forward_vjp), *arrays)
            else:
                out = exe.by_numpy(*arrays) if on_host is True else on_host.record_op(exe, arrays)
                if out is DECLINED:
                    to_device(arrays, operands)
        if out is not DECLINED:
            pass
        elif not exe.mask:
            out = exe.forward(*arrays)
        elif modes.current.capture is not None:
            if exe.rule is None:
                out, residuals = called(exe, exe.forward_vjp, *arrays)
            else:
                out = called(exe, exe.forward, *arrays)
        elif exe.rule is None and exe.keeps_residuals:
            out, residuals = exe.forward_vjp(*arrays)
        else:
            out = exe.forward(*arrays)
    except Exception:
        if type(exe) is not Executable or cells.kind_among(arrays) is None:
            raise
        return execute_without_arrays(exe, arrays, operands)
    if not exe.mask:
        return tuple([wrap(o) for o in out]) if type(out) is tuple else wrap(out)
    if selecting is not None:
        selecting.offer(exe, out, residuals, operands)
    return recorded(
        exe, [gradient_edge(operands[i]) for i in exe.wanted], arrays, out, residuals, operands
    )


def execute_without_arrays(
    exe: Executable, arrays: list[Argument], operands: Sequence[object]
) -> Result:
    """Execute an op where compiled forms refuse an operand that is no array, by its kind."""
    kind = cells.kind_among(arrays)
    assert kind is not None
    return kind.execute(exe, arrays, operands, execute)


def recorded(
    exe: Executable,
    edges: list[Edge | None],
    arrays: Sequence[Argument],
    out: Any,
    residuals: Residuals | None,
    operands: Sequence[object],
) -> Result:
    """Record a node for the outputs of an op, and return them as tensors with it."""
    saved, avals = exe.save(arrays, out)
    make = tape.saving.make
    if type(out) is not tuple:
        t = wrap(out)
        if out.dtype in dtypes.DIFFERENTIABLE:
            shown = None if len(edges) == len(operands) else _shown_operands(exe, operands)
            if make is None:
                t._node = OpNode(exe, edges, saved, avals, residuals, 1, shown)
            else:
                t._node = make(exe, edges, saved, avals, residuals, 1, shown, operands, t)
            t._requires_grad = True
        return t
    shown = _shown_operands(exe, operands)
    if make is None:
        node = OpNode(exe, edges, saved, avals, residuals, len(out), shown)
    else:
        node = make(exe, edges, saved, avals, residuals, len(out), shown, operands, None)
    tensors = []
    for i, o in enumerate(out):
        t = wrap(o)
        if o.dtype in dtypes.DIFFERENTIABLE:
            t._node, t._output_nr, t._requires_grad = node, i, True
        tensors.append(t)
    return tuple(tensors)


_shown: dict[tuple[int, tuple[type, ...]], tuple[int, ...]] = {}


def _shown_operands(exe: Executable, operands: Sequence[object]) -> tuple[int, ...]:
    """Return the positions of the operands that next_functions lists: tensors, with a gradient or
    not, and numbers in a tensor's place (x * 2), whose edge, as in PyTorch, leads nowhere."""
    numbers = 0 if exe.options is None else exe.options[0].wrapped_mask
    key = numbers, tuple(map(type, operands))
    found = _shown.get(key)
    if found is None:
        found = _shown[key] = tuple(
            i
            for i, o in enumerate(operands)
            if type(o) in TENSOR_TYPES or (numbers >> i & 1 and o is not None)
        )
    return found
