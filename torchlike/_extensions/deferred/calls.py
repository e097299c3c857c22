"""What is known of a call that may be deferred, and the tree of the calls that were.

From one flush to the next each call is a node of a tree, below the call before it. Its edge says
all that the call is: the form, and of each operand which value or input it is or, met for the first
time, its shape and dtype. So a call that comes again at its place is found by one look-up: no trace
and no abstract evaluation. All begin at one root, so equal chains, such as the layers of a
model that is flushed layer by layer, share their nodes and their programs.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from torchlike._runtime import first_calls, frames
from torchlike._runtime.first_calls.program import host
from torchlike._runtime.jax_private.tracing import trace_context

if TYPE_CHECKING:
    from torchlike._extensions.deferred.pieces import DeferredPiece
    from torchlike._runtime.first_calls import FirstCalls

#: Calls after which a chain is flushed unasked, and bytes of its results where the CPU computes
#: them. An accelerator's steps have more in any case, and would be cut into many programs.
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
        "known",
        "line",
        "next",
        "parent",
        "pieces",
        "results",
        "spec",
        "tree",
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
        #: What is known of calls like it.
        self.known: KnownCall
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

    def give(self, known: KnownCall, results: Results) -> None:
        """Say what is known of the call, and what it gives."""
        self.known, self.results = known, results
        self.aval = results.avals[0] if results.tree is None else None
        n = len(results.avals)
        self.gives_tuple = results.tree is not None and results.tree == jax.tree.structure((0,) * n)
        self.next = self.first + n
        self.bytes += sum(math.prod(shape) * dtype.itemsize for shape, dtype in results.avals)
        is_large = self.bytes >= MOST_BYTES and host().is_default
        self.is_last = self.depth >= MOST_CALLS or is_large

    def follow(self, key: tuple[Hashable, ...], call: DeferredCall) -> None:
        """Have a call follow this one. Where many have, the next chain ends here: what comes before
        is then a piece of its own, whatever follows."""
        self.edges[key] = call
        if len(self.edges) > _MOST_EDGES and self.depth > _SHORT:
            self.is_last = True


class KnownCall:
    """What is known of a form with operands of some shapes and dtypes, for all threads."""

    def __init__(self, form: FirstCalls, leaves: list[Any], tree: Any) -> None:
        self._form, self._tree = form, tree
        self._operands = [_abstract(x) for x in leaves]
        #: Its results, once it has run or was traced.
        self.results: Results | None = None
        #: How often it was met before.
        self.met = 0
        #: Whether XLA has compiled it on an accelerator, in a program or alone.
        self.is_compiled = False

    def learn(self, out: Any) -> None:
        """Learn the results of a call from one that has run. What a form keeps for backward it does
        not always give, so of those forms nothing is learned."""
        if isinstance(out, jax.Array | np.ndarray) or (
            type(out) is tuple and all(isinstance(x, jax.Array | np.ndarray) for x in out)
        ):
            self.results = Results.of(out)

    def traced(self) -> Results:
        """Find out the results by tracing it; raise what the trace raises."""
        assert self.jaxpr is not None
        assert self.results is not None
        return self.results

    @property
    def is_traced(self) -> bool:
        """Whether it has been traced already."""
        return "jaxpr" in vars(self)

    @functools.cached_property
    def jaxpr(self) -> Any:
        """Its closed jaxpr, a function of the leaves of its operands: calls that are alike are
        traced once, for programs too."""

        def flat(*leaves: Any) -> list[Any]:
            out = self._form.function(*jax.tree.unflatten(self._tree, leaves))
            if self.results is None:
                self.results = Results.of(out)
            return jax.tree.leaves(out)

        return jax.make_jaxpr(flat)(*self._operands)

    @functools.cached_property
    def cost(self) -> first_calls.CallCost:
        """What it is thought to cost."""
        return first_calls.of_call(self.jaxpr.jaxpr)

    @property
    def _key(self) -> Any:
        return self._tree, trace_context(), *map(_aval, self._operands)

    def nearness(self) -> float:
        """Return how near compiling it alone is, if nothing else is compiled: 1 where it is due."""
        return self._form.nearness(self._key)

    def compiling(self) -> first_calls.Compiling | None:
        """Return what compiling it takes, as far as that is known without a trace for it."""
        return self.cost.compiling if self.is_traced else self._form.compiling(self._key)


class Known:
    """What is known of calls."""

    def __init__(self) -> None:
        self._calls: dict[Hashable, KnownCall] = {}

    def of(self, form: FirstCalls, leaves: list[Any], tree: Any) -> KnownCall:
        """Return what is known of calls like this one: all depends on its operands' avals."""
        key = form, tree, tuple([_aval(x) for x in leaves])
        found = self._calls.get(key)
        if found is None:
            found = self._calls[key] = KnownCall(form, leaves, tree)
        return found

    def forget(self) -> None:
        """Let go of all calls, with their forms and jaxprs."""
        self._calls.clear()


def _aval(x: Any) -> Hashable:
    if hasattr(x, "shape"):
        return tuple(x.shape), x.dtype, getattr(x, "weak_type", False)
    return type(x)


def _abstract(x: Any) -> Any:
    """Return what stands for an operand in a trace, and holds no array."""
    if hasattr(x, "shape"):
        return jax.ShapeDtypeStruct(x.shape, x.dtype, weak_type=getattr(x, "weak_type", False))
    return x


known = Known()
