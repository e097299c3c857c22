"""Symbols for numbers that only values tell: ``item()``, the size of ``nonzero()``.

PyTorch calls them unbacked, ``u0``, ``u1``, …: there is no number at hand that could decide a
comparison. What is known of them are bounds, and conditions that ``torch._check`` was given, which
the graph checks when it runs.
"""

from __future__ import annotations

from typing import Any

from torchlike._compat.symbolic import symbolic_sizes

#: What a comparison says about ``left - right``: by its sign, the numbers that are at least 0.
_AT_LEAST: dict[str, Any] = {
    ">=": lambda d: [d],
    "<=": lambda d: [-d],
    ">": lambda d: [d - 1],
    "<": lambda d: [-d - 1],
    "==": lambda d: [d, -d],
    "!=": lambda d: [],
}
_INFINITE = float("inf")
#: The number at hand that stands for one without bounds: far from usual sizes, and a prime.
_UNLIKELY = 7919


class Unbacked:
    """The unbacked symbols of a trace, with the least and the greatest that each may be."""

    def __init__(self) -> None:
        self.ranges: dict[str, tuple[float, float]] = {}
        self.floats = 0
        #: Expressions that are at least 0, and those that are not 0.
        self._positive: list[Any] = []
        self._not_zero: list[Any] = []

    def new(self, lower: float, upper: float) -> tuple[str, int]:
        """Add a symbol, and return its name and a number within its bounds."""
        name = f"u{len(self.ranges)}"
        self.ranges[name] = lower, upper
        return name, int(max(lower, min(upper, _UNLIKELY + 2 * len(self.ranges))))

    def new_float(self) -> str:
        """Return the name of a new float."""
        self.floats += 1
        return f"zuf{self.floats - 1}"

    def among(self, *numbers: Any) -> bool:
        """True if one of the expressions has an unbacked symbol."""
        if not self.ranges:
            return False
        return any(
            symbolic_sizes.is_symbolic(n)
            and not symbolic_sizes.of_jax.variables(n).isdisjoint(self.ranges)
            for n in numbers
        )

    def assume(self, sign: str, left: Any, right: Any) -> None:
        """Take a comparison for true."""
        difference = left - right
        if sign == "!=":
            self._not_zero.append(difference)
        for number in _AT_LEAST[sign](difference):
            self._positive.append(number)
            self._narrow(number)

    def _narrow(self, number: Any) -> None:
        """Take ``number >= 0`` into the bounds of a symbol that it is a multiple of, and a rest."""
        linear = _linear(number)
        if linear is None or len(linear[1]) != 1:
            return
        rest, ((name, scale),) = linear[0], linear[1].items()
        if name not in self.ranges:
            return
        lower, upper = self.ranges[name]
        if scale > 0:
            self.ranges[name] = max(lower, -(rest // scale)), upper
        else:
            self.ranges[name] = lower, min(upper, rest // -scale)

    def known(self, is_equality: bool, left: Any, right: Any) -> bool | None:
        """Return whether ``left == right``, or ``left >= right``; None where that is not known."""
        difference = left - right
        low, high = self._bounds(difference)
        if is_equality:
            if low == high == 0:
                return True
            apart = low > 0 or high < 0 or any(_same(difference, n) for n in self._not_zero)
            apart = apart or self._implied(difference - 1) or self._implied(-difference - 1)
            return False if apart else None
        if low >= 0 or self._implied(difference):
            return True
        return False if high < 0 or self._implied(-difference - 1) else None

    def _implied(self, number: Any) -> bool:
        """True if ``number >= 0`` follows from one of the conditions."""
        return any(self._bounds(number - known)[0] >= 0 for known in self._positive)

    def _bounds(self, number: Any) -> tuple[float, float]:
        linear = _linear(number)
        if linear is None:
            return -_INFINITE, _INFINITE
        low = high = float(linear[0])
        for name, scale in linear[1].items():
            ends = self.ranges.get(name, (symbolic_sizes.LEAST, _INFINITE))
            low += min(scale * end for end in ends)
            high += max(scale * end for end in ends)
        return low, high


def _same(a: Any, b: Any) -> bool:
    return any(not symbolic_sizes.is_symbolic(d) and int(d) == 0 for d in (a - b, a + b))


def _linear(number: Any) -> tuple[int, dict[str, int]] | None:
    """Return a number as ``(constant, {symbol: factor})``; None where it is no sum of multiples."""
    if not symbolic_sizes.is_symbolic(number):
        return int(number), {}
    names = sorted(symbolic_sizes.of_jax.variables(number))
    places = [dict.fromkeys(names, 0)]
    places += [{**places[0], name: 1} for name in names]
    places.append({name: 7 + 4 * i for i, name in enumerate(names)})
    places.append({name: -5 - 6 * i for i, name in enumerate(names)})
    try:
        constant, *ends, first, second = [symbolic_sizes.value(number, p) for p in places]
    except (ArithmeticError, ValueError):
        return None
    factors = {name: end - constant for name, end in zip(names, ends, strict=True)}
    for place, found in zip(places[-2:], (first, second), strict=True):
        if constant + sum(factors[n] * place[n] for n in names) != found:
            return None
    return constant, {name: factor for name, factor in factors.items() if factor}
