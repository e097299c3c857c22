"""Gradients of a sparse tensor at places where it has no elements.

In PyTorch the gradient of a sparse tensor has what the operation gives: that of ``a @ w`` is dense,
that of a sum has the places of the sum. Here autograd knows tensors of values. So the cell of a
sparse tensor that requires gradients has a second tensor beside its values, *elsewhere*: of the
whole size and without values (a MetaArray), a leaf where the sparse tensor is one. An operation
gives its gradient either to the values, at their places, or there, whole (`spill`); what is made of
a sparse tensor without a change of values passes it on (`follow`). ``.grad`` is the sum of both.

A tensor without an elsewhere, such as one made of values that have a history, has gradients of its
values alone, as in PyTorch, whose constructors take no others.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from torchlike._core import dtypes, errors, modes
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike._core.tape import Edge, Node, gradient_edge
from torchlike._extensions.meta import MetaArray
from torchlike._extensions.tensor_of_parts import TensorOfParts
from torchlike.autograd.backward import grad
from torchlike.autograd.grad_mode import enable_grad
from torchlike.tensor import Tensor, wrap

#: From the gradient of a result, dense or sparse, to that of an operand.
Pull = Callable[[Any], Any]


#: What a tensor has elsewhere in a program that cannot know it.
UNKNOWN = wrap(MetaArray((), np.float32))


def leaf_of(t: Any) -> Tensor:
    """Return the elsewhere of a new leaf."""
    made = wrap(MetaArray(tuple(t.shape), t._held.dtype.numpy))
    made._requires_grad = True
    return made


def of(t: Any) -> Tensor | None:
    """Return a tensor's elsewhere where an operation gives it a gradient, else None.

    JitCaptureError inside a jit, whose programs have gradients of values alone.
    """
    if not _takes_all(t) or not modes.current.grad_enabled or modes.current.levels:
        return None
    modes.running_capture().refuse(
        "the gradient of a sparse tensor where it has no elements",
        "torch.sparse.mm, whose gradient has the places of the tensor",
    )
    if t._elsewhere is UNKNOWN:
        raise NotImplementedError(
            "the gradient of a sparse tensor that a compiled function gave, where it has no "
            "elements: use torch.sparse.mm, whose gradient has the places of the tensor, or make "
            "it outside the jit"
        )
    return t._elsewhere


def values_alone(t: Any) -> Any:
    """Return a sparse tensor whose gradients are those of its values; others as they are."""
    return t if not isinstance(t, TensorOfParts) or t._elsewhere is None else t._with(t._held)


def without_history(t: Any) -> Any:
    """Return the sparse tensor whose gradient goes elsewhere as a whole, to compute with."""
    return t._with(t._held.detach())


def targets(operands: Sequence[Any], pull_of: Callable[[int], Pull]) -> list[tuple[Any, Pull]]:
    """Return where the gradients of an operation's operands go, and how they follow from the
    result's: elsewhere, to a dense tensor, or to values with a history."""
    found: list[tuple[Any, Pull]] = []
    for i, t in enumerate(operands):
        if not isinstance(t, Tensor) or not t.requires_grad:
            continue
        pull = pull_of(i)
        if not isinstance(t, TensorOfParts):
            found.append((t, lambda g, pull=pull: _densely(pull(g))))
        elif t._elsewhere is not None:
            found.append((t._elsewhere, pull))
        else:
            there = t.detach()
            found.append((t._held, lambda g, pull=pull, t=there: _at_places(pull(g), t)))
    return found


def _densely(gradient: Any) -> Any:
    """Return the gradient as a dense tensor, by a sum: the gradient of to_dense() would be cut to
    the places."""
    if not _takes_all(gradient):
        return gradient.to_dense()
    return NAMESPACES[""]["zeros"](tuple(gradient.shape), dtype=gradient.dtype) + gradient


def _at_places(gradient: Any, t: Any) -> Any:
    return in_coordinates(gradient).sparse_mask(t)._held


def spill(
    name: str,
    result: Any,
    into: Sequence[tuple[Any, Pull]],
    rest: Sequence[tuple[Any, Pull]] = (),
    keeps: bool = False,
) -> Any:
    """Return a new result, dense or sparse, whose gradient goes elsewhere too; that of a sparse one
    has the places of the result. ``rest``: where else it goes. The result's own history says so as
    well, but knows nothing of the operand that is elsewhere: higher derivatives take the rest.
    ``keeps``: whether the pulls hold operands, which are let go after backward.
    """
    held = result._held if isinstance(result, TensorOfParts) else result
    both = [*into, *rest]
    if held is not result:
        there = result.detach()

        def pulled(g: Any, pull: Pull) -> Any:
            return pull(in_coordinates(there._gradient_of(g)))

        both = [(t, functools.partial(pulled, pull=pull)) for t, pull in both]
    made = wrap(held._value_now())
    made._node = _PullNode(name, gradient_edge(held) if rest else None, both, len(into), keeps)
    made._requires_grad = True
    return made if held is result else result._with(made)


def follow(result: Any, operands: Sequence[Any], pull_of: Callable[[int], Pull]) -> Any:
    """Return a sparse result, which must be new, with an elsewhere that hands on what it is given
    to all operands, if one of them has one."""
    if not isinstance(result, TensorOfParts) or not modes.current.grad_enabled:
        return result
    if modes.current.levels or not any(map(_takes_all, operands)):
        return result
    if modes.is_capturing():  # there to be refused
        result._storage.cell.elsewhere = UNKNOWN
        return result
    if any(isinstance(t, TensorOfParts) and t._elsewhere is UNKNOWN for t in operands):
        result._storage.cell.elsewhere = UNKNOWN
        return result
    return _handing(result, targets(operands, pull_of))


def _handing(result: Any, into: Sequence[tuple[Any, Pull]]) -> Any:
    """Attach an elsewhere that hands gradients on to ``into`` to a sparse result, and return it."""
    if modes.current.levels or not modes.current.grad_enabled:
        return result
    made = wrap(MetaArray(tuple(result.shape), result._held.dtype.numpy))
    made._node = _PullNode("SparseBackward0", None, into, len(into))
    made._requires_grad = True
    result._storage.cell.elsewhere = made
    return result


def _takes_all(operand: Any) -> bool:
    """Return whether an operand is a sparse tensor with an elsewhere."""
    return isinstance(operand, TensorOfParts) and operand._elsewhere is not None


def converted(result: Any, dense: Any) -> Any:
    """Return a new sparse result made of a dense tensor, which takes the whole gradient."""
    if not dense.requires_grad or modes.is_capturing():
        return result
    return _handing(result, targets([dense], lambda _: as_it_is))


def following(pull: Callable[..., Any]) -> Callable[[Any], Any]:
    """Decorate a method that gives the same elements at other places, or of another dtype. Of a
    gradient and the method's own arguments, of which the first is the tensor's size,
    ``pull(gradient, size, *arguments)`` is the gradient of the tensor."""

    def decorate(method: Any) -> Any:
        @functools.wraps(method)
        def followed(self: Any, *args: Any, **kwargs: Any) -> Any:
            result = method(self, *args, **kwargs)
            if self._elsewhere is None or result is self:
                return result
            size = tuple(self.shape)
            return follow(result, [self], lambda _: lambda g: pull(g, size, *args))

        return followed

    return decorate


def as_it_is(gradient: Any, *_: Any) -> Any:
    """Return the gradient."""
    return gradient


def in_coordinates(gradient: Any, *_: Any) -> Any:
    """Return the gradient without its zeros: that of a change of layout."""
    return gradient.to_sparse()


class Mark:
    """Says of a sparse tensor taken to parts that it has an elsewhere, which is again that of a
    tensor put together of the same values. One of other values, as a jit puts together, cannot know
    it. All marks are equal: programs do not differ by them."""

    __slots__ = ("elsewhere", "held")

    def __init__(self, held: Any = None, elsewhere: Any = None) -> None:
        self.held, self.elsewhere = (
            (lambda: None) if t is None else weakref.ref(t) for t in (held, elsewhere)
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mark)

    def __hash__(self) -> int:
        return 1

    def __reduce__(self) -> Any:
        return Mark, ()


def mark_of(t: Any) -> Mark | None:
    """Return the mark of a tensor; None without an elsewhere."""
    return None if t._elsewhere is None else Mark(t._held, t._elsewhere)


def marked(t: Any, mark: Mark | None) -> Any:
    """Return a tensor put together of a marked one's parts."""
    if mark is not None:
        same = mark.elsewhere() if mark.held() is t._held else None
        t._storage.cell.elsewhere = UNKNOWN if same is None else same
    return t


def through(function: Callable[[Any], Any], size: Sequence[int]) -> Pull:
    """Return the pull of a linear function of one tensor, by its gradient at a dense one."""

    def pull(gradient: Any) -> Any:
        dense = gradient.to_dense()
        again = modes.current.grad_enabled
        with enable_grad():
            zeros = NAMESPACES[""]["zeros"](size, dtype=dense.dtype, requires_grad=True)
            return grad(function(zeros), zeros, dense, create_graph=again)[0]

    return pull


def joined(t: Any, values: Any, elsewhere: Any) -> Any:
    """Return a tensor's gradient, made of that of its values and of what came elsewhere: dense if
    that is, else in the tensor's layout."""
    if elsewhere is None:
        return None if values is None else t._gradient_of(values)
    there = None if values is None else t._gradient_of(values)
    if not isinstance(elsewhere, TensorOfParts):
        return elsewhere if there is None else elsewhere + there
    found: Any = elsewhere if there is None else elsewhere + in_coordinates(there)
    return t._in_own_layout(found.coalesce())


class _PullNode(Node):
    """Hands a gradient, dense or sparse, to the elsewheres of an operation's operands. As it is it
    goes to the result's own history, which is faster than the other pulls; where the pass is
    recorded, those take it."""

    __slots__ = ("always", "keeps", "pulls")

    def __init__(
        self,
        name: str,
        own: Edge | None,
        into: Sequence[tuple[Any, Pull]],
        always: int,
        keeps: bool = False,
    ) -> None:
        super().__init__(name, [own, *(gradient_edge(t) for t, _ in into)])
        self.pulls: Any = [(pull, dtypes.from_numpy_dtype(t._read().dtype)) for t, pull in into]
        self.always, self.keeps = always, keeps

    def is_released(self) -> bool:
        return self.pulls is None

    def release(self) -> None:
        if self.keeps:  # with nothing kept it can run again, as in PyTorch
            self.pulls = None

    def run(self, cotangents: list[Any]) -> Sequence[Any]:
        if cotangents[0] is None:
            return [None] * len(self.edges)
        given = wrap(cotangents[0])
        whole = self.edges[0] is None
        found = self._pulled(given, None if whole else self.always)
        rest = [None] * (len(self.edges) - 1 - len(found))
        return [None if whole else cotangents[0], *(g._read() for g in found), *rest]

    def run_graph(self, cotangents: list[Any]) -> Sequence[Any]:
        return [None, *self._pulled(cotangents[0], None)]

    def _pulled(self, given: Any, count: int | None) -> list[Any]:
        if self.pulls is None:
            raise RuntimeError(errors.BACKWARD_TWICE)
        return [_in_coordinates(pull(given), dtype) for pull, dtype in self.pulls[:count]]


def _in_coordinates(gradient: Any, dtype: Any) -> Any:
    """Return the gradient as the engine adds it up, dense or in coordinates, in the operand's
    dtype."""
    if isinstance(gradient, TensorOfParts):
        gradient = gradient.to_sparse()  # type: ignore[attr-defined]
    if gradient.dtype.is_complex and not dtype.is_complex:
        gradient = gradient.real
    return gradient if gradient.dtype is dtype else gradient.to(dtype)
