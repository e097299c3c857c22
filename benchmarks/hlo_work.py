"""How much a compiled program computes: elements times what each costs, counted in XLA's text.

XLA's own count (``compiled.cost_analysis()``) takes each instruction of a fusion once. But a fusion
is one loop over its result, and what is read through a slice, a padding or a window is computed
there again for each of these: ``exp`` before a sum of nine shifted images, nine times. Here every
element is counted as often as the loop computes it. No clock is read, so counts repeat.

A count is of arithmetic alone. Elements that are only moved are free, and so are calls into
libraries. A conditional counts as its dearer branch, a loop as many turns as XLA knows it to take.
"""

from __future__ import annotations

import collections
import functools
import math
import re
from collections.abc import Mapping
from typing import NamedTuple

#: What an element costs, in additions.
_DEAR: dict[str, int] = dict.fromkeys(
    (
        *("exponential", "exponential-minus-one", "log", "log-plus-one", "tanh", "logistic"),
        *("sine", "cosine", "tan", "power", "erf", "atan2", "cbrt"),
    ),
    20,
)
_DEAR |= dict.fromkeys(("divide", "remainder", "sqrt", "rsqrt"), 4)
#: Elements that are moved, or made of nothing.
_FREE = frozenset(
    (
        *("parameter", "constant", "iota", "tuple", "get-tuple-element", "bitcast", "copy"),
        *("bitcast-convert", "reshape", "broadcast", "slice", "transpose", "reverse", "pad"),
        *("concatenate", "dynamic-slice", "dynamic-update-slice", "gather", "convert"),
        *("custom-call", "partition-id", "replica-id", "after-all", "optimization-barrier"),
        *("copy-start", "copy-done", "rng-bit-generator", "rng-get-and-update-state"),
    )
)
#: Those whose operands are read at another place than the result has.
_ELSEWHERE = frozenset(
    (
        *("bitcast", "reshape", "broadcast", "slice", "transpose", "reverse", "pad", "gather"),
        *("concatenate", "dynamic-slice", "dynamic-update-slice", "reduce", "reduce-window", "dot"),
    )
)
_SHAPE = re.compile(r"\w+\[([\d,]*)\]")
_LINE = re.compile(r"\s+(ROOT )?%?([\w.\-]+) = (.*)")


class Instruction(NamedTuple):
    """One line of XLA's text: what it is called, how many elements it has, what it reads."""

    name: str
    opcode: str
    dims: tuple[int, ...]
    operands: tuple[str, ...]
    attributes: str

    @property
    def elements(self) -> int:
        return math.prod(self.dims)

    def called(self, *words: str) -> list[str]:
        """Return the names of the computations behind these attributes."""
        pattern = r"=\{?([^,{}]*(?:, %[^,{}]*)*)"
        found = (re.search(rf"\b{word}{pattern}", self.attributes) for word in words)
        return [n.strip().lstrip("%") for m in found if m for n in m[1].split(",")]

    def window(self) -> int:
        """Return how many places the window of a reduction or a convolution has."""
        found = re.search(r"window=\{size=([\dx]+)", self.attributes)
        return math.prod(map(int, found[1].split("x"))) if found else 1


def _closing(text: str) -> int:
    """Return where the parenthesis that ``text`` begins with is closed."""
    depth = 0
    for i, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return i
    raise ValueError(f"a parenthesis is not closed: {text[:80]!r}")


def _instruction(name: str, text: str) -> Instruction:
    text = re.sub(r"/\*.*?\*/", "", text)
    end = _closing(text) + 1 if text.startswith("(") else text.index(" ")
    shape, rest = text[:end], text[end:].strip()
    opcode, _, _ = rest.partition("(")
    close = len(opcode) + _closing(rest[len(opcode) :])
    inside = rest[len(opcode) + 1 : close]
    first = _SHAPE.search(shape)
    dims = tuple(map(int, filter(None, first[1].split(",")))) if first else ()
    operands = tuple(re.findall(r"%([\w.\-]+)", inside))
    return Instruction(name, opcode, dims, operands, rest[close + 1 :])


class Module:
    """A compiled program's computations, each a list of its instructions, the root last."""

    def __init__(self, text: str) -> None:
        self._computations: dict[str, list[Instruction]] = {}
        self._entry = ""
        body: list[Instruction] = []
        for line in text.splitlines():
            if opened := re.match(r"(ENTRY )?%([\w.\-]+) \(.*\{$", line):
                body = self._computations[opened[2]] = []
                self._entry = opened[2] if opened[1] else self._entry
            elif found := _LINE.match(line):
                body.append(_instruction(found[2], found[3]))
        self._work = functools.cache(self._work_of)

    def work(self) -> float:
        """Return what one call of the program computes, in additions."""
        return self._work(self._entry)

    def _work_of(self, computation: str) -> float:
        return sum(map(self._once, self._computations[computation]))

    def _once(self, found: Instruction) -> float:
        """Return what an instruction computes that is no part of a fusion."""
        match found.opcode:
            case "fusion" if "kind=kCustom" not in found.attributes:
                return self._fused(found.called("calls")[0])
            case "fusion" | "call" | "async-start":
                return sum(map(self._work, found.called("calls", "to_apply")))
            case "while":
                turns = re.search(r'"known_trip_count":\{"n":"(\d+)"', found.attributes)
                return (int(turns[1]) if turns else 1) * sum(
                    map(self._work, found.called("condition", "body"))
                )
            case "conditional":
                names = found.called("branch_computations", "true_computation", "false_computation")
                return max(map(self._work, names))
            case _:
                return found.elements * self._each(found, None)

    def _each(self, found: Instruction, inside: Mapping[str, Instruction] | None) -> float:
        """Return what an element of an instruction's result costs."""
        if found.opcode in _FREE:
            return 0
        if found.opcode in ("reduce", "reduce-window", "map", "sort", "scatter"):
            body = found.called("to_apply")
            return sum(map(self._work, body)) * self._reads(found, inside)
        if found.opcode in ("dot", "convolution"):
            return 2 * self._reads(found, inside)
        return _DEAR.get(found.opcode, 1)

    @functools.cached_property
    def _by_name(self) -> dict[str, Instruction]:
        return {i.name: i for body in self._computations.values() for i in body}

    def _reads(self, found: Instruction, inside: Mapping[str, Instruction] | None) -> float:
        """Return how many elements of its operand one element of a result is made of."""
        known = inside or self._by_name
        if not found.elements:
            return 0
        if found.opcode == "dot":
            dims = re.search(r"lhs_contracting_dims=\{([\d,]*)\}", found.attributes)
            axes = map(int, filter(None, dims[1].split(","))) if dims else ()
            return math.prod(known[found.operands[0]].dims[axis] for axis in axes)
        if found.opcode == "convolution":
            labels = re.search(r"dim_labels=\w+_(\w+)->", found.attributes)
            kernel = known[found.operands[1]]
            return kernel.elements / (kernel.dims[labels[1].index("o")] if labels else 1)
        if found.opcode == "reduce":
            return known[found.operands[0]].elements / found.elements
        if found.opcode == "reduce-window":
            return found.window()
        if found.opcode == "sort":
            return math.log2(max(found.dims, default=1))
        return 1

    def _fused(self, computation: str) -> float:
        """Return what the loop of a fusion computes.

        Each instruction has for each place at which it is read (the same place twice is computed
        once) how often that is over the whole loop.
        """
        body = self._computations[computation]
        inside = {i.name: i for i in body}
        times: dict[str, dict[object, float]] = collections.defaultdict(dict)
        root = body[-1]
        for one in [inside[n] for n in root.operands] if root.opcode == "tuple" else [root]:
            times[one.name][one.dims] = one.elements
        total = 0.0
        for user in reversed(body):
            here = times[user.name]
            total += self._each(user, inside) * sum(here.values())
            if user.opcode == "tuple":
                continue
            for operand in (inside[n] for n in user.operands):
                for place, often in here.items():
                    if user.opcode in _ELSEWHERE or operand.dims != user.dims:
                        place, often = (user.name, place), self._moved(user, operand, often, inside)
                    known = times[operand.name]
                    known[place] = max(known.get(place, 0), often)
        return total

    def _moved(
        self,
        user: Instruction,
        operand: Instruction,
        often: float,
        inside: Mapping[str, Instruction],
    ) -> float:
        """Return how often an operand is computed for a user that is, at another place."""
        if operand.elements <= 1:
            return 1
        if user.opcode in ("pad", "concatenate", "dynamic-update-slice"):
            return often * min(operand.elements / user.elements, 1)
        if user.opcode == "broadcast":
            # What does not change along the last dimensions is computed outside of their loops.
            named = re.search(r"dimensions=\{([\d,]*)\}", user.attributes)
            kept = [int(d) for d in named[1].split(",") if d] if named else []
            return often / math.prod(user.dims[max(kept, default=-1) + 1 :])
        return often * self._reads(user, inside)


def work(text: str) -> float:
    """Return what the program computes whose optimized HLO this is, in additions."""
    return Module(text).work()
