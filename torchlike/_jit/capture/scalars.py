"""Arguments that are no tensors: numbers that a capture does not freeze, and changed containers.

A *host number* stands for an argument that changes from call to call (``lr``, ``step``), and for
what Python computes from it: the capture notes the steps, each call takes them again on the numbers
of the call, in Python, so ``0.1 * 0.95 ** epoch`` has the very bits that eager execution has. Where
one meets a tensor it enters the program as a weakly typed scalar, as a plain number does in an
eager op. A comparison gives a plain bool and becomes a guard; where the number itself is needed in
Python (a shape, ``range``, formatting) its value becomes the guard and the argument is static.

A *device number* stands for a number that only the program knows, such as a loop's counter. It
computes as JAX's weakly typed scalars do; if it is returned, the call hands out a Python number.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from torchlike._core import modes
from torchlike._core.overrides import TENSOR_TYPES
from torchlike._core.storage import Storage
from torchlike._core.views import Geometry
from torchlike._jit.capture.changes import Change
from torchlike._jit.guards.guard import same
from torchlike._runtime import trees
from torchlike._runtime.jax_private.primitives import convert
from torchlike.tensor import Tensor

_SCALAR_GEOMETRY = Geometry((), (), 0)


class Table:
    """The host numbers of one capture: roots (arguments, and numbers in Python's objects that calls
    change), steps, and what was asked of them."""

    def __init__(self, roots: dict[int, Any], places: Sequence[Any] = ()) -> None:
        """Begin with the roots. ``places``: where each call finds further ones."""
        #: The leaves of the arguments that the roots are, and the places of those behind them.
        self.positions = tuple(roots)
        self.places = tuple(places)
        self._values = [*roots.values(), *(place.now() for place in places)]
        self._steps: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []
        self._guards: dict[int, Any] = {}
        #: Numbers that enter the program, with the arrays that stand for them in the trace.
        self.placeholders: dict[int, Any] = {}
        #: Roots whose value was needed in Python.
        self.static: set[int] = set()
        self._origins = [frozenset((i,)) for i in range(len(self._values))]

    def __bool__(self) -> bool:
        """Return whether there are numbers."""
        return bool(self._values)

    @property
    def static_arguments(self) -> list[int]:
        """The leaves of the arguments whose value was needed in Python."""
        n = len(self.positions)
        return [self.positions[i] for i in self.static if i < n]

    @property
    def static_places(self) -> list[Any]:
        """The places whose number was needed in Python."""
        n = len(self.positions)
        return [self.places[i - n] for i in self.static if i >= n]

    def root(self, i: int) -> Number:
        return Number(type(self._values[i]), self, i, self._values[i])

    def step(self, fn: Callable[..., Any], *operands: Any) -> Any:
        """Apply ``fn`` to host numbers and plain values, and record the step, which is computed at
        each call."""
        given = [o.value if type(o) is Number else o for o in operands]
        try:
            value = fn(*given)
        except Exception:
            for o in operands:  # user code may catch it: the program is for these values then
                if type(o) is Number:
                    self.needed(o)
            raise
        references = tuple((True, o.index) if type(o) is Number else (False, o) for o in operands)
        self._steps.append((fn, references))
        self._values.append(value)
        self._origins.append(
            frozenset().union(*(self._origins[i] for is_ref, i in references if is_ref))
        )
        index = len(self._values) - 1
        if type(value) in (int, float):
            return Number(type(value), self, index, value)
        self._guards[index] = value  # a bool, a tuple: what Python makes of it is the guard
        return value

    def needed(self, number: Number) -> Any:
        """Return the plain value and guard it: the program holds for this value only."""
        self._guards[number.index] = number.value
        self.static |= self._origins[number.index]
        return number.value

    def array(self, number: Number) -> Any:
        """Return the number as an input of the program."""
        found = self.placeholders.get(number.index)
        if found is None:
            with modes.the_capture().outside():
                found = self.placeholders[number.index] = jnp.asarray(number.value)
        return found

    def evaluate(self, leaves: Sequence[Any]) -> list[Any] | None:
        """Compute all numbers at a call with these leaves; return None where the program does not
        fit."""
        values = [leaves[i] for i in self.positions]
        for place in self.places:
            value = place.now()
            if type(value) is not type(self._values[len(values)]):
                return None
            values.append(value)
        try:
            for fn, references in self._steps:
                values.append(fn(*[values[x] if is_ref else x for is_ref, x in references]))
        except (ArithmeticError, ValueError):
            return None  # the body says so itself, in the capture that follows
        for index, value in self._guards.items():
            if not same(values[index], value):
                return None
        for index in self.placeholders:
            if type(values[index]) is not type(self._values[index]):
                return None
        return values


class Number:
    """A host number, or (``table`` is None) a device number; for ``isinstance`` one of its kind."""

    __slots__ = ("_cell", "array_", "index", "kind", "table", "value")

    # What the op path asks of an operand.
    _view = _base = _node = None
    _requires_grad = requires_grad = False
    _geometry = _SCALAR_GEOMETRY

    def __init__(
        self, kind: type, table: Table | None, index: int, value: Any, array: Any = None
    ) -> None:
        self.kind = kind
        self.table = table
        self.index = index
        self.value = value
        self.array_ = array
        self._cell: Storage | None = None

    @property
    def __class__(self) -> Any:
        return self.kind

    def _read(self) -> Any:
        return self.array_ if self.table is None else self.table.array(self)

    @property
    def _storage(self) -> Storage:
        if self._cell is None:
            self._cell = Storage(self._read())
        return self._cell

    def _plain(self, asked: str) -> Any:
        if self.table is None:
            modes.the_capture().refuse_value(asked, "a tensor")
        return self.table.needed(self)  # type: ignore[union-attr]

    # -- asked for in Python -----------------------------------------------------------------------

    def __bool__(self) -> Any:
        if self.table is None:
            modes.the_capture().refuse_value("bool(tensor)", "torchlike.where or torchlike.cond")
        return self.table.step(operator.truth, self)  # type: ignore[union-attr]

    def __float__(self) -> float:
        return float(self._plain("float(tensor)"))

    def __int__(self) -> int:
        return int(self._plain("int(tensor)"))

    def __index__(self) -> int:
        if self.kind is float:
            raise TypeError("'float' object cannot be interpreted as an integer")
        return int(self._plain("a tensor used as a Python index"))

    def __complex__(self) -> complex:
        return complex(self._plain("complex(tensor)"))

    def __hash__(self) -> int:
        return hash(self._plain("hash()"))

    def __repr__(self) -> str:
        return "<a number of the program>" if self.table is None else repr(self._plain("repr()"))

    def __str__(self) -> str:
        return repr(self)

    def __format__(self, spec: str) -> str:
        return format(self._plain("format()"), spec)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self._plain("numpy.asarray()"), dtype)

    def __jax_array__(self) -> Any:
        return self._read()

    def __reduce_ex__(self, protocol: Any) -> Any:
        value = self._plain("a copy or pickle")
        return self.kind, (value,)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(self.kind, name):
            raise AttributeError(f"'{self.kind.__name__}' object has no attribute '{name}'")
        return getattr(self._plain(f".{name}"), name)


TENSOR_TYPES.add(Number)


def device_number(kind: type, array: Any) -> Number:
    """Make a number of the program: ``array`` is a 0-dim tracer."""
    return Number(kind, None, -1, None, array)


def is_device(x: Any) -> bool:
    """Return whether a value is a number that only the program knows."""
    return type(x) is Number and x.table is None


def weak(kind: type, array: Any) -> Any:
    """Convert a 0-dim array as a Python number enters an op: float64 or int64, weakly typed."""
    if kind is bool:
        return array.astype(bool)
    dtype = np.dtype(np.float64 if kind is float else np.int64)
    if array.dtype == dtype and array.aval.weak_type:
        return array
    return convert(array, dtype, True)


def _device(fn: Callable[..., Any], kind: type, *operands: Any) -> Any:
    arrays = [o._read() if type(o) is Number else o for o in operands]
    return device_number(kind, fn(*arrays))


def _kind_of(a: Any, b: Any) -> type:
    kinds = {x.kind if type(x) is Number else type(x) for x in (a, b)}
    return float if float in kinds else int


_DEVICE: dict[str, Callable[..., Any]] = {
    "add": jnp.add,
    "sub": jnp.subtract,
    "mul": jnp.multiply,
    "truediv": jnp.true_divide,
    "floordiv": jnp.floor_divide,
    "mod": jnp.remainder,
    "pow": jnp.power,
    "and": jnp.bitwise_and,
    "or": jnp.bitwise_or,
    "xor": jnp.bitwise_xor,
    "lshift": jnp.left_shift,
    "rshift": jnp.right_shift,
    "lt": jnp.less,
    "le": jnp.less_equal,
    "gt": jnp.greater,
    "ge": jnp.greater_equal,
    "eq": jnp.equal,
    "ne": jnp.not_equal,
}
_COMPARISONS = frozenset(("lt", "le", "gt", "ge", "eq", "ne"))
_HOST = {"and": operator.and_, "or": operator.or_}


def _of_numbers(name: str, a: Any, b: Any) -> Any:
    """Apply a binary operator to numbers, at least one of them a Number."""
    host = all(o.table is not None for o in (a, b) if type(o) is Number)
    if host:
        table: Any = (a if type(a) is Number else b).table
        return table.step(_HOST.get(name) or getattr(operator, name), a, b)
    if name == "pow" and _kind_of(a, b) is int:
        modes.the_capture().refuse_value("int ** int", "floats, or torchlike.pow on tensors")
    bools = all((o.kind if type(o) is Number else type(o)) is bool for o in (a, b))
    kind: type = _kind_of(a, b)
    if name in _COMPARISONS or (bools and name in ("and", "or", "xor")):
        kind = bool
    elif name == "truediv":
        kind = float
    elif bools:
        whole: Any = _of_numbers("add", a, 0) if type(a) is Number else int(a)
        return _of_numbers(name, whole, b)
    return _device(_DEVICE[name], kind, a, b)


def _install(name: str) -> None:
    def forward(self: Any, other: Any) -> Any:
        if type(other) is Number or isinstance(other, (int, float)):
            return _of_numbers(name, self, other)
        if isinstance(other, complex):
            return getattr(operator, name)(self._plain("complex arithmetic"), other)
        return NotImplemented

    def reflected(self: Any, other: Any) -> Any:
        if isinstance(other, (int, float)) and not isinstance(other, Tensor):
            return _of_numbers(name, other, self)
        if isinstance(other, complex):
            return getattr(operator, name)(other, self._plain("complex arithmetic"))
        return NotImplemented

    setattr(Number, f"__{name}__", forward)
    if name not in _COMPARISONS:
        setattr(Number, f"__r{name}__", reflected)


for _name in _DEVICE:
    _install(_name)

for _name, _host, _on_device in (
    ("neg", operator.neg, jnp.negative),
    ("pos", operator.pos, jnp.positive),
    ("abs", builtins.abs, jnp.abs),
    ("invert", operator.invert, jnp.invert),
    ("floor", math.floor, None),
    ("ceil", math.ceil, None),
    ("trunc", math.trunc, None),
):

    def _unary(self: Any, host: Any = _host, on_device: Any = _on_device) -> Any:
        if self.table is not None:
            return self.table.step(host, self)
        if on_device is None:
            return modes.the_capture().refuse_value(
                host.__name__, "torchlike's function of that name"
            )
        return _device(on_device, int if self.kind is bool else self.kind, self)

    setattr(Number, f"__{_name}__", _unary)


def _round(self: Any, digits: Any = None) -> Any:
    if self.table is None:
        return modes.the_capture().refuse_value("round()", "torchlike.round")
    return self.table.step(round, self, digits)


def _divmod(self: Any, other: Any) -> Any:
    return self // other, self % other


Number.__round__ = _round  # type: ignore[attr-defined]
Number.__divmod__ = _divmod  # type: ignore[attr-defined]


class InputContainer(NamedTuple):
    """A list or dictionary of the call's arguments.

    Lists and dictionaries that are passed as arguments: each call changes the caller's own.

    A function that is captured sees copies, in which tensors of its own stand for the caller's.
    What it leaves in one that it changed is given out by the program like a result, and each call
    puts it into the list or dictionary that the caller passed. Where the result, or another
    container, holds one of them, each call gives the caller's own. They reach a program behind the
    numbers of the call: the last of those are the containers, counted from the end.
    """

    #: Its place among the numbers of the call, counted from their end.
    index: int


class CallValues:
    """What Python gives a program at each call: numbers, then the containers of the arguments."""

    def __init__(self, numbers: Table | None) -> None:
        self._numbers = numbers
        #: Whether there are no numbers.
        self.are_containers = numbers is None
        #: The leaves of the arguments that are traced numbers.
        self.positions = () if numbers is None else numbers.positions

    def evaluate(self, leaves: trees.Leaves) -> list[Any] | None:
        """Return all these values at a call; None where the program does not fit."""
        values = [] if self._numbers is None else self._numbers.evaluate(leaves)
        return None if values is None else [*values, *leaves.containers]


class Copies:
    """The containers that one capture's function sees, and what was in them."""

    def __init__(self, made: trees.Made, refuse: Callable[[str, str, Any], None]) -> None:
        """Keep the containers that were made, and their contents now. ``refuse(asked, instead,
        container)`` raises."""
        self._copies = made.containers
        self._registered = made.registered
        self._before = [_contents(c) for c in self._copies]
        self._refuse = refuse
        n = len(self._copies)
        #: The leaves that stand for them in what the call gives back, by their ids.
        self.leaves = {id(c): InputContainer(i - n) for i, c in enumerate(self._copies)}

    def __bool__(self) -> bool:
        return bool(self._copies or self._registered)

    def copy(self, index: int) -> Any:
        """Return the container that stands for one of the call's, by its place from the end."""
        return self._copies[index]

    def changed(self) -> list[int]:
        """Return the numbers of the containers that hold something else now."""
        return [
            i
            for i, (c, before) in enumerate(zip(self._copies, self._before, strict=True))
            if not _holds(c, before)
        ]

    def contents(self, changed: Iterable[int]) -> list[Any]:
        """Return the present contents of these containers, in containers that are nobody's.
        JitCaptureError for a key that only this capture knows."""
        found: list[Any] = []
        for i in changed:
            copy = self._copies[i]
            if isinstance(copy, dict):
                known = {id(key) for key, _ in self._before[i]}
                for key in copy:
                    if id(key) not in known and _is_own(key):
                        self._refuse(
                            "a tensor or traced number as a new key of a dictionary that was "
                            "passed as an argument",
                            "a plain value as the key",
                            copy,
                        )
                found.append(dict(copy))
            else:
                found.append(list(copy) if isinstance(copy, list) else dict(vars(copy)))
        return found

    def objects(self) -> list[Any]:
        """Return those that stand for objects, which are taken apart."""
        return [c for c in self._copies if not isinstance(c, (list, dict))]

    def grow(self) -> bool:
        """Return whether the function leaves tensors of another shape in objects, or a list of
        another length beside them, so that the next call is another program's."""
        changed = [(self._copies[i], self._before[i]) for i in self.changed() if self.objects()]
        return any(
            len(copy) != len(before)
            if isinstance(copy, list)
            else any(_is_resized(x, now.get(name)) for name, x in before)
            for copy, before in changed
            for now in [vars(copy) if hasattr(copy, "__dict__") else copy]
        )

    def check_registered(self) -> None:
        """Raise JitCaptureError where an instance of a registered class was changed."""
        for made, children, context in self._registered:
            now, context_now = trees.registered[type(made)][0](made)
            alike = len(now) == len(children) and all(map(_is, now, children))
            if not alike or context_now != context:
                self._refuse(
                    f"changing a {type(made).__name__} that was passed as an argument",
                    "a returned one",
                    made,
                )

    def check_kept(self, value: Any, label: str) -> None:
        """Raise JitCaptureError where a place outside holds one of the containers: it would not be
        the caller's."""
        held = [*value, *value.values()] if isinstance(value, dict) else value
        for x in (value, *held) if isinstance(value, (list, tuple, set, dict)) else (value,):
            if id(x) in self.leaves:
                self._refuse(
                    f"keeping a {type(x).__name__} that was passed as an argument in `{label}`",
                    "a returned value",
                    x,
                )


def write(
    changes: Sequence[int], outside: Sequence[Change], numbers: Sequence[Any], given: Any
) -> Any:
    """Put what the program gave for the containers ``changes`` into those of the call, and make the
    changes ``outside``; gives the function's result. ``given`` is (result, contents of each
    container, what each change leaves)."""
    result, contents, left = given
    for change, value in zip(outside, left, strict=False):
        change.make(value)
    for index, new in zip(changes, contents, strict=True):
        container = numbers[index]
        if isinstance(container, list):
            container[:] = new
            continue
        entries = container if isinstance(container, dict) else vars(container)
        if list(entries) == list(new):
            entries.update(new)
        else:
            entries.clear()
            entries.update(new)
    return result


def _is(a: Any, b: Any) -> bool:
    return a is b


def _is_resized(x: Any, now: Any) -> bool:
    return isinstance(x, Tensor) and isinstance(now, Tensor) and now.shape != x.shape


def _contents(container: Any) -> list[Any]:
    if isinstance(container, list):
        return list(container)
    return list((container if isinstance(container, dict) else vars(container)).items())


def _holds(container: Any, before: list[Any]) -> bool:
    now = _contents(container)
    if len(now) != len(before):
        return False
    if isinstance(container, list):
        return all(map(_is, now, before))
    return all(k is key and v is w for (k, v), (key, w) in zip(now, before, strict=True))


def _is_own(key: Any) -> bool:
    """Return whether a dictionary's key is, or holds, an object that is of the capture alone."""
    if isinstance(key, tuple):
        return any(map(_is_own, key))
    return isinstance(key, Tensor) or type(key) is Number
