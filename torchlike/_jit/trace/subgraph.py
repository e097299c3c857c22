"""Subgraphs: parts of a capture that become the body of a lax.cond, while_loop or scan.

A subgraph is traced like a capture of its own, inside the running one. What it reads from outside
(cells, and values made earlier in the capture) turns up among its jaxpr's constants and becomes an
operand of the control-flow op. Its tape is joined as a jitted function's is: the outputs that
require grad are run backward on placeholder cotangents in the same trace, and the joint graph is
cut in two (``partitioner``). So detach, no_grad and custom Functions keep their meaning inside.

A subgraph may not write outside itself: both branches of a condition are traced, and a loop's body
once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
from jax import core

from torchlike._core import modes, tape
from torchlike._core.tape import Edge, RemovableHandle, gradient_edge
from torchlike._jit.capture.cells import check_memory_of_made
from torchlike._jit.capture.scalars import Number, device_number, weak
from torchlike._jit.trace.backward import boundary_of, hooks_left_to_others, partition
from torchlike._runtime.jaxprs import make_jaxpr
from torchlike.autograd import conditional_grad, engine
from torchlike.autograd.conditional_grad import ConditionalGrad, When
from torchlike.tensor import Tensor, wrap


class SubgraphCapture:
    """The running capture as seen from inside a subgraph: it refuses effects."""

    def __init__(self, outer: Any, what: str) -> None:
        self.outer = outer
        self.what = what
        self.first_sequence = tape.next_sequence()
        self._own: dict[int, Any] = {}
        #: Modules made inside, and the number of the first handle of a hook that was.
        self._modules: dict[int, Any] = {}
        self._first_handle = next(RemovableHandle._ids)
        self._inputs: dict[int, Any] = {}
        self._views: dict[int, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.outer, name)

    def adopt(self, storage: Any) -> None:
        self._own[id(storage)] = storage

    def is_own(self, storage: Any) -> bool:
        return self._own.get(id(storage)) is storage

    def give(self, index: int, leaf: SubgraphLeaf, array: Any) -> Tensor | Number:
        """Make the explicit input ``index`` as the subgraph's user sees it."""
        x = tensor_of(leaf, array)
        if isinstance(x, Tensor):
            # Read as the subgraph's own, but not to be written to.
            del self._own[id(x._storage)]
            self._inputs[id(x._storage)] = x._storage
        return x

    def is_created(self, storage: Any) -> bool:
        if self.is_own(storage) or self._inputs.get(id(storage)) is storage:
            return True
        return self.outer.is_created(storage)

    def leave(self) -> None:
        """Let go of what the subgraph made, once it has been traced: that holds its tracers, and is
        nobody's now."""
        self._own.clear()
        self._modules.clear()
        self._inputs.clear()
        self._views.clear()

    def read(self, storage: Any) -> Any:
        if self.is_own(storage) or self._inputs.get(id(storage)) is storage:
            return storage.concrete()
        return self.outer.read(storage)

    def _refuse(self, asked: str, instead: str) -> None:
        self.outer.refuse(f"{asked} inside {self.what}", instead)

    def write(self, storage: Any, array: Any) -> None:
        if not self.is_own(storage):
            self._refuse(
                "writing in place to a tensor from outside",
                "an assignment (x = x + 1 for x += 1)",
            )
        check_memory_of_made(storage, "writing to", self._refuse)
        storage.cell, storage.host = array, None

    def slot_read(self, owner: Any, name: str) -> None:
        if not (isinstance(owner, Tensor) and self.is_created(owner._storage)):
            self.outer.slot_read(owner, name)

    def slot_write(self, owner: Any, name: str) -> None:
        if not (isinstance(owner, Tensor) and self.is_own(owner._storage)):
            what = f"`{type(owner).__name__}.{name.removeprefix('_')}`"
            self._refuse(f"binding {what}", "a value that is returned from it")

    def data_write(self, t: Any, value: Any) -> None:
        own = self.is_own(t._storage) or self._views.get(id(t)) is t
        if not (own and self.is_own(value._storage)):
            self._refuse("`tensor.data = value`", "tensor.data.copy_(value)")

    def write_attribute(self, owner: Any, name: str) -> None:
        if id(owner) in self._modules:
            return
        self._refuse(f"setting `{type(owner).__name__}.{name}`", "a value that is returned from it")

    def module_made(self, module: Any) -> None:
        self._modules[id(module)] = module
        self.outer.module_made(module)

    def table_write(self, owner: Any, table: Any, what: str) -> None:
        is_own = id(owner) in self._modules or (
            isinstance(owner, RemovableHandle) and owner.id > self._first_handle
        )
        if not is_own:
            self._refuse(f"changing {what}", "a change before or after it")

    def adopt_view(self, t: Any) -> None:
        self._views[id(t)] = t

    def hook_write(self, leaf: Any) -> None:
        if not (self.is_own(leaf._storage) or self._views.get(id(leaf)) is leaf):
            self._refuse("registering a hook on a tensor from outside", "a hook on a clone of it")

    def field_write(self, t: Any, asked: str) -> None:
        if not (self.is_own(t._storage) or self._views.get(id(t)) is t):
            self._refuse(asked, asked.replace("_()", "()"))

    def history_write(self, t: Any) -> None:
        if not self.is_own(t._storage):
            self._refuse(
                "writing in place to a tensor from outside",
                "an assignment (x = x + 1 for x += 1)",
            )

    def per_call_value(self, getter: Any) -> Any:
        """Refuse a draw or a learning rate: asked for once a call, which is not once a turn."""
        self._refuse("drawing random numbers (or an optimizer's step)", "a draw made before it")

    def join_ranks(self, make: Any) -> Any:
        """Refuse a collective: ranks could take different branches, and would wait for each
        other."""
        self._refuse("a collective", "the collective before or after it")

    def enter_optimizer(self, optimizer: Any) -> None:
        self._refuse("an optimizer's step", "torchlike.where on the gradients")


class SubgraphLeaf:
    """What goes into or comes out of a subgraph: a tensor, or a number that the program knows."""

    __slots__ = ("dtype", "kind", "requires_grad", "shape")

    def __init__(self, x: Any) -> None:
        #: None for a tensor, else the number's class.
        self.kind = None
        if not isinstance(x, Tensor):
            self.kind = x.kind if type(x) is Number else type(x)
        self.shape = tuple(x.shape) if self.kind is None else ()
        self.dtype = x.dtype if self.kind is None else self.kind
        self.requires_grad = bool(x.requires_grad) if self.kind is None else False

    def alike(self, other: SubgraphLeaf) -> bool:
        return (self.kind, self.shape, self.dtype) == (other.kind, other.shape, other.dtype)

    def __str__(self) -> str:
        if self.kind is not None:
            return f"a Python {self.kind.__name__}"
        return f"a tensor of shape {list(self.shape)} and dtype {self.dtype}"


def array_of(x: Any) -> Any:
    """Return a tensor's value, or a number as a weakly typed scalar."""
    if isinstance(x, Tensor):
        return x._read()
    kind = x.kind if type(x) is Number else type(x)
    return weak(kind, x._read() if type(x) is Number else jnp.asarray(x))


def tensor_of(leaf: SubgraphLeaf, array: Any) -> Tensor | Number:
    """Make what a subgraph's user sees for an array: a new leaf tensor, or a number."""
    if leaf.kind is not None:
        return device_number(leaf.kind, array)
    t = wrap(array)
    if leaf.requires_grad:
        t._requires_grad = True
    return t


class TracedSubgraph:
    """A traced subgraph.

    Attributes:
      inputs: leaves of the explicit inputs.
      outputs: leaves of what it returned; ``aux``: whatever else ``fn`` gave.
      closed: the arrays it read from outside.
      edges: where gradients leave it: the explicit inputs that require grad come first
        (``wanted``), then edges to the outside.
      when: on which roots (their places among ``roots``) the gradient of each edge depends, and
        under which condition: True, or the number of a flag that backward gives.
    """

    def __init__(
        self,
        fn: Callable[..., tuple[list[Any], Any]],
        inputs: Sequence[SubgraphLeaf],
        avals: Sequence[Any],
        what: str,
        seen_as: Callable[[Any, str], SubgraphCapture] = SubgraphCapture,
    ) -> None:
        self.inputs = list(inputs)
        self.outputs: list[SubgraphLeaf] = []
        self.aux: Any = None
        #: Which outputs require grad: the placeholder cotangents belong to these.
        self.roots: list[int] = []
        self.wanted: list[int] = [i for i, leaf in enumerate(self.inputs) if leaf.requires_grad]
        self.reached: list[int] = []
        self.edges: list[Edge] = []
        self.when: list[When] = []
        flags: list[Any] = []
        # Typed Any: it passes on what it has not itself, see `SubgraphCapture.__getattr__`.
        capture: Any = seen_as(modes.the_capture(), what)
        cotangents: list[Any] = []

        def body(*arrays: Any) -> list[Any]:
            pairs = enumerate(zip(self.inputs, arrays, strict=True))
            given = [capture.give(i, leaf, a) for i, (leaf, a) in pairs]
            own = {gradient_edge(given[i]): i for i in self.wanted}
            found, self.aux = fn(*given)
            self.outputs = [SubgraphLeaf(x) for x in found]
            results = [array_of(x) for x in found]
            edges = {
                i: gradient_edge(x)
                for i, x in enumerate(found)
                if isinstance(x, Tensor) and x.requires_grad and modes.current.grad_enabled
            }
            self.roots = [i for i, e in edges.items() if e is not None]
            for i, leaf in enumerate(self.outputs):
                leaf.requires_grad = i in self.roots
            if not self.roots:
                return results
            roots: list[Any] = [edges[i] for i in self.roots]
            with capture.outside():
                cotangents.extend(jnp.zeros(results[i].shape, results[i].dtype) for i in self.roots)
            leaving = boundary_of(
                roots, capture.first_sequence, lambda leaf: capture.is_own(leaf._storage)
            )
            found_at = _gradients(roots, cotangents, leaving, capture.first_sequence)
            self.reached = [i for e, i in own.items() if e in found_at]
            self.edges = [e for e in found_at if e not in own]
            targets: list[Any] = [e for e in own if e in found_at] + self.edges
            gradients = [found_at[e] for e in targets]
            self.when = [
                conditional_grad.numbered(conditional_grad.when_of(g), flags) for g in gradients
            ]
            for t in found:
                node = t._node if isinstance(t, Tensor) else None
                if node is not None and node.sequence >= capture.first_sequence:
                    t._node = None  # it holds the subgraph's tracers
            return results + [conditional_grad.array_of(g) for g in gradients] + flags

        try:
            with modes.capturing(capture):
                closed = make_jaxpr(body, *avals)
        finally:
            capture.leave()
        self.n_flags = len(flags)
        self._partition(closed, cotangents)

    def _partition(self, closed: Any, cotangents: Sequence[Any]) -> None:
        """Cut the joint jaxpr in two, its constants lifted to inputs."""
        jaxpr = closed.jaxpr
        by_id = {id(c): i for i, c in enumerate(cotangents)}
        self.closed: list[Any] = []
        constant_vars, cotangent_vars = [], {}
        for var, const in zip(jaxpr.constvars, closed.consts, strict=True):
            if id(const) in by_id:
                cotangent_vars[by_id[id(const)]] = var
            else:
                constant_vars.append(var)
                self.closed.append(const)
        n = len(self.outputs)
        split = partition(
            jaxpr, n, constant_vars + list(jaxpr.invars), [], cotangent_vars, len(cotangents)
        )
        #: forward(closed..., inputs...) -> outputs + residuals
        self.forward = split.forward
        self.output_avals = [v.aval for v in split.forward.outvars[:n]]
        self.residual_avals = [v.aval for v in split.forward.outvars[n:]]
        self.backward = split.backward
        #: Which of (closed + inputs) the backward takes besides residuals.
        self.residual_inputs = split.residual_inputs
        self.gradient_avals = [v.aval for v in jaxpr.outvars[n : n + len(self.when)]]

    def run_forward(
        self, closed: Sequence[Any], inputs: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        """Run the forward and return (outputs, residuals)."""
        out = core.eval_jaxpr(self.forward, (), *closed, *inputs)
        n = len(self.outputs)
        return list(out[:n]), list(out[n:])

    def run_backward(
        self,
        residuals: Sequence[Any],
        closed: Sequence[Any],
        inputs: Sequence[Any],
        cotangents: dict[int, Any],
    ) -> tuple[list[Any], list[Any], list[Any]]:
        """Compute the gradients of the reached inputs, and of the edges to the outside, and flags
        (``when``). ``cotangents``: by output."""
        if self.backward is None:
            return [], [], []
        jaxpr, used = self.backward
        every = [*closed, *inputs]
        given = [cotangents[i] for i, u in zip(self.roots, used, strict=True) if u]
        kept = [every[i] for i in self.residual_inputs]
        found = core.eval_jaxpr(jaxpr, (), *residuals, *kept, *given)
        n, whole = len(self.reached), len(self.when)
        return list(found[:n]), list(found[n:whole]), list(found[whole:])


def _gradients(
    roots: list[Any], cotangents: list[Any], targets: list[Any], first_sequence: int
) -> dict[Any, Any]:
    """Compute the subgraph's part of backward, by edge; no entry where a Function gave None."""
    given = [ConditionalGrad(c, {i: True}) for i, c in enumerate(cotangents)]
    with hooks_left_to_others(targets):
        found = engine.run(
            roots,
            given,
            retain_graph=True,
            create_graph=False,
            targets=targets,
            accumulate=False,
            stop_before=first_sequence,
        )
    return {e: g for e, g in zip(targets, found, strict=True) if g is not None}


class SubgraphNode(tape.Node):
    """The tape's node of a control-flow op: its backward is another one."""

    __slots__ = ("_backward", "_n_outputs")

    def __init__(
        self, name: str, edges: list[Any], n_outputs: int, backward: Callable[..., Any]
    ) -> None:
        super().__init__(name, edges)
        self._n_outputs = n_outputs
        self._backward = backward

    @property
    def n_outputs(self) -> int:  # type: ignore[override]
        return self._n_outputs

    def run(self, cotangents: list[Any]) -> list[Any]:
        return self._backward(cotangents)

    def run_graph(self, cotangents: list[Any]) -> list[Any]:
        asked = f"create_graph through {self.short_name()}"
        capture = modes.running_capture()
        if not capture.is_retraced:
            capture.refuse(asked, "a function that is called eagerly")
        raise NotImplementedError(
            f"{asked} in compiled code is not supported: call the function eagerly"
        )


class ControlNode(SubgraphNode):
    """One whose gradients are there or not, as values decide.

    ``backward`` gives, beside the gradients, on which of the cotangents each depends and under
    which condition (True: none); or None for one that is there if any cotangent is.
    """

    __slots__ = ()
    sees_conditions = True

    def run(self, cotangents: list[Any]) -> list[Any]:
        found, conditions = self._backward([conditional_grad.array_of(c) for c in cotangents])
        return conditional_grad.arriving(found, conditions, cotangents)


def joined(
    name: str,
    leaves: Sequence[SubgraphLeaf],
    arrays: Sequence[Any],
    edges: list[Any],
    backward: Callable[..., Any],
    kind: type[SubgraphNode] = ControlNode,
) -> list[Any]:
    """Make the results of a control-flow op tensors and numbers, on one node if any needs it."""
    rooted = [i for i, leaf in enumerate(leaves) if leaf.requires_grad]
    node = kind(name, edges, len(rooted), backward) if rooted else None
    found = []
    for i, (leaf, array) in enumerate(zip(leaves, arrays, strict=True)):
        if leaf.kind is not None:
            found.append(device_number(leaf.kind, array))
            continue
        t = wrap(array)
        if leaf.requires_grad:
            t._node, t._output_nr, t._requires_grad = node, rooted.index(i), True
        found.append(t)
    return found


def filled(cotangents: Sequence[Any], arrays: Sequence[Any]) -> list[Any]:
    """Return the cotangents with zeros where none arrived."""
    return [
        jnp.zeros(a.shape, a.dtype) if c is None else c
        for c, a in zip(cotangents, arrays, strict=True)
    ]
