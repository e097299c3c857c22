"""View functions: tensors on the same storage. One function per kind of torchlike.views."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from torchlike import dtypes, errors, modes, views
from torchlike.dispatch.inplace import move_retained, node_of_view
from torchlike.dispatch.registry import add_method, composite
from torchlike.dispatch.schema import ints
from torchlike.tape import check_in_place, gradient_edge
from torchlike.tensor import Tensor
from torchlike.views import Step, View, step


def make_view(
    parent: Tensor,
    kind: Step,
    dynamic: tuple[int, ...],
    name: str,
    *,
    differentiable: Any = True,
    multiple: Any = False,
) -> Tensor:
    """A tensor on the parent's storage, one step further; ``name`` is its node's name."""
    chain = parent._view
    if chain is None:
        chain = View((), (), parent._geometry)
    t = object.__new__(Tensor)
    t._storage = parent._storage
    t._view = chain.then(kind, dynamic)
    if modes.current.inference or parent._inference:
        t._inference = True
    if not differentiable:
        return t
    base = parent._base
    if base is None:
        base = parent
    t._base = base
    if not modes.current.grad_enabled:
        t._made_by = "no_grad"
        t._history = base._history
        return t
    edge = gradient_edge(parent)
    t._history = base._history
    t._made_by = name if multiple else parent._made_by
    if edge is not None or parent.requires_grad:
        t._node = node_of_view(edge, parent, (kind,), dynamic, name)
    return t


def require_tensor(t: Any, name: str) -> Tensor:
    if not isinstance(t, Tensor):
        raise TypeError(
            f"{name}(): argument 'input' (position 1) must be Tensor, not {type(t).__name__}"
        )
    return t


def shape_arguments(args: Sequence[Any]) -> tuple[int, ...]:
    """``f(2, 3)``, ``f((2, 3))`` and ``f(torch.Size([2, 3]))`` alike."""
    if len(args) == 1 and not hasattr(args[0], "__index__"):
        return ints(args[0])
    if len(args) == 1 and isinstance(args[0], Tensor) and args[0].dim() == 1:
        return ints(args[0].tolist())
    return ints(args)


def infer_size(shape: tuple[int, ...], numel: int) -> tuple[int, ...]:
    """Fill in a single -1. RuntimeError in PyTorch's words when the sizes do not fit."""
    invalid = RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
    if shape.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    if any(n < -1 for n in shape):
        raise RuntimeError(f"invalid shape dimension {min(shape)}")
    if -1 in shape:
        known = math.prod(n for n in shape if n != -1)
        if known == 0:
            raise RuntimeError(
                f"cannot reshape tensor of 0 elements into shape {list(shape)} because the "
                "unspecified dimension size -1 can be any value and is ambiguous"
                if numel == 0 else str(invalid)
            )  # fmt: skip
        if numel % known:
            raise invalid
        return tuple(numel // known if n == -1 else n for n in shape)
    if math.prod(shape) != numel:
        raise invalid
    return shape


def _reshaped(t: Tensor, size: tuple[int, ...], stride: tuple[int, ...], name: str) -> Tensor:
    return make_view(t, step(views.Reshape, size, stride), (), name)


def _view(t: Tensor, shape: tuple[int, ...], name: str) -> Tensor | None:
    """The view of this (complete) shape, or None where strides do not allow it."""
    size, stride, _ = t._geometry
    new = views.view_strides(size, stride, shape)
    return None if new is None else _reshaped(t, shape, new, name)


@composite(namespaces=())
def view(input: Tensor, *shape: Any, dtype: Any = None) -> Tensor:
    """The same memory with another shape, or another dtype (``view(dtype)``).

    RuntimeError where strides do not allow a view; ``reshape`` copies there.
    """
    if dtype is not None or (len(shape) == 1 and isinstance(shape[0], dtypes.dtype)):
        return _view_dtype(input, dtype or shape[0])
    new = infer_size(shape_arguments(shape), input.numel())
    found = _view(input, new, "ViewBackward0")
    if found is None:
        raise RuntimeError(errors.VIEW_INCOMPATIBLE)
    return found


def _view_dtype(t: Tensor, dtype: dtypes.dtype) -> Tensor:
    old, new = t.itemsize, dtype.itemsize
    size, stride, offset = t._geometry
    if dtype is t.dtype:
        return make_view(t, step(views.Alias), (), "ViewBackward0")
    if old != new and not size:
        raise RuntimeError(
            f"self.dim() cannot be 0 to view {t.dtype} as {dtype} (different element sizes)"
        )
    if old < new:
        ratio = new // old
        if size[-1] % ratio or offset % ratio or stride[-1] != 1:
            raise RuntimeError(
                f"self.size(-1) must be divisible by {ratio} to view {t.dtype} as {dtype} "
                f"(different element sizes), but got {size[-1]}"
            )
        size = (*size[:-1], size[-1] // ratio)
        stride = (*(s // ratio for s in stride[:-1]), 1)
        scale = (1, ratio)
    elif old > new:
        ratio = old // new
        if stride[-1] != 1:
            raise RuntimeError(
                f"self.stride(-1) must be 1 to view {t.dtype} as {dtype} (different element "
                f"sizes), but got {stride[-1]}"
            )
        size = (*size[:-1], size[-1] * ratio)
        stride = (*(s * ratio for s in stride[:-1]), 1)
        scale = (ratio, 1)
    else:
        scale = (1, 1)
    kind = step(views.Bitcast, dtype.numpy, size, stride, scale)
    return make_view(t, kind, (), "ViewBackward0", differentiable=False)


@composite()
def reshape(input: Tensor, *shape: Any, **kwargs: Any) -> Tensor:
    """A view where strides allow one, else a copy in the new shape."""
    require_tensor(input, "reshape")
    given = shape_arguments(shape or (kwargs["shape"],))
    new = infer_size(given, input.numel())
    name = "ViewBackward0" if input.is_contiguous() else "ReshapeAliasBackward0"
    found = _view(input, new, name)
    if found is None:
        found = _view(input.clone(memory_format=None), new, "UnsafeViewBackward0")
        assert found is not None
        # A fresh copy: PyTorch's _unsafe_view is no view to the user. Its own history says whether
        # it needs gradients, no longer the base.
        found._base = None
        found._requires_grad = found._node is not None
    return found


@composite(namespaces=())
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """``view(other.size())``."""
    return input.view(other.shape)


@composite(namespaces=())
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """``reshape(other.size())``."""
    return input.reshape(other.shape)


@composite()
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Dimensions ``start_dim..end_dim`` joined into one (a view where possible)."""
    require_tensor(input, "flatten")
    size = input._geometry.size
    first, last = errors.wrap_dim(start_dim, len(size)), errors.wrap_dim(end_dim, len(size))
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not size:
        return input.reshape(1)
    if first == last:
        return input
    return input.reshape((*size[:first], math.prod(size[first : last + 1]), *size[last + 1 :]))


@composite(aliases=())
def ravel(input: Tensor) -> Tensor:
    """One dimension, row-major: a view of a contiguous tensor, else of a copy."""
    return input.contiguous().view(-1)


@composite()
def unflatten(input: Tensor, dim: int, sizes: Any) -> Tensor:
    """One dimension split into ``sizes`` (one may be -1)."""
    size = input._geometry.size
    d = errors.wrap_dim(dim, len(size))
    wanted = ints(sizes)
    try:
        inner = infer_size(wanted, size[d])
    except RuntimeError:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(wanted)} don't multiply up to the size of dim {d} "
            f"({size[d]}) in the input tensor"
        ) from None
    found = _view(input, (*size[:d], *inner, *size[d + 1 :]), "ViewBackward0")
    assert found is not None
    return found


# -- permutations ----------------------------------------------------------------------------------


def _permuted(t: Tensor, dims: tuple[int, ...], name: str) -> Tensor:
    return make_view(t, step(views.Permute, dims), (), name)


@composite()
def permute(input: Tensor, *dims: Any, **kwargs: Any) -> Tensor:
    """Dimensions in the given order."""
    require_tensor(input, "permute")
    order = shape_arguments(dims or (kwargs["dims"],))
    ndim = input.dim()
    if len(order) != ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {ndim} is not equal "
            f"to len(dims) = {len(order)}"
        )
    wrapped = tuple(errors.wrap_dim(d, ndim) for d in order)
    if len(set(wrapped)) != ndim:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return _permuted(input, wrapped, "PermuteBackward0")


@composite(aliases=("swapaxes", "swapdims"))
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions swapped."""
    require_tensor(input, "transpose")
    ndim = input.dim()
    a, b = errors.wrap_dim(dim0, ndim), errors.wrap_dim(dim1, ndim)
    if not ndim:
        return make_view(input, step(views.Alias), (), "TransposeBackward0")
    dims = list(range(ndim))
    dims[a], dims[b] = dims[b], dims[a]
    return _permuted(input, tuple(dims), "TransposeBackward0")


@composite()
def t(input: Tensor) -> Tensor:
    """The transpose of a tensor with at most two dimensions."""
    require_tensor(input, "t")
    if input.dim() > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.dim()}D")
    if input.dim() < 2:
        return make_view(input, step(views.Alias), (), "TBackward0")
    return _permuted(input, (1, 0), "TBackward0")


@composite(aliases=("moveaxis",))
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Dimensions moved to new places, the others keeping their order."""
    ndim = input.dim()
    froms = [errors.wrap_dim(d, ndim) for d in shape_arguments((source,))]
    tos = [errors.wrap_dim(d, ndim) for d in shape_arguments((destination,))]
    if len(froms) != len(tos):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({froms} dims) should contain "
            f"the same number of dims as destination ({tos} dims)"
        )
    rest = iter([d for d in range(ndim) if d not in froms])
    placed = dict(zip(tos, froms, strict=True))
    order = tuple(placed[d] if d in placed else next(rest) for d in range(ndim))
    return _permuted(input, order, "PermuteBackward0")


def _mT(self: Tensor) -> Tensor:
    """The last two dimensions swapped."""
    if self.dim() < 2:
        raise RuntimeError(
            f"tensor.mT is only supported on matrices or batches of matrices. Got "
            f"{self.dim()}-D tensor."
        )
    return self.transpose(-2, -1)


def _T(self: Tensor) -> Tensor:
    """All dimensions reversed."""
    return _permuted(self, tuple(reversed(range(self.dim()))), "PermuteBackward0")


def _H(self: Tensor) -> Tensor:
    """The conjugate transpose of a matrix."""
    if self.dim() not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {self.dim()}-D tensor."
        )
    return (self.transpose(0, 1) if self.dim() else self).conj()


Tensor.T = property(_T)  # type: ignore[attr-defined]
Tensor.mT = property(_mT)  # type: ignore[attr-defined]
Tensor.H = property(_H)  # type: ignore[attr-defined]
Tensor.mH = property(lambda self: _mT(self).conj())  # type: ignore[attr-defined]


@composite()
def adjoint(input: Tensor) -> Tensor:
    """The conjugate transpose of the last two dimensions."""
    return _mT(input).conj()


# -- dimensions of size 1 and repetition -----------------------------------------------------------


@composite()
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """A new dimension of size 1 at ``dim``."""
    require_tensor(input, "unsqueeze")
    size, stride, _ = input._geometry
    d = errors.wrap_dim(dim.__index__(), len(size) + 1)
    new = size[d] * stride[d] if d < len(size) else 1
    return _reshaped(
        input, (*size[:d], 1, *size[d:]), (*stride[:d], new, *stride[d:]), "UnsqueezeBackward0"
    )


@composite()
def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """Dimensions of size 1 removed (all, or those named that have size 1)."""
    require_tensor(input, "squeeze")
    size, stride, _ = input._geometry
    ndim = len(size)
    if dim is None:
        named = set(range(ndim))
    else:
        named = {errors.wrap_dim(d, ndim) for d in shape_arguments((dim,))}
    keep = [d for d in range(ndim) if not (d in named and size[d] == 1)]
    name = "SqueezeBackward0" if dim is None else "SqueezeBackward1"
    return _reshaped(input, tuple(size[d] for d in keep), tuple(stride[d] for d in keep), name)


@composite(namespaces=())
def expand(input: Tensor, *size: Any, implicit: Any = False) -> Tensor:
    """Dimensions of size 1 repeated without copying; -1 keeps a size."""
    wanted = shape_arguments(size)
    have = input._geometry.size
    new = len(wanted) - len(have)
    if new < 0:
        raise RuntimeError(
            f"expand({_type_name(input)}{list(have)}, size={list(wanted)}): the number of sizes "
            f"provided ({len(wanted)}) must be greater or equal to the number of dimensions in the "
            f"tensor ({len(have)})"
        )
    result = []
    for d, n in enumerate(wanted):
        old = have[d - new] if d >= new else None
        if n == -1:
            if old is None:
                raise RuntimeError(
                    f"expand({_type_name(input)}{list(have)}, size={list(wanted)}): the expanded "
                    f"size of the tensor ({n}) isn't allowed in a leading, non-existing dimension "
                    f"{d}"
                )
            n = old
        elif old not in (None, 1, n):
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({old}) at "
                f"non-singleton dimension {d}.  Target sizes: {list(wanted)}.  Tensor sizes: "
                f"{list(have)}"
            )
        result.append(n)
    return make_view(input, step(views.Expand, tuple(result)), (), "ExpandBackward0")


def _type_name(t: Tensor) -> str:
    return f"torch.{dtypes.scalar_type(t.dtype)}Tensor"


@composite(namespaces=())
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """``expand(other.size())``."""
    return input.expand(other.shape)


@composite()
def broadcast_to(input: Tensor, size: Any) -> Tensor:
    """``expand(size)``."""
    return input.expand(size)


# -- parts -----------------------------------------------------------------------------------------


@composite()
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """One index of a dimension; the dimension goes. IndexError when out of range."""
    require_tensor(input, "select")
    size = input._geometry.size
    if not size:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d = errors.wrap_dim(dim, len(size))
    i = index.__index__()
    if not -size[d] <= i < size[d]:
        raise IndexError(
            f"select(): index {i} out of range for tensor of size {list(size)} at dimension {d}"
        )
    return make_view(input, step(views.Select, d), (i % size[d],), "SelectBackward0")


def sliced(input: Tensor, dim: int, start: int, length: int, by: int, name: str,
           multiple: Any = False) -> Tensor:  # fmt: skip
    """A slice given by start, length and step."""
    kind = step(views.Slice, dim, length, by)
    return make_view(input, kind, (start,), name, multiple=multiple)


@composite()
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """``length`` indices of a dimension from ``start`` on."""
    require_tensor(input, "narrow")
    size = input._geometry.size
    if not size:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    d = errors.wrap_dim(dim, len(size))
    start, length = start.__index__(), length.__index__()
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -size[d] <= start <= size[d]:
        raise IndexError(
            f"start out of range (expected to be in range of [{-size[d]}, {size[d]}], but got "
            f"{start})"
        )
    start = start + size[d] if start < 0 else start
    if start + length > size[d]:
        raise RuntimeError(
            f"start ({start}) + length ({length}) exceeds dimension size ({size[d]})."
        )
    return sliced(input, d, start, length, 1, "SliceBackward0")


@composite()
def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of consecutive pieces: of one size, or of the sizes in a list."""
    require_tensor(tensor, "split")
    size = tensor._geometry.size
    d = errors.wrap_dim(dim, len(size))
    if isinstance(split_size_or_sections, (list, tuple)):
        sections = ints(split_size_or_sections)
        if sum(sections) != size[d]:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {size[d]} (input tensor's "
                f"size at dimension {d}), but got split_sizes={list(sections)}"
            )
        name = "SplitWithSizesBackward0"
    else:
        n = split_size_or_sections.__index__()
        if n < 0 or (n == 0 and size[d] != 0):
            raise RuntimeError(
                f"split expects split_size be non-negative, but got split_size={n}" if n < 0 else
                "split_size can only be 0 if dimension size is 0, but got dimension size of "
                f"{size[d]}"
            )  # fmt: skip
        count = max(-(-size[d] // n), 1) if n else 1
        sections = tuple(min(n, size[d] - i * n) for i in range(count)) if n else (0,)
        name = "SplitBackward0"
    pieces, start = [], 0
    for length in sections:
        pieces.append(sliced(tensor, d, start, length, 1, name, multiple=True))
        start += length
    return tuple(pieces)


@composite()
def split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """``split`` with a list of sizes."""
    return split(input, list(split_sizes), dim)


@composite()
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most ``chunks`` consecutive views of (nearly) equal size."""
    require_tensor(input, "chunk")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    n = input._geometry.size[errors.wrap_dim(dim, input.dim())]
    return split(input, max(-(-n // chunks), 1) if n else 0, dim)


@composite()
def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views cut at the given indices, or into sections whose sizes differ by at most one."""
    d = errors.wrap_dim(dim, input.dim())
    n = input._geometry.size[d]
    if isinstance(indices_or_sections, Tensor):
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
    """All indices of a dimension, each a view without it."""
    require_tensor(input, "unbind")
    size = input._geometry.size
    if not size:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    d = errors.wrap_dim(dim, len(size))
    kind = step(views.Select, d)
    return tuple(
        make_view(input, kind, (i,), "UnbindBackward0", multiple=True) for i in range(size[d])
    )


@composite()
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonal of two dimensions as a new last one."""
    require_tensor(input, "diagonal")
    ndim = input.dim()
    a, b = errors.wrap_dim(dim1, ndim), errors.wrap_dim(dim2, ndim)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return make_view(input, step(views.Diagonal, offset, a, b), (), "DiagonalBackward0")


@composite(name="unfold", namespaces=())
def unfold_op(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Sliding windows of ``size`` every ``step`` along a dimension, as a new last dimension."""
    shape = input._geometry.size
    d = errors.wrap_dim(dimension, len(shape))
    have = shape[d] if shape else 1
    if size < 0 or size > have:
        raise RuntimeError(f"maximum size for tensor at dimension {d} is {have} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    return make_view(input, views.step(views.Unfold, d, size, step), (), "UnfoldBackward0")


@composite()
def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A view of the storage's memory with any size, stride and offset.

    RuntimeError when it would reach beyond the storage.
    """
    new_size, new_stride = ints(size), ints(stride)
    if len(new_size) != len(new_stride):
        raise RuntimeError("mismatch in length of strides and shape")
    offset = input.storage_offset() if storage_offset is None else storage_offset
    reach = offset + sum((n - 1) * s for n, s in zip(new_size, new_stride, strict=True)) + 1
    storage, whole = input._storage, input._whole_geometry
    if storage.strides is not None and not views.is_dense(whole):
        raise NotImplementedError(
            "as_strided of a tensor on a NumPy array with gaps between its elements: clone() it "
            "first, or make the view in NumPy"
        )
    if math.prod(new_size) and reach > storage.size:
        raise RuntimeError(
            f"setStorage: sizes {list(new_size)}, strides {list(new_stride)}, storage offset "
            f"{offset}, and itemsize {input.itemsize} requiring a storage size of "
            f"{reach * input.itemsize} are out of bounds for storage of size {storage.nbytes}"
        )
    if input.dtype.numpy != storage.dtype:
        raise NotImplementedError(
            "as_strided of a tensor that is viewed as another dtype: clone() it first"
        )
    kind = step(
        views.AsStrided, new_size, new_stride, offset, views.dense_order(whole.size, whole.stride)
    )
    # The geometry speaks of the storage's memory, so the chain begins anew; the history is that of
    # the input, whose elements are found again by where they lie.
    t = make_view(input, step(views.Alias), (), "AsStridedBackward0")
    t._view = View((kind,), (), views.Geometry(new_size, new_stride, offset))
    if t._node is not None:
        again = step(views.AsStridedAgain, input._geometry, t._view.geometry)
        t._node = node_of_view(gradient_edge(input), input, (again,), (), "AsStridedBackward0")
    return t


# -- complex and aliases ---------------------------------------------------------------------------


@composite()
def view_as_real(input: Tensor) -> Tensor:
    """A complex tensor as real and imaginary parts in a new last dimension of size 2."""
    if not input.dtype.is_complex:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return make_view(input, step(views.ViewAsReal), (), "ViewAsRealBackward0")


@composite()
def view_as_complex(input: Tensor) -> Tensor:
    """A (..., 2) float tensor as complex numbers."""
    if input.dtype.is_complex or not input.dtype.is_floating_point:
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a "
            f"tensor of scalar type: {dtypes.scalar_type(input.dtype)}"
        )
    size, stride, _ = input._geometry
    if not size or size[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if stride[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(s % 2 for s in stride[:-1]):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    if input.storage_offset() % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")
    return make_view(input, step(views.ViewAsComplex), (), "ViewAsComplexBackward0")


@composite(method=False)
def real(input: Tensor) -> Tensor:
    """The real part (a view of a complex tensor; a real tensor itself)."""
    if not input.dtype.is_complex:
        return input
    return make_view(input, step(views.Real), (), "SelectBackward0")


@composite(method=False)
def imag(input: Tensor) -> Tensor:
    """The imaginary part, a view. RuntimeError for real tensors."""
    if not input.dtype.is_complex:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return make_view(input, step(views.Imag), (), "SelectBackward0")


Tensor.real = property(real)  # type: ignore[attr-defined]
Tensor.imag = property(imag)  # type: ignore[attr-defined]


@composite()
def conj(input: Tensor) -> Tensor:
    """The conjugate: a view of a complex tensor, a real tensor itself."""
    if not input.dtype.is_complex:
        return input
    return make_view(input, step(views.Conj), (), "ConjBackward0")


@composite()
def detach(input: Tensor) -> Tensor:
    """The same memory without autograd history."""
    require_tensor(input, "detach")
    found = input._alias()
    if modes.current.inference or input._inference:
        found._inference = True
    return found


@composite()
def detach_(input: Tensor) -> Tensor:
    """Drop the autograd history of this tensor. RuntimeError for views."""
    if input._base is not None:
        raise RuntimeError(
            "Can't detach views in-place. Use detach() instead. If you are using "
            "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as "
            "True, gradients are views of DDP buckets, and hence detach_() cannot be called on "
            "these gradients. To fix this error, please refer to the Optimizer.zero_grad() "
            "function in torch/optim/optimizer.py as a solution."
        )
    # Views made before keep their history, so the count of histories stays.
    input._node, input._output_nr, input._requires_grad = None, 0, False
    return input


def alias(input: Tensor) -> Tensor:
    """A differentiable view of the whole tensor."""
    return make_view(input, step(views.Alias), (), "AliasBackward0")


# -- in-place changes of geometry ------------------------------------------------------------------


def _become(t: Tensor, view_of_it: Tensor, name: str) -> Tensor:
    """Let ``t`` be the view: transpose_, squeeze_, unsqueeze_, t_ change geometry, not memory.

    Other views of ``t`` keep theirs; inplace.relative_steps finds the way from one to the other.
    """
    check_in_place(t)
    t._view = view_of_it._view
    node = view_of_it._node
    if node is not None and t._node is not None:
        move_retained(t._node, t._output_nr, node)
        node._name = name
        t._node, t._output_nr = node, 0
    return t


def _in_place_form(of: str, node_name: str) -> Any:
    def changed(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        # Without gradients the tensor stays what it was to autograd: only its geometry moves. A
        # recorded one is followed even under no_grad, or its gradient would have the old shape.
        previous = modes.current.grad_enabled
        modes.current.grad_enabled = previous or self.grad_fn is not None
        try:
            view = getattr(self, of)(*args, **kwargs)
        finally:
            modes.current.grad_enabled = previous
        return _become(self, view, node_name)

    changed.__name__ = f"{of}_"
    changed.__doc__ = f"``{of}`` in place: this tensor's geometry changes, its memory does not."
    return changed


for _name in ("transpose", "swapaxes", "swapdims", "t", "squeeze", "unsqueeze", "as_strided"):
    _camel = "".join(p.capitalize() for p in _name.split("_"))
    add_method(f"{_name}_", _in_place_form(_name, f"{_camel}Backward1"))
