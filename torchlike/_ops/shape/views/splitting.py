"""A tensor cut into several views: split, chunk, tensor_split, unbind."""

from __future__ import annotations

from typing import Any

from torchlike._core import dtypes, errors
from torchlike._core.dispatch.registry import composite
from torchlike._core.dispatch.schema import index_of, ints, require_tensor
from torchlike._ops.shape.views.slicing import sliced
from torchlike._ops.shape.views.view_factory import make_parts
from torchlike.tensor import Tensor


def require_dimensions(size: tuple[int, ...], name: str) -> None:
    """Refuse, with a RuntimeError in PyTorch's words, a 0-dim tensor."""
    if not size:
        raise RuntimeError(f"{name} expects at least a 1-dimensional tensor")


@composite(method=False, python_signature=True)
def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Return views of consecutive pieces: of one size, or of the sizes in a list.

    The last piece is smaller where the size does not divide. RuntimeError for a negative size, and
    for a list whose sum is not the dimension's size.

    Example:
      >>> [tuple(part.shape) for part in torch.zeros(5).split(2)]
      [(2,), (2,), (1,)]
    """
    require_tensor(tensor, "split")
    size = tensor._geometry.size
    require_dimensions(size, "split")
    d = errors.wrap_dim(dim, len(size))
    if isinstance(split_size_or_sections, (list, tuple)):
        sections = ints(split_size_or_sections)
        if min(sections, default=0) < 0:
            raise RuntimeError(
                "split_with_sizes expects split_sizes have only non-negative entries, but got "
                f"split_sizes={list(sections)}"
            )
        if sum(sections) != size[d]:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {size[d]} (input tensor's "
                f"size at dimension {d}), but got split_sizes={list(sections)}"
            )
        name = "SplitWithSizesBackward0"
    else:
        n = index_of(split_size_or_sections)
        if n < 0 or (n == 0 and size[d] != 0):
            raise RuntimeError(
                f"split expects split_size be non-negative, but got split_size={n}"
                if n < 0
                else "split_size can only be 0 if dimension size is 0, but got dimension size of "
                f"{size[d]}"
            )
        count = max(-(-size[d] // n), 1) if n else 1
        sections = tuple(min(n, size[d] - i * n) for i in range(count)) if n else (0,)
        name = "SplitBackward0"
    return make_parts(tensor, sections, d, name)


@composite("split", namespaces=())
def split_of(input: Tensor, split_size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Return views of consecutive pieces: of one size, or of the sizes in a list."""
    return split(input, split_size, dim)


@composite()
def split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Split as ``split`` does with a list of sizes."""
    return split(input, list(split_sizes), dim)


@composite()
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Return at most ``chunks`` consecutive views of (nearly) equal size.

    RuntimeError for ``chunks`` below 1.

    Example:
      >>> [part.tolist() for part in torch.arange(5).chunk(2)]
      [[0, 1, 2], [3, 4]]
    """
    require_tensor(input, "chunk")
    require_dimensions(input._geometry.size, "chunk")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    n = input._geometry.size[errors.wrap_dim(dim, input.dim())]
    # Of nothing there are as many pieces as were asked for, where a size would say one.
    return split(input, -(-n // chunks) if n else (0,) * chunks, dim)


@composite(
    other_names={
        "indices": "indices_or_sections",
        "sections": "indices_or_sections",
        "tensor_indices_or_sections": "indices_or_sections",
    }
)
def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Return views cut at the given indices, or into sections whose sizes differ by at most one.

    RuntimeError for a tensor without dimensions, and for a tensor of indices that is not int64.
    """
    if not input.dim():
        raise RuntimeError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"
        )
    d = errors.wrap_dim(dim, input.dim())
    n = input._geometry.size[d]
    if isinstance(indices_or_sections, Tensor):
        if indices_or_sections.dtype is not dtypes.int64:
            kind = dtypes.scalar_type(indices_or_sections.dtype)
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to have dtype of "
                f"long, but got {kind}"
            )
        if indices_or_sections.dim() > 1:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to be a "
                "zero-dimensional or one-dimensional tensor, but got a tensor with "
                f"{indices_or_sections.dim()} dims"
            )
        indices_or_sections = indices_or_sections.tolist()
    if isinstance(indices_or_sections, int):
        sections = indices_or_sections
        if sections <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
        small, extra = divmod(n, sections)
        lengths = [small + (i < extra) for i in range(sections)]
        starts = [sum(lengths[:i]) for i in range(sections)]
    else:
        cuts = [max(c + n, 0) if c < 0 else min(c, n) for c in ints(indices_or_sections)]
        starts = [0, *cuts]
        lengths = [max(b - a, 0) for a, b in zip(starts, [*cuts, n], strict=True)]
    return tuple(
        sliced(input, d, s, k, 1, "SliceBackward0") for s, k in zip(starts, lengths, strict=True)
    )


@composite()
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Return all indices of a dimension, each a view without it.

    Returns a tuple with as many tensors as the dimension has. IndexError for one out of range.
    """
    require_tensor(input, "unbind")
    size = input._geometry.size
    if not size:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    d = errors.wrap_dim(dim, len(size))
    return make_parts(input, (1,) * size[d], d, "UnbindBackward0", whole=False)
