"""What a scan finds: one entry for each use of a name, and the sums of a file and of all."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

#: From what needs work to what needs none.
KINDS = ("missing", "risky", "differs", "other", "supported")


@dataclass(frozen=True)
class Finding:
    """One line of a file.

    Attributes:
      name: the dotted name as PyTorch spells it, or what makes the line risky.
      says: what to do about it; empty for what is supported.
      link: where more is said: a page of the documentation.
      guarded: the program looks whether the name is there, and does without.
      cell: the cell of a notebook, from 1.
    """

    kind: str
    line: int
    name: str
    says: str = ""
    link: str = ""
    guarded: bool = False
    cell: int | None = None


@dataclass
class FileReport:
    """One file: its findings in order, or why it could not be read.

    Attributes:
      skipped: why the file was left out; empty where it was read.
      notes: what was left out within the file: cells that are not Python.
    """

    path: str
    lines: int = 0
    findings: list[Finding] = field(default_factory=list)
    skipped: str = ""
    notes: list[str] = field(default_factory=list)

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
            "files": [asdict(file) for file in self.files],
        }
