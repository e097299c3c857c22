"""StackDataset: datasets side by side."""

from __future__ import annotations

from typing import Any

from torchlike.utils.data.dataset import Dataset, T_co


class StackDataset(Dataset[T_co]):
    """Samples of several datasets of equal length as tuples, or as dictionaries when the datasets
    are given by name. ValueError for none, for both kinds at once, or for unequal lengths."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like "
                "input/output, but both types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets: Any = args or kwargs
        sizes = [len(d) for d in args or kwargs.values()]
        if len(set(sizes)) > 1:
            raise ValueError("Size mismatch between datasets")
        self._length = sizes[0]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: d[index] for name, d in self.datasets.items()}
        return tuple(d[index] for d in self.datasets)

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        """Return the samples at several indices; each dataset is asked once where it can be."""
        if isinstance(self.datasets, dict):
            columns = [_rows(d, indices) for d in self.datasets.values()]
            names = list(self.datasets)
            return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
        columns = [_rows(d, indices) for d in self.datasets]
        return list(zip(*columns, strict=True))

    def __len__(self) -> int:
        return self._length


def _rows(dataset: Any, indices: list[Any]) -> list[Any]:
    many = getattr(dataset, "__getitems__", None)
    if many is None:
        return [dataset[i] for i in indices]
    rows = many(indices)
    if len(rows) != len(indices):
        raise ValueError(
            f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(rows)}"
        )
    return rows
