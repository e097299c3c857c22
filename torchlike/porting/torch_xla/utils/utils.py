"""``torch_xla.utils.utils``, usually ``xu``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torchlike.porting.torch_xla._absent import absent

__getattr__ = absent("torch_xla.utils.utils")


class SampleGenerator:
    """A loader that gives the same data ``sample_count`` times."""

    def __init__(self, data: Any, sample_count: int) -> None:
        self._data, self._count = data, sample_count

    def __iter__(self) -> Iterator[Any]:
        for _ in range(self._count):
            yield self._data

    def __len__(self) -> int:
        return self._count
