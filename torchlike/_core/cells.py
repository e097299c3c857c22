"""Kinds of cell: what a storage may hold in an array's place, and what each does in its stead.

A cell holds an array. It may instead hold a `StandIn`: a shape without values (`meta`), and, in
rooms above, a value of a transform, a sparse array, the parts of a nested tensor, a wrapper
subclass's shape. The op path does not ask for them. Compiled forms raise on a StandIn, and only in
the ``except`` is the call looked at again: `kind_among` its operands is the class that takes over,
and the methods below say how. So dense tensors pay nothing, and a new kind is one class in one
file; tests/dispatch/test_cells.py defines one.

A kind has one of two. `run_op` gets an op and the operands of its call (``dispatch/call.py``,
``dispatch/inplace.py``), and finds a rule by the op's name: sparse tensors. `execute` gets the
executable, whichever op it is of: meta tensors, transforms, wrapper subclasses. Executables that no
op's call runs, such as the write-back into a base, come to `execute` alone. What a kind lacks is a
NotImplementedError with the words of its `refusal`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import jax
import numpy as np

if TYPE_CHECKING:
    from torchlike._core import devices
    from torchlike._core.dispatch.executable import Executable
    from torchlike._core.dispatch.record import OpNode
    from torchlike._core.storage import Storage
    from torchlike._core.views import View
    from torchlike.tensor import Tensor

    #: What an op gives.
    Result = Tensor | tuple[Tensor, ...]
    #: ``execute(executable, arrays, operands)`` runs and records it.
    Execute = Callable[[Executable, list["Argument"], Sequence[object]], Result]
    #: ``write(base, part, *dynamic)``, for arrays.
    Write = Callable[..., jax.Array]


#: Every kind there is, for one look-up by a value's type.
KINDS: set[type] = set()


#: An array: JAX's, or a host value.
Array = jax.Array | np.ndarray


class StandIn:
    """What stands in a cell in an array's place: immutable, with a shape and a dtype.

    Defining a subclass registers it. Methods that take ``arrays`` get the operands of a call as
    compiled forms would: arrays, numbers, None and StandIns, some of them of other kinds.
    """

    __slots__ = ("dtype", "shape")
    weak_type = False
    shape: tuple[int, ...]
    dtype: np.dtype
    device: devices.device

    #: Of several kinds among the operands of a call, that of the greatest precedence takes it.
    precedence: ClassVar[int] = 0
    #: ``run_op(spec, operands, statics, lengths)`` of a kind that has rules for ops by their names.
    run_op: ClassVar[Callable[..., Any] | None] = None
    #: Whether operands of this kind have values that a check could look at.
    has_values: ClassVar[bool] = False
    #: Whether there is memory that could be shown, or written to.
    has_memory: ClassVar[bool] = True
    #: Whether a tensor that holds it has an address.
    has_address: ClassVar[bool] = True
    #: Whether it is an array all the same, which is computed when somebody asks for a value.
    is_array: ClassVar[bool] = False
    #: Whether its sum with an array is of another kind, and not written where the array was.
    adds_anew: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        KINDS.add(cls)

    # -- calls, of which an operand is of this kind ------------------------------------------------

    @classmethod
    def execute(
        cls, exe: Executable, arrays: list[Argument], operands: Sequence[object], again: Execute
    ) -> Result:
        """Run an executable and record it; ``again(exe, arrays, operands)`` does so for another.
        Return a tensor, or a tuple of them."""
        raise NotImplementedError(cls.refusal(exe.name))

    @classmethod
    def backward(cls, node: OpNode, cotangents: list[Value]) -> Sequence[Value | None]:
        """Run a recorded op's backward; what it saved, or a cotangent, is of this kind."""
        raise NotImplementedError(cls.refusal("the gradient of this operation"))

    @classmethod
    def apply(cls, function: Callable[..., object], arrays: list[Argument]) -> Any:
        """Apply a function of arrays that is no op, such as the read of a view."""
        raise NotImplementedError(cls.refusal("this operation"))

    @classmethod
    def outputs_of(cls, exe: Executable, arrays: list[Argument]) -> list[Value]:
        """Return the arrays that an executable gives, for all examples; nothing is recorded. For
        kinds that have values."""
        raise NotImplementedError(cls.refusal(exe.name))

    @classmethod
    def before_check(cls, arrays: list[Any]) -> None:
        """Take note that a check of values is about to look at these operands. For kinds that are
        arrays."""

    @classmethod
    def add(cls, function: Callable[..., object], a: Value, b: Value) -> Value:
        """Add two gradients; ``function`` adds arrays."""
        return cls.apply(function, [a, b])

    @classmethod
    def refusal(cls, what: str) -> str:
        """Return the message for something that does not know this kind."""
        return f"{what} is not written for {cls.__name__}"

    # -- a value in a cell -------------------------------------------------------------------------

    def __array__(self, *args: object, **kwargs: object) -> np.ndarray:
        """Return the values; raise where there are none."""
        raise NotImplementedError(self.refusal("reading the values"))

    def storage(self) -> Storage | None:
        """Return the storage of a new tensor with this value; None for an ordinary one."""
        return None

    def reduced(self, storage: Storage) -> tuple[object, ...] | None:
        """Return what a pickle keeps of a storage that holds it; None where that is an array's."""
        return None

    def check_write(self, storage: Storage) -> None:
        """Refuse to be written into a storage that cannot hold it."""

    def write_view(self, storage: Storage, view: View, array: Value, write: Write) -> None:
        """Write a view of a storage that holds this, or is given it; ``write(base, part,
        *dynamic)`` writes arrays."""
        new = apply(write, storage.read(), array, *view.dynamic)
        storage.write(new)

    def host_values(self, t: Tensor, asked: str, instead: str) -> np.ndarray:
        """Return the values of the tensor ``t`` that holds it, for Python to see."""
        return np.asarray(self)

    def innermost(self, t: Tensor) -> Tensor:
        """Return the tensor that has the values of the tensor ``t`` that holds it."""
        return t

    def shared_with_numpy(self, t: Tensor) -> np.ndarray | None:
        """Return what ``t.numpy()`` is where that is not ``t``'s own memory; else None."""
        return None

    def elements(self) -> Value:
        """Return what has the elements: an array, or this where there is none."""
        return self

    def leaf_gradient(self) -> Value:
        """Return what becomes a leaf's ``.grad`` of a gradient of this kind."""
        return self

    def check_data(self, written: bool = False) -> None:
        """Refuse ``.data`` within a transform, where it cannot be had, or ``written``."""

    def check_copied(self, target: Tensor, source: Tensor) -> None:
        """Refuse to copy a tensor that holds it into one that holds an array."""

    def shown(self, t: Tensor) -> str | None:
        """Return the text of a tensor that holds it; None where that is printed as others are."""
        return None

    def as_jax(self) -> Value:
        """Return what ``t.jax()`` gives."""
        return self

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    def __deepcopy__(self, memo: dict[int, object]) -> StandIn:
        return self


#: What a cell holds.
Value = Array | StandIn
#: What a compiled form takes: numbers too, and None for an operand that is left out.
Argument = Value | complex | None


def is_stand_in(value: Any) -> bool:
    """Return whether a cell's value is a `StandIn` rather than an array."""
    return type(value) in KINDS and not value.is_array


def kind_among(arrays: Iterable[Any]) -> type[StandIn] | None:
    """Return the kind that takes a call with these operands, which may be nested in tuples, lists
    and dictionaries; None where all are arrays."""
    found: Any = None
    for a in arrays:
        kind: Any = type(a)
        if kind in _CONTAINERS:
            kind = kind_among(a.values() if kind is dict else a)
        if kind in KINDS and (found is None or kind.precedence > found.precedence):
            found = kind
    return found


_CONTAINERS = frozenset((tuple, list, dict))


def apply(function: Callable[..., object], *arrays: Argument) -> Any:
    """Return ``function(*arrays)``, by the kind that is among the arrays where one is."""
    kind = kind_among(arrays)
    return function(*arrays) if kind is None else kind.apply(function, list(arrays))
