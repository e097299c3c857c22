"""`Deferred`: the result of a call that has been recorded and not run."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax.core import ShapedArray

from torchlike._core import devices, modes
from torchlike._core.cells import StandIn
from torchlike._core.dispatch.executable import Residuals
from torchlike._core.storage import device_array
from torchlike._runtime.jax_private import arrays as jax_arrays

if TYPE_CHECKING:
    from torchlike._core.storage import Storage
    from torchlike._extensions.deferred.queue import Queue


class Deferred(StandIn):
    """An array that is there once somebody asks for it.

    To JAX and to code that asks for no more than ``isinstance(x, jax.Array)`` it is an array: each
    attribute but shape and dtype is the array's own, which is computed then.
    """

    __slots__ = ("__weakref__", "array", "home", "number", "queue")
    precedence = -1
    is_array = has_values = True

    def __init__(
        self, shape: tuple[int, ...], dtype: np.dtype, number: int, queue: Queue | Failed
    ) -> None:
        self.shape, self.dtype, self.number, self.queue = shape, dtype, number, queue
        self.array: jax.Array | None = None
        #: The storage whose cell holds it, weakly, or a list of them.
        self.home: Any = None

    # -- its array ---------------------------------------------------------------------------------

    def value(self) -> jax.Array:
        """Return the array, for which all that was recorded before is run. Raise the error of the
        call, where that failed."""
        if self.array is None:
            self.queue.compute(self)
            assert self.array is not None
        return self.array

    def held_by(self, storage: Storage) -> None:
        """Remember a storage whose cell holds this, so that the array takes its place there."""
        home, homes = weakref.ref(storage), self.home
        if homes is None:
            self.home = home
        elif type(homes) is list:
            homes.append(home)
        else:
            self.home = [homes, home]

    def settle(self, array: Any) -> None:
        """Take the array that has been computed, and put it into the cells that hold this."""
        self.array = array
        homes = self.home
        if homes is not None:
            self.home = None
            for home in homes if type(homes) is list else (homes,):
                storage = home()
                if storage is not None and storage.cell is self:
                    storage.cell = array

    # -- as a kind of cell -------------------------------------------------------------------------

    @property
    def device(self) -> devices.device:  # type: ignore[override]
        return devices.from_jax(self.queue.device)

    @classmethod
    def execute(cls, exe: Any, arrays: list[Any], operands: Sequence[Any], again: Any) -> Any:
        return again(exe, values_of(arrays), operands)

    @classmethod
    def backward(cls, node: Any, cotangents: list[Any]) -> Any:
        node.saved, node.residuals = values_of(node.saved), values_of(node.residuals)
        return node.run(values_of(cotangents))

    @classmethod
    def apply(cls, function: Callable[..., Any], arrays: list[Any]) -> Any:
        return function(*arrays)  # a compiled form records it

    @classmethod
    def outputs_of(cls, exe: Any, arrays: list[Any]) -> list[Any]:
        out = exe.forward(*values_of(arrays))
        return list(out) if type(out) is tuple else [out]

    @classmethod
    def before_check(cls, arrays: list[Any]) -> None:
        queue = modes.current.queue
        for a in arrays:
            if type(a) is cls and a.array is None and a.queue is queue:
                queue.compute_small(a)  # else the check asks for it, which cuts the chain

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        return np.asarray(self.value()).__array__(*args, **kwargs)

    def host_values(self, t: Any, asked: str, instead: str) -> np.ndarray:
        if t._storage.cell is self:  # where the storage is another thread's
            t._storage.cell = self.value()
        return t._value(asked, instead)

    @property
    def has_address(self) -> bool:  # type: ignore[override]
        """Whether a tensor that holds it has an address: it is computed now, so that it has."""
        self.value()
        return True

    def elements(self) -> Any:
        return self.value()

    def as_jax(self) -> Any:
        array = self.value()
        return device_array(array) if type(array) is np.ndarray else array

    # -- as an array of JAX's ----------------------------------------------------------------------

    @property
    def __class__(self) -> type:  # type: ignore[override]
        """What ``isinstance`` sees beside the type. (JAX's class cannot be a base, as it has
        fields, too.)"""
        return jax.Array

    @property
    def aval(self) -> Any:
        return ShapedArray(self.shape, self.dtype)

    #: It is where JAX put it, and may be moved; all of it is here.
    committed, is_fully_addressable = False, True

    @property
    def sharding(self) -> Any:
        return self.queue.sharding

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def __jax_array__(self) -> jax.Array:
        return self.as_jax()

    def __repr__(self) -> str:
        return repr(self.value())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.as_jax(), name)


class Failed:
    """Stands in the place of the queue in a value whose call raised an error."""

    def __init__(self, error: Exception, queue: Queue) -> None:
        self._error, self.device, self.sharding = error, queue.device, queue.sharding

    def compute(self, value: Deferred) -> None:
        """Raise the error."""
        raise self._error


def _forwarded(name: str) -> Callable[..., Any]:
    """Return a special method that asks the array."""

    def method(self: Deferred, *args: Any) -> Any:
        return getattr(self.value(), name)(*args)

    method.__name__ = name
    return method


#: What is no operation on an array.
_NO_METHODS = frozenset(
    ("__class__", "__copy__", "__deepcopy__", "__del__", "__getattribute__", "__hash__")
    + ("__init__", "__init_subclass__", "__new__", "__subclasshook__")
)
for _name in dir(jax_arrays.ArrayImpl):
    _method = getattr(jax_arrays.ArrayImpl, _name)
    if (
        _name.startswith("__")
        and callable(_method)
        and _method is not getattr(object, _name, None)
        and _name not in _NO_METHODS.union(vars(Deferred))
    ):
        setattr(Deferred, _name, _forwarded(_name))
Deferred.__hash__ = object.__hash__  # type: ignore[assignment, method-assign]

jax_arrays.know_as_array(Deferred, Deferred.aval.fget, Deferred.as_jax)


#: The array of what a form would have kept for backward: computed by NumPy, it keeps nothing, and
#: backward computes the forward again where it is given None.
ABSENT: Any = object()


def is_absent(residuals: Residuals) -> bool:
    """Return whether what a forward would have kept is not there."""
    return any(type(x) is Deferred and x.array is ABSENT for x in residuals.arrays)


def values_of(tree: Any) -> Any:
    """Return a tree of operands with arrays in the place of deferred values, and with None for
    residuals that are not there."""
    if type(tree) is Deferred:
        return tree.value()
    if type(tree) is Residuals:
        arrays = values_of(tree.arrays)
        return None if any(x is ABSENT for x in arrays) else Residuals(arrays, tree.plan)
    if type(tree) in (tuple, list):
        return type(tree)([values_of(x) for x in tree])
    if tree is None or not holds(tree):
        return tree
    return jax.tree.map(values_of, tree, is_leaf=_is_deferred)


def holds(tree: Any) -> bool:
    """Return whether a deferred value is among the leaves of a tree."""
    kind = type(tree)
    if kind is Deferred:
        return True
    if kind in (tuple, list):
        return any(map(holds, tree))
    if kind is Residuals:
        return holds(tree.arrays)
    if kind in _LEAVES:
        return False
    leaves: Iterable[Any] = jax.tree.leaves(tree, is_leaf=_is_deferred)
    return any(type(x) is Deferred for x in leaves)


_LEAVES = frozenset((int, float, bool, complex, np.ndarray, type(None), jax_arrays.ArrayImpl))


def _is_deferred(x: Any) -> bool:
    return type(x) is Deferred
