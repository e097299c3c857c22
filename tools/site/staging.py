"""The project's pages as the site's: copied as they lie, so that links among them hold."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: What the site shows, beside docs/.
PAGES = (
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "benchmarks/RESULTS.md",
)
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]+)(#[^)\s]*)?\)")


def sources() -> Iterator[Path]:
    """Yield every file of the site that lies in the project: pages, and pictures in docs/."""
    for name in PAGES:
        yield ROOT / name
    for path in sorted((ROOT / "docs").rglob("*")):
        if path.suffix in (".md", ".png", ".svg"):
            yield path


def stage(into: Path) -> list[Path]:
    """Copy the pages below ``into``, which is emptied first; gives what was written."""
    shutil.rmtree(into, ignore_errors=True)
    staged = {p.resolve() for p in sources()}
    written = []
    for source in sorted(staged):
        target = into / source.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            target.write_text(with_links(source.read_text("utf-8"), source, staged), "utf-8")
        else:
            shutil.copyfile(source, target)
        written.append(target)
    return written


def with_links(text: str, page: Path, staged: set[Path]) -> str:
    """Return ``text`` of ``page``, where a link to something that the site does not have, such as a
    folder of the project, is its text alone."""

    def replaced(found: re.Match[str]) -> str:
        picture, label, target, _ = found.groups()
        if picture or "://" in target or (page.parent / target).resolve() in staged:
            return found.group()
        return label

    return _LINK.sub(replaced, text)
