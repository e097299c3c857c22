"""Numbers that a specification of shapes is written in: variables, and what is computed of them.

A variable has no value while the specification is written. Arithmetic gives expressions,
comparisons give conditions, and each call that is specified gives the variables their values.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from torchlike._compat.symbolic import SymBool, SymInt, SymNode, expression_of, sym_max, sym_min

_numbers = itertools.count()


class SpecVariable:
    """A name for an int, with the least and the greatest that it may be; None for any."""

    def __init__(self, name: str, min: int | None, max: int | None) -> None:
        self.name, self.min, self.max = name, min, max
        #: Its name and a number: several variables may have one name.
        self.shown = f"{name}#{next(_numbers)}"

    def __repr__(self) -> str:
        return self.shown


class SpecTerm(NamedTuple):
    """A function of variables, numbers and other terms."""

    function: Callable[..., Any]
    args: tuple[Any, ...]

    def variables(self) -> Iterator[SpecVariable]:
        """Yield the variables, one by one."""
        for arg in self.args:
            if isinstance(arg, SpecTerm):
                yield from arg.variables()
            elif isinstance(arg, SpecVariable):
                yield arg

    def value(self, values: Mapping[SpecVariable, Any]) -> Any:
        """Return what it is where the variables have these values, which may be JAX's symbols."""
        return self.function(*[value_of(arg, values) for arg in self.args])

    def __repr__(self) -> str:
        args = self.args
        if (self.function is operator.add and isinstance(args[0], int)) or (
            self.function is operator.mul and isinstance(args[1], int)
        ):
            args = args[::-1]  # numbers stand behind a plus and before a product
        shown = [
            f"({a!r})" if isinstance(a, SpecTerm) and _rank(a) > _rank(self) % 4 else repr(a)
            for a in args
        ]
        return _SHOWN[self.function].format(*shown)


def value_of(number: Any, values: Mapping[SpecVariable, Any]) -> Any:
    """Return the value of a term or a variable; a plain number is its own."""
    if isinstance(number, SpecTerm):
        return number.value(values)
    return values[number] if isinstance(number, SpecVariable) else number


def affine(number: Any) -> tuple[SpecVariable | None, int, int] | None:
    """Return ``(variable, scale, offset)`` of a number that is ``scale * variable + offset``, with
    no variable for a plain one; None of any other."""
    if not isinstance(number, SpecTerm):
        return (number, 1, 0) if isinstance(number, SpecVariable) else (None, 0, number)
    parts = [affine(arg) for arg in number.args]
    if None in parts or number.function not in (operator.add, operator.sub, operator.mul):
        return None
    (a, s, m), (b, t, n) = parts  # type: ignore[misc]
    if number.function is operator.mul:
        if a is not None and b is not None:
            return None
        scale, offset = (s * n, m * n) if b is None else (t * m, n * m)
        return (a or b, scale, offset)
    if a is not None and b is not None and a is not b:
        return None
    sign = 1 if number.function is operator.add else -1
    return (a or b, s + sign * t, m + sign * n)


def _both(a: Any, b: Any) -> bool:
    return bool(a) and bool(b)


def _either(a: Any, b: Any) -> bool:
    return bool(a) or bool(b)


_SHOWN: dict[Callable[..., Any], str] = {
    operator.add: "{} + {}",
    operator.sub: "{} - {}",
    operator.mul: "{}*{}",
    operator.pow: "{}**{}",
    operator.neg: "-{}",
    operator.floordiv: "({}//{})",
    operator.mod: "Mod({}, {})",
    sym_max: "Max({}, {})",
    sym_min: "Min({}, {})",
    operator.eq: "Eq({}, {})",
    operator.ne: "Ne({}, {})",
    operator.ge: "{} >= {}",
    operator.gt: "{} > {}",
    operator.le: "{} <= {}",
    operator.lt: "{} < {}",
    _both: "{} & {}",
    _either: "{} | {}",
    operator.not_: "~{}",
}


_OPPOSITES = {
    operator.eq: operator.ne,
    operator.ne: operator.eq,
    operator.ge: operator.lt,
    operator.lt: operator.ge,
    operator.gt: operator.le,
    operator.le: operator.gt,
}


def _rank(term: SpecTerm) -> int:
    """Return how loosely a term's sign binds; what has brackets of its own binds best."""
    if term.function in (operator.add, operator.sub):
        return 2
    if term.function in (operator.mul, operator.neg):
        return 1
    if term.function in (_both, _either):
        return 4
    return 3 if term.function in _OPPOSITES else 0


class _OfSpecifications:
    """What the numbers of specifications have for a shape environment: it knows no sizes."""

    def derived(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Return a function of numbers as a number. NotImplementedError where it is no int."""
        if function not in _SHOWN or any(isinstance(a, float) for a in args):
            raise NotImplementedError(
                f"{getattr(function, '__name__', function)} of {args}: sizes are specified by ints "
                "made of +, -, *, //, %, **, sym_max and sym_min"
            )
        return SpecInt(SpecTerm(function, tuple(map(expression_of, args))))

    def decide(self, is_equality: bool, left: Any, right: Any) -> SpecBool:
        """Return ``left == right``, or ``left >= right``, as a condition."""
        return SpecBool(SpecTerm(operator.eq if is_equality else operator.ge, (left, right)))


OF_SPECIFICATIONS: Any = _OfSpecifications()


def _has_no_value(self: Any) -> Any:
    """Raise TypeError: there is no value yet."""
    raise TypeError(
        "_SpecShapeEnv: 'evaluate_sym_node' is not allowed at spec-definition time. Use IntVar / "
        "ShapeVar only inside TensorSpec / ShapesSpec."
    )


class SpecInt(SymInt):
    """An int made of variables."""

    def __init__(self, number: SpecTerm | SpecVariable) -> None:
        super().__init__(SymNode(number, OF_SPECIFICATIONS, None))

    __bool__ = __index__ = __int__ = __trunc__ = __float__ = __abs__ = _has_no_value

    def __ne__(self, other: object) -> Any:
        return self._is(operator.ne, other)

    def __gt__(self, other: Any) -> Any:
        return self._is(operator.gt, other)

    def __lt__(self, other: Any) -> Any:
        return self._is(operator.lt, other)

    def __le__(self, other: Any) -> Any:
        return self._is(operator.le, other)

    def __ge__(self, other: Any) -> Any:
        return self._is(operator.ge, other)

    __hash__ = SymInt.__hash__

    def _is(self, comparison: Callable[..., Any], other: Any) -> Any:
        if not isinstance(other, (int, float, SymInt)):
            return NotImplemented
        return SpecBool(SpecTerm(comparison, (self.node.expr, expression_of(other))))


class SpecBool(SymBool):
    """A condition on variables."""

    def __init__(self, term: SpecTerm) -> None:
        super().__init__(SymNode(term, OF_SPECIFICATIONS, None))

    __bool__ = _has_no_value

    def __and__(self, other: Any) -> SpecBool:
        return SpecBool(SpecTerm(_both, (self.node.expr, expression_of(other))))

    def __or__(self, other: Any) -> SpecBool:
        return SpecBool(SpecTerm(_either, (self.node.expr, expression_of(other))))

    def __invert__(self) -> SpecBool:
        term = self.node.expr
        opposite = _OPPOSITES.get(term.function)
        return SpecBool(
            SpecTerm(operator.not_, (term,)) if opposite is None else SpecTerm(opposite, term.args)
        )


def relations(condition: Any) -> list[tuple[Callable[..., Any], Any, Any]]:
    """Return the comparisons that a condition is the conjunction of: the sign, left and right.
    NotImplementedError where it has an "or" or a "not"."""
    if condition.function is _both:
        return [pair for part in condition.args for pair in relations(part)]
    if len(condition.args) != 2 or condition.function is _either:
        raise NotImplementedError(
            f"ShapesSpec.assumptions: {condition!r} is no comparison; export takes comparisons and "
            "`&` of them. Use instead: torch.compile, or several assumptions."
        )
    return [(condition.function, *condition.args)]
