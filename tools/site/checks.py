"""What is looked at in the built site: links between its pages, what the search finds, phones."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

#: Words that a reader searches for, and a page that has to be among what is found.
SEARCHES = {
    "dropout seed": "docs/how-to/random-numbers/",
    "recompile": "docs/how-to/recompiles/",
    "onnx": "docs/how-to/onnx/",
    "TL1001": "docs/errors/TL1001/",
    "cumsum": "reference/torchlike/",
}
_HREF = re.compile(r'href="([^"#?]*)(?:\?[^"#]*)?(?:#([^"]*))?"')
_ID = re.compile(r'\bid="([^"]+)"')


def broken_links(site: Path) -> Iterator[str]:
    """Yield each link of a page that leads to no page, or to no heading of one."""
    ids: dict[Path, set[str]] = {}
    for page in sorted(site.rglob("*.html")):
        if page.name == "404.html":  # its addresses are those of the site as it is served
            continue
        for path, anchor in _HREF.findall(page.read_text("utf-8")):
            if "://" in path or path.startswith(("mailto:", "data:", "/")):
                continue
            target = (page.parent / path).resolve() if path else page
            target = target / "index.html" if target.is_dir() else target
            if target not in ids:
                text = (
                    target.read_text("utf-8")
                    if target.suffix == ".html" and target.exists()
                    else ""
                )
                ids[target] = set(_ID.findall(text))
            known = target.exists() and (
                not anchor or target.suffix != ".html" or anchor in ids[target]
            )
            if not known:
                yield f"{page.relative_to(site)}: {path}#{anchor}"


def not_found(site: Path) -> Iterator[str]:
    """Yield the searches that do not find their page."""
    items = json.loads((site / "search.json").read_text("utf-8"))["items"]
    for words, page in SEARCHES.items():
        wanted = words.lower().split()
        texts = (i["location"] for i in items if _has(f"{i['title']} {i['text']}", wanted))
        if not any(location.startswith(page) for location in texts):
            yield f"{words!r} does not find {page}"


def _has(text: str, words: list[str]) -> bool:
    return all(word in text.lower() for word in words)


def problems(site: Path) -> list[str]:
    """Return what is wrong with the site."""
    found = [*broken_links(site), *not_found(site)]
    if 'name="viewport"' not in (site / "index.html").read_text("utf-8"):
        found.append("pages do not say how wide they are on a phone")
    return found
