"""A scan as text: the verdict first, then each finding once, with all its lines."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from torchlike.porting.scan import risks
from torchlike.porting.scan.findings import FileReport, Finding, ScanReport

#: Headings in their order, with the kinds and risks that stand below each.
SECTIONS = {
    "Missing: the program stops where it uses these": ("missing",),
    "Slow": risks.SLOW,
    "Under torch.compile": risks.COMPILED,
    "On another machine": risks.MACHINE,
    "Different": ("differs",),
    "Other libraries": ("other",),
    "Missing, and the program does without": ("guarded",),
}
#: What lines below each heading are called in the sum.
_SUMS = dict(
    zip(
        SECTIONS,
        (
            "missing",
            "slow",
            "under torch.compile",
            "of another machine",
            "different",
            "of other libraries",
            "missing, done without",
        ),
        strict=True,
    )
)
_STOPS, _SLOW = list(SECTIONS)[:2]
_AS_IT_IS = list(SECTIONS)[-1]
#: So many lines of a file, and so many files, are named for a finding.
LINES, FILES = 8, 3
#: And so many functions, of what is missing in some alone.
FUNCTIONS = 4


@dataclass
class FindingGroup:
    """What is told once: findings with the same advice."""

    says: str
    link: str = ""
    #: What all of them are, where they are not names.
    what: str = ""
    names: dict[str, None] = field(default_factory=dict)
    places: dict[str, list[str]] = field(default_factory=dict)
    #: The functions that the lines are in; "" for what runs at import.
    within: dict[str, None] = field(default_factory=dict)

    def lines(self, width: int) -> Iterator[str]:
        """Yield the lines of text; names and places are never broken."""
        names = ", ".join(self.names)
        yield from _wrapped(f"{self.what}: {names}" if self.what else names, width, "  ")
        shown = list(self.places.items())
        for path, lines in shown[:FILES]:
            more = f" and {len(lines) - LINES} more" if len(lines) > LINES else ""
            yield from _wrapped(f"{path}:{', '.join(lines[:LINES])}{more}", width)
        if len(shown) > FILES:
            rest = [line for _, lines in shown[FILES:] for line in lines]
            files = _count(len(shown) - FILES, "more file")
            yield from _wrapped(f"and {_count(len(rest), 'line')} of {files}", width)
        if self.within and "" not in self.within:
            named = list(self.within)
            more = f" and {len(named) - FUNCTIONS} more" if len(named) > FUNCTIONS else ""
            yield from _wrapped(f"used only in {', '.join(named[:FUNCTIONS])}{more}", width)
        yield from _wrapped(self.says + (f" ({self.link})" if self.link else ""), width)


def _wrapped(text: str, width: int, indent: str = "    ") -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def groups(report: ScanReport) -> dict[str, list[FindingGroup]]:
    """Return what is told below each heading, the most frequent first."""
    made: dict[str, dict[str, FindingGroup]] = {heading: {} for heading in SECTIONS}
    for file, f in lines(report, everything=False):
        risk = risks.what(f.name) if f.kind == "risky" else ""
        kind = risk or ("guarded" if f.guarded else f.kind)
        heading = next(h for h, kinds in SECTIONS.items() if kind in kinds)
        link = "" if f.kind == "differs" else f.link
        group = made[heading].setdefault(risk + f.says, FindingGroup(f.says, link, risk))
        group.names[f.name.removesuffix(risk).strip()] = None
        path, _, line = place(file, f).rpartition(":")
        group.places.setdefault(path, []).append(line)
        if heading == _STOPS:
            group.within[f.within] = None
    return {
        heading: sorted(found.values(), key=lambda g: -sum(map(len, g.places.values())))
        for heading, found in made.items()
    }


def verdict(report: ScanReport) -> str:
    """Say in a line whether the program runs, and how much there is to know."""
    found = groups(report)
    slow = sum(len(lines) for group in found[_SLOW] for lines in group.places.values())
    apart = (_STOPS, _SLOW, _AS_IT_IS)
    know = sum(len(told) for heading, told in found.items() if heading not in apart)
    names = len({name for group in found[_STOPS] for name in group.names})
    functions = {name for group in found[_STOPS] for name in group.within}
    parts = ["runs"]
    if names and "" not in functions:
        parts = [
            f"runs but for {_count(len(functions), 'function')}, where "
            f"{_count(names, 'name')} {'is' if names == 1 else 'are'} missing"
        ]
    elif names:
        which = "" if names == 1 else "any of "
        parts = [f"stops at {which}{_count(names, 'missing name')}"]
    if know:
        parts.append(f"{_count(know, 'thing')} to know")
    if slow:
        parts.append(_count(slow, "slow line"))
    return "; ".join(parts)


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'s' if n != 1 else ''}"


def report_lines(report: ScanReport, *, everything: bool, width: int) -> Iterator[str]:
    """Yield the lines of the whole report as text."""
    yield verdict(report)
    for heading, told in groups(report).items():
        if told:
            yield ""
            yield heading
        for group in told:
            yield from group.lines(width)
    if everything:
        yield ""
        yield "Supported"
        for file, f in lines(report, everything=True):
            if f.kind == "supported":
                yield f"  {place(file, f)}: {f.name}" + (f": {f.says}" if f.says else "")
    yield ""
    yield from summary(report)


def workflow_commands(report: ScanReport) -> Iterator[str]:
    """Yield workflow commands, by which GitHub shows findings beside the lines of a change."""
    levels = {"missing": "error", "risky": "warning"}
    for file, f in lines(report, everything=False):
        level = "notice" if f.guarded else levels.get(f.kind, "notice")
        said = _escaped(f.says or f.name)
        title, path = _escaped(f.name, ",:"), _escaped(file.path, ",:")
        yield f"::{level} file={path},line={f.line},title={title}::{said}"


def _escaped(text: str, further: str = "") -> str:
    for letter in "%\r\n" + further:
        text = text.replace(letter, f"%{ord(letter):02X}")
    return text


def lines(report: ScanReport, *, everything: bool) -> Iterable[tuple[FileReport, Finding]]:
    """Yield the findings that are shown: not what is supported, unless everything is."""
    for file in report.files:
        for finding in file.findings:
            if everything or finding.kind != "supported":
                yield file, finding


def place(file: FileReport, finding: Finding) -> str:
    """Write where a finding is, as editors and people read it."""
    if finding.cell is not None:
        return f"{file.path} cell {finding.cell}:{finding.line}"
    return f"{file.path}:{finding.line}"


def summary(report: ScanReport) -> list[str]:
    """Return the sums in lines, by heading, and what was left out."""
    read = len(report.files) - len(report.skipped)
    found = groups(report)
    counts = [
        f"{sum(len(lines) for group in told for lines in group.places.values())} {_SUMS[heading]}"
        for heading, told in found.items()
        if told
    ]
    counts.append(f"{_count(report.count('supported'), 'use')} as in PyTorch")
    said = [f"{_count(read, 'file')}, {_count(report.lines, 'line')}: {', '.join(counts)}"]
    said += [f"left out: {file.path}: {file.skipped}" for file in report.skipped]
    said += [f"{file.path}: {note}" for file in report.files for note in file.notes]
    return said
