"""What a communication hook of DistributedDataParallel gets: the gradients of one bucket."""

from __future__ import annotations

from collections.abc import Sequence

from torchlike.tensor import Tensor


class GradBucket:
    """A bucket's gradients as one flat tensor."""

    def __init__(
        self, index: int, count: int, parameters: Sequence[Tensor], buffer: Tensor
    ) -> None:
        self._index, self._count, self._parameters = index, count, list(parameters)
        self._buffer = buffer

    def index(self) -> int:
        """Return the bucket's number: the first is the one that is ready first."""
        return self._index

    def is_last(self) -> bool:
        """Return whether this is the last bucket."""
        return self._index == self._count - 1

    def buffer(self) -> Tensor:
        """Return all gradients in one flat tensor."""
        return self._buffer

    def set_buffer(self, buffer: Tensor) -> None:
        """Put another flat tensor in its place."""
        self._buffer = buffer

    def parameters(self) -> list[Tensor]:
        """Return the parameters."""
        return list(self._parameters)

    def gradients(self) -> list[Tensor]:
        """Return their gradients, as views of the flat tensor."""
        return split_like(self._buffer, self._parameters)


def split_like(flat: Tensor, like: Sequence[Tensor]) -> list[Tensor]:
    """Return a flat tensor in parts of the shapes of others."""
    parts = flat.split([p.numel() for p in like])
    return [part.view(tuple(p.shape)) for part, p in zip(parts, like, strict=True)]
