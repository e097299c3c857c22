"""``backward``, ``grad``, and the Tensor methods around them."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from torchlike._core import errors, modes, overrides
from torchlike._core.dispatch.copying import array_to_device
from torchlike._core.dispatch.record import snapshot
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike._core.layouts import preserve_format, strided
from torchlike._core.tape import (
    Edge,
    GradientEdge,
    Node,
    RemovableHandle,
    accumulator,
    former_accumulator,
    gradient_edge,
)
from torchlike._extensions.boxed import VmapLevel
from torchlike._extensions.boxes import Batched, reverse
from torchlike._extensions.overrides import protocol
from torchlike._extensions.overrides.code_exchange import asks
from torchlike._extensions.tensor_of_parts import TensorOfParts
from torchlike._runtime.first_calls.program import host
from torchlike.autograd import engine
from torchlike.autograd.conditional_grad import ConditionalGrad, array_of
from torchlike.tensor import Tensor, add_method, wrap


def _as_tuple(x: Any) -> tuple[Any, ...]:
    return (x,) if x is None or isinstance(x, (Tensor, GradientEdge)) else tuple(x)


def _with_values(tensors: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the tensors, and for those that are made of parts their values, which have the
    history."""
    return tuple(t._held if isinstance(t, TensorOfParts) else t for t in tensors)


def _starts(asked: tuple[Any, ...], gradients: Any) -> tuple[list[Any], list[Any]]:
    """Return the tensors at which backward starts (of those made of parts the one with the history)
    and the gradients to start with; None where nothing is given."""
    given = (None,) * len(asked) if gradients is None else _as_tuple(gradients)
    if len(given) != len(asked):
        raise RuntimeError(f"got {len(asked)} tensors and {len(given)} gradients")
    pairs = [
        t._start(g)
        if isinstance(t, TensorOfParts)
        else (t, g.to_dense() if isinstance(g, TensorOfParts) and g.layout is not strided else g)
        for t, g in zip(asked, given, strict=True)
    ]
    return [t for t, _ in pairs], [g for _, g in pairs]


def _roots(tensors: Sequence[Tensor], gradients: Sequence[Any]) -> tuple[list[Edge], list[Any]]:
    edges, cotangents = [], []
    for i, (t, g) in enumerate(zip(tensors, gradients, strict=True)):
        if isinstance(t, GradientEdge):
            edges.append((t.node, t.output_nr))
            if t.aval is not None:
                g = engine.gradient_like(t.aval[0], t.aval[1], g, i)
            elif g is None:
                raise RuntimeError(
                    "grad can be implicitly created only for scalar outputs, and the shape of a "
                    "GradientEdge that get_gradient_edge did not make is not known: pass its "
                    "gradient"
                )
            cotangents.append(g)
            continue
        if not isinstance(t, Tensor):
            raise TypeError(f"element {i} of tensors must be a Tensor, not {type(t).__name__}")
        edge = gradient_edge(t)
        if edge is None:
            raise RuntimeError(errors.NO_GRAD_FN.format(index=i))
        edges.append(edge)
        if (
            g is None
            and overrides.dispatch is not None
            and (overrides.state.dispatch_modes or protocol.dispatches(type(t)))
        ):
            engine.gradient_like(t.shape, t.dtype, None, i)  # for its errors
            with modes.unrecorded():
                cotangents.append(NAMESPACES[""]["ones_like"](t, memory_format=preserve_format))
            continue
        on_host = t._view is None and type(t._storage.cell) is np.ndarray
        start = engine.gradient_like(t.shape, t.dtype, g, i, on_host)
        cotangents.append(
            start if g is not None or host().is_default else array_to_device(start, t.device)
        )
    return edges, cotangents


def _started(cotangents: list[Any], create_graph: Any) -> list[Any]:
    """Convert cotangents to what the engine takes: tensors when recording, else arrays."""
    if create_graph:
        return [c if isinstance(c, Tensor) else wrap(c) for c in cotangents]
    if overrides.dispatch is not None:
        return cotangents  # the engine sees what its nodes want
    return [c._value_now() if isinstance(c, Tensor) else c for c in cotangents]


@asks(
    "backward: tensors | grad_tensors=None retain_graph=None create_graph=False inputs=None "
    "/ grad_variables=None"
)
def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: Any = None,
    create_graph: Any = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Accumulate the gradients of ``tensors`` into the leaves (or into ``inputs`` only).

    Args:
      tensors: a tensor or a sequence of them.
      grad_tensors: their gradients; may be None for scalars.
      retain_graph: keep what nodes saved, so that backward can run again (default: create_graph).
      create_graph: record the backward pass itself, for higher derivatives.
      inputs: accumulate only into these tensors, or what these gradient edges lead to.

    Raises:
      RuntimeError: a tensor does not require grad, a non-scalar has no gradient given, or the
        graph was already freed.

    Example:
      >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
      >>> torch.autograd.backward(x.square(), torch.ones(2))
      >>> x.grad
      tensor([2., 4.])
    """
    given = grad_variables if grad_tensors is None else grad_tensors
    _accumulate(tensors, given, retain_graph, create_graph, inputs)


def _accumulate(
    tensors: Any, grad_tensors: Any, retain_graph: Any, create_graph: Any, inputs: Any
) -> None:
    if reverse.running or any(x.transform != "forward_ad" for x in modes.current.levels):
        raise RuntimeError(errors.BACKWARD_IN_TRANSFORM)
    asked = _as_tuple(tensors)
    roots, given = _starts(asked, grad_tensors)
    edges, cotangents = _roots(roots, given)
    targets = None
    if inputs is not None:
        chosen = _as_tuple(inputs)
        wanted = (*_with_values(chosen), *_elsewheres(chosen).values())
        if not wanted:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
        given_tensors = {i: t for i, t in enumerate(wanted) if not isinstance(t, GradientEdge)}
        for i, t in given_tensors.items():
            if not t.requires_grad:
                raise RuntimeError(
                    f"One of the differentiated Tensors does not require grad "
                    f"(element {i} of inputs)"
                )
        for t in given_tensors.values():
            if not t.is_leaf:
                t.retain_grad()  # leaves accumulate on their own
        targets = [_edge_of_input(t) for t in wanted]
    if create_graph:
        errors.warn_user_once(errors.CREATE_GRAPH_CYCLE)
    engine.run(
        edges,
        _started(cotangents, create_graph),
        retain_graph=create_graph if retain_graph is None else retain_graph,
        create_graph=create_graph,
        targets=targets,
    )


def _edge_of_input(t: Any) -> Edge:
    if isinstance(t, GradientEdge):
        return t.node, t.output_nr
    # A view made under no_grad says requires_grad after its base, but no gradient leads to it.
    return gradient_edge(t) or (Node("Unreachable", []), 0)


def _elsewheres(inputs: Sequence[Any]) -> dict[int, Tensor]:
    """Return, by position, the tensors that take gradients of sparse inputs beside those of their
    values."""
    return {
        i: t._elsewhere
        for i, t in enumerate(inputs)
        if isinstance(t, TensorOfParts) and t._elsewhere is not None
    }


def _as_tensor(gradient: Any) -> Any:
    return gradient if gradient is None or isinstance(gradient, Tensor) else wrap(gradient)


@asks(
    "grad: outputs inputs | grad_outputs=None retain_graph=None create_graph=False "
    "only_inputs=True allow_unused=None is_grads_batched=False materialize_grads=False"
)
def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: Any = None,
    create_graph: Any = False,
    only_inputs: Any = True,
    allow_unused: Any = None,
    is_grads_batched: Any = False,
    materialize_grads: Any = False,
) -> tuple[Tensor | None, ...]:
    """Compute the gradients of ``outputs`` with respect to ``inputs`` and return them as a tuple;
    leaves are untouched.

    Args:
      outputs, inputs: a tensor or a sequence of them each.
      grad_outputs: gradients of ``outputs``; may be None for scalars.
      retain_graph: keep what nodes saved, so that backward can run again (default: create_graph).
      create_graph: record the backward pass itself, for higher derivatives.
      allow_unused: whether an input that was not used gives None; ``materialize_grads``: zeros.
      is_grads_batched: whether dimension 0 of ``grad_outputs`` counts gradients, all to be done.

    Returns:
      a gradient of its shape for each of ``inputs``.

    Raises:
      RuntimeError: an input was not used, unless it is allowed; and as ``autograd.backward``.

    Example:
      >>> x = torch.tensor(3.0, requires_grad=True)
      >>> (first,) = torch.autograd.grad(x**3, x, create_graph=True)
      >>> first.detach(), torch.autograd.grad(first, x)
      (tensor(27.), (tensor(18.),))
    """
    if not only_inputs:
        raise NotImplementedError("only_inputs=False: use torchlike.autograd.backward instead")
    if is_grads_batched:
        return _batched(
            outputs,
            inputs,
            grad_outputs,
            retain_graph,
            create_graph,
            allow_unused,
            materialize_grads,
        )
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when "
            "materialize_grads=True, but got: allow_unused=False."
        )
    wanted = _as_tuple(inputs)
    elsewhere = _elsewheres(wanted)
    both = (*wanted, *elsewhere.values())
    found = gradients(outputs, both, grad_outputs, retain_graph, create_graph)
    there = dict(zip(elsewhere, found[len(wanted) :], strict=True))
    results: list[Tensor | None] = []
    for i, (t, g) in enumerate(zip(wanted, found[: len(wanted)], strict=True)):
        if there.get(i) is not None:
            results.append(t._whole_gradient(*map(_as_tensor, (g, there[i]))))
            continue
        if type(g) is ConditionalGrad and not materialize_grads:
            modes.the_capture().refuse_value(
                "autograd.grad by a tensor that only one branch on a value used",
                "materialize_grads=True, which gives zeros where it was not used",
            )
        if g is None:
            if materialize_grads:
                if isinstance(t, GradientEdge):
                    raise RuntimeError(
                        "materialize_grads cannot be used when the given input is a GradientEdge"
                    )
                zeros = t.detach().clone().zero_()
                results.append(zeros.requires_grad_(create_graph))
                continue
            if not allow_unused:
                raise RuntimeError(errors.UNUSED_INPUT.format(index=i))
            results.append(None)
        else:
            tensor: Any = g if isinstance(g, Tensor) else wrap(array_of(g))
            results.append(t._gradient_of(tensor) if isinstance(t, TensorOfParts) else tensor)
    return tuple(results)


def gradients(
    outputs: Any, inputs: Any, grad_outputs: Any, retain_graph: Any, create_graph: Any
) -> list[Any]:
    """Compute the gradients of ``grad``: arrays, or tensors with ``create_graph``; None for inputs
    that were not used, `ConditionalGrad` for those that a value decides of."""
    asked, wanted = _as_tuple(outputs), _with_values(_as_tuple(inputs))
    if not wanted:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    roots, given = _starts(asked, grad_outputs)
    edges, cotangents = _roots(roots, given)
    for t in wanted:
        if not isinstance(t, GradientEdge) and not t.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    return engine.run(
        edges,
        _started(cotangents, create_graph),
        retain_graph=create_graph if retain_graph is None else retain_graph,
        create_graph=create_graph,
        targets=[_edge_of_input(t) for t in wanted],
        accumulate=False,
    )


def _batched(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any,
    retain_graph: Any,
    create_graph: Any,
    allow_unused: Any,
    materialize_grads: Any,
) -> tuple[Tensor | None, ...]:
    """Compute ``grad`` for each row of the gradients, stacked: one pass, inside a vmap over the
    rows."""
    given = _as_tuple(grad_outputs)
    for i, (g, t) in enumerate(zip(given, _as_tuple(outputs), strict=True)):
        if isinstance(g, Tensor) and isinstance(t, Tensor) and g.shape[1:] != t.shape:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output "
                "as the batch dimension. The sizes of the remaining dimensions are expected to "
                f"match the shape of corresponding output, but a mismatch was detected: "
                f"grad_output[{i}] has a shape of {g.shape} and output[{i}] has a shape of "
                f"{t.shape}."
            )
    rows = next(len(g) for g in given if g is not None)
    with VmapLevel(rows, "error") as level:
        found = grad(
            outputs,
            inputs,
            [None if g is None else wrap(Batched(level, snapshot(g))) for g in given],
            retain_graph,
            create_graph,
            allow_unused=allow_unused,
            materialize_grads=materialize_grads,
        )
        return tuple(None if g is None else all_rows(level, g) for g in found)


def all_rows(level: VmapLevel, gradient: Tensor) -> Tensor:
    cell = gradient._read()
    if type(cell) is Batched and cell.level is level and cell.batched:
        return cell.value
    return gradient.expand(level.size, *gradient.shape)


def _backward_method(
    self: Tensor,
    gradient: Any = None,
    retain_graph: Any = None,
    create_graph: Any = False,
    inputs: Any = None,
) -> None:
    """Accumulate this tensor's gradient into the leaves; see ``autograd.backward``.

    Args:
      gradient: of this tensor's shape; may be None for a scalar.
      retain_graph, create_graph, inputs: as of ``autograd.backward``.

    Raises:
      RuntimeError: as ``autograd.backward``.

    Example:
      >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
      >>> x.square().sum().backward()
      >>> x.grad
      tensor([2., 4.])
    """
    _accumulate(self, gradient, retain_graph, create_graph, inputs)


def register_hook(self: Tensor, hook: Any) -> RemovableHandle:
    """Call ``hook(grad)`` when this tensor's gradient is computed; its result replaces it.

    RuntimeError for a tensor that does not require grad.
    """
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    edge = gradient_edge(self)
    if edge is None:  # a view made under no_grad: no gradient ever passes it
        return RemovableHandle.on({}, hook)
    node, nr = edge
    if self._node is None:
        _leaf_hooks(self)
        node = accumulator(self)
    else:
        _check_own(node, "register_hook()")
    if node.pre_hooks is None:
        node.pre_hooks = {}
    hooks = node.pre_hooks.setdefault(nr, {})
    former = former_accumulator(self)
    if former is not None and former is not node:
        # As in PyTorch, whose AccumulateGrad asks its variable for hooks when it runs.
        former.pre_hooks = {0: hooks}
    return RemovableHandle.on(hooks, hook)


def _backward_hooks(self: Tensor) -> dict[int, Any] | None:
    """Return the hooks of `register_hook`, by number; None where there never was one."""
    if self.grad_fn is None:
        return None if self._hooks is None else self._hooks[0][0] or None
    return (self.grad_fn.pre_hooks or {}).get(self._output_nr)


def _check_own(node: Any, asked: str) -> None:
    """Refuse what a compiled program would do once, to the first call's graph."""
    capture = modes.running_capture()
    if node.sequence < capture.first_sequence:
        capture.refuse(
            f"{asked} on a tensor computed outside", f"{asked.removesuffix('()')}(…) on a clone"
        )


def _leaf_hooks(leaf: Tensor) -> None:
    """Give a leaf its tables of hooks, where it has none, and have its accumulator node of the
    moment refer to them: hooks of a leaf live on the leaf."""
    modes.running_capture().hook_write(leaf)
    if leaf._hooks is None:
        leaf._hooks = ({0: {}}, {})
        node = accumulator(leaf)
        node.pre_hooks, node.post_hooks = leaf._hooks


def register_post_accumulate_grad_hook(self: Tensor, hook: Any) -> RemovableHandle:
    """Call ``hook(leaf)`` after a gradient was added to the leaf's ``.grad``."""
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if self.grad_fn is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    _leaf_hooks(self)
    return RemovableHandle.on(self._hooks[1], hook)


def retain_grad(self: Tensor) -> None:
    """Keep the gradient of this non-leaf in ``.grad``. A leaf keeps it anyway."""
    if not self.requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    node = self._present_node()
    if node is None:
        return
    node = node.shown()
    _check_own(node, "retain_grad()")
    if node.retained is None:
        node.retained = {}
    node.retained[self._output_nr] = weakref.ref(self)


def _set_backward_hooks(self: Tensor, hooks: Any) -> None:
    """Have these hooks, by number, in place of those there were. Without gradients none is ever
    called, as in PyTorch."""
    (_backward_hooks(self) or {}).clear()
    if self.requires_grad:
        for hook in (hooks or {}).values():
            register_hook(self, hook)


def _refuse_deletion(self: Tensor) -> None:
    raise RuntimeError("Deletion of _backwards_hooks not allowed!")


add_method("_backward_hooks", property(_backward_hooks, _set_backward_hooks, _refuse_deletion))
for _method in (register_hook, register_post_accumulate_grad_hook, retain_grad):
    add_method(_method.__name__, _method)
add_method("backward", _backward_method)
_backward_method.__name__ = "backward"


def zero_gradient(grad: Tensor) -> None:
    """Fill a gradient with zeros, and forget how it was computed. It may be a view, of a buffer for
    all gradients, unless it was recorded."""
    grad.detach_() if grad.grad_fn is not None else grad.requires_grad_(False)
    grad.zero_()
