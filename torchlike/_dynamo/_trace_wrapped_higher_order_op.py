"""A switch for code that indexes by 0-dim tensors inside ``torch.vmap``."""

from __future__ import annotations


class TransformGetItemToIndex:
    """Nothing, as a context manager: ``x[i]`` with a 0-dim tensor ``i`` of a vmap is a gather
    already."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass
