"""What ``importlib.metadata`` says of a package that is there under another's name.

Libraries decide by ``importlib.metadata.version("torch")`` whether to offer what needs PyTorch.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from importlib.metadata import Distribution, DistributionFinder
from pathlib import Path
from typing import Any


class AliasDistribution(Distribution):
    """A distribution that has a name, a version and one package, and no files."""

    def __init__(self, alias: str, target: str) -> None:
        self._texts = {
            "METADATA": f"Metadata-Version: 2.1\nName: {alias}\n"
            f"Version: {importlib.import_module(target).__version__}\n",
            "top_level.txt": f"{alias}\n",
        }

    def read_text(self, filename: str) -> str | None:
        """One of the two files that say something, or None."""
        return self._texts.get(filename)

    def locate_file(self, path: Any) -> Path:
        """Where a file of the distribution would be; there is none."""
        return Path(path)


def distributions(
    alias: str, target: str, context: DistributionFinder.Context
) -> Iterator[Distribution]:  # fmt: skip
    """The alias's distribution, if the search is for it or for all there are."""
    if context.name in (None, alias):
        yield AliasDistribution(alias, target)
