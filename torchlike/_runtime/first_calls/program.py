"""A program: what NumPy runs for one signature of a compiled form."""

from __future__ import annotations

import contextvars
import copy
import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.sharding import SingleDeviceSharding

from torchlike._runtime import platforms
from torchlike._runtime.first_calls.cost import Compiling, Worth
from torchlike._runtime.first_calls.interpreter import EvaluationPlan, Sizes
from torchlike._runtime.first_calls.rules import NoNumpyRule
from torchlike._runtime.first_calls.statistics import Record
from torchlike._runtime.jax_private import arrays
from torchlike._runtime.jax_private.tracing import trace_context

NUMBERS = frozenset((bool, int, float, complex))
#: An array of NumPy's has no more.
MOST_DIMENSIONS = 64


#: The shardings of arrays that were found on the host, by id: each program's results have their
#: own. They are kept, so that an id means one of them.
here: dict[int, Any] = {}
_MOST_MET = 1024


class Host:
    """The device that NumPy's results go to; JAX starts its backend when it is first asked for."""

    @functools.cached_property
    def device(self) -> Any:
        return platforms.cpu_device()

    @functools.cached_property
    def sharding(self) -> Any:
        return SingleDeviceSharding(self.device)

    def has(self, sharding: Any) -> bool:
        """Return whether an array of this sharding lies here, and nowhere else. Its answer is found
        in `here` from then on: to compare the parts of shardings takes 0.3 µs."""
        if id(sharding) in here:
            return True
        if sharding != self.sharding:
            return False
        if len(here) >= _MOST_MET:
            here.clear()
        here[id(sharding)] = sharding
        return True

    array_type: type = arrays.ArrayImpl

    @functools.cached_property
    def is_default(self) -> bool:
        """Whether arrays are made there; a process that only loads data says so by itself."""
        return platforms.cpu_is_default()


host = functools.cache(Host)


#: A context in which NumPy tells of no overflow or division by zero: ``np.errstate`` takes 0.5 µs
#: to enter and leave, a context 0.06. Copies of it are entered, each by one call at a time.
SILENT = contextvars.Context()
SILENT.run(functools.partial(np.seterr, all="ignore"))


class InterpreterProgram:
    """What is known of one signature."""

    __slots__ = (
        "_enter",
        "avals",
        "calls",
        "calls_left",
        "can_wait",
        "compiling",
        "dtypes",
        "function",
        "is_single",
        "numbers",
        "of_a_turn",
        "plan",
        "record",
        "sizes",
        "stays",
        "structure",
    )

    def __init__(self, record: Record) -> None:
        self.record = record
        #: Calls that NumPy has computed, and is still to compute; at 0 the signature is compiled.
        self.calls = 0
        self.calls_left: float = 0
        #: Whether NumPy could go on when none is left: nothing has been compiled.
        self.can_wait = False
        #: Whether NumPy is faster than XLA here, so that host values are never compiled for.
        self.stays = False
        #: As how many calls more a call counts for each turn of a loop whose turns a value decides.
        self.of_a_turn = 0.0
        #: What compiling it takes, by its trace for NumPy; None where it has none.
        self.compiling: Compiling | None = None
        #: The plan and its sizes, and the function that it makes of them.
        self.plan: EvaluationPlan
        self.sizes: Sizes
        self.function: Callable[..., list[Any]]
        #: Dtypes of the operands, avals of the results and their tree.
        self.dtypes: list[Any] = []
        self.avals: list[Any] = []
        self.structure: Any = None
        #: The operands that are Python numbers, and what dtypes they become.
        self.numbers: list[tuple[int, Any]] = []
        self.is_single = False

    def describe(
        self,
        plan: EvaluationPlan,
        sizes: Sizes,
        worth: Worth,
        dtypes: list[Any],
        avals: Any,
        structure: Any,
        leaves: list[Any],
    ) -> None:
        """Fill in what tracing found out; ``leaves`` are operands as in each call. Raises
        NoNumpyRule."""
        if any(len(a.shape) > MOST_DIMENSIONS for a in avals):
            raise NoNumpyRule(f"more than {MOST_DIMENSIONS} dimensions")
        self.plan, self.sizes = plan, sizes
        self.calls_left, self.of_a_turn = worth.calls, worth.of_a_turn
        self.stays = len(plan) <= worth.most_steps
        self.compiling = worth.compiling
        self.dtypes, self.avals, self.structure = dtypes, list(avals), structure
        self.numbers = [
            (i, dtype)
            for i, (leaf, dtype) in enumerate(zip(leaves, dtypes, strict=True))
            if type(leaf) in NUMBERS
        ]
        self.is_single = structure == _LEAF
        if worth.calls:
            self._set_function(plan)
            self.can_wait = True

    def _set_function(self, plan: EvaluationPlan) -> None:
        """Make the function for these sizes. Raises NoNumpyRule where a rule cannot be had for
        them."""
        self.function = plan.function(self.sizes)
        self._enter = SILENT.copy().run

    def with_ones(self, leaves: list[Any]) -> InterpreterProgram:
        """Return the program for calls whose operands are 1 where those of ``leaves`` are: a
        product with a default ``alpha`` is none. The program itself where no operand is 1."""
        ones = {i: leaves[i] for i, _ in self.numbers if leaves[i] == 1}
        if not ones or not self.stays:
            return self
        found = copy.copy(self)
        try:
            found._set_function(self.plan.knowing(ones))
        except NoNumpyRule:
            return self
        found.numbers = [(i, dtype) for i, dtype in self.numbers if i not in ones]
        return found

    def run(self, values: list[Any]) -> list[Any]:
        """Run NumPy's functions on the values and return the results."""
        try:
            return self._enter(self.function, *values)
        except RuntimeError:  # entered already: by another thread, or a collection of garbage
            with np.errstate(all="ignore"):
                return self.function(*values)

    def host_values(self, outs: list[Any]) -> Any:
        """Return results as arrays in row-major order, in the form's tree."""
        if self.is_single:
            out = outs[0]
            return out if type(out) is np.ndarray and out.flags.c_contiguous else row_major(out)
        return jax.tree.unflatten(self.structure, map(row_major, outs))

    def device_arrays(self, outs: list[Any], leaves: list[Any]) -> Any:
        """Return results as jax arrays, in the form's tree; ``leaves`` are the operands."""
        there = host()
        committed = any(a.committed for a in leaves if type(a) is there.array_type)
        arrays = [
            _device_array(v, aval, there, committed)
            for v, aval in zip(outs, self.avals, strict=True)
        ]
        return jax.tree.unflatten(self.structure, arrays)


_LEAF = jax.tree.structure(0)


def row_major(value: Any) -> np.ndarray:
    """Return a result of NumPy's as an array in row-major order, where it may be a number or lie
    otherwise in memory."""
    if type(value) is not np.ndarray:
        return np.asarray(value)
    return value if value.flags.c_contiguous else np.array(value, order="C")


def _device_array(value: Any, aval: Any, there: Host, committed: bool) -> jax.Array:
    """Make a jax array of a NumPy result, whose memory JAX may keep."""
    if type(value) is not np.ndarray:
        value = np.asarray(value)
    flags = value.flags
    if not (flags.owndata and flags.writeable and flags.c_contiguous):
        value = np.array(value, order="C")  # a view, an operand or a constant
    return arrays.put(aval, there.sharding, [value], [there.device], committed)


def signature(leaves: list[Any], tree: Any) -> tuple[Any, ...] | None:
    """Return the key of the arguments for which a program is made, or None where one is neither
    array nor number."""
    array_type = host().array_type
    key = [tree, trace_context()]
    for leaf in leaves:
        kind = type(leaf)
        if kind is array_type:
            key.append((leaf.shape, leaf.dtype, leaf.weak_type))
        elif kind in NUMBERS:
            key.append(kind)
        elif isinstance(leaf, (np.ndarray, np.generic)):
            key.append((leaf.shape, leaf.dtype, False))
        else:
            return None
    return tuple(key)


def operands(leaves: list[Any], dtypes: list[Any]) -> list[Any] | None:
    """Return the operands as NumPy arrays that nobody may write, or None where one lies elsewhere
    or has more dimensions than they can have."""
    there = host()
    values = []
    for leaf, dtype in zip(leaves, dtypes, strict=True):
        if type(leaf) is there.array_type:
            if not there.has(leaf.sharding):
                return None
            if leaf.ndim > MOST_DIMENSIONS:
                return None
            values.append(np.asarray(leaf))
            continue
        value = np.asarray(leaf, dtype)
        if value is leaf:
            value = value.view()
        value.flags.writeable = False
        values.append(value)
    return values


def agree(
    program: InterpreterProgram, outs: list[Any], own: InterpreterProgram, expected: list[Any]
) -> bool:
    """Return whether two programs gave the same bits in the same tree."""
    if program.structure != own.structure:
        return False
    for a, b, x, y in zip(program.avals, own.avals, outs, expected, strict=True):
        if (a.shape, a.dtype, a.weak_type) != (b.shape, b.dtype, b.weak_type):
            return False
        if (
            np.shape(x) != b.shape
            or np.ascontiguousarray(x).tobytes() != np.ascontiguousarray(y).tobytes()
        ):
            return False
    return True
