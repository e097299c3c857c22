"""What a scan finds: one entry for each use of a name, and the sums of a file and of all."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

#: From what needs work to what needs none.
KINDS = ("missing", "risky", "differs", "other", "supported")


@dataclass(frozen=True)
class Finding:
    """One line of a file."""

    kind: str
    line: int
    #: The dotted name as PyTorch spells it, or what makes the line risky.
    name: str
    #: What to do about it; empty for what is supported.
    says: str = ""
    #: Where more is said: a page of the documentation.
    link: str = ""
    #: The program looks whether the name is there, and does without.
    guarded: bool = False
    #: The cell of a notebook, from 1.
    cell: int | None = None
    #: The function that the line is in, the outermost one; empty where it runs at import.
    within: str = ""


@dataclass
class FileReport:
    """One file: its findings in order, or why it could not be read."""

    path: str
    lines: int = 0
    findings: list[Finding] = field(default_factory=list)
    #: Why the file was left out; empty where it was read.
    skipped: str = ""
    #: What was left out within the file: cells that are not Python.
    notes: list[str] = field(default_factory=list)
    #: What was read.
    text: str = field(default="", repr=False)

    def of(self, kind: str) -> list[Finding]:
        """Return the findings of a kind; what is guarded is never missing."""
        return [f for f in self.findings if f.kind == kind and not f.guarded]


@dataclass
class ScanReport:
    """All files."""

    files: list[FileReport]

    def count(self, kind: str) -> int:
        return sum(len(file.of(kind)) for file in self.files)

    @property
    def lines(self) -> int:
        return sum(file.lines for file in self.files)

    @property
    def skipped(self) -> list[FileReport]:
        return [file for file in self.files if file.skipped]

    def as_json(self) -> dict[str, Any]:
        """Return everything that was found, for other programs."""
        return {
            "version": 1,
            "files_read": len(self.files) - len(self.skipped),
            "files_skipped": len(self.skipped),
            "lines": self.lines,
            "counts": {kind: self.count(kind) for kind in KINDS},
            "guarded": sum(f.guarded for file in self.files for f in file.findings),
            "files": [_without_text(file) for file in self.files],
        }


def _without_text(file: FileReport) -> dict[str, Any]:
    found = asdict(file)
    del found["text"]
    return found
