"""Layouts and memory formats, by PyTorch's names."""

from __future__ import annotations


class layout:
    """How elements are stored: ``strided`` where it is an array."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"


strided = layout("strided")
sparse_coo = layout("sparse_coo")
sparse_csr, sparse_csc = layout("sparse_csr"), layout("sparse_csc")
sparse_bsr, sparse_bsc = layout("sparse_bsr"), layout("sparse_bsc")
#: By name only: no tensor has one of these.
jagged, mkldnn = layout("jagged"), layout("_mkldnn")


class memory_format:
    """A memory order: contiguous_format, channels_last, channels_last_3d, preserve_format."""

    def __init__(self, name: str) -> None:
        self._name = name

    def order(self, ndim: int) -> tuple[int, ...] | None:
        """Return the dimensions from slowest to fastest, or None for row-major."""
        if self._name == "channels_last" and ndim == 4:
            return (0, 2, 3, 1)
        if self._name == "channels_last_3d" and ndim == 5:
            return (0, 2, 3, 4, 1)
        return None

    def is_of_images(self) -> bool:
        """Return whether the format is one for images or volumes only."""
        return self._name.startswith("channels_last")

    def order_of_new(self, ndim: int) -> tuple[int, ...]:
        """Return the dimensions from slowest to fastest of a tensor to be made. RuntimeError for a
        format of images with another number of dimensions."""
        rank = {"channels_last": 4, "channels_last_3d": 5}.get(self._name, ndim)
        if rank != ndim:
            raise RuntimeError(f"required rank {rank} tensor to use {self._name} format")
        return self.order(ndim) or tuple(range(ndim))

    def __repr__(self) -> str:
        return f"torch.{self._name}"


contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")
