"""What ``importlib.metadata`` says of a package that is there under another's name.

Libraries decide by ``importlib.metadata.version("torch")`` whether to offer what needs PyTorch.
Standard library only: processes in which nobody has imported torchlike yet run this file alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.metadata import Distribution, DistributionFinder
from pathlib import Path
from typing import Any


class AliasDistribution(Distribution):
    """A distribution that has a name, a version and one package, and no files."""

    def __init__(self, alias: str, version: str) -> None:
        self._texts = {
            "METADATA": f"Metadata-Version: 2.1\nName: {alias}\nVersion: {version}\n",
            "top_level.txt": f"{alias}\n",
        }

    def read_text(self, filename: str) -> str | None:
        """Return one of the two files that say something, or None."""
        return self._texts.get(filename)

    def locate_file(self, path: Any) -> Path:
        """Return the path that a file of the distribution would have; there is none."""
        return Path(path)


def distributions(
    alias: str, version: Callable[[], str], context: DistributionFinder.Context | None
) -> Iterator[Distribution]:
    """Yield the alias's distribution, if the search is for it or for all there are, in no folder
    said.

    Who names folders (pip) asks for what is installed in them.
    """
    context = context or DistributionFinder.Context()
    if context.name in (None, alias) and "path" not in vars(context):
        yield AliasDistribution(alias, version())
