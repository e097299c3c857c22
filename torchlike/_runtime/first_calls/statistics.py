"""Counts of what NumPy computed and what was compiled, by the name of the compiled form."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Record:
    """What happened to all signatures of the forms of one name."""

    name: str
    #: Programs traced for NumPy, those made from the trace of other sizes, the calls of both, and
    #: the seconds that making and calling them took.
    programs: int = 0
    specialised: int = 0
    calls: int = 0
    making_seconds: float = 0.0
    calling_seconds: float = 0.0
    #: Signatures compiled, the calls by NumPy that each had before, and the seconds of their first
    #: compiled calls.
    compiled: int = 0
    compiled_after: list[int] = field(default_factory=list)
    compiling_seconds: float = 0.0
    #: Why signatures were compiled at once, and how often.
    reasons: dict[str, int] = field(default_factory=dict)

    def compiled_because(self, reason: str) -> None:
        self.reasons[reason] = self.reasons.get(reason, 0) + 1


records: dict[str, Record] = {}


def record_of(name: str) -> Record:
    """Return the record of that name, made where there is none."""
    found = records.get(name)
    if found is None:
        found = records[name] = Record(name)
    return found
