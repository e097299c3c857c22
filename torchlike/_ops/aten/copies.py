"""The ``*_copy`` functions: what a view shows, as a tensor of its own. One rule for all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike._core import errors
from torchlike._core.dispatch.registry import composite
from torchlike._core.dispatch.schema import ints, require_tensor
from torchlike._core.layouts import contiguous_format
from torchlike._ops.outputs import write_out
from torchlike._ops.shape import views
from torchlike.tensor import Tensor


def slice_of(
    input: Tensor, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Tensor:
    """Return every ``step``-th index of a dimension from ``start`` up to ``end``, as a view."""
    views.require_tensor(input, "slice")
    size = tuple(input.shape)
    if not size:
        raise RuntimeError("slice() cannot be applied to a 0-dim tensor.")
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    d = errors.wrap_dim(dim, len(size))
    first, last, _ = slice(start, end).indices(size[d])
    return views.sliced(input, d, first, max(-(-(last - first) // step), 0), step, "SliceBackward0")


composite("slice", namespaces=("aten",), method=False)(slice_of)


def _diagonal_like(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    return views.diagonal(input, offset, dim1, dim2)


def _viewed(input: Tensor, size: Any) -> Tensor:
    return input.view(size)


def _narrowed(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    # PyTorch's copying form asserts this on its own, with another exception than the view.
    if dim >= input.dim() > 0:
        raise RuntimeError(f"Expected dim < {input.dim()} to be true, but got dim = {dim}.")
    return views.narrow(input, dim, start, length)


#: name -> the view it copies
_VIEWS: dict[str, Callable[..., Any]] = {
    "alias": views.alias,
    "as_strided": views.as_strided,
    "detach": views.detach,
    "diagonal": _diagonal_like,
    "expand": lambda input, size, *, implicit=False: views.expand(input, size),
    "narrow": _narrowed,
    "permute": lambda input, dims: views.permute(input, dims),
    "select": views.select,
    "slice": slice_of,
    "split": lambda tensor, split_size, dim=0: views.split(tensor, split_size, dim),
    "split_with_sizes": views.split_with_sizes,
    "squeeze": views.squeeze,
    "t": views.t,
    "transpose": views.transpose,
    "unbind": views.unbind,
    "unfold": views.unfold_op,
    "unsqueeze": views.unsqueeze,
    "view": _viewed,
    "view_as_complex": views.view_as_complex,
    "view_as_real": views.view_as_real,
}


def _copying(name: str, view: Callable[..., Any]) -> Callable[..., Any]:
    def copy(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        if args:
            require_tensor(args[0], f"{name}_copy")
        shown = view(*args, **kwargs)
        if isinstance(shown, tuple):
            copies = tuple(t.clone(memory_format=contiguous_format) for t in shown)
            if out is None:
                return copies
            write_out(tuple(out), copies)
            return None
        return write_out(out, shown.clone(memory_format=contiguous_format))

    copy.__doc__ = f"Apply ``{name}`` to make a tensor of its own (contiguous), not a view."
    vars(copy)["copy_of_view"] = view  # whose arguments it takes
    return composite(f"{name}_copy", method=name == "narrow")(copy)


for _name, _function in _VIEWS.items():
    _copying(_name, _function)


@composite()
def as_strided_scatter(
    input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: int | None = None
) -> Tensor:
    """Return a copy of ``input`` with ``src`` written where ``as_strided`` of these arguments
    looks.

    RuntimeError when that reaches beyond the storage, or ``src`` has another shape.

    Differs from PyTorch: the gradient of ``input`` is 0 where ``src`` was written and passes
    elsewhere; PyTorch 2.13 has it the other way round.
    """
    if tuple(src.shape) != ints(size):
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = "
            f"{list(src.shape)}, slice size = {list(ints(size))}"
        )
    result = input.clone()
    result.as_strided(size, stride, storage_offset).copy_(src)
    return result


# -- pieces whose views autograd does not tie together --------------------------------------------


def _pieces(input: Tensor, sections: Any, dim: int) -> tuple[Tensor, ...]:
    starts = [sum(sections[:i]) for i in range(len(sections))]
    return tuple(input.narrow(dim, s, n) for s, n in zip(starts, sections, strict=True))


def _sections(pieces: tuple[Tensor, ...], dim: int) -> list[int]:
    return [p.shape[dim] for p in pieces]


@composite()
def unsafe_split(tensor: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Split as ``split`` does into pieces that may be changed in place (each is a view of its
    own)."""
    return _pieces(tensor, _sections(views.split(tensor, split_size, dim), dim), dim)


@composite()
def unsafe_split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Split as ``split_with_sizes`` does into pieces that may be changed in place."""
    return _pieces(input, _sections(views.split_with_sizes(input, split_sizes, dim), dim), dim)


@composite(tags="maybe_aliasing_or_mutating")
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Split as ``chunk`` does into pieces that may be changed in place."""
    return _pieces(input, _sections(views.chunk(input, chunks, dim), dim), dim)
