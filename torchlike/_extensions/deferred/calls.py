"""What is known of a call that may be deferred, and the tree of the calls that were.

From one flush to the next each call is a node of a tree, below the call before it. Its edge says
all that the call is: the form, and of each operand which value or input it is or, met for the first
time, its shape and dtype. So a call that comes again at its place is found by one look-up: no trace
and no abstract evaluation. All begin at one root, so equal chains, such as the layers of a
model that is flushed layer by layer, share their nodes and their programs.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from torchlike._extensions.deferred import prices
from torchlike._runtime import frames

if TYPE_CHECKING:
    from torchlike._extensions.deferred.pieces import DeferredPiece
    from torchlike._runtime.first_calls import FirstCalls

#: Calls after which a chain is flushed unasked, and bytes of its results.
MOST_CALLS = 1000
MOST_BYTES = 256 << 20
#: Calls that may follow one at a place; where more have, the chain is cut after it. Not after a few
#: calls: the others run them as well.
_MOST_EDGES = 8
_SHORT = 16


class Results(NamedTuple):
    """The results of a form for operands of some shapes and dtypes."""

    #: (shape, dtype) of each array.
    avals: tuple[tuple[tuple[int, ...], np.dtype], ...]
    #: How the arrays are put together: None for one array, else the tree.
    tree: Any

    @classmethod
    def of(cls, out: Any) -> Results:
        """Return those of a call, of which ``out`` are the results, or what has their shapes."""
        leaves, tree = jax.tree.flatten(out)
        avals = tuple([(tuple(x.shape), x.dtype) for x in leaves])
        return cls(avals, None if tree == _ONE else tree)


_ONE = jax.tree.structure(0)


class DeferredCall:
    """A call at its place in a chain."""

    __slots__ = (
        "alone",
        "aval",
        "bytes",
        "depth",
        "edges",
        "first",
        "form",
        "gives_tuple",
        "is_flat",
        "is_last",
        "kept",
        "line",
        "next",
        "parent",
        "pieces",
        "results",
        "spec",
        "tree",
        "work",
    )

    def __init__(
        self, parent: DeferredCall | None, form: Any, tree: Any, spec: Any, kept: Any
    ) -> None:
        self.parent, self.form = parent, form
        #: The operands: their tree, and of each its number (from -1 downwards that of an input).
        self.tree: Any = tree
        self.spec: tuple[int, ...] = spec
        #: Whether the operands are the leaves themselves, in no lists.
        self.is_flat = tree is not None and tree == jax.tree.structure((0,) * len(spec))
        #: What keys below name by its id.
        self.kept = kept
        #: The user's line that made the first call at this place, "train.py:31", for messages.
        self.line = "" if parent is None else frames.users_line()
        self.results = Results((), None)
        #: Shape and dtype of the one result; None where it gives several.
        self.aval: tuple[tuple[int, ...], np.dtype] | None = None
        #: Whether it gives a tuple of arrays.
        self.gives_tuple = False
        #: The price of its multiplications, where it is a product.
        self.work = 0.0
        #: The number of its first result in the chain, how many calls and bytes there are with it.
        self.first = 0 if parent is None else parent.next
        self.next = self.first
        self.depth = 0 if parent is None else parent.depth + 1
        self.bytes = 0 if parent is None else parent.bytes
        #: Whether the chain is flushed after it.
        self.is_last = False
        #: The calls that have followed it.
        self.edges: dict[tuple[Hashable, ...], DeferredCall] = {}
        #: What was run from the root to here, by the numbers of the values that were still alive.
        self.pieces: dict[tuple[int, ...], DeferredPiece] = {}
        #: What was run for one of its values alone, by the value's number.
        self.alone: dict[int, DeferredPiece] = {}

    def give(self, results: Results, operands: Sequence[Any]) -> None:
        """Say what the call gives, of operands such as these."""
        self.results = results
        self.aval = results.avals[0] if results.tree is None else None
        n = len(results.avals)
        self.gives_tuple = results.tree is not None and results.tree == jax.tree.structure((0,) * n)
        self.next = self.first + n
        rate = prices.rate(self.form.name)
        if rate:
            largest = max(math.prod(shape) for shape, _ in results.avals)
            self.work = rate * prices.multiplications(operands, largest)
        self.bytes += sum(math.prod(shape) * dtype.itemsize for shape, dtype in results.avals)
        self.is_last = self.depth >= MOST_CALLS or self.bytes >= MOST_BYTES

    def follow(self, key: tuple[Hashable, ...], call: DeferredCall) -> None:
        """Have a call follow this one. Where many have, the next chain ends here: what comes before
        is then a piece of its own, whatever follows."""
        self.edges[key] = call
        if len(self.edges) > _MOST_EDGES and self.depth > _SHORT:
            self.is_last = True


class Known:
    """What is known of forms with operands of some shapes and dtypes, for all threads."""

    def __init__(self) -> None:
        self._results: dict[Hashable, Results] = {}
        self._met: dict[Hashable, int] = {}

    def key(self, form: FirstCalls, leaves: list[Any], tree: Any) -> Hashable:
        """Return what the results of a call depend on: all but the values of its operands."""
        return form, tree, tuple([_aval(x) for x in leaves])

    def find(self, key: Hashable) -> Results | None:
        """Return the results of a call, where they are known."""
        return self._results.get(key)

    def learn(self, key: Hashable, out: Any) -> None:
        """Learn the results of a call from one that has run. What a form keeps for backward it does
        not always give, so of those forms nothing is learned."""
        if isinstance(out, jax.Array | np.ndarray) or (
            type(out) is tuple and all(isinstance(x, jax.Array | np.ndarray) for x in out)
        ):
            self._results[key] = Results.of(out)

    def evaluate(self, key: Hashable, form: FirstCalls, leaves: list[Any], tree: Any) -> Results:
        """Find out the results of a call by tracing it; raise what the trace raises."""
        avals = [
            jax.ShapeDtypeStruct(x.shape, x.dtype, weak_type=getattr(x, "weak_type", False))
            if hasattr(x, "shape")
            else x
            for x in leaves
        ]
        out = jax.eval_shape(form.function, *jax.tree.unflatten(tree, avals))
        found = self._results[key] = Results.of(out)
        return found

    def meet(self, key: Hashable) -> int:
        """Count a call that was met, and return how often it was before."""
        times = self._met.get(key, 0)
        self._met[key] = times + 1
        return times


def _aval(x: Any) -> Hashable:
    if hasattr(x, "shape"):
        return tuple(x.shape), x.dtype, getattr(x, "weak_type", False)
    return type(x)


known = Known()
