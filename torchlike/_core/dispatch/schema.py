"""Parameter kinds: an op's Python signature, annotated with these, is its schema.

``Annotated`` gives type checkers the plain type and the registry the kind. *Operands* are passed
to the compiled function as arrays; everything else is *static*: converted once to a canonical
hashable form that becomes part of the executable's key.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import jax
import numpy as np

from torchlike._core import casts, dtypes, modes, overrides
from torchlike._core.dispatch.argument_names import SYNONYMS, warn_of_old_signature
from torchlike._runtime.jax_private.jaxprs import seems_symbolic
from torchlike._runtime.near_names import unknown_argument
from torchlike.tensor import Tensor

if TYPE_CHECKING:
    from torchlike._core.cells import Array

_V = TypeVar("_V")
_Tensors = TypeVar("_Tensors", bound=Sequence[Any])


class Kind:
    """How one parameter is checked and converted."""

    def __init__(
        self,
        expects: str,
        convert: Callable[[Any], Hashable] | None = None,
        *,
        operand: bool = False,
        number: bool = False,
        optional: bool = False,
        sequence: bool = False,
        exact: type | None = None,
        varargs: bool = False,
        scalar: bool = False,
        factor: bool | Literal["computed"] = False,
        element: bool = False,
        check: Callable[[Any, Any], None] | None = None,
    ) -> None:
        self.expects = expects
        self.convert = convert
        self.operand = operand
        self.number = number
        self.optional = optional
        self.sequence = sequence
        #: Values of exactly this class need no conversion (the quick test on the per-op path).
        self.exact = exact
        self.varargs = varargs
        self.scalar = scalar or factor
        #: A number of the dtype that the operands before it promote to, which it must fit; or that
        #: of what is computed in ("computed").
        self.factor = factor
        #: One value is read of it, before anything is written.
        self.element = element
        #: check(number, array of the first operand): errors of a number that does not fit. Of an
        #: operand it is asked at each call, of a static number when its program is made.
        self.check = check

    def canonical(self, value: object, name: str, op: str, position: int) -> Hashable:
        """Return the canonical static form of ``value``; raise TypeError naming argument and
        expectation."""
        if value is None and self.optional:
            return None
        assert self.convert is not None
        try:
            return self.convert(value)
        except (TypeError, ValueError) as error:
            if modes.is_capturing() and isinstance(value, Tensor):
                raise
            raise TypeError(
                f"{op}(): argument '{name}' (position {position}) must be {self.expects}, not "
                f"{type(value).__name__}"
            ) from error


def _int(value: Any) -> int:
    if isinstance(value, (bool, float)):
        raise TypeError
    try:
        return operator.index(value)
    except TypeError:
        if seems_symbolic(value):
            return value
        raise


def _bool(value: object) -> bool:
    """Return True or False, and take no number: ``x.sum(0, 1)`` does not mean ``keepdim=1``."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError
    return bool(value)


def _float(value: Any) -> float:
    """Return a number as a float. TypeError for a tensor that requires grad, which would get
    none."""
    if isinstance(value, (str, bytes)) or (isinstance(value, Tensor) and value.requires_grad):
        raise TypeError
    return float(value)


def _real(value: Any) -> complex:
    """Convert as ``_float`` does what PyTorch takes as a number of any kind: a complex one has no
    imaginary part, or is found not to fit."""
    if isinstance(value, complex):
        return value if value.imag else value.real
    return _float(value)


def require_tensor(value: object, op: str, name: str = "input", position: int = 1) -> Tensor:
    """Check that ``value``, an argument of a function that is made of other ops, is a tensor, and
    return it. TypeError in PyTorch's words for anything else."""
    if not isinstance(value, Tensor):
        raise overrides.no_tensor(
            value,
            f"{op}(): argument '{name}' (position {position}) must be Tensor, not "
            f"{type(value).__name__}",
        )
    return value


def require_tensors(values: _Tensors) -> _Tensors:
    """Check that ``values``, an argument of a function that is made of other ops, are tensors, and
    return them. TypeError in PyTorch's words for anything else among them."""
    for i, value in enumerate(values):
        if not isinstance(value, Tensor):
            raise overrides.no_tensor(
                value,
                f"expected Tensor as element {i} in argument 0, but got {type(value).__name__}",
            )
    return values


def index_of(value: Any) -> int:
    """Check that ``value``, an argument of a function that is made of other ops, is an int, and
    return it, or a size that is not known yet. TypeError for anything else."""
    try:
        return value.__index__()
    except AttributeError:
        kind = type(value).__name__
        raise TypeError(f"'{kind}' object cannot be interpreted as an integer") from None


def plain_number(value: _V, op: str, name: str, position: int) -> _V:
    """Check that ``value``, an argument of a function that is made of other ops, is a number, and
    return it. TypeError for a string, and for a tensor that requires grad, which would get none."""
    if isinstance(value, str) or (isinstance(value, Tensor) and value.requires_grad):
        found = "str" if isinstance(value, str) else "Tensor"
        raise TypeError(
            f"{op}(): argument '{name}' (position {position}) must be Number, not {found}"
        )
    return value


def _str(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def ints(value: Any) -> tuple[int, ...]:
    """Return a tuple of ints from a tuple, list, Size, array or integer tensor of ints."""
    if isinstance(value, (str, bytes, int)):
        raise TypeError
    if isinstance(value, (tuple, list)) and set(map(type, value)) <= {int}:
        return tuple(value)
    return tuple(_int(v) for v in value)


def _int_or_ints(value: Any) -> int | tuple[int, ...]:
    if hasattr(value, "__index__") and not (isinstance(value, Tensor) and value.dim()):
        return _int(value)
    return ints(value)


def _shape(value: Any) -> tuple[int, ...]:
    found = _int_or_ints(value)
    return (found,) if isinstance(found, int) else found


def _dtype(value: object) -> np.dtype:
    return dtypes.from_argument(value).numpy


def _number(value: object) -> StaticNumber:
    """Return a static number, kept apart by type (1, 1.0 and True are equal and hash alike)."""
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, (bool, int, float, complex)):
        raise TypeError
    return StaticNumber(value)


class StaticNumber(tuple[complex, type]):
    """A number together with its type, so that equal numbers of different types differ as keys."""

    __slots__ = ()

    def __new__(cls, value: complex) -> StaticNumber:
        return tuple.__new__(cls, (value, type(value)))

    @property
    def value(self) -> Any:
        return self[0]


def _hashable(value: _V) -> _V:
    hash(value)
    return value


def _check_element(value: complex, among: Array) -> None:
    casts.check_fits(value, among.dtype)


def _check_fill(value: complex, filled: Array) -> None:
    casts.check_fill(value, filled.dtype, filled.size)


def _check_bound(value: complex, limited: Array) -> None:
    casts.check_bound(value, limited.dtype)


def _check_computed(value: complex, among: Array) -> None:
    """Check a number as ``_check_element`` does, where floats of 16 bits or fewer are computed with
    in float32."""
    casts.check_fits(value, _computed(np.dtype(among.dtype)))


def _computed(dtype: np.dtype) -> np.dtype:
    narrow = dtypes.kind_of(dtype) == "f" and dtype.itemsize < 4
    return np.dtype(np.float32) if narrow else dtype


def _check_weight(value: complex, among: Array) -> None:
    """Check a real number as ``_check_computed`` does: for a complex one there is another
    message."""
    if type(value) is not complex:
        _check_computed(value, among)


def _check_inexact(value: complex, among: Array) -> None:
    """Check a number as ``_check_element`` does, where integers become floats."""
    dtype = among.dtype
    casts.check_fits(
        value, dtype if dtypes.kind_of(dtype) in "fc" else dtypes.get_default_dtype().numpy
    )


def _check_float(value: complex, among: Array) -> None:
    """Check floats and complex numbers alone, as ``_check_element`` does."""
    if dtypes.kind_of(among.dtype) in "fc":
        casts.check_fits(value, among.dtype)


def _check_static(number: StaticNumber, among: Array) -> None:
    _check_element(number.value, among)


def _check_static_computed(number: StaticNumber, among: Array) -> None:
    _check_computed(number.value, among)


def _check_static_limit(number: StaticNumber, among: Array) -> None:
    """Check a limit among integers first as one of 64 bits; bytes have no negative limits
    anyway."""
    value, kind = number.value, dtypes.kind_of(among.dtype)
    if kind in "iu":
        casts.check_fits(value, np.int64)
    if kind != "u" or isinstance(value, complex) or value > 0:
        casts.check_fits(value, among.dtype)


# Operands: arrays (or Python numbers) that enter the compiled function.
Input = Annotated[jax.Array, Kind("Tensor", operand=True)]
OptInput = Annotated[jax.Array | None, Kind("Tensor", operand=True, optional=True)]
Operand = Annotated[Any, Kind("Tensor", operand=True, number=True)]
OptOperand = Annotated[Any, Kind("Tensor or Number", operand=True, number=True, optional=True)]
Inputs = Annotated[Any, Kind("tuple of Tensors", operand=True, sequence=True)]
#: A number to be put among the elements of the first operand, or a 0-dim tensor.
Element = Annotated[
    Any, Kind("Tensor", operand=True, number=True, element=True, check=_check_element)
]
Fill = Annotated[Any, Kind("Tensor", operand=True, number=True, check=_check_fill)]
#: What limits the elements of the first operand.
Bound = Annotated[Any, Kind("Tensor", operand=True, number=True, check=_check_bound)]
OptBound = Annotated[
    Any,
    Kind("Tensor or Number", operand=True, number=True, optional=True, check=_check_bound),
]
#: A number that often changes from call to call: an operand that never promotes.
Scalar = Annotated[Any, Kind("Number", operand=True, number=True, scalar=True)]
OptScalar = Annotated[Any, Kind("Number", operand=True, number=True, optional=True, scalar=True)]
#: One that operands are multiplied by, keyword-only (alpha, beta, value).
Factor = Annotated[Any, Kind("Number", operand=True, number=True, factor=True)]
ComputedFactor = Annotated[Any, Kind("Number", operand=True, number=True, factor="computed")]
#: One of the dtype of the first operand, whatever stands between them (an index).
OwnFactor = Annotated[
    Any, Kind("Number", operand=True, number=True, scalar=True, check=_check_element)
]

#: Numbers of the dtype that is computed in: an operand or None; a factor between tensors.
OptInexact = Annotated[
    Any,
    Kind("Tensor or Number", operand=True, number=True, optional=True, check=_check_inexact),
]
Weight = Annotated[Any, Kind("Tensor", operand=True, number=True, check=_check_weight)]

# Statics: part of the executable's key.
Int = Annotated[int, Kind("int", _int, exact=int)]
OptInt = Annotated[int | None, Kind("int", _int, exact=int, optional=True)]
Bool = Annotated[bool, Kind("bool", _bool, exact=bool)]
OptBool = Annotated[bool | None, Kind("bool", _bool, exact=bool, optional=True)]
Float = Annotated[float, Kind("float", _float, exact=float)]
#: Those that must fit the first operand's dtype, if that is a float's, or what is computed in.
OwnFloat = Annotated[float, Kind("float", _real, exact=float, check=_check_element)]
FloatBound = Annotated[float, Kind("float", _real, exact=float, check=_check_float)]
ComputedFloat = Annotated[float, Kind("float", _real, exact=float, check=_check_computed)]
OptFloat = Annotated[float | None, Kind("float", _float, exact=float, optional=True)]
Str = Annotated[str, Kind("str", _str, exact=str)]
OptStr = Annotated[str | None, Kind("str", _str, exact=str, optional=True)]
Dims = Annotated[Any, Kind("int or tuple of ints", _int_or_ints, optional=True, varargs=True)]
IntOrInts = Annotated[Any, Kind("int or tuple of ints", _int_or_ints)]
Ints = Annotated[tuple[int, ...], Kind("tuple of ints", ints)]
Shape = Annotated[tuple[int, ...], Kind("tuple of ints", _shape, varargs=True)]
OptShape = Annotated[tuple[int, ...] | None, Kind("tuple of ints", _shape, optional=True)]
DType = Annotated[Any, Kind("torch.dtype", _dtype, optional=True)]
Number = Annotated[Any, Kind("Number", _number)]
OptNumber = Annotated[Any, Kind("Number", _number, optional=True)]
#: The same as above.
OwnNumber = Annotated[Any, Kind("Number", _number, check=_check_static)]
ComputedNumber = Annotated[Any, Kind("Number", _number, check=_check_static_computed)]
NumberLimit = Annotated[Any, Kind("Number", _number, check=_check_static_limit)]
Static = Annotated[Any, Kind("a hashable value", _hashable, optional=True)]


def common_dtype(operands: Iterable[Any]) -> dtypes.dtype:
    """Return PyTorch's result type of the tensors and numbers among ``operands``."""
    dimensioned, zero_dim, wrapped = [], [], []
    for x in operands:
        if isinstance(x, Tensor):
            (dimensioned if x.dim() else zero_dim).append(x.dtype)
        elif type(x) in casts.NUMBERS:
            wrapped.append(dtypes.scalar_dtype(x))
    return dtypes.result_dtype(dimensioned, zero_dim, wrapped)


def _kind_of(fn: FunctionType, parameter: str, op: str) -> Kind:
    """Return the kind in a parameter's annotation; raise TypeError where there is none."""
    annotation = fn.__annotations__.get(parameter)
    if isinstance(annotation, str):
        known = fn.__globals__.get(annotation)
        annotation = eval(annotation, fn.__globals__) if known is None else known
    for entry in getattr(annotation, "__metadata__", ()):
        if isinstance(entry, Kind):
            return entry
    raise TypeError(f"op {op}: parameter '{parameter}' has no kind")


class Schema:
    """A signature, taken apart once at registration."""

    def __init__(
        self, fn: Callable[..., object], name: str, other_names: Mapping[str, str] | None = None
    ) -> None:
        self.op = name
        #: How a warning of an old signature names the op, and whether it leaves the first tensor
        #: out, as the one whose method it is.
        self.told_as, self.of_method = name, False
        # 5 µs an op; inspect.signature takes 60, and there are hundreds of ops at each start.
        plain = inspect.unwrap(fn)
        code, defaults = plain.__code__, plain.__defaults__ or ()
        self.positional = code.co_argcount
        n = code.co_argcount + code.co_kwonlyargcount
        self.names: list[str] = list(code.co_varnames[:n])
        self.kinds = [_kind_of(plain, p, name) for p in self.names]
        named = dict(zip(self.names[self.positional - len(defaults) :], defaults, strict=False))
        named.update(plain.__kwdefaults__ or {})
        self.defaults = [named.get(p, inspect.Parameter.empty) for p in self.names]
        self.arity = n
        self.index = {name: i for i, name in enumerate(self.names)}
        for other, name in (other_names or {}).items():
            self.index[other] = self.index[name]
        self.operand_positions = tuple(i for i in range(n) if self.kinds[i].operand)
        self.static_positions = tuple(i for i in range(n) if not self.kinds[i].operand)
        #: Which operands are such that a view of what is written may stand there.
        self.elements = frozenset(
            bit for bit, i in enumerate(self.operand_positions) if self.kinds[i].element
        )
        #: Operands (counted among operands) that are scalars: kept for backward, they cost nothing.
        self.scalar_operands = tuple(
            bit for bit, i in enumerate(self.operand_positions) if self.kinds[i].scalar
        )
        #: Static numbers that must fit the first operand: (position, check).
        self.limits = tuple(
            (i, check) for i in self.static_positions if (check := self.kinds[i].check) is not None
        )
        self._canonical_classes = {tuple(self.kinds[i].exact for i in self.static_positions)}
        self.factors = tuple(i for i in range(n) if self.kinds[i].factor)
        self.has_sequence = any(k.sequence for k in self.kinds)
        self._required = [i for i in range(n) if self.defaults[i] is inspect.Parameter.empty]
        #: The positions of arguments given by name, by how many stand before them and the names.
        self._places: dict[tuple[int | str, ...], list[int]] = {}
        #: What to append to k positional arguments, for each k that may be completed that way.
        self.completion = {
            k: tuple(self.defaults[k:]) for k in range(len(self._required), self.positional + 1)
        }

    def as_method(self, name: str) -> Schema:
        """Return the schema of a method, which tells of old signatures without the tensor in front;
        this schema itself where the op has none."""
        if not self.factors:
            return self
        made = Schema.__new__(Schema)
        for attribute, value in vars(self).items():  # one by one: copied as a whole it reads slower
            setattr(made, attribute, value)
        made.told_as, made.of_method = name, True
        return made

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, object]) -> tuple[Any, ...]:
        """Return all arguments in order, defaults filled in; raise TypeError in PyTorch's words for
        those that do not fit."""
        if len(args) > self.positional:
            if self._is_old(args):
                name = self.names[self.factors[0]]
                warn_of_old_signature(self.told_as, self.names, args, (name,), self.of_method)
                args, kwargs = (args[0], args[2]), {name: args[1], **kwargs}
            else:
                args = self._pack_varargs(args)
        n = len(args)
        spelling = (n, *kwargs)
        places = self._places.get(spelling)
        if places is None:
            places = self._places[spelling] = self._placed(n, kwargs)
        bound = [*args, *self.defaults[n:]]
        for i, value in zip(places, kwargs.values(), strict=True):
            bound[i] = value
        if self.factors:
            self._check_factors(bound)
        return tuple(bound)

    def _placed(self, n: int, names: Iterable[str]) -> list[int]:
        """Return the positions of arguments given by name behind ``n`` by position. TypeError for
        a name that is unknown or given twice, and where one that is required is missing."""
        places: list[int] = []
        for key in names:
            i = self.index.get(key)
            if i is None:
                i = self.index.get(SYNONYMS.get(key, key))
            if i is None:
                raise unknown_argument(self.op, key, self.names, self.defaults, self.positional)
            if i < n or i in places:
                raise TypeError(f"{self.op}() got multiple values for argument '{key}'")
            places.append(i)
        missing = [f'"{self.names[i]}"' for i in self._required if i >= n and i not in places]
        if missing:
            raise TypeError(
                f"{self.op}() missing {len(missing)} required positional arguments: "
                f"{', '.join(missing)}"
            )
        return places

    def _is_old(self, args: tuple[object, ...]) -> bool:
        """Return whether the one factor stands between two tensors, as in ``add(x, alpha, y)``."""
        return (
            len(self.factors) == 1
            and self.positional == 2
            and len(args) == 3
            and type(args[1]) in casts.NUMBERS
            and isinstance(args[2], Tensor)
        )

    def _check_factors(self, bound: list[Any]) -> None:
        """Raise RuntimeError in PyTorch's words for a factor that the operands' dtype cannot
        hold."""
        operands = bound[: self.factors[0]]
        for i in self.factors:
            factor = bound[i]
            if (
                type(factor) in casts.NUMBERS
                and factor is not self.defaults[i]
                and any(isinstance(x, Tensor) for x in operands)
            ):
                dtype = common_dtype(operands).numpy
                narrow = self.kinds[i].factor == "computed"
                casts.check_fits(factor, _computed(dtype) if narrow else dtype)

    def _pack_varargs(self, args: tuple[object, ...]) -> tuple[object, ...]:
        """Fold surplus ints into a varargs parameter, which is the last that may be given by
        position: ``x.flip(0, 1)`` is ``x.flip((0, 1))``."""
        i = self.positional - 1
        if self.kinds[i].varargs and all(
            isinstance(a, (int, np.integer, Tensor)) for a in args[i:]
        ):
            return (*args[:i], args[i:])
        least = self.positional - len(self.completion) + 1
        span = f"from {least} to " if least < self.positional else ""
        raise TypeError(
            f"{self.op}() takes {span}{self.positional} positional arguments but {len(args)} were "
            "given"
        )

    def canonical_statics(self, values: tuple[Any, ...]) -> tuple[Hashable, ...]:
        """Return static arguments, in order of static_positions, in canonical, hashable form."""
        classes = tuple(map(type, values))
        if classes in self._canonical_classes:
            return values
        out = []
        for i, value in zip(self.static_positions, values, strict=True):
            kind = self.kinds[i]
            if type(value) is not kind.exact and not (value is None and kind.optional):
                value, classes = kind.canonical(value, self.names[i], self.op, i + 1), ()
            out.append(value)
        self._canonical_classes.add(classes)
        return tuple(out)
