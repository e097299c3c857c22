"""``torch.SymInt`` and ``torch.SymFloat``: numbers made of sizes that stand for any size.

Sizes are plain ints, except where ``make_fx(tracing_mode="symbolic")`` or a FakeTensorMode with a
``shape_env`` made them symbols. Arithmetic gives further expressions. What has to know the number
(``int``, a comparison, a ``range``) is answered for the sizes at hand, and the shape environment
keeps a guard.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

from torchlike._core import overrides
from torchlike._core.size import SizeSymbol
from torchlike._runtime.lazy import LazyModule

_packets: Any = LazyModule("torchlike.ops._aten.packets")
#: Of which JAX makes sums of products, whatever the numbers are.
_POLYNOMIAL = (operator.add, operator.sub, operator.mul, operator.neg)
#: JAX's symbolic sizes are imported with the first symbol.
symbolic_sizes: Any = LazyModule("torchlike._runtime.first_calls.symbolic_sizes")


class SymNode:
    """What a symbolic number is: an expression in the symbols of ``shape_env``, and ``hint``, its
    value for the sizes at hand (None where there are none). ``made`` is the function and the
    arguments that it is the result of; None for a size of a tensor."""

    __slots__ = ("expr", "hint", "made", "shape_env")
    #: The number that it is for all sizes: such an expression is a plain number instead.
    constant = None

    def __init__(self, expr: Any, shape_env: Any, hint: Any, made: Any = None) -> None:
        self.expr, self.shape_env, self.hint, self.made = expr, shape_env, hint, made

    def has_hint(self) -> bool:
        """Return whether its value for the sizes at hand is known."""
        return self.hint is not None

    def __repr__(self) -> str:
        return str(self.expr)


class _Symbol:
    """A number that is not known while a graph is made.

    NotImplementedError when one is made of anything but a SymNode.
    """

    node: SymNode

    def __init__(self, node: Any) -> None:
        if not isinstance(node, SymNode):
            raise NotImplementedError(
                f"torch.{type(self).__name__}: symbols are made by make_fx and ShapeEnv. "
                "Use instead: int, float, bool."
            )
        self.node = node

    @property
    def hint(self) -> Any:
        """The number for the sizes at hand; None where there are none. No guard is kept."""
        return self.node.hint

    @property
    def constant(self) -> Any:
        """The number that it is for all sizes; None, as such a result is a plain number."""
        return self.node.constant

    def __repr__(self) -> str:
        return str(self.node.expr)

    def __hash__(self) -> int:
        raise TypeError(f"unhashable type: non-nested {type(self).__name__}")

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __add__(self, other: Any) -> Any:
        return _applied(operator.add, self, other)

    def __radd__(self, other: Any) -> Any:
        return _applied(operator.add, other, self)

    def __sub__(self, other: Any) -> Any:
        return _applied(operator.sub, self, other)

    def __rsub__(self, other: Any) -> Any:
        return _applied(operator.sub, other, self)

    def __mul__(self, other: Any) -> Any:
        return _applied(operator.mul, self, other)

    def __rmul__(self, other: Any) -> Any:
        return _applied(operator.mul, other, self)

    def __floordiv__(self, other: Any) -> Any:
        return _applied(operator.floordiv, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _applied(operator.floordiv, other, self)

    def __mod__(self, other: Any) -> Any:
        return _applied(operator.mod, self, other)

    def __rmod__(self, other: Any) -> Any:
        return _applied(operator.mod, other, self)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __truediv__(self, other: Any) -> Any:
        return _applied(operator.truediv, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _applied(operator.truediv, other, self)

    def __pow__(self, other: Any) -> Any:
        return _applied(operator.pow, self, other)

    def __rpow__(self, other: Any) -> Any:
        return _applied(operator.pow, other, self)

    def __neg__(self) -> Any:
        return _applied(operator.neg, self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self if self >= 0 else -self  # type: ignore[operator]


class SymInt(_Symbol, SizeSymbol):
    """An int made of symbolic sizes."""

    def has_hint(self) -> bool:
        """Return whether the number for the sizes at hand is known."""
        return self.node.has_hint()

    def __index__(self) -> int:
        """Return the number for the sizes at hand: from now on the graph is for those alone."""
        node = self.node
        if node.shape_env.decide(True, node.expr, node.hint) is not True:
            node.shape_env.refuse(self)
        return node.hint

    __int__ = __index__
    __trunc__ = __index__

    def __float__(self) -> float:
        return float(self.__index__())

    def __eq__(self, other: object) -> Any:
        if isinstance(other, float) and other.is_integer():
            other = int(other)
        if not isinstance(other, (int, SymInt)):
            return NotImplemented
        return self.node.shape_env.decide(True, self.node.expr, expression_of(other))

    def __ne__(self, other: object) -> Any:
        return _opposite(self.__eq__(other))

    def __ge__(self, other: Any) -> Any:
        return self._compared(other, lambda a, b: (a, b), math.ceil)

    def __le__(self, other: Any) -> Any:
        return _turned(self._compared(other, lambda a, b: (b, a), math.floor))

    def __lt__(self, other: Any) -> Any:
        return _opposite(self.__ge__(other))

    def __gt__(self, other: Any) -> Any:
        return _opposite(self.__le__(other))

    __hash__ = _Symbol.__hash__

    def _compared(
        self, other: Any, order: Callable[[Any, Any], Any], whole: Callable[[float], int]
    ) -> Any:
        """Decide whether the greater of two is; ``order`` puts it first."""
        if isinstance(other, SymFloat):
            other = float(other)
        if isinstance(other, float):
            if not math.isfinite(other):
                greater, least = order(self.node.hint, other)
                return greater >= least
            other = whole(other)
        greater, least = order(self.node.expr, expression_of(other))
        return self.node.shape_env.decide(False, greater, least)


class SymFloat(_Symbol):
    """A float made of symbolic sizes. What asks for its number fixes the sizes."""

    def has_hint(self) -> bool:
        """Return whether the number for the sizes at hand is known."""
        return self.node.has_hint()

    def __float__(self) -> float:
        """Return the number for the sizes at hand: from now on the graph is for those alone."""
        _, parts = self.node.made or self.node.shape_env.refuse(self)
        for part in parts:
            if isinstance(part, (SymInt, SymFloat)):
                float(part)
        return self.node.hint

    def __int__(self) -> int:
        return int(float(self))

    def __eq__(self, other: object) -> bool:
        return float(self) == other

    def __ge__(self, other: Any) -> bool:
        return float(self) >= other

    def __le__(self, other: Any) -> bool:
        return float(self) <= other

    def __lt__(self, other: Any) -> bool:
        return float(self) < other

    def __gt__(self, other: Any) -> bool:
        return float(self) > other

    __hash__ = _Symbol.__hash__


class UnbackedFloat(tuple[str]):
    """The name of a float that only values tell, as an expression."""

    __slots__ = ()

    def __repr__(self) -> str:
        return self[0]


class Condition(tuple[Any, ...]):
    """The sign of a comparison, and its sides: an expression."""

    __slots__ = ()

    def __repr__(self) -> str:
        sign, left, right = tuple(self)
        named = {"==": "Eq", "!=": "Ne"}.get(sign)
        return f"{left} {sign} {right}" if named is None else f"{named}({left}, {right})"


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_OPPOSITES = {"==": "!=", "!=": "==", ">=": "<", "<": ">=", "<=": ">", ">": "<="}
_TURNED = {">=": "<=", "<=": ">=", ">": "<", "<": ">"}


class SymBool(_Symbol):
    """An unknown bool: a condition of a specification of shapes, or a comparison of numbers that
    only values tell. Other comparisons of symbolic sizes are decided."""

    @classmethod
    def of(cls, sign: str, left: Any, right: Any, env: Any) -> SymBool:
        """Return the comparison of two expressions that only values decide."""
        sides = tuple([env.number(side) for side in (left, right)])
        made = _COMPARISONS[sign], sides
        return cls(SymNode(Condition((sign, left, right)), env, None, made))

    def assume(self) -> None:
        """Take it for true from here on. A graph that is recorded checks it when it runs."""
        said = f"Runtime assertion failed for expression {self}"
        _packets.aten._assert_scalar.default(self, said)

    def __bool__(self) -> bool:
        return self.node.shape_env.refuse(self)

    def __invert__(self) -> Any:
        if not isinstance(self.node.expr, Condition):
            return _applied(operator.invert, self)
        sign, left, right = self.node.expr
        return SymBool.of(_OPPOSITES[sign], left, right, self.node.shape_env)


def surely(condition: Any) -> bool:
    """Return a condition; False where only values tell it."""
    return not isinstance(condition, SymBool) and bool(condition)


def perhaps(condition: Any) -> bool:
    """Return a condition; True where only values tell it."""
    return isinstance(condition, SymBool) or bool(condition)


def _opposite(answer: Any) -> Any:
    """Return the opposite of what a comparison gave."""
    if answer is NotImplemented:
        return answer
    return ~answer if isinstance(answer, SymBool) else not answer


def _turned(answer: Any) -> Any:
    """Return a condition with its sides exchanged."""
    if not isinstance(answer, SymBool) or not isinstance(answer.node.expr, Condition):
        return answer
    sign, left, right = answer.node.expr
    return SymBool.of(_TURNED[sign], right, left, answer.node.shape_env)


def is_symbolic(value: Any) -> bool:
    """Return whether a value is a number made of symbolic sizes."""
    return isinstance(value, _Symbol) and hasattr(value, "node")


def hint_of(value: Any) -> Any:
    """Return a symbolic number as it is for the sizes at hand; anything else itself. Nothing is
    noted."""
    return value.node.hint if is_symbolic(value) else value


def expression_of(value: Any) -> Any:
    """Return a symbolic number's expression; anything else itself."""
    return value.node.expr if is_symbolic(value) else value


def _applied(function: Callable[..., Any], *args: Any) -> Any:
    """Apply a function to numbers of which one is symbolic: a symbolic number, or a plain one where
    it is the same for all sizes. NotImplementedError for an int that no expression stands for."""
    if not all(isinstance(a, (int, float)) or is_symbolic(a) for a in args):
        return NotImplemented
    env = next(a.node.shape_env for a in args if is_symbolic(a))
    if (derived := getattr(env, "derived", None)) is not None:  # of numbers without a hint
        return derived(function, args)
    hint = function(*map(hint_of, args))
    if isinstance(hint, float):
        if function is operator.pow or any(isinstance(a, (float, SymFloat)) for a in args):
            args = tuple([sym_float(a) if isinstance(a, SymInt) else a for a in args])
        expr = (function, *map(expression_of, args))
        return _noted(SymFloat(SymNode(expr, env, hint, (function, args))))
    if function not in _POLYNOMIAL and env.unbacked.among(*map(expression_of, args)):
        # JAX simplifies such expressions as if symbols were at least 1.
        return _noted(env.opaque(function, args, hint))
    if function is operator.pow and is_symbolic(args[1]):
        raise NotImplementedError(f"{args[0]} ** {args[1]}: no expression of sizes")
    expr = _EXPRESSIONS.get(function, function)(*map(expression_of, args))
    if not symbolic_sizes.is_symbolic(expr):
        return int(expr)
    return _noted(SymInt(SymNode(expr, env, hint, (function, args))))


def _noted(made: Any) -> Any:
    """Tell the innermost recording of a number that was computed, and return it."""
    for mode in reversed(overrides.state.dispatch_modes):
        note = getattr(mode, "note_number", None)
        if note is not None:
            note(made)
            break
    return made


def sym_int(a: Any) -> Any:
    """Cut off towards zero. NotImplementedError for a SymFloat."""
    if isinstance(a, SymFloat):
        raise NotImplementedError(
            f"torch.sym_int of {a}: no expression of sizes; use // on ints, or int() to fix it"
        )
    return a if is_symbolic(a) else int(a)


def sym_float(a: Any) -> Any:
    """Convert a number to a float."""
    return _applied(sym_float, a) if isinstance(a, SymInt) else a if is_symbolic(a) else float(a)


def _chosen(symbolic: Any, choose: Any, a: Any, b: Any) -> Any:
    if isinstance(a, SymInt) or isinstance(b, SymInt):
        return _applied(symbolic, a, b)
    found = choose(a, b)
    return float(found) if isinstance(a, float) or isinstance(b, float) else int(found)


def sym_max(a: Any, b: Any) -> Any:
    """Return the greater; a float if either is."""
    return _chosen(sym_max, max, a, b)


def sym_min(a: Any, b: Any) -> Any:
    """Return the lesser; a float if either is."""
    return _chosen(sym_min, min, a, b)


#: Functions of expressions that do not go by the function's own name.
_EXPRESSIONS: dict[Any, Callable[..., Any]] = {
    sym_max: lambda a, b: symbolic_sizes.of_jax.greatest(a, b),
    sym_min: lambda a, b: symbolic_sizes.of_jax.least(a, b),
}


def sym_not(a: Any) -> Any:
    """Return whether a value is false."""
    return ~a if isinstance(a, SymBool) else not a


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """Return ``t`` if ``b`` else ``f``. AssertionError unless ``b`` is a bool and both have one
    type."""
    if not isinstance(b, bool):
        raise AssertionError(f"expected SymBool or bool, got {type(b)}")
    if type(t) is not type(f):
        raise AssertionError(f"type mismatch: {type(t)} vs {type(f)}")
    return t if b else f


def sym_sum(*args: Any) -> Any:
    """Return the sum of numbers, given one by one or as a sequence."""
    given: Iterable[Any] = args[0] if len(args) == 1 and isinstance(args[0], Iterable) else args
    return sum(given)


def sym_sqrt(a: Any) -> Any:
    """Return the square root."""
    return _applied(sym_sqrt, a) if is_symbolic(a) else math.sqrt(a)
