"""The engine: walk the tape backwards, one node at a time.

Count how many edges reach each node, start at the roots, run a node when all its gradients have
arrived, hand its results along its edges. Nodes that are ready run latest-recorded first, as in
PyTorch. No recursion: a chain of 100,000 ops is fine.
"""

from __future__ import annotations

import heapq
import itertools
import math
import operator
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax import core

from torchlike._core import cells, errors, modes, overrides, views
from torchlike._core.dispatch.record import OpNode
from torchlike._core.tape import AccumulateGrad, Edge, Node
from torchlike._runtime import first_calls
from torchlike._runtime.inlining import AT_ONCE
from torchlike._runtime.provided import Provided
from torchlike.autograd import fresh_stack
from torchlike.autograd.conditional_grad import (
    GIVEN,
    ConditionalGrad,
    any_partial,
    array_of,
    on_arrays,
    through,
    total,
    union,
    when_of,
)
from torchlike.tensor import Tensor, wrap

_add = first_calls.jit(lambda a, b: a + b, name="sum of gradients", inline=AT_ONCE)
_add_donating = first_calls.jit(
    lambda a, b: a + b, name="sum of gradients", like=_add, donate_argnums=0
)
#: ``leaf_gradient(leaf, array)`` is what arrives at a leaf that has no place on a mesh.
leaf_gradient = Provided("gives what arrives at a leaf off the mesh", lambda leaf, array: array)
#: ``traced_leaf_gradient(leaf, made)`` sees its gradient that a program makes.
traced_leaf_gradient = Provided("sees a leaf's gradient in a program", lambda leaf, made: None)


def _sum(present: Any, gradient: Any) -> Any:
    try:
        if type(present) is np.ndarray or type(gradient) is np.ndarray:
            return first_calls.call(_add, present, gradient)
        return _add(present, gradient)
    except (TypeError, ValueError):
        if any_partial((present, gradient)):
            return total(present, gradient, _sum)
        kind = cells.kind_among((present, gradient))
        if kind is None:
            raise
        return kind.add(_add, gradient, present)


def _sum_of_tensors(present: Any, gradient: Any) -> Any:
    if any_partial((present, gradient)):
        return total(present, gradient, operator.add)
    if present.is_sparse and not gradient.is_sparse:  # the other way round is not defined
        return gradient + present
    return present + gradient


def _dependencies(roots: Sequence[Node], stop_before: int) -> dict[Node, int]:
    """Return how many edges lead to each reachable node."""
    count: dict[Node, int] = dict.fromkeys(roots, 0)
    stack = list(count)
    while stack:
        node = stack.pop()
        if node.sequence < stop_before:
            continue  # recorded before the capture began: a boundary, its gradient is an output
        for edge in node.edges:
            if edge is not None:
                following = edge[0]
                if following in count:
                    count[following] += 1
                else:
                    count[following] = 1
                    stack.append(following)
    return count


def _towards(nodes: Sequence[Node], targets: set[Node]) -> tuple[set[Node], set[Node]]:
    """Return the nodes to run, because a target lies behind them, and these with the targets."""
    run: set[Node] = set()
    touched = set(targets)
    # AccumulateGrad nodes have no edges; all others lead to smaller sequence numbers.
    for node in sorted(nodes, key=lambda n: n.sequence if n.edges else -1):
        if any(e is not None and e[0] in touched for e in node.edges):
            run.add(node)
            touched.add(node)
    return run, touched


class _Buffers:
    """Gradients on their way: per node, one slot for each output."""

    def __init__(self, create_graph: Any) -> None:
        self.create_graph = create_graph
        self.slots: dict[Node, list[Any]] = {}

    def add(self, edge: Edge, gradient: Any) -> None:
        node, nr = edge
        slot = self.slots.get(node)
        if slot is None:
            slot = self.slots[node] = [None] * node.n_outputs
        present = slot[nr]
        if present is None:
            slot[nr] = gradient
        elif self.create_graph:
            slot[nr] = _sum_of_tensors(present, gradient)
        else:
            slot[nr] = _sum(present, gradient)


class Pass:
    """A running backward pass: which nodes it reaches."""

    __slots__ = ("_nodes", "_touched", "at_end", "depth", "node", "number", "outer")
    _numbers = itertools.count(1)

    def __init__(self, nodes: Any, touched: set[Node] | None, outer: Pass | None = None) -> None:
        #: What to call once the pass has ended well.
        self.at_end: list[Callable[[], None]] = []
        #: The pass in whose node this one was begun, and how many there are around this one.
        self.outer, self.depth = outer, 0 if outer is None else outer.depth + 1
        #: The node that runs.
        self.node: Node | None = None
        #: What to remember a pass by: itself would keep the graph alive.
        self.number = next(self._numbers)
        self._nodes = nodes
        self._touched = touched

    def is_whole(self) -> bool:
        """Return whether gradients go to all leaves, rather than to chosen tensors."""
        return self._touched is None

    def reaches(self, edge: Edge | None) -> bool:
        """Return whether a gradient may arrive at this edge."""
        return (
            edge is not None
            and edge[0] in self._nodes
            and (self._touched is None or edge[0] in self._touched)
        )


def _as_nodes_want(
    nodes: dict[Node, int], cotangents: Sequence[Any], create_graph: Any
) -> tuple[Any, Sequence[Any]]:
    """Return whether gradients travel as tensors, and the first ones in that form: where the pass
    is recorded, or a node calls operators that classes and modes are to see. NotImplementedError
    where a mode makes a graph of operators (``make_fx``) and a node calls none."""
    if overrides.dispatch is None:
        return create_graph, cotangents
    if any(getattr(mode, "makes_graph", False) for mode in overrides.state.dispatch_modes):
        for node in nodes:
            if isinstance(node, OpNode) and not node.in_tensors:
                raise NotImplementedError(
                    "make_fx: backward of what was computed outside of the traced function (node "
                    f"{node.short_name()}). Compute it inside"
                )
    if create_graph:
        return create_graph, cotangents
    if any(node.in_tensors for node in nodes):
        return True, [_as_tensor(c) for c in cotangents]
    return False, [c._value_now() if isinstance(c, Tensor) else c for c in cotangents]


def _as_tensor(gradient: Any) -> Any:
    if type(gradient) is ConditionalGrad:
        return ConditionalGrad(_as_tensor(gradient.array), gradient.when)
    return gradient if isinstance(gradient, Tensor) else wrap(gradient)


def run(
    roots: Sequence[Edge],
    cotangents: Sequence[Any],
    *,
    retain_graph: Any,
    create_graph: Any,
    targets: Sequence[Edge] | None = None,
    accumulate: Any = True,
    stop_before: int = -1,
    fresh: bool = False,
) -> list[Any]:
    """Run backward from ``roots``; arrays in and out, or tensors with ``create_graph``.

    With ``targets``, only what they need is run and their gradients are returned (None where none
    arrived); otherwise gradients accumulate in the leaves. Nodes recorded before ``stop_before``
    are not run: their gradients are wanted by whoever began the capture. Inside one, gradients may
    be `ConditionalGrad`, in and out. ``fresh``: the stack has room for passes within this one.
    """
    outer_pass = modes.current.backward_pass
    if outer_pass is not None and not fresh and _is_deep(outer_pass):
        return fresh_stack.call(
            lambda: run(
                roots,
                cotangents,
                retain_graph=retain_graph,
                create_graph=create_graph,
                targets=targets,
                accumulate=accumulate,
                stop_before=stop_before,
                fresh=True,
            )
        )
    dependencies = _dependencies([edge[0] for edge in roots], stop_before)
    in_tensors, cotangents = _as_nodes_want(dependencies, cotangents, create_graph)
    buffers = _Buffers(in_tensors)
    for edge, cotangent in zip(roots, cotangents, strict=True):
        buffers.add(edge, cotangent)
    run_only = touched = None
    wanted: dict[Node, list[tuple[int, int]]] = {}
    results: list[Any] = []
    if targets is not None:
        results = [None] * len(targets)
        for i, (node, nr) in enumerate(targets):
            wanted.setdefault(node, []).append((i, nr))
        run_only, touched = _towards(list(dependencies), set(wanted))
        if accumulate:
            run_only |= set(wanted)  # as in PyTorch: their hooks are called
    ready = _first_ready(roots, dependencies)
    order = len(ready)
    previous_mode = modes.current.grad_enabled
    modes.current.grad_enabled = create_graph
    modes.current.backward_pass = own = Pass(dependencies, touched, outer_pass)
    try:
        while ready:
            own.node = node = heapq.heappop(ready)[2]
            incoming = buffers.slots.pop(node, None)
            runs = run_only is None or node in run_only
            if incoming is not None:
                arrived = incoming
                if node.pre_hooks or node.hooks is not None or node.retained:
                    incoming = _before(node, incoming, in_tensors, runs)
                for i, nr in wanted.get(node, ()):
                    node.check_whole(nr, incoming)
                    # As in PyTorch: of a node that runs, what was there before its tensors' hooks.
                    results[i] = (arrived if runs else incoming)[nr]
            outgoing: Sequence[Any] = ()
            if incoming is not None and node.sequence >= stop_before:
                if isinstance(node, AccumulateGrad):
                    if accumulate and (targets is None or node in wanted):
                        accumulate_grad(node, incoming[0], create_graph)
                        if node.hooks is not None and node.hooks[1]:
                            _after(node, (), incoming, in_tensors)
                elif runs:
                    outgoing = _run_node(node, incoming, in_tensors)
                    if not retain_graph:
                        node.release()
            if node.sequence < stop_before:
                continue
            for i, edge in enumerate(node.edges):
                if edge is None:
                    continue
                gradient = outgoing[i] if outgoing else None
                following = edge[0]
                if gradient is not None and (touched is None or following in touched):
                    buffers.add(edge, gradient)
                dependencies[following] -= 1
                if dependencies[following] == 0:
                    heapq.heappush(ready, (-following.sequence, order, following))
                    order += 1
        for callback in own.at_end:  # which may ask for more of them
            callback()
    except jax.errors.JaxRuntimeError as error:
        raise errors.out_of_memory(error, doing=f"The backward pass at {own.node}") from None
    finally:
        modes.current.grad_enabled, modes.current.backward_pass = previous_mode, outer_pass
    return results


def _first_ready(roots: Sequence[Edge], dependencies: dict[Node, int]) -> list[Any]:
    """Return the nodes that wait for nothing, as a heap: (minus sequence, order of coming,
    node)."""
    ready: list[tuple[int, int, Node]] = []
    for node in dict.fromkeys(edge[0] for edge in roots):
        if dependencies[node] == 0:
            heapq.heappush(ready, (-node.sequence, len(ready), node))
    return ready


def _is_deep(around: Pass) -> bool:
    """Return whether passes within each other have used up the stack. (A capture stays in its
    thread.)"""
    return (around.depth + 1) % fresh_stack.PASSES == 0 and not modes.is_capturing()


def queue_callback(callback: Callable[[], None], *, outermost: bool = False) -> None:
    """Call a function once the backward pass that runs, or the outermost one around it, has ended.
    RuntimeError outside of one."""
    running = modes.current.backward_pass
    if running is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    while outermost and running.outer is not None:
        running = running.outer
    running.at_end.append(callback)


def _run_node(node: Node, incoming: list[Any], create_graph: Any) -> Sequence[Any]:
    if all(c is None for c in incoming):
        return ()
    capture = modes.current.capture
    if capture is not None and node.sequence < capture.first_sequence:
        capture.refuse(
            "backward() through a graph recorded outside the jitted function",
            "autograd inside the jitted function only (or return the loss and call backward "
            "outside)",
        )
    if capture is not None and not node.sees_conditions and any_partial(incoming):
        return through(lambda arrays: _run_node(node, arrays, create_graph), incoming)
    if modes.current.anomaly:
        outgoing = _run_watched(node, incoming, create_graph)
    else:
        outgoing = node.run_graph(incoming) if create_graph else node.run(incoming)
    if node.hooks is not None and node.hooks[1]:
        outgoing = _after(node, outgoing, incoming, create_graph)
    return outgoing


def _run_watched(node: Node, incoming: list[Any], create_graph: Any) -> Sequence[Any]:
    """Run a node under anomaly detection: warn with the stack of the forward call before any
    error."""
    if modes.current.anomaly_nan:
        modes.running_capture().refuse_value("anomaly detection's look for NaN", "check_nan=False")
    try:
        outgoing = node.run_graph(incoming) if create_graph else node.run(incoming)
        if modes.current.anomaly_nan:
            _refuse_nan(node, outgoing)
    except Exception:
        name = node.short_name()
        warnings.warn(
            f"Error detected in {name}. {_recorded_at(node, 'caused the error', name)}", UserWarning
        )
        parent = node.metadata.get("parent_")
        while parent is not None:  # whose backward recorded the node
            name = parent.short_name()
            told = _recorded_at(parent, "induced the previous calculation", name)
            warnings.warn(f"\n\nPrevious calculation was induced by {name}. {told}", UserWarning)
            parent = parent.metadata.get("parent_")
        raise
    return outgoing


def _recorded_at(node: Node, effect: str, name: str) -> str:
    """Return the stack of the call that recorded a node, for a warning."""
    stack = "".join(node.metadata.get("traceback_", ()))
    if stack:
        return f"Traceback of forward call that {effect}:\n{stack}"
    return (
        f"No forward pass information available for {name}. Enable detect anomaly during forward "
        "pass for more information."
    )


def _refuse_nan(node: Node, outgoing: Sequence[Any]) -> None:
    for i, g in enumerate(outgoing):
        value = g._read() if isinstance(g, Tensor) else g
        if type(value) in cells.KINDS:
            value = value.elements()
        if value is not None and value.dtype.kind in "fcV" and bool(jax.numpy.isnan(value).any()):
            raise RuntimeError(
                f"Function '{node.short_name()}' returned nan values in its {i}th output."
            )


def _before(
    node: Node, incoming: list[Any], create_graph: Any, runs: Any, whens: Any = None
) -> list[Any]:
    """Run the tensor hooks on the gradients that arrive at a node, accumulate them in the tensors
    that retain theirs, run the node's pre-hooks if it runs, and return the gradients. ``whens``:
    the conditions under which there are gradients, if they are conditional."""
    if any_partial(incoming):
        whens = [when_of(g) for g in incoming]
        return on_arrays(lambda a: _before(node, a, create_graph, runs, whens), incoming)
    if runs:
        for nr in (*(node.pre_hooks or ()), *(node.retained or ())):
            node.check_whole(nr, incoming)
    grads = [None if g is None else (g if create_graph else wrap(g)) for g in incoming]
    for nr, hooks in (node.pre_hooks or {}).items():
        for hook in list(hooks.values()):
            if grads[nr] is not None:
                changed = hook(grads[nr])
                if changed is not None:
                    grads[nr] = _checked(changed, grads[nr], hook)
    for nr, reference in (node.retained or {}).items():
        t = reference()
        if t is None or grads[nr] is None:
            continue
        g, present = grads[nr], t._grad
        if whens is None:
            t._set_grad(g if present is None else present + g)
        elif GIVEN in whens[nr]:
            # Else the pass is a capture's own, on placeholders.
            capture = modes.the_capture()
            when = union([capture.condition_of(present), whens[nr]])
            t._set_grad(g if present is None else present + g)
            capture.hold_gradient(t, when)
    if node.hooks is not None and runs:
        for hook in list(node.hooks[0].values()):
            changed = hook(tuple(grads))
            if changed is not None:
                grads = _checked_all(changed, grads, hook)
    return [g if g is None or create_graph else g._value_now() for g in grads]


def _after(node: Node, outgoing: Any, incoming: list[Any], create_graph: Any) -> Sequence[Any]:
    """Run a node's hooks, ``hook(grad_inputs, grad_outputs)``, which may replace the inputs'
    gradients, and return those."""
    if any_partial((*outgoing, *incoming)):
        arrived = [array_of(g) for g in incoming]
        return on_arrays(lambda a: _after(node, a, arrived, create_graph), outgoing)

    def shown(values: Any) -> tuple[Any, ...]:
        return tuple(v if v is None or create_graph else wrap(v) for v in values)

    given = shown(outgoing)
    # One for each of next_functions; None where no gradient is wanted.
    following = node.next_functions
    places = [i for i, (behind, _) in enumerate(following) if behind is not None]
    spread = len(places) == len(given) < len(following)
    grads = given
    if spread:
        at = dict(zip(places, given, strict=True))
        grads = tuple(at.get(i) for i in range(len(following)))
    assert node.hooks is not None
    for hook in list(node.hooks[1].values()):
        changed = hook(grads, shown(incoming))
        if changed is not None:
            grads = tuple(_checked_all(changed, grads, hook))
    if spread:
        grads = tuple(grads[i] for i in places)
    return [g if g is None or create_graph else g._value_now() for g in grads]


def _checked_all(changed: Any, were: Sequence[Any], hook: Any) -> list[Any]:
    """Check the gradients that a node's hook gave in place of those that there ``were``, and return
    them."""
    if not isinstance(changed, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(changed).__name__}'")
    if len(changed) != len(were):
        raise RuntimeError(
            f"hook '{_name(hook)}' has returned an incorrect number of values (got "
            f"{len(changed)}, but expected {len(were)})"
        )
    return [
        None if new is None else _checked(new, was, hook)
        for new, was in zip(changed, were, strict=True)
    ]


def _name(hook: Any) -> str:
    return getattr(hook, "__name__", type(hook).__name__)


def _checked(changed: Any, was: Any, hook: Any) -> Tensor:
    if not isinstance(changed, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(changed).__name__}'")
    if was is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    name = _name(hook)
    if changed.dtype is not was.dtype or changed.is_sparse is not was.is_sparse:
        raise RuntimeError(
            f"hook '{name}' has changed the type of value (was {was.type()} got {changed.type()})"
        )
    if changed.shape != was.shape:
        raise RuntimeError(f"hook '{name}' has changed the size of value")
    return changed


#: Backward passes of several threads may reach one leaf: each reads what is there and writes the
#: sum, donating the old array. (Entering it costs 60 ns.)
_accumulating = threading.RLock()


def accumulate_grad(node: AccumulateGrad, gradient: Any, create_graph: Any) -> None:
    """Add a gradient to the leaf's ``.grad``."""
    leaf = node.variable
    if not leaf._requires_grad:
        return  # switched off since it was used (detach_, requires_grad_(False))
    if leaf.grad_fn is not None:
        raise RuntimeError(errors.LEAF_MOVED)
    with _accumulating:
        _add_to_grad(leaf, gradient, create_graph)
    for hook in list((node.post_hooks or {}).values()):
        result = hook(leaf)
        if result is not None and result is not leaf:
            if not isinstance(result, Tensor):
                raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}'")
            raise RuntimeError("Tensor post accumulate grad hooks should return None.")


def _add_to_grad(leaf: Tensor, gradient: Any, create_graph: Any) -> None:
    capture = modes.current.capture
    grad = leaf._grad
    when: Any = None
    if capture is not None:
        capture.slot_read(leaf, "_grad")
        if type(gradient) is ConditionalGrad or capture.conditions:
            when = union([capture.condition_of(grad), when_of(gradient)])
            gradient = array_of(gradient)
    if not create_graph and isinstance(gradient, Tensor):
        if overrides.state.dispatch_modes or type(gradient) not in overrides.PLAIN:
            # In operators, so that who handles them sees them.
            leaf._set_grad(gradient.detach() if grad is None else grad.add_(gradient))
            return
        gradient = gradient._value_now()
    if not create_graph:
        if type(gradient) in cells.KINDS:
            gradient = gradient.leaf_gradient()
        if leaf._storage.is_placed:
            gradient = leaf._storage.placed(gradient)
        elif leaf_gradient.is_provided:
            gradient = leaf_gradient(leaf, gradient)
    if create_graph:
        if grad is not None and grad.is_sparse and not gradient.is_sparse:
            leaf._set_grad(gradient + grad)  # the other way round is not defined
        else:
            leaf._set_grad(gradient if grad is None else grad + gradient)
    elif grad is None:
        made = wrap(gradient)
        if modes.current.inference:
            made._inference = True
        if (leaf._view is not None or leaf._storage.strides is not None) and not made.is_sparse:
            _lay_out_like(made, leaf)
        if leaf._storage.is_placed:
            made._storage = leaf._storage.alike(gradient)
        elif leaf_gradient.is_provided and capture is not None:
            traced_leaf_gradient(leaf, made)
        leaf._set_grad(made)
    elif (kind := _adding_anew(grad._storage.cell, gradient)) is not None:
        summed = kind.add(_add, grad._read(), gradient)
        if cells.is_stand_in(summed) is not cells.is_stand_in(grad._storage.cell):
            leaf._set_grad(wrap(summed))  # dense from now on
        else:
            grad._write(summed)
    else:
        storage = grad._storage
        sole = grad._view is None and capture is None and storage.is_sole_owner()
        old = grad._value_now()
        # `sole` was asked before `old` took its reference.
        try:
            if type(old) is np.ndarray or type(gradient) is np.ndarray:
                grad._write(first_calls.call(_add, old, gradient))
            else:
                grad._write((_add_donating if sole else _add)(old, gradient))
        except Exception:
            kind = cells.kind_among((old, gradient))
            if kind is None:
                raise
            grad._write(kind.add(_add, old, gradient))
    if capture is not None and when is not None:
        capture.hold_gradient(leaf, when)


def _adding_anew(*held: Any) -> Any:
    """Return the kind of cell among two gradients of which a sum is another tensor than the one
    that is there; None where the sum is written."""
    for value in held:
        if type(value) in cells.KINDS and type(value).adds_anew:
            return type(value)
    return None


def _lay_out_like(gradient: Tensor, leaf: Tensor) -> None:
    """Give a gradient the strides of its leaf where the leaf fills its memory; others have a
    row-major one."""
    geometry = leaf._geometry
    if views.is_dense(geometry) and not views.is_contiguous(geometry.size, geometry.stride):
        gradient._storage.strides = geometry.stride


def gradient_like(
    shape: tuple[int, ...], dtype: Any, given: Any, index: int = 0, on_host: bool = False
) -> Any:
    """Return the cotangent to start from, for an output of that shape and dtype: ``given``,
    checked, or ones for a scalar (a host value where the output is one)."""
    if given is None:
        if math.prod(shape) != 1:
            raise RuntimeError(errors.IMPLICIT_GRADIENT)
        if dtype.is_complex:
            raise RuntimeError(
                f"grad can be implicitly created only for real scalar outputs but got {dtype}"
            )
        return np.ones(shape, dtype.numpy) if on_host else ones(shape, dtype.numpy)
    if not isinstance(given, Tensor):
        raise TypeError("gradients can be either Tensors or None, but got " + type(given).__name__)
    if given.shape != shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{index}] has a shape of {given.shape} and "
            f"output[{index}] has a shape of {shape}."
        )
    if given.dtype.is_complex != dtype.is_complex:
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. "
            f"Mismatch in dtype: grad_output[{index}] has a dtype of {given.dtype} and "
            f"output[{index}] has a dtype of {dtype}."
        )
    return given if given.dtype is dtype or given.is_sparse else given.to(dtype)


_ones: dict[Any, Any] = {}


def ones(shape: tuple[int, ...], dtype: Any) -> jax.Array:
    """Return an array of ones; those of scalars are cached (each backward of a loss starts from
    one)."""
    if shape == () and modes.current.capture is None:
        found = _ones.get(dtype)
        if found is None:
            found = jax.device_put(np.ones((), dtype))  # which compiles nothing
            if not isinstance(found, core.Tracer):  # in a function of the user's that JAX traces
                _ones[dtype] = found
        return found
    return jax.numpy.ones(shape, dtype)
