"""Counts of what NumPy computed and what was compiled, by the name of the compiled form; programs
that were compiled while their calls ran eagerly; pieces of deferred calls, and what cut them.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field


@dataclass(slots=True)
class Record:
    """What happened to all signatures of the forms of one name.

    Attributes:
      programs: programs traced for NumPy, those made from the trace of other sizes, the calls of
        both, and the seconds that making and calling them took.
      compiled: signatures compiled, the calls by NumPy that each had before, and the seconds of
        their first compiled calls.
      reasons: why signatures were compiled at once, and how often.
    """

    name: str
    programs: int = 0
    specialised: int = 0
    calls: int = 0
    making_seconds: float = 0.0
    calling_seconds: float = 0.0
    compiled: int = 0
    compiled_after: list[int] = field(default_factory=list)
    compiling_seconds: float = 0.0
    reasons: dict[str, int] = field(default_factory=dict)

    def compiled_because(self, reason: str) -> None:
        self.reasons[reason] = self.reasons.get(reason, 0) + 1


@dataclass(slots=True)
class CompiledMeanwhile:
    """A function's program that was compiled in the background.

    Attributes:
      name: the function's.
      equations: those of the program.
      eager_calls: how many calls of its kind run eagerly: the program is used from the next on.
      calls: how many there were.
      seconds: what compiling took; None until it has ended.
      waited: seconds that the first call of the program waited for it.
      is_used: whether the program has taken over.
      blocks: how many distinct blocks the program is run by at first, and at how many places; none
        where it is compiled whole.
      whole_from: after how many calls by blocks the whole program is used; None where it is not.
      is_whole: whether it is.
    """

    name: str
    equations: int
    eager_calls: int
    calls: int = 0
    seconds: float | None = None
    waited: float = 0.0
    is_used: bool = False
    blocks: tuple[int, int] = (0, 0)
    whole_from: int | None = None
    is_whole: bool = False

    @property
    def state(self) -> str:
        """What became of it, in a few words."""
        return " ".join(filter(None, (self._of_program, self._of_blocks)))

    @property
    def _of_program(self) -> str:
        if self.is_used:
            return f"taken over at call {self.eager_calls + 1}"
        return f"takes over at call {self.eager_calls + 1}, of which there were {self.calls}"

    @property
    def _of_blocks(self) -> str:
        distinct, places = self.blocks
        if not places:
            return ""
        found = f"in {places} blocks, {distinct} of them distinct"
        if self.whole_from is None:
            return found
        at = self.eager_calls + self.whole_from + 1
        return f"{found}, whole {'since' if self.is_whole else 'from'} call {at}"


@dataclass(slots=True)
class CompiledPiece:
    """Calls between two flushes that recurred and became a program (docs/design/deferred.md).

    Attributes:
      operations: the names of the calls.
      runs: how often it was run, and how often by its program.
      saved: microseconds that the program won so far, as estimated.
    """

    operations: tuple[str, ...]
    runs: int = 0
    as_program: int = 0
    saved: float = 0.0


records: dict[str, Record] = {}
#: The latest pieces of deferred calls that were compiled.
compiled_pieces: deque[CompiledPiece] = deque(maxlen=256)
#: How often deferred calls were run because of a line: (why, file, line).
cuts: Counter[tuple[str, str, int]] = Counter()
#: The latest programs that were compiled in the background.
meanwhile: deque[CompiledMeanwhile] = deque(maxlen=256)


def record_of(name: str) -> Record:
    """Return the record of that name, made where there is none."""
    found = records.get(name)
    if found is None:
        found = records[name] = Record(name)
    return found
