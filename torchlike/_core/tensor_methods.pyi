# Made by `python -m tools.generate` from the registry. Do not edit.
from builtins import bool as _bool, bytes as _bytes, complex as _complex, dict as _dict, float as _float, int as _int, list as _list, object as _object, set as _set, str as _str, tuple as _tuple, type as _type
from torchlike._core.devices import device as _device
from torchlike._core.dtypes import dtype as _dtype
from torchlike._core.layouts import layout as _layout, memory_format as _memory_format
from torchlike._core.size import Size as _Size
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from torchlike.random import Generator as Generator
from torchlike.tensor import Tensor as Tensor

Number = _bool | _int | _float | _complex

class TensorMethods:

    def __hash__(self) -> _int: ...

    @property
    def H(self) -> Any: ...

    @property
    def T(self) -> Any: ...

    def __abs__(self) -> Tensor: ...

    def __add__(self, other: Any) -> Tensor: ...

    def __and__(self, other: Any) -> Tensor: ...

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: Any = False) -> Tensor:
        """Return the tensor for an array that a NumPy function made of a tensor's array. Bools become
uint8, as in PyTorch."""

    def __deepcopy__(self, memo: _dict[_int, Any]) -> Tensor: ...

    def __div__(self, other: Any) -> Tensor: ...

    def __eq__(self, other: Any) -> Tensor: ...  # type: ignore[override]

    def __floordiv__(self, other: Any) -> Tensor: ...

    def __format__(self, spec: _str) -> _str: ...

    def __ge__(self, other: Any) -> Tensor: ...

    def __getitem__(self, item: Any) -> Tensor:
        """Return ``x[item]``: a view for ints, slices, None and Ellipsis; a copy where index tensors
occur."""

    def __gt__(self, other: Any) -> Tensor: ...

    def __iadd__(self, other: Any) -> Tensor: ...

    def __iand__(self, other: Any) -> Tensor: ...

    def __idiv__(self, other: Any) -> Tensor: ...

    def __ifloordiv__(self, other: Any) -> Tensor: ...

    def __ilshift__(self, other: Any) -> Tensor: ...

    def __imod__(self, other: Any) -> Tensor: ...

    def __imul__(self, other: Any) -> Tensor: ...

    def __invert__(self) -> Tensor: ...

    def __ior__(self, other: Any) -> Tensor: ...

    def __ipow__(self, other: Any) -> Tensor: ...

    def __irshift__(self, other: Any) -> Tensor: ...

    def __isub__(self, other: Any) -> Tensor: ...

    def __itruediv__(self, other: Any) -> Tensor: ...

    def __ixor__(self, other: Any) -> Tensor: ...

    def __le__(self, other: Any) -> Tensor: ...

    def __long__(self) -> _int: ...

    def __lshift__(self, other: Any) -> Tensor: ...

    def __lt__(self, other: Any) -> Tensor: ...

    def __matmul__(self, other: Any) -> Tensor: ...

    def __mod__(self, other: Any) -> Tensor: ...

    def __mul__(self, other: Any) -> Tensor: ...

    def __ne__(self, other: Any) -> Tensor: ...  # type: ignore[override]

    def __neg__(self) -> Tensor: ...

    def __nonzero__(self) -> _bool: ...

    @property
    def __numpy_dtype__(self) -> Any: ...

    def __or__(self, other: Any) -> Tensor: ...

    def __pos__(self) -> Tensor: ...

    def __pow__(self, other: Any) -> Tensor: ...

    def __radd__(self, other: Any) -> Tensor: ...

    def __rand__(self, other: Any) -> Tensor: ...

    def __rdiv__(self, other: Any) -> Tensor:
        """Return ``other / self``."""

    def __repr__(self, *, tensor_contents: Any = None) -> _str: ...

    def __rfloordiv__(self, other: Any) -> Tensor: ...

    def __rlshift__(self, other: Any) -> Tensor: ...

    def __rmatmul__(self, other: Any) -> Tensor: ...

    def __rmod__(self, other: Any) -> Tensor: ...

    def __rmul__(self, other: Any) -> Tensor: ...

    def __ror__(self, other: Any) -> Tensor: ...

    def __rpow__(self, other: Any) -> Tensor: ...

    def __rrshift__(self, other: Any) -> Tensor: ...

    def __rshift__(self, other: Any) -> Tensor: ...

    def __rsub__(self, other: Any) -> Tensor: ...

    def __rtruediv__(self, other: Any) -> Tensor: ...

    def __rxor__(self, other: Any) -> Tensor: ...

    def __setitem__(self, item: Any, value: Any) -> None:
        """Assign ``x[item] = value``, broadcast and cast."""

    def __sub__(self, other: Any) -> Tensor: ...

    def __truediv__(self, other: Any) -> Tensor: ...

    def __xor__(self, other: Any) -> Tensor: ...

    def abs(self, *, out: Tensor | None = None) -> Tensor:
        """Return the absolute value elementwise; the modulus (real) of a complex tensor."""

    def abs_(self) -> Tensor:
        """Return the absolute value elementwise; the modulus (real) of a complex tensor."""

    def absolute(self, *, out: Tensor | None = None) -> Tensor:
        """Return the absolute value elementwise; the modulus (real) of a complex tensor."""

    def absolute_(self) -> Tensor:
        """Return the absolute value elementwise; the modulus (real) of a complex tensor."""

    def acos(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``acos`` elementwise; integers give the default float dtype."""

    def acos_(self) -> Tensor:
        """Return ``acos`` elementwise; integers give the default float dtype."""

    def acosh(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``acosh`` elementwise; integers give the default float dtype."""

    def acosh_(self) -> Tensor:
        """Return ``acosh`` elementwise; integers give the default float dtype."""

    def add(self, other: Tensor | Number, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
        """Return ``input + alpha * other``, broadcast and promoted."""

    def add_(self, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
        """Return ``input + alpha * other``, broadcast and promoted."""

    def addbmm(self, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
        """Return ``beta * input + alpha * (batch1 @ batch2).sum(0)``."""

    def addbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
        """Return ``beta * input + alpha * (batch1 @ batch2).sum(0)``."""

    def addcdiv(self, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1, out: Tensor | None = None) -> Tensor:
        """Return ``input + value * tensor1 / tensor2``. RuntimeError for integer division."""

    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1, out: Tensor | None = None) -> Tensor:
        """Return ``input + value * tensor1 / tensor2``. RuntimeError for integer division."""

    def addcmul(self, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1, out: Tensor | None = None) -> Tensor:
        """Return ``input + value * tensor1 * tensor2``."""

    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1, out: Tensor | None = None) -> Tensor:
        """Return ``input + value * tensor1 * tensor2``."""

    def addmm(self, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
        """Return ``beta * input + alpha * (mat1 @ mat2)``."""

    def addmm_(self, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
        """Return ``beta * input + alpha * (mat1 @ mat2)``."""

    def addmv(self, mat: Tensor, vec: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
        """Return ``beta * input + alpha * (mat @ vec)``."""

    def addmv_(self, mat: Tensor, vec: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
        """Return ``beta * input + alpha * (mat @ vec)``."""

    def addr(self, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
        """Return ``beta * input + alpha * outer(vec1, vec2)``."""

    def addr_(self, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
        """Return ``beta * input + alpha * outer(vec1, vec2)``."""

    def adjoint(self) -> Tensor:
        """Return the conjugate transpose of the last two dimensions."""

    def align_as(self, *args: Any, **kwargs: Any) -> Any:
        """Not supported: there are no named tensors. Use instead: dimensions by number, or unflatten and permute."""

    def align_to(self, *args: Any, **kwargs: Any) -> Any:
        """Not supported: there are no named tensors. Use instead: dimensions by number, or unflatten and permute."""

    def all(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """Return whether all elements are nonzero (uint8 for uint8); each by itself for ``dim=()``."""

    def allclose(self, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: Any = False) -> _bool:
        """Return whether ``|input - other| <= atol + rtol * |other|`` everywhere, as a Python bool."""

    def amax(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """Return the maximum over ``dim``; the gradient is shared evenly between ties."""

    def amin(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """Return the minimum over ``dim``; the gradient is shared evenly between ties."""

    def aminmax(self, *, dim: Any = None, keepdim: Any = False, out: Any = None) -> Any:
        """Return the minimum and the maximum, as a named pair."""

    def angle(self, *, out: Tensor | None = None) -> Tensor:
        """Return the argument of a complex number; 0 or pi for reals (0 for -0.0). No gradient at 0."""

    def any(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """Return whether any element is nonzero (uint8 for uint8); each by itself for ``dim=()``."""

    def apply_(self, callable: Any) -> Tensor:
        """Replace each element by ``callable(element)``, one Python call each."""

    def arccos(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``acos`` elementwise; integers give the default float dtype."""

    def arccos_(self) -> Tensor:
        """Return ``acos`` elementwise; integers give the default float dtype."""

    def arccosh(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``acosh`` elementwise; integers give the default float dtype."""

    def arccosh_(self) -> Tensor:
        """Return ``acosh`` elementwise; integers give the default float dtype."""

    def arcsin(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``asin`` elementwise; integers give the default float dtype."""

    def arcsin_(self) -> Tensor:
        """Return ``asin`` elementwise; integers give the default float dtype."""

    def arcsinh(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``asinh`` elementwise; integers give the default float dtype."""

    def arcsinh_(self) -> Tensor:
        """Return ``asinh`` elementwise; integers give the default float dtype."""

    def arctan(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``atan`` elementwise; integers give the default float dtype."""

    def arctan2(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Return ``atan2(input, other)`` elementwise, broadcast and promoted."""

    def arctan2_(self, other: Tensor) -> Tensor:
        """Return ``atan2(input, other)`` elementwise, broadcast and promoted."""

    def arctan_(self) -> Tensor:
        """Return ``atan`` elementwise; integers give the default float dtype."""

    def arctanh(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``atanh`` elementwise; integers give the default float dtype."""

    def arctanh_(self) -> Tensor:
        """Return ``atanh`` elementwise; integers give the default float dtype."""

    def argmax(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """Return the index of the maximum (first of ties; of the flattened tensor without ``dim``),
int64."""

    def argmin(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """Return the index of the minimum (first of ties; of the flattened tensor without ``dim``),
int64."""

    def argsort(self, dim: _int = -1, descending: _bool = False, *, stable: _bool = False, out: Any = None) -> Any:
        """Return the indices that sort, as ``argsort(input, dim=-1, descending=False, *,
stable=False)``."""

    def argwhere(self) -> Tensor:
        """Return the indices of the nonzero elements, as ``nonzero(input)``."""

    def as_strided(self, size: Any, stride: Any, storage_offset: _int | None = None) -> Tensor:
        """Return a view of the storage's memory with any size, stride and offset."""

    def as_strided_(self, *args: Any, **kwargs: Any) -> Tensor:
        """Apply ``as_strided`` in place: this tensor's geometry changes, its memory does not."""

    def as_strided_scatter(self, src: Tensor, size: Any, stride: Any, storage_offset: _int | None = None) -> Tensor:
        """Return a copy of ``input`` with ``src`` written where ``as_strided`` of these arguments
looks."""

    def as_subclass(self, cls: _type) -> Any:
        """Return the same tensor (memory and history) as an instance of a subclass."""

    def asin(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``asin`` elementwise; integers give the default float dtype."""

    def asin_(self) -> Tensor:
        """Return ``asin`` elementwise; integers give the default float dtype."""

    def asinh(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``asinh`` elementwise; integers give the default float dtype."""

    def asinh_(self) -> Tensor:
        """Return ``asinh`` elementwise; integers give the default float dtype."""

    def atan(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``atan`` elementwise; integers give the default float dtype."""

    def atan2(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Return ``atan2(input, other)`` elementwise, broadcast and promoted."""

    def atan2_(self, other: Tensor) -> Tensor:
        """Return ``atan2(input, other)`` elementwise, broadcast and promoted."""

    def atan_(self) -> Tensor:
        """Return ``atan`` elementwise; integers give the default float dtype."""

    def atanh(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``atanh`` elementwise; integers give the default float dtype."""

    def atanh_(self) -> Tensor:
        """Return ``atanh`` elementwise; integers give the default float dtype."""

    def backward(self, gradient: Any = None, retain_graph: Any = None, create_graph: Any = False, inputs: Any = None) -> None:
        """Accumulate this tensor's gradient into the leaves; see ``autograd.backward``."""

    def baddbmm(self, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
        """Return ``beta * input + alpha * (batch1 @ batch2)``."""

    def baddbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
        """Return ``beta * input + alpha * (batch1 @ batch2)``."""

    def bernoulli(self, p: Any = None, *, generator: Any = None, out: Any = None) -> Tensor:
        """Draw zeros and ones by the probabilities in ``input`` (or with one probability ``p``)."""

    def bernoulli_(self, p: Any = 0.5, *, generator: Any = None) -> Tensor:
        """Fill with ones of probability ``p`` (a number, or a tensor of probabilities) and zeros."""

    def bfloat16(self, memory_format: Any = None) -> Tensor:
        """Convert as ``to(torch.bfloat16)``."""

    def bincount(self, weights: Tensor | None = None, minlength: _int = 0) -> Tensor:
        """Return how often each value of a vector of non-negative integers occurs (or its summed
weights)."""

    def bitwise_and(self, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
        """Return ``bitwise_and`` of integers or bools."""

    def bitwise_and_(self, other: Any) -> Tensor:
        """Apply ``bitwise_and`` in place."""

    def bitwise_left_shift(self, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
        """Return ``bitwise_left_shift`` of integers or bools."""

    def bitwise_left_shift_(self, other: Any) -> Tensor:
        """Apply ``bitwise_left_shift`` in place."""

    def bitwise_not(self, *, out: Tensor | None = None) -> Tensor:
        """Invert the bits; logical not for bools."""

    def bitwise_not_(self) -> Tensor:
        """Invert the bits; logical not for bools."""

    def bitwise_or(self, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
        """Return ``bitwise_or`` of integers or bools."""

    def bitwise_or_(self, other: Any) -> Tensor:
        """Apply ``bitwise_or`` in place."""

    def bitwise_right_shift(self, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
        """Return ``bitwise_right_shift`` of integers or bools."""

    def bitwise_right_shift_(self, other: Any) -> Tensor:
        """Apply ``bitwise_right_shift`` in place."""

    def bitwise_xor(self, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
        """Return ``bitwise_xor`` of integers or bools."""

    def bitwise_xor_(self, other: Any) -> Tensor:
        """Apply ``bitwise_xor`` in place."""

    def bmm(self, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Return the product of two batches of matrices."""

    def bool(self, memory_format: Any = None) -> Tensor:
        """Convert as ``to(torch.bool)``."""

    def broadcast_to(self, size: Any) -> Tensor:
        """Expand to ``size``."""

    def byte(self, memory_format: Any = None) -> Tensor:
        """Convert as ``to(torch.uint8)``."""

    def cauchy_(self, *args: Any, generator: Any = None, **kw: Any) -> Tensor:
        """Fill with random numbers: cauchy of median, sigma."""

    def ccol_indices(self) -> Any:
        """RuntimeError: this tensor is of another layout than has ``ccol_indices``."""

    def cdouble(self, memory_format: Any = None) -> Tensor:
        """Convert as ``to(torch.complex128)``."""

    def ceil(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``ceil`` elementwise; integers stay as they are; the gradient is zero."""

    def ceil_(self) -> Tensor:
        """Return ``ceil`` elementwise; integers stay as they are; the gradient is zero."""

    def cfloat(self, memory_format: Any = None) -> Tensor:
        """Convert as ``to(torch.complex64)``."""

    def chalf(self, *args: Any, **kwargs: Any) -> Any:
        """Not supported: XLA has no 32-bit complex numbers. Use instead: torchlike.complex64."""

    def char(self, memory_format: Any = None) -> Tensor:
        """Convert as ``to(torch.int8)``."""

    def cholesky(self, upper: Any = False, *, out: Any = None) -> Tensor:
        """Compute ``linalg.cholesky``. RuntimeError where PyTorch 2.14 or later is followed."""

    def cholesky_inverse(self, upper: Any = False, *, out: Any = None) -> Tensor:
        """Return the inverse of a matrix from its Cholesky factor."""

    def cholesky_solve(self, input2: Tensor, upper: Any = False, *, out: Any = None) -> Tensor:
        """Return X with ``(L @ L.mH) @ X = input`` from the Cholesky factor L = ``input2``."""

    def chunk(self, chunks: _int, dim: _int = 0) -> _tuple[Tensor, ...]:
        """Return at most ``chunks`` consecutive views of (nearly) equal size."""

    def clamp(self, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
        """Limit values to ``[min, max]`` (numbers or tensors; either may be None)."""

    def clamp_(self, min: Any = None, max: Any = None) -> Tensor:
        """Limit values to ``[min, max]`` (numbers or tensors; either may be None)."""

    def clamp_max(self, max: Any, *, out: Tensor | None = None) -> Tensor:
        """Limit values from above: ``clamp(input, max=max)``."""

    def clamp_max_(self, max: Any) -> Tensor:
        """Limit values from above: ``clamp(input, max=max)``."""

    def clamp_min(self, min: Any, *, out: Tensor | None = None) -> Tensor:
        """Limit values from below: ``clamp(input, min=min)``."""

    def clamp_min_(self, min: Any) -> Tensor:
        """Limit values from below: ``clamp(input, min=min)``."""

    def clip(self, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
        """Limit values to ``[min, max]`` (numbers or tensors; either may be None)."""

    def clip_(self, min: Any = None, max: Any = None) -> Tensor:
        """Limit values to ``[min, max]`` (numbers or tensors; either may be None)."""

    def clone(self, *, memory_format: Any = ...) -> Tensor:
        """Return a copy with the same values and (by default) the same memory order."""

    def coalesce(self) -> Any:
        """RuntimeError: this tensor is of another layout than has ``coalesce``."""

    def col_indices(self) -> Any:
        """RuntimeError: this tensor is of another layout than has ``col_indices``."""

    def combinations(self, r: _int = 2, with_replacement: Any = False) -> Tensor:
        """Return all selections of ``r`` elements of a vector, as rows."""

    def conj(self) -> Tensor:
        """Return the conjugate: a view of a complex tensor, a real tensor itself."""

    def conj_physical(self, *, out: Tensor | None = None) -> Tensor:
        """Return the conjugate, computed rather than viewed."""

    def conj_physical_(self) -> Tensor:
        """Return the conjugate, computed rather than viewed."""

    def const_data_ptr(self) -> _int:
        """Return ``data_ptr()``: arrays are never written where they lie."""

    def contiguous(self, memory_format: Any = ...) -> Tensor:
        """Return the tensor itself if it is contiguous, else a row-major (or channels-last) copy."""

    def copy_(self, source: Any, non_blocking: _bool = False, *, expanded: _bool = False) -> Tensor:
        """Write ``source`` (a tensor or number, broadcast and cast) into ``target``; returns it."""

    def copysign(self, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
        """Return ``copysign(input, other)`` elementwise, broadcast and promoted."""

    def copysign_(self, other: Tensor | Number) -> Tensor:
        """Return ``copysign(input, other)`` elementwise, broadcast and promoted."""

    def corrcoef(self, *, out: Tensor | None = None) -> Tensor:
        """Return Pearson's correlation of variables in rows, observations in columns."""

    def cos(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``cos`` elementwise; integers give the default float dtype."""

    def cos_(self) -> Tensor:
        """Return ``cos`` elementwise; integers give the default float dtype."""

    def cosh(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``cosh`` elementwise; integers give the default float dtype."""

    def cosh_(self) -> Tensor:
        """Return ``cosh`` elementwise; integers give the default float dtype."""

    def count_nonzero(self, dim: _int | Sequence[_int] | None = None, *, out: Tensor | None = None) -> Tensor:
        """Return how many elements are nonzero, as int64."""

    def cov(self, *, correction: _int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
        """Return the covariance matrix of variables in rows, observations in columns."""

    def cpu(self, memory_format: Any = None) -> Tensor:
        """Return the tensor on the CPU, as ``to("cpu")`` does."""

    def cross(self, other: Tensor, dim: _int | None = None, *, out: Any = None) -> Tensor:
        """Return the cross product along ``dim`` (the first of size 3 by default)."""

    def crow_indices(self) -> Any:
        """RuntimeError: this tensor is of another layout than has ``crow_indices``."""

    def cuda(self, device: Any = None, non_blocking: Any = False) -> Tensor:
        """Return the tensor on the GPU, as ``to("cuda")`` does. RuntimeError naming JAX's backends when
there is no GPU."""

    def cummax(self, dim: _int, *, out: Sequence[Tensor] | None = None) -> Any:
        """Return the running maximum and its index (last of ties)."""

    def cummin(self, dim: _int, *, out: Sequence[Tensor] | None = None) -> Any:
        """Return the running minimum and its index (last of ties)."""

    def cumprod(self, dim: _int, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
        """Return the running product along ``dim``."""

    def cumprod_(self, dim: _int, *, dtype: _dtype | None = None) -> Tensor:
        """Return the running product along ``dim``."""

    def cumsum(self, dim: _int, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
        """Return the running sum along ``dim``."""

    def cumsum_(self, dim: _int, *, dtype: _dtype | None = None) -> Tensor:
        """Return the running sum along ``dim``."""

    def deg2rad(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``deg2rad`` elementwise; integers give the default float dtype."""

    def deg2rad_(self) -> Tensor:
        """Return ``deg2rad`` elementwise; integers give the default float dtype."""

    def dense_dim(self) -> _int:
        """Return the number of dense dimensions: all those of a dense tensor."""

    def dequantize(self, *args: Any, **kwargs: Any) -> Any:
        """Not supported: there are no quantized tensors. Use instead: a floating dtype of fewer bits, such as bfloat16."""

    def det(self, *, out: Tensor | None = None) -> Tensor:
        """Return the determinant of square matrices."""

    def detach(self) -> Tensor:
        """Return a tensor on the same memory without autograd history."""

    def detach_(self) -> Tensor:
        """Drop the autograd history of this tensor. RuntimeError for views."""

    def diag(self, diagonal: _int = 0, *, out: Any = None) -> Tensor:
        """Return the matrix with a vector as its diagonal; of a matrix, a copy of its diagonal."""

    def diag_embed(self, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
        """Place the last dimension on the ``offset`` diagonal of two new dimensions."""

    def diagflat(self, offset: _int = 0) -> Tensor:
        """Return the matrix with the flattened tensor as its diagonal."""

    def diagonal(self, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """Return a view of the diagonal of two dimensions as a new last one."""

    def diagonal_scatter(self, src: Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Tensor:
        """Return a copy of ``input`` in which its diagonal is ``src``."""

    def diff(self, n: _int = 1, dim: _int = -1, prepend: Tensor | None = None, append: Tensor | None = None, *, out: Any = None) -> Tensor:
        """Return the ``n``-th differences of neighbours along ``dim``, with ``prepend`` and ``append``
joined on first."""

    def digamma(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``digamma`` elementwise; integers give the default float dtype."""

    def digamma_(self) -> Tensor:
        """Return ``digamma`` elementwise; integers give the default float dtype."""

    def dim_order(self, *, ambiguity_check: Any = False) -> _tuple[_int, ...]:
        """Return the dimensions from the one that changes slowest in memory to the fastest."""

    def dist(self, other: Tensor, p: Number = 2, *, out: Tensor | None = None) -> Tensor:
        """Return the p-norm of ``input - other``."""

    def div(self, other: Any, *, rounding_mode: Any = None, out: Any = None) -> Tensor:
        """Return ``input / other``; with ``rounding_mode`` "trunc" or "floor", rounded,
and integers stay."""

    def div_(self, other: Any, *, rounding_mode: Any = None) -> Tensor:
        """Apply ``div`` in place."""

    def divide(self, other: Any, *, rounding_mode: Any = None, out: Any = None) -> Tensor:
        """Return ``input / other``; with ``rounding_mode`` "trunc" or "floor", rounded,
and integers stay."""

    def divide_(self, other: Any, *, rounding_mode: Any = None) -> Tensor:
        """Apply ``div`` in place."""

    def dot(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Return the inner product of two vectors."""

    def double(self, memory_format: Any = None) -> Tensor:
        """Convert as ``to(torch.float64)``."""

    def dsplit(self, indices_or_sections: Any) -> _tuple[Tensor, ...]:
        """Split as ``tensor_split`` along a fixed dimension, into equal sections."""

    def eig(self, *args: Any, **kwargs: Any) -> Any:
        """Raise RuntimeError naming ``linalg.eig``: removed from PyTorch."""

    def eq(self, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
        """Return ``eq`` elementwise; a bool tensor."""

    def eq_(self, other: Tensor | Number) -> Tensor:
        """Return ``eq`` elementwise; a bool tensor."""

    def equal(self, other: Tensor) -> _bool:
        """Return whether two tensors have the same size and elements, as a Python bool."""

    def erf(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``erf`` elementwise; integers give the default float dtype."""

    def erf_(self) -> Tensor:
        """Return ``erf`` elementwise; integers give the default float dtype."""

    def erfc(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``erfc`` elementwise; integers give the default float dtype."""

    def erfc_(self) -> Tensor:
        """Return ``erfc`` elementwise; integers give the default float dtype."""

    def erfinv(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``erfinv`` elementwise; integers give the default float dtype."""

    def erfinv_(self) -> Tensor:
        """Return ``erfinv`` elementwise; integers give the default float dtype."""

    def exp(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``exp`` elementwise; integers give the default float dtype."""

    def exp2(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``exp2`` elementwise; integers give the default float dtype."""

    def exp2_(self) -> Tensor:
        """Return ``exp2`` elementwise; integers give the default float dtype."""

    def exp_(self) -> Tensor:
        """Return ``exp`` elementwise; integers give the default float dtype."""

    def expand(self, *sizes: Any, size: Any = None, implicit: Any = False) -> Tensor:
        """Return a view with dimensions of size 1 repeated without copying; -1 keeps a size."""

    def expand_as(self, other: Tensor) -> Tensor:
        """Expand to ``other.size()``."""

    def expm1(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``expm1`` elementwise; integers give the default float dtype."""

    def expm1_(self) -> Tensor:
        """Return ``expm1`` elementwise; integers give the default float dtype."""

    def exponential_(self, *args: Any, generator: Any = None, **kw: Any) -> Tensor:
        """Fill with random numbers: exponential of lambd."""

    def fill(self, value: Any, *, out: Tensor | None = None) -> Tensor:
        """Return ``input`` with every element replaced by a number or 0-dim tensor."""

    def fill_(self, value: Any) -> Tensor:
        """Return ``input`` with every element replaced by a number or 0-dim tensor."""

    def fill_diagonal_(self, fill_value: Any, wrap: Any = False) -> Tensor:
        """Set the main diagonal of a matrix to ``fill_value``."""

    def fix(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``trunc`` elementwise; integers stay as they are; the gradient is zero."""

    def fix_(self) -> Tensor:
        """Return ``trunc`` elementwise; integers stay as they are; the gradient is zero."""

    def flatten(self, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
        """Join the dimensions ``start_dim..end_dim`` into one (a view where possible)."""

    def flip(self, *dims: Any, **kwargs: Any) -> Tensor:
        """Return a copy with the order reversed along ``dims``."""

    def fliplr(self) -> Tensor:
        """Return a copy with columns in reversed order."""

    def flipud(self) -> Tensor:
        """Return a copy with rows in reversed order."""

    def float(self, memory_format: Any = None) -> Tensor:
        """Convert as ``to(torch.float32)``."""

    def float_power(self, exponent: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
        """Return ``input ** exponent`` in double precision."""

    def float_power_(self, exponent: Any) -> Tensor:
        """Raise ``input`` to a power in place, as ``float_power``. RuntimeError unless ``input`` is
already of double precision."""

    def floor(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``floor`` elementwise; integers stay as they are; the gradient is zero."""

    def floor_(self) -> Tensor:
        """Return ``floor`` elementwise; integers stay as they are; the gradient is zero."""

    def floor_divide(self, other: Any, *, out: Any = None) -> Tensor:
        """Return the quotient rounded toward negative infinity."""

    def floor_divide_(self, other: Any) -> Tensor:
        """Apply ``floor_divide`` in place."""

    def fmax(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Return ``fmax(input, other)`` elementwise, broadcast and promoted."""

    def fmin(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Return ``fmin(input, other)`` elementwise, broadcast and promoted."""

    def fmod(self, other: Any, *, out: Any = None) -> Tensor:
        """Return the C remainder: the sign of the dividend."""

    def fmod_(self, other: Any) -> Tensor:
        """Apply ``fmod`` in place."""

    def frac(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``input - trunc(input)``."""

    def frac_(self) -> Tensor:
        """Return ``input - trunc(input)``."""

    def frexp(self, *, out: Any = None) -> Any:
        """Split ``input`` into ``mantissa * 2 ** exponent``, the mantissa's size in [0.5, 1): a named
pair."""

    def gather(self, dim: _int, index: Tensor, *, sparse_grad: _bool = False, out: Tensor | None = None) -> Tensor:
        """Gather values along a dimension: ``out[i][j] = input[index[i][j]][j]`` for ``dim`` 0."""

    def gcd(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Return ``gcd(input, other)`` elementwise, broadcast and promoted."""

    def gcd_(self, other: Tensor) -> Tensor:
        """Return ``gcd(input, other)`` elementwise, broadcast and promoted."""

    def ge(self, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
        """Return ``ge`` elementwise; a bool tensor."""

    def ge_(self, other: Tensor | Number) -> Tensor:
        """Return ``ge`` elementwise; a bool tensor."""

    def geometric_(self, *args: Any, generator: Any = None, **kw: Any) -> Tensor:
        """Fill with random numbers: geometric of p."""

    def geqrf(self, *, out: Any = None) -> Any:
        """Return the compact QR factorization: reflectors below the diagonal, R on and above it, and
tau."""

    def ger(self, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Return every product of an element of one vector with one of the other."""

    @property
    def grad_dtype(self) -> Any: ...

    def greater(self, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
        """Return ``gt`` elementwise; a bool tensor."""

    def greater_(self, other: Tensor | Number) -> Tensor:
        """Return ``gt`` elementwise; a bool tensor."""

    def greater_equal(self, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
        """Return ``ge`` elementwise; a bool tensor."""

    def greater_equal_(self, other: Tensor | Number) -> Tensor:
        """Return ``ge`` elementwise; a bool tensor."""

    def gt(self, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
        """Return ``gt`` elementwise; a bool tensor."""

    def gt_(self, other: Tensor | Number) -> Tensor:
        """Return ``gt`` elementwise; a bool tensor."""

    def half(self, memory_format: Any = None) -> Tensor:
        """Convert as ``to(torch.float16)``."""

    def hardshrink(self, lambd: _float = 0.5, *, out: Tensor | None = None) -> Tensor:
        """Return ``input`` where ``|input| > lambd``, else 0."""

    def hash_tensor(self, dim: Any = ..., *, keepdim: Any = False, mode: _int = 0, out: Any = None) -> Tensor:
        """Return a uint64 hash: the exclusive or of all elements, floats by the bits of their float64
value."""

    def heaviside(self, values: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Return 0 below zero, 1 above, ``values`` at zero. RuntimeError for operands of two dtypes."""

    def heaviside_(self, values: Tensor) -> Tensor:
        """Return 0 below zero, 1 above, ``values`` at zero. RuntimeError for operands of two dtypes."""

    def histc(self, bins: _int = 100, min: Number = 0, max: Number = 0, *, out: Tensor | None = None) -> Tensor:
        """Count how many elements fall into each of ``bins`` equal intervals from ``min`` to ``max``
(of the data when they are equal); the last includes its end, what is outside does not count."""

    def histogram(self, bins: Any = 100, *, range: Any = None, weight: Tensor | None = None, density: Any = False, out: Any = None) -> Any:
        """Return the counts (or summed weights, or a density) in ``bins`` equal intervals or between
given edges, and the edges: a named pair."""

    def hsplit(self, indices_or_sections: Any) -> _tuple[Tensor, ...]:
        """Split as ``tensor_split`` along a fixed dimension, into equal sections."""

    def hypot(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Return ``hypot(input, other)`` elementwise, broadcast and promoted."""

    def hypot_(self, other: Tensor) -> Tensor:
        """Return ``hypot(input, other)`` elementwise, broadcast and promoted."""

    def i0(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``i0`` elementwise; integers give the default float dtype."""

    def i0_(self) -> Tensor:
        """Return ``i0`` elementwise; integers give the default float dtype."""

    def igamma(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Return ``igamma(input, other)`` elementwise, broadcast and promoted."""

    def igamma_(self, other: Tensor) -> Tensor:
        """Return ``igamma(input, other)`` elementwise, broadcast and promoted."""

    def igammac(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Return ``igammac(input, other)`` elementwise, broadcast and promoted."""

    def igammac_(self, other: Tensor) -> Tensor:
        """Return ``igammac(input, other)`` elementwise, broadcast and promoted."""

    @property
    def imag(self) -> Any: ...

    def index_add(self, dim: _int, index: Tensor, source: Tensor, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
        """Add ``alpha * source`` to the slices of a dimension at the positions in a vector."""

    def index_add_(self, dim: _int, index: Tensor, source: Tensor, *, alpha: Number = 1) -> Tensor:
        """Add ``alpha * source`` to the slices of a dimension at the positions in a vector."""

    def index_copy(self, dim: _int, index: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Write ``source`` over the slices of a dimension at the positions in a vector."""

    def index_copy_(self, dim: _int, index: Tensor, source: Tensor) -> Tensor:
        """Write ``source`` over the slices of a dimension at the positions in a vector."""

    def index_fill(self, dim: _int, index: Tensor, value: Any, *, out: Tensor | None = None) -> Tensor:
        """Write a number over the slices of a dimension at the positions in a vector."""

    def index_fill_(self, dim: _int, index: Tensor, value: Any) -> Tensor:
        """Write a number over the slices of a dimension at the positions in a vector."""

    def index_put(self, indices: Any, values: Tensor, accumulate: Any = False) -> Tensor:
        """Return a copy of ``input`` with ``values`` written (or added) at index tensors."""

    def index_put_(self, indices: Any, values: Tensor, accumulate: Any = False) -> Tensor:
        """Write (or add) ``values`` at index tensors, in place."""

    def index_reduce(self, dim: _int, index: Tensor, source: Tensor, reduce: _str, *, include_self: _bool = True, out: Tensor | None = None) -> Tensor:
        """Combine slices of ``source`` into a dimension by "prod", "mean", "amax" or "amin"."""

    def index_reduce_(self, dim: _int, index: Tensor, source: Tensor, reduce: _str, *, include_self: _bool = True) -> Tensor:
        """Combine slices of ``source`` into a dimension by "prod", "mean", "amax" or "amin"."""

    def index_select(self, dim: _int, index: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Return the slices of a dimension at the positions in a vector. Out of range: IndexError for
the first dimension, RuntimeError for others."""

    def indices(self) -> Any:
        """RuntimeError: this tensor is of another layout than has ``indices``."""

    def inner(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Return the products summed over the last dimensions."""

    def int(self, memory_format: Any = None) -> Tensor:
        """Convert as ``to(torch.int32)``."""

    def int_repr(self, *args: Any, **kwargs: Any) -> Any:
        """Not supported: there are no quantized tensors. Use instead: a floating dtype of fewer bits, such as bfloat16."""

    def inverse(self, *, out: Any = None) -> Tensor:
        """Compute ``linalg.inv``."""

    def ipu(self, device: Any = None, non_blocking: Any = False) -> Tensor:
        """Raise RuntimeError: there are no such devices."""

    def is_coalesced(self) -> _bool:
        """Raise RuntimeError: only sparse tensors can be coalesced."""

    def is_conj(self) -> _bool:
        """Return whether a tensor is a conjugated view (conjugation not carried out in memory)."""

    def is_distributed(self) -> _bool:
        """Return False: a tensor lives in one process."""

    def is_neg(self) -> _bool:
        """Return whether a tensor is a negated view (``x.conj().imag``)."""

    def is_nonzero(self) -> _bool:
        """Return whether a tensor of one element is not zero. RuntimeError for any other size."""

    def is_pinned(self, device: Any = None) -> _bool:
        """Return False: JAX manages transfers, there is no pinned memory."""

    def is_same_size(self, other: Tensor) -> _bool:
        """Return whether two tensors have the same size."""

    def is_set_to(self, tensor: Tensor) -> _bool:
        """Return whether both tensors lie at the same place of one memory, with one shape and one set
of strides."""

    def is_shared(self) -> _bool:
        """Return whether the memory is shared with other processes, or would be with those that the
tensor is sent to. True on accelerators, as in PyTorch. NotImplementedError for a sparse
tensor."""

    def isclose(self, other: Tensor, rtol: Number = 1e-05, atol: Number = 1e-08, equal_nan: Tensor | Number = False, *, out: Tensor | None = None) -> Tensor:
        """Return whether ``|input - other| <= atol + rtol * |other|``."""

    def isfinite(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``isfinite`` elementwise; a bool tensor."""

    def isinf(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``isinf`` elementwise; a bool tensor."""

    def isnan(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``isnan`` elementwise; a bool tensor."""

    def isneginf(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``isneginf`` elementwise; a bool tensor."""

    def isposinf(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``isposinf`` elementwise; a bool tensor."""

    def isreal(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``isreal`` elementwise; a bool tensor."""

    def istft(self, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: Any = True, normalized: Any = False, onesided: Any = None, length: _int | None = None, return_complex: Any = False) -> Tensor:
        """Return the inverse of ``stft``: (…, frequency, frame) to (…, time)."""

    def kron(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Return the Kronecker product."""

    def kthvalue(self, k: _int, dim: _int = -1, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None) -> Any:
        """Return the ``k``-th smallest value along a dimension (k counts from 1), and its index."""

    def lcm(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Return ``lcm(input, other)`` elementwise, broadcast and promoted."""

    def lcm_(self, other: Tensor) -> Tensor:
        """Return ``lcm(input, other)`` elementwise, broadcast and promoted."""

    def ldexp(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Return ``input * 2 ** other``: of integer exponents exactly, in the dtype of ``input``;
integers give the default float dtype."""

    def ldexp_(self, other: Tensor) -> Tensor:
        """Return ``input * 2 ** other``: of integer exponents exactly, in the dtype of ``input``;
integers give the default float dtype."""

    def le(self, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
        """Return ``le`` elementwise; a bool tensor."""

    def le_(self, other: Tensor | Number) -> Tensor:
        """Return ``le`` elementwise; a bool tensor."""

    def lerp(self, end: Tensor, weight: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
        """Return ``input + weight * (end - input)``, computed from the nearer end as PyTorch does."""

    def lerp_(self, end: Tensor, weight: Tensor | Number) -> Tensor:
        """Return ``input + weight * (end - input)``, computed from the nearer end as PyTorch does."""

    def less(self, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
        """Return ``lt`` elementwise; a bool tensor."""

    def less_(self, other: Tensor | Number) -> Tensor:
        """Return ``lt`` elementwise; a bool tensor."""

    def less_equal(self, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
        """Return ``le`` elementwise; a bool tensor."""

    def less_equal_(self, other: Tensor | Number) -> Tensor:
        """Return ``le`` elementwise; a bool tensor."""

    def lgamma(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``lgamma`` elementwise; integers give the default float dtype."""

    def lgamma_(self) -> Tensor:
        """Return ``lgamma`` elementwise; integers give the default float dtype."""

    def log(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``log`` elementwise; integers give the default float dtype."""

    def log10(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``log10`` elementwise; integers give the default float dtype."""

    def log10_(self) -> Tensor:
        """Return ``log10`` elementwise; integers give the default float dtype."""

    def log1p(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``log1p`` elementwise; integers give the default float dtype."""

    def log1p_(self) -> Tensor:
        """Return ``log1p`` elementwise; integers give the default float dtype."""

    def log2(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``log2`` elementwise; integers give the default float dtype."""

    def log2_(self) -> Tensor:
        """Return ``log2`` elementwise; integers give the default float dtype."""

    def log_(self) -> Tensor:
        """Return ``log`` elementwise; integers give the default float dtype."""

    def log_normal_(self, *args: Any, generator: Any = None, **kw: Any) -> Tensor:
        """Fill with random numbers: log_normal of mean, std."""

    def log_softmax(self, dim: _int, dtype: Any = None, *, out: Any = None) -> Tensor:
        """Return ``log(softmax(input, dim))``, without overflow."""

    def logaddexp(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Return ``logaddexp(input, other)`` elementwise, broadcast and promoted."""

    def logaddexp2(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Return ``logaddexp2(input, other)`` elementwise, broadcast and promoted."""

    def logcumsumexp(self, dim: _int, *, out: Tensor | None = None) -> Tensor:
        """Return the running log-sum-exp along ``dim``."""

    def logdet(self, *, out: Tensor | None = None) -> Tensor:
        """Return the logarithm of the determinant; NaN where it is negative."""

    def logical_and(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Return ``logical_and`` elementwise; a bool tensor."""

    def logical_and_(self, other: Tensor) -> Tensor:
        """Return ``logical_and`` elementwise; a bool tensor."""

    def logical_not(self, *, out: Tensor | None = None) -> Tensor:
        """True where ``input`` is zero."""

    def logical_not_(self) -> Tensor:
        """True where ``input`` is zero."""

    def logical_or(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Return ``logical_or`` elementwise; a bool tensor."""

    def logical_or_(self, other: Tensor) -> Tensor:
        """Return ``logical_or`` elementwise; a bool tensor."""

    def logical_xor(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Return ``logical_xor`` elementwise; a bool tensor."""

    def logical_xor_(self, other: Tensor) -> Tensor:
        """Return ``logical_xor`` elementwise; a bool tensor."""

    def logit(self, eps: Tensor | Number | None = None, *, out: Tensor | None = None) -> Tensor:
        """Return ``log(x / (1 - x))``, with x clamped to ``[eps, 1 - eps]`` when eps is given."""

    def logit_(self, eps: Tensor | Number | None = None) -> Tensor:
        """Return ``log(x / (1 - x))``, with x clamped to ``[eps, 1 - eps]`` when eps is given."""

    def logsumexp(self, dim: _int | Sequence[_int] | None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """Return ``log(sum(exp(input)))`` over ``dim``, without overflow."""

    def long(self, memory_format: Any = None) -> Tensor:
        """Convert as ``to(torch.int64)``."""

    def lstsq(self, *args: Any, **kwargs: Any) -> Any:
        """Raise RuntimeError naming ``linalg.lstsq``: removed from PyTorch."""

    def lt(self, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
        """Return ``lt`` elementwise; a bool tensor."""

    def lt_(self, other: Tensor | Number) -> Tensor:
        """Return ``lt`` elementwise; a bool tensor."""

    def lu(self, pivot: Any = True, get_infos: Any = False, out: Any = None) -> Any:
        """Return the compact LU factorization and pivots (and info codes): a tuple."""

    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor, *, out: Any = None) -> Tensor:
        """Compute ``linalg.lu_solve``."""

    @property
    def mH(self) -> Any: ...

    @property
    def mT(self) -> Any: ...

    def map2_(self, x: Tensor, y: Tensor, callable: Any) -> Tensor:
        """Replace each element by ``callable(element, element of x, element of y)``."""

    def map_(self, tensor: Tensor, callable: Any) -> Tensor:
        """Replace each element by ``callable(element, element of tensor)``."""

    def masked_fill(self, mask: Tensor, value: Any, *, out: Tensor | None = None) -> Tensor:
        """Return ``input`` with ``value`` (a number or 0-dim tensor) where ``mask`` is True."""

    def masked_fill_(self, mask: Tensor, value: Any) -> Tensor:
        """Return ``input`` with ``value`` (a number or 0-dim tensor) where ``mask`` is True."""

    def masked_scatter(self, mask: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Return ``input`` with the elements of ``source``, in order, where ``mask`` is True."""

    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Tensor:
        """Return ``input`` with the elements of ``source``, in order, where ``mask`` is True."""

    def masked_select(self, mask: Tensor, *, out: Any = None) -> Tensor:
        """Return the elements where ``mask`` (bool, broadcast) is True, as a vector."""

    def matmul(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Return the matrix product; batches broadcast, vectors are promoted to matrices and back."""

    def matrix_exp(self, *, out: Tensor | None = None) -> Tensor:
        """Return the matrix exponential of square matrices; in float32 for 16-bit ones."""

    def matrix_power(self, n: _int, *, out: Any = None) -> Tensor:
        """Return the ``n``-th power of square matrices; a negative n inverts."""

    def max(self, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        """Return the maximum of all elements; with ``dim``, values and indices
there; with another tensor, elementwise."""

    def maximum(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Return ``maximum(input, other)`` elementwise, broadcast and promoted."""

    def mean(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
        """Return the mean over ``dim``. RuntimeError for integers unless a float ``dtype`` is given."""

    def median(self, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        """Return the median (the lower of two) of all elements; with ``dim``, values and indices along it."""

    def min(self, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        """Return the minimum of all elements; with ``dim``, values and indices
there; with another tensor, elementwise."""

    def minimum(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Return ``minimum(input, other)`` elementwise, broadcast and promoted."""

    def mm(self, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Return the product of two matrices."""

    def mode(self, dim: _int = -1, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None) -> Any:
        """Return the most frequent value along a dimension (the smallest of several), and the index
where it last is."""

    def module_load(self, other: Tensor, assign: Any = False) -> Tensor:
        """Return the tensor that takes the place of a module's when ``other`` is loaded into it, where
``torch.__future__.set_swap_module_params_on_conversion(True)`` holds; subclasses may override
it."""

    def moveaxis(self, source: Any, destination: Any) -> Tensor:
        """Return a view with dimensions moved to new places, the others keeping their order."""

    def movedim(self, source: Any, destination: Any) -> Tensor:
        """Return a view with dimensions moved to new places, the others keeping their order."""

    def msort(self, *, out: Any = None) -> Tensor:
        """Return the values in order along the first dimension."""

    def mtia(self, device: Any = None, non_blocking: Any = False) -> Tensor:
        """Raise AssertionError: there are no such devices."""

    def mul(self, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
        """Return ``input * other``, broadcast and promoted."""

    def mul_(self, other: Tensor | Number) -> Tensor:
        """Return ``input * other``, broadcast and promoted."""

    def multinomial(self, num_samples: _int, replacement: Any = False, *, generator: Any = None, out: Any = None) -> Tensor:
        """Draw indices by the weights in each row. input: (n,) or (rows, n) -> (num_samples,) or (rows,
num_samples), int64."""

    def multiply(self, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
        """Return ``input * other``, broadcast and promoted."""

    def multiply_(self, other: Tensor | Number) -> Tensor:
        """Return ``input * other``, broadcast and promoted."""

    def mv(self, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Return the product of a matrix and a vector."""

    def mvlgamma(self, p: _int, *, out: Tensor | None = None) -> Tensor:
        """Return the logarithm of the multivariate gamma function of dimension ``p``."""

    def mvlgamma_(self, p: _int) -> Tensor:
        """Return the logarithm of the multivariate gamma function of dimension ``p``."""

    @property
    def name(self) -> Any: ...

    def nan_to_num(self, nan: Tensor | Number | None = None, posinf: Tensor | Number | None = None, neginf: Tensor | Number | None = None, *, out: Tensor | None = None) -> Tensor:
        """Replace NaN and infinities (by 0 and the dtype's limits unless given)."""

    def nan_to_num_(self, nan: Tensor | Number | None = None, posinf: Tensor | Number | None = None, neginf: Tensor | Number | None = None) -> Tensor:
        """Replace NaN and infinities (by 0 and the dtype's limits unless given)."""

    def nanmean(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
        """Return the mean of the elements that are not NaN. RuntimeError for integers unless a float
``dtype`` is given."""

    def nanmedian(self, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        """Return the nanmedian (the lower of two) of all elements; with ``dim``, values and indices along it."""

    def nanquantile(self, q: Any, dim: _int | None = None, keepdim: Any = False, *, interpolation: _str = 'linear', out: Any = None) -> Tensor:
        """Return the ``q``-th nanquantiles (a number, or a vector: the result's
first dimension) along ``dim``, or of all elements. RuntimeError unless every q is in [0, 1]."""

    def nansum(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
        """Return the sum over ``dim`` with NaN taken as zero."""

    def narrow(self, dim: _int, start: Any, length: _int) -> Tensor:
        """Return a view of ``length`` indices of a dimension from ``start`` on."""

    def narrow_copy(self, dim: _int, start: Any, length: _int, *, out: Any = None) -> Tensor:
        """Apply ``narrow`` to make a tensor of its own (contiguous), not a view."""

    def ndimension(self) -> _int:
        """Return the number of dimensions."""

    def ne(self, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
        """Return ``ne`` elementwise; a bool tensor."""

    def ne_(self, other: Tensor | Number) -> Tensor:
        """Return ``ne`` elementwise; a bool tensor."""

    def neg(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``-input``. RuntimeError for bool tensors."""

    def neg_(self) -> Tensor:
        """Return ``-input``. RuntimeError for bool tensors."""

    def negative(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``-input``. RuntimeError for bool tensors."""

    def negative_(self) -> Tensor:
        """Return ``-input``. RuntimeError for bool tensors."""

    def nelement(self) -> _int:
        """Return the number of elements."""

    def new(self, *args: Any, device: Any = None) -> Tensor:
        """Return a tensor of this tensor's dtype: ``new(2, 3)`` (a size) or ``new([1, 2])`` (data), and
with ``new(tensor)`` or ``new(storage)`` another tensor on that one's memory; use new_empty,
new_tensor."""

    def new_empty(self, *size: Any, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: Any = False, pin_memory: Any = False, **kw: Any) -> Tensor:
        """Return ``empty`` with this tensor's dtype and device."""

    def new_empty_strided(self, size: Any, stride: Any, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = False, requires_grad: Any = False) -> Tensor:
        """Return a tensor as ``empty_strided`` makes it, with this tensor's dtype and device."""

    def new_full(self, *size: Any, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: Any = False, pin_memory: Any = False, **kw: Any) -> Tensor:
        """Return ``full`` with this tensor's dtype and device."""

    def new_ones(self, *size: Any, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: Any = False, pin_memory: Any = False, **kw: Any) -> Tensor:
        """Return ``ones`` with this tensor's dtype and device."""

    def new_tensor(self, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: Any = False, layout: Any = None, pin_memory: Any = False) -> Tensor:
        """Return ``torch.tensor(data)`` with this tensor's dtype and device."""

    def new_zeros(self, *size: Any, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: Any = False, pin_memory: Any = False, **kw: Any) -> Tensor:
        """Return ``zeros`` with this tensor's dtype and device."""

    def nextafter(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Return ``nextafter(input, other)`` elementwise, broadcast and promoted."""

    def nextafter_(self, other: Tensor) -> Tensor:
        """Return ``nextafter(input, other)`` elementwise, broadcast and promoted."""

    def nonzero(self, *, out: Any = None, as_tuple: Any = False) -> Any:
        """Return the indices of the nonzero elements: rows of an (n, ndim) int64 tensor, or a tuple of
columns."""

    def nonzero_static(self, *, size: _int, fill_value: _int = -1, out: Any = None) -> Tensor:
        """Return the indices of ``size`` elements that are not zero, one a row, the rest
``fill_value``."""

    def norm(self, p: Any = 'fro', dim: Any = None, keepdim: Any = False, out: Any = None, dtype: Any = None) -> Tensor:
        """Return the p-norm of all elements or of vectors over ``dim`` ("fro" is 2), or "nuc" of
matrices."""

    def normal_(self, mean: _float = 0.0, std: _float = 1.0, *, generator: Any = None) -> Tensor:
        """Fill with normal numbers. RuntimeError when std is negative."""

    def not_equal(self, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
        """Return ``ne`` elementwise; a bool tensor."""

    def not_equal_(self, other: Tensor | Number) -> Tensor:
        """Return ``ne`` elementwise; a bool tensor."""

    def orgqr(self, input2: Tensor, *, out: Any = None) -> Tensor:
        """Compute ``linalg.householder_product``."""

    def ormqr(self, tau: Tensor, other: Tensor, left: Any = True, transpose: Any = False, *, out: Any = None) -> Tensor:
        """Return Q @ other (other @ Q unless ``left``; the adjoint of Q if ``transpose``), Q given by
the reflectors and factors of ``geqrf``. RuntimeError for shapes and dtypes that do not fit."""

    def outer(self, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Return every product of an element of one vector with one of the other."""

    def permute(self, *dims: Any, **kwargs: Any) -> Tensor:
        """Return a view with the dimensions in the given order."""

    def pin_memory(self, device: Any = None) -> Tensor:
        """Return the tensor itself: JAX manages transfers. RuntimeError for one that is not on the
CPU."""

    def pinverse(self, rcond: _float = 1e-15) -> Tensor:
        """Compute ``linalg.pinv`` with ``rtol=rcond``."""

    def polygamma(self, n: _int) -> Tensor:
        """Return the ``n``-th derivative of digamma."""

    def polygamma_(self, n: _int) -> Tensor:
        """Replace the tensor by its ``n``-th derivative of digamma, in place."""

    def positive(self) -> Tensor:
        """Return ``input`` itself. RuntimeError for bool tensors."""

    def pow(self, exponent: Any, *, out: Any = None) -> Tensor:
        """Return ``input ** exponent``, broadcast and promoted."""

    def pow_(self, exponent: Any) -> Tensor:
        """Raise ``input`` to a power in place."""

    def prelu(self, weight: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Return ``input`` where positive, else ``weight * input``; one weight, or one for each
channel."""

    def prod(self, dim: _int | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
        """Return the product along one ``dim``, or of all elements."""

    def put(self, index: Tensor, source: Tensor, accumulate: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """Write (or add) ``source`` at positions of the flattened tensor; negative ones wrap."""

    def put_(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """Write (or add) ``source`` at positions of the flattened tensor; negative ones wrap."""

    def q_per_channel_axis(self, *args: Any, **kwargs: Any) -> Any:
        """Not supported: there are no quantized tensors. Use instead: a floating dtype of fewer bits, such as bfloat16."""

    def q_per_channel_scales(self, *args: Any, **kwargs: Any) -> Any:
        """Not supported: there are no quantized tensors. Use instead: a floating dtype of fewer bits, such as bfloat16."""

    def q_per_channel_zero_points(self, *args: Any, **kwargs: Any) -> Any:
        """Not supported: there are no quantized tensors. Use instead: a floating dtype of fewer bits, such as bfloat16."""

    def q_scale(self, *args: Any, **kwargs: Any) -> Any:
        """Not supported: there are no quantized tensors. Use instead: a floating dtype of fewer bits, such as bfloat16."""

    def q_zero_point(self, *args: Any, **kwargs: Any) -> Any:
        """Not supported: there are no quantized tensors. Use instead: a floating dtype of fewer bits, such as bfloat16."""

    def qr(self, some: Any = True, *, out: Any = None) -> Any:
        """Compute ``linalg.qr``: reduced if ``some``, else complete. RuntimeError where PyTorch 2.14 or
later is followed."""

    def qscheme(self, *args: Any, **kwargs: Any) -> Any:
        """Not supported: there are no quantized tensors. Use instead: a floating dtype of fewer bits, such as bfloat16."""

    def quantile(self, q: Any, dim: _int | None = None, keepdim: Any = False, *, interpolation: _str = 'linear', out: Any = None) -> Tensor:
        """Return the ``q``-th quantiles (a number, or a vector: the result's
first dimension) along ``dim``, or of all elements. RuntimeError unless every q is in [0, 1]."""

    def rad2deg(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``rad2deg`` elementwise; integers give the default float dtype."""

    def rad2deg_(self) -> Tensor:
        """Return ``rad2deg`` elementwise; integers give the default float dtype."""

    def random_(self, *args: Any, generator: Any = None, **kw: Any) -> Tensor:
        """Fill with integers: ``random_(from, to)`` of ``[from, to)`` (to None: up to the largest),
``random_(to)`` of ``[0, to)``, ``random_()`` over the dtype's exact range."""

    def ravel(self) -> Tensor:
        """Flatten to one dimension, row-major: a view of a contiguous tensor, else of a copy."""

    @property
    def real(self) -> Any: ...

    def reciprocal(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``reciprocal`` elementwise; integers give the default float dtype."""

    def reciprocal_(self) -> Tensor:
        """Return ``reciprocal`` elementwise; integers give the default float dtype."""

    def record_stream(self, stream: Any) -> None:
        """Do nothing: XLA orders work on a device by itself."""

    def refine_names(self, *args: Any, **kwargs: Any) -> Any:
        """Not supported: there are no named tensors. Use instead: dimensions by number, or unflatten and permute."""

    def register_hook(self, hook: Any) -> Any:
        """Call ``hook(grad)`` when this tensor's gradient is computed; its result replaces it."""

    def register_post_accumulate_grad_hook(self, hook: Any) -> Any:
        """Call ``hook(leaf)`` after a gradient was added to the leaf's ``.grad``."""

    def reinforce(self, reward: Any) -> None:
        """Raise RuntimeError: the method was removed; ``torch.distributions`` has ``log_prob``."""

    def relu(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``max(input, 0)``. RuntimeError for bool tensors."""

    def relu_(self) -> Tensor:
        """Return ``max(input, 0)``. RuntimeError for bool tensors."""

    def remainder(self, other: Any, *, out: Any = None) -> Tensor:
        """Return ``input - floor(input / other) * other``: the sign of the divisor, as Python's ``%``."""

    def remainder_(self, other: Any) -> Tensor:
        """Apply ``remainder`` in place."""

    def rename(self, *args: Any, **kwargs: Any) -> Any:
        """Not supported: there are no named tensors. Use instead: dimensions by number, or unflatten and permute."""

    def rename_(self, *args: Any, **kwargs: Any) -> Any:
        """Not supported: there are no named tensors. Use instead: dimensions by number, or unflatten and permute."""

    def renorm(self, p: Number, dim: _int, maxnorm: Number, *, out: Tensor | None = None) -> Tensor:
        """Scale each slice along ``dim`` down to p-norm ``maxnorm`` where it is larger."""

    def renorm_(self, p: Number, dim: _int, maxnorm: Number) -> Tensor:
        """Scale each slice along ``dim`` down to p-norm ``maxnorm`` where it is larger."""

    def repeat(self, repeats: _int | Sequence[_int], *, out: Tensor | None = None) -> Tensor:
        """Return the tensor copied ``repeats[d]`` times along each dimension; extra ones are
prepended."""

    def repeat_interleave(self, repeats: Any = None, dim: _int | None = None, *, output_size: _int | None = None) -> Tensor:
        """Repeat each element (of the flattened tensor, or slice along ``dim``) in a row."""

    def reshape(self, *shape: Any, **kwargs: Any) -> Tensor:
        """Return a view where strides allow one, else a copy in the new shape."""

    def reshape_as(self, other: Tensor) -> Tensor:
        """Reshape to ``other.size()``."""

    def resize(self, *sizes: Any) -> Tensor:
        """Return a view of as many elements in another size (deprecated in PyTorch; use reshape)."""

    def resize_(self, *sizes: Any, size: Any = None, memory_format: Any = None) -> Tensor:
        """Change the size in place; elements stay where they lie in memory, new memory is as ``empty``
has it."""

    def resize_as(self, tensor: Tensor) -> Tensor:
        """Return a view of as many elements in another tensor's size (use ``reshape_as``). RuntimeError
for another number of elements."""

    def resize_as_(self, other: Tensor, memory_format: Any = None) -> Tensor:
        """Resize to ``other.size()``; with ``preserve_format`` in the memory order of ``other``."""

    def resize_as_sparse_(self, *args: Any, **kwargs: Any) -> Any:
        """Raise NotImplementedError: the tensor is not sparse."""

    def resolve_conj(self) -> Tensor:
        """Return the tensor with a lazy conjugation carried out."""

    def resolve_neg(self) -> Tensor:
        """Return the tensor with a lazy negation carried out."""

    def retain_grad(self) -> None:
        """Keep the gradient of this non-leaf in ``.grad``. A leaf keeps it anyway."""

    def roll(self, shifts: _int | Sequence[_int], dims: _int | Sequence[_int] | None = ..., *, out: Tensor | None = None) -> Tensor:
        """Move elements along dimensions (of the flattened tensor without ``dims``), round the end."""

    def rot90(self, k: _int = 1, dims: Any = ...) -> Tensor:
        """Rotate by 90 degrees ``k`` times, from the first of two dimensions toward the second."""

    def round(self, *, decimals: Number = 0, out: Tensor | None = None) -> Tensor:
        """Round half to even, to ``decimals`` places; the gradient is zero."""

    def round_(self, *, decimals: Number = 0) -> Tensor:
        """Round half to even, to ``decimals`` places; the gradient is zero."""

    def row_indices(self) -> Any:
        """RuntimeError: this tensor is of another layout than has ``row_indices``."""

    def rsqrt(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``rsqrt`` elementwise; integers give the default float dtype."""

    def rsqrt_(self) -> Tensor:
        """Return ``rsqrt`` elementwise; integers give the default float dtype."""

    def rsub(self, other: Tensor | Number, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
        """Return ``other - alpha * input``."""

    def saddmm(self, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
        """Return ``beta * input + alpha * (mat1 @ mat2)`` of two sparse matrices and a dense one:
sparse, with all elements of the rows where ``mat1`` has any. Raises RuntimeError for others,
and JitCaptureError under a jit."""

    def scatter(self, dim: _int, index: Tensor, src: Any = None, *, value: Any = None, reduce: Any = None, out: Any = None) -> Tensor:
        """Write values of ``src`` (a tensor or number) at ``index`` along ``dim``:
``out[index[i][j]][j] = src[i][j]`` for ``dim`` 0; ``reduce`` "add" or "multiply" combines
instead. RuntimeError for an index out of range."""

    def scatter_(self, dim: _int, index: Tensor, src: Any = None, *, value: Any = None, reduce: Any = None, out: Any = None) -> Tensor:
        """Write values of ``src`` (a tensor or number) at ``index`` along ``dim``:
``out[index[i][j]][j] = src[i][j]`` for ``dim`` 0; ``reduce`` "add" or "multiply" combines
instead. RuntimeError for an index out of range."""

    def scatter_add(self, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Add values of ``src`` at ``index`` along ``dim``."""

    def scatter_add_(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """Add values of ``src`` at ``index`` along ``dim``."""

    def scatter_reduce(self, dim: _int, index: Tensor, src: Tensor, reduce: _str, *, include_self: Any = True, out: Any = None) -> Tensor:
        """Combine values of ``src`` at ``index`` along ``dim`` by "sum", "prod", "mean", "amax" or
"amin"; with ``include_self`` the old value takes part."""

    def scatter_reduce_(self, dim: _int, index: Tensor, src: Tensor, reduce: _str, *, include_self: Any = True) -> Tensor:
        """Combine values of ``src`` into ``input`` in place, as ``scatter_reduce``."""

    def select(self, dim: _int, index: _int) -> Tensor:
        """Return a view at one index of a dimension; the dimension goes. IndexError when out of
range."""

    def select_scatter(self, src: Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Tensor:
        """Return a copy of ``input`` in which its select is ``src``."""

    def set_(self, source: Any = None, storage_offset: _int = 0, size: Any = None, stride: Any = None) -> Tensor:
        """Put the tensor on other memory: a tensor's, a storage's, or new and empty memory."""

    def sgn(self, *, out: Tensor | None = None) -> Tensor:
        """Return the sign of reals, and ``z / |z|`` of complex numbers."""

    def sgn_(self) -> Tensor:
        """Return the sign of reals, and ``z / |z|`` of complex numbers."""

    def share_memory_(self) -> Tensor:
        """Move the tensor's memory to where the processes that it is sent to see each other's writes,
and return the tensor."""

    def short(self, memory_format: Any = None) -> Tensor:
        """Convert as ``to(torch.int16)``."""

    def sigmoid(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``sigmoid`` elementwise; integers give the default float dtype."""

    def sigmoid_(self) -> Tensor:
        """Return ``sigmoid`` elementwise; integers give the default float dtype."""

    def sign(self, *, out: Tensor | None = None) -> Tensor:
        """Return -1, 0 or 1; bools stay."""

    def sign_(self) -> Tensor:
        """Return -1, 0 or 1; bools stay."""

    def signbit(self, *, out: Tensor | None = None) -> Tensor:
        """Return whether the sign bit is set."""

    def sin(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``sin`` elementwise; integers give the default float dtype."""

    def sin_(self) -> Tensor:
        """Return ``sin`` elementwise; integers give the default float dtype."""

    def sinc(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``sinc`` elementwise; integers give the default float dtype."""

    def sinc_(self) -> Tensor:
        """Return ``sinc`` elementwise; integers give the default float dtype."""

    def sinh(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``sinh`` elementwise; integers give the default float dtype."""

    def sinh_(self) -> Tensor:
        """Return ``sinh`` elementwise; integers give the default float dtype."""

    def slice_scatter(self, src: Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Tensor:
        """Return a copy of ``input`` in which its slice is ``src``."""

    def slogdet(self, *, out: Any = None) -> Any:
        """Compute ``linalg.slogdet``."""

    def smm(self, mat2: Any) -> Tensor:
        """Multiply a sparse matrix by a dense one: sparse, with all elements of the rows that have any.
Raises RuntimeError for others, and JitCaptureError under a jit."""

    def softmax(self, dim: _int, dtype: Any = None, *, out: Any = None) -> Tensor:
        """Return ``exp(input) / sum(exp(input))`` along ``dim``; ``dtype`` casts first. IndexError for
a dim out of range, NotImplementedError for integers without ``dtype``."""

    def solve(self, *args: Any, **kwargs: Any) -> Any:
        """Raise RuntimeError naming ``linalg.solve``: removed from PyTorch."""

    def sort(self, dim: _int = -1, descending: _bool = False, *, stable: _bool = False, out: Any = None) -> Any:
        """Sort as ``sort(input, dim=-1, descending=False, *, stable=False)``: values and indices, a
named pair."""

    def sparse_dim(self) -> _int:
        """Return the number of sparse dimensions: 0 for a dense tensor."""

    def sparse_mask(self, mask: Any) -> Any:
        """Return the elements at the places of ``mask``, in its layout."""

    def sparse_resize_(self, *args: Any, **kwargs: Any) -> Any:
        """Raise NotImplementedError: the tensor is not sparse."""

    def sparse_resize_and_clear_(self, *args: Any, **kwargs: Any) -> Any:
        """Raise NotImplementedError: the tensor is not sparse."""

    def split(self, split_size: Any, dim: _int = 0) -> _tuple[Tensor, ...]:
        """Return views of consecutive pieces: of one size, or of the sizes in a list."""

    def split_with_sizes(self, split_sizes: Any, dim: _int = 0) -> _tuple[Tensor, ...]:
        """Split as ``split`` does with a list of sizes."""

    def sqrt(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``sqrt`` elementwise; integers give the default float dtype."""

    def sqrt_(self) -> Tensor:
        """Return ``sqrt`` elementwise; integers give the default float dtype."""

    def square(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``input ** 2``."""

    def square_(self) -> Tensor:
        """Return ``input ** 2``."""

    def squeeze(self, dim: Any = None, *more: Any) -> Tensor:
        """Return a view with dimensions of size 1 removed (all, or those named that have size 1)."""

    def squeeze_(self, *args: Any, **kwargs: Any) -> Tensor:
        """Apply ``squeeze`` in place: this tensor's geometry changes, its memory does not."""

    def sspaddmm(self, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
        """Return ``beta * input + alpha * (mat1 @ mat2)`` of two sparse matrices and a dense one:
sparse, with all elements of the rows where ``mat1`` has any. Raises RuntimeError for others,
and JitCaptureError under a jit."""

    def std(self, dim: Any = None, unbiased: Any = None, keepdim: Any = False, *, correction: Any = None, out: Any = None, axis: Any = None) -> Tensor:
        """Return the std over ``dim``; ``correction`` 1 (or ``unbiased``) by
default."""

    def stft(self, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: Any = True, pad_mode: _str = 'reflect', normalized: Any = False, onesided: Any = None, return_complex: Any = None, align_to_window: Any = None) -> Tensor:
        """Return the short-time Fourier transform: (time,) or (batch, time) to (…, frequency, frame)."""

    def storage(self) -> Any:
        """Return the memory this tensor looks at, element by element. Deprecated:
``untyped_storage()``."""

    def sub(self, other: Tensor | Number, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
        """Return ``input - alpha * other``, broadcast and promoted. RuntimeError for bool tensors."""

    def sub_(self, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
        """Return ``input - alpha * other``, broadcast and promoted. RuntimeError for bool tensors."""

    def subtract(self, other: Tensor | Number, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
        """Return ``input - alpha * other``, broadcast and promoted. RuntimeError for bool tensors."""

    def subtract_(self, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
        """Return ``input - alpha * other``, broadcast and promoted. RuntimeError for bool tensors."""

    def sum(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
        """Return the sum over ``dim`` (all by default); integers are summed in int64."""

    def sum_to_size(self, *size: Any) -> Tensor:
        """Sum so that broadcasting the result gives ``input``'s shape back."""

    def svd(self, some: Any = True, compute_uv: Any = True, *, out: Any = None) -> Any:
        """Return U, S and V, with ``input = U @ diag(S) @ V.mH``."""

    def swapaxes(self, dim0: _int, dim1: _int) -> Tensor:
        """Return a view with two dimensions swapped."""

    def swapaxes_(self, *args: Any, **kwargs: Any) -> Tensor:
        """Apply ``swapaxes`` in place: this tensor's geometry changes, its memory does not."""

    def swapdims(self, dim0: _int, dim1: _int) -> Tensor:
        """Return a view with two dimensions swapped."""

    def swapdims_(self, *args: Any, **kwargs: Any) -> Tensor:
        """Apply ``swapdims`` in place: this tensor's geometry changes, its memory does not."""

    def symeig(self, *args: Any, **kwargs: Any) -> Any:
        """Raise RuntimeError naming ``linalg.eigh``: removed from PyTorch."""

    def t(self) -> Tensor:
        """Return the transpose of a tensor with at most two dimensions."""

    def t_(self, *args: Any, **kwargs: Any) -> Tensor:
        """Apply ``t`` in place: this tensor's geometry changes, its memory does not."""

    def take(self, index: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Return elements of the flattened tensor. IndexError when out of range."""

    def take_along_dim(self, indices: Tensor, dim: _int | None = None, *, out: Any = None) -> Tensor:
        """Return values along ``dim`` at ``indices`` (broadcast), such as argsort or argmax return; of
the flattened tensor without ``dim``."""

    def tan(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``tan`` elementwise; integers give the default float dtype."""

    def tan_(self) -> Tensor:
        """Return ``tan`` elementwise; integers give the default float dtype."""

    def tanh(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``tanh`` elementwise; integers give the default float dtype."""

    def tanh_(self) -> Tensor:
        """Return ``tanh`` elementwise; integers give the default float dtype."""

    def tensor_split(self, indices_or_sections: Any, dim: _int = 0) -> _tuple[Tensor, ...]:
        """Return views cut at the given indices, or into sections whose sizes differ by at most one."""

    def tile(self, *dims: Any, **kwargs: Any) -> Tensor:
        """Repeat as ``repeat``, with missing leading repeats taken as 1."""

    def to(self, *args: Any, **kwargs: Any) -> Tensor:
        """Return the tensor in another dtype or on another device: ``to(dtype)``, ``to(device)``,
``to(device, dtype)``, ``to(other)``, and the same by keyword."""

    def to_dense(self, dtype: Any = None, *, masked_grad: Any = None) -> Tensor:
        """Return the tensor itself (in another dtype)."""

    def to_mkldnn(self, dtype: Any = None) -> Tensor:
        """Raise NotImplementedError: there is no such layout."""

    def to_padded_tensor(self, padding: _float, output_size: Any = None) -> Tensor:
        """Stack the parts of a nested tensor along a first dimension, with padding behind each. Raises
NotImplementedError for a dense one."""

    def to_sparse(self, sparse_dim: Any = None, *, layout: Any = None, blocksize: Any = None, dense_dim: Any = None) -> Any:
        """Convert to coordinate form, without the zeros (the last dimensions stay dense when
``sparse_dim`` is less than all), or to a compressed ``layout``. Raises JitCaptureError under a
jit, NotImplementedError under make_fx."""

    def to_sparse_bsc(self, blocksize: Any, dense_dim: Any = None) -> Any:
        """What is not zero in layout torch.sparse_bsc, by blocks; the last ``dense_dim`` dimensions stay dense. RuntimeError for sizes that do not fit."""

    def to_sparse_bsr(self, blocksize: Any, dense_dim: Any = None) -> Any:
        """What is not zero in layout torch.sparse_bsr, by blocks; the last ``dense_dim`` dimensions stay dense. RuntimeError for sizes that do not fit."""

    def to_sparse_coo(self) -> Any:
        """Convert to coordinate form, without the zeros: ``to_sparse()``."""

    def to_sparse_csc(self, dense_dim: Any = None) -> Any:
        """What is not zero in layout torch.sparse_csc; the last ``dense_dim`` dimensions stay dense. RuntimeError for sizes that do not fit."""

    def to_sparse_csr(self, dense_dim: Any = None) -> Any:
        """What is not zero in layout torch.sparse_csr; the last ``dense_dim`` dimensions stay dense. RuntimeError for sizes that do not fit."""

    def topk(self, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True, *, out: Sequence[Tensor] | None = None) -> Any:
        """Return the ``k`` largest (or smallest) values along a dimension, in order, and their indices."""

    def trace(self, *, out: Tensor | None = None) -> Tensor:
        """Return the sum of the diagonal of a matrix (int64 for integers)."""

    def transpose(self, dim0: _int, dim1: _int) -> Tensor:
        """Return a view with two dimensions swapped."""

    def transpose_(self, *args: Any, **kwargs: Any) -> Tensor:
        """Apply ``transpose`` in place: this tensor's geometry changes, its memory does not."""

    def triangular_solve(self, A: Tensor, upper: Any = True, transpose: Any = False, unitriangular: Any = False, *, out: Any = None) -> Any:
        """Return the solution of a triangular system, and the coefficients: a named pair. Of a sparse
matrix, in compressed rows, no coefficients are copied."""

    def tril(self, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
        """Return the lower triangle of matrices: zero above ``diagonal``."""

    def tril_(self, diagonal: _int = 0) -> Tensor:
        """Return the lower triangle of matrices: zero above ``diagonal``."""

    def triu(self, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
        """Return the upper triangle of matrices: zero below ``diagonal``."""

    def triu_(self, diagonal: _int = 0) -> Tensor:
        """Return the upper triangle of matrices: zero below ``diagonal``."""

    def true_divide(self, other: Any, *, rounding_mode: Any = None, out: Any = None) -> Tensor:
        """Return ``input / other``; with ``rounding_mode`` "trunc" or "floor", rounded,
and integers stay."""

    def true_divide_(self, other: Any, *, rounding_mode: Any = None) -> Tensor:
        """Apply ``div`` in place."""

    def trunc(self, *, out: Tensor | None = None) -> Tensor:
        """Return ``trunc`` elementwise; integers stay as they are; the gradient is zero."""

    def trunc_(self) -> Tensor:
        """Return ``trunc`` elementwise; integers stay as they are; the gradient is zero."""

    def type(self, dtype: Any = None, non_blocking: Any = False) -> Any:
        """Return the type's name (``torch.FloatTensor``), or the tensor converted to a dtype."""

    def type_as(self, other: Tensor) -> Tensor:
        """Return the tensor in the dtype and on the device of ``other``."""

    def unbind(self, dim: _int = 0) -> _tuple[Tensor, ...]:
        """Return all indices of a dimension, each a view without it."""

    def unflatten(self, dim: _int, sizes: Any) -> Tensor:
        """Split one dimension into ``sizes`` (one may be -1)."""

    def unfold(self, dimension: _int, size: _int, step: _int) -> Tensor:
        """Return a view of sliding windows of ``size`` every ``step`` along a dimension, as a new last
dimension."""

    def uniform_(self, from_: _float = 0.0, to: _float = 1.0, *, generator: Any = None, **kw: Any) -> Tensor:
        """Fill with uniform numbers of ``[from, to)``. RuntimeError when from > to."""

    def unique(self, sorted: Any = True, return_inverse: Any = False, return_counts: Any = False, dim: _int | None = None) -> Any:
        """Return the distinct elements (or slices along ``dim``), in order."""

    def unique_consecutive(self, return_inverse: Any = False, return_counts: Any = False, dim: _int | None = None) -> Any:
        """Return the first of every run of equal elements (or slices along ``dim``)."""

    def unsafe_chunk(self, chunks: _int, dim: _int = 0) -> _tuple[Tensor, ...]:
        """Split as ``chunk`` does into pieces that may be changed in place."""

    def unsafe_split(self, split_size: _int, dim: _int = 0) -> _tuple[Tensor, ...]:
        """Split as ``split`` does into pieces that may be changed in place (each is a view of its
own)."""

    def unsafe_split_with_sizes(self, split_sizes: Any, dim: _int = 0) -> _tuple[Tensor, ...]:
        """Split as ``split_with_sizes`` does into pieces that may be changed in place."""

    def unsqueeze(self, dim: _int) -> Tensor:
        """Return a view with a new dimension of size 1 at ``dim``."""

    def unsqueeze_(self, *args: Any, **kwargs: Any) -> Tensor:
        """Apply ``unsqueeze`` in place: this tensor's geometry changes, its memory does not."""

    def untyped_storage(self) -> Any:
        """Return the storage, as an object that can be compared and measured."""

    def values(self) -> Any:
        """RuntimeError: this tensor is of another layout than has ``values``."""

    def var(self, dim: Any = None, unbiased: Any = None, keepdim: Any = False, *, correction: Any = None, out: Any = None, axis: Any = None) -> Tensor:
        """Return the var over ``dim``; ``correction`` 1 (or ``unbiased``) by
default."""

    def vdot(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Return the inner product of two vectors, the first conjugated."""

    def view(self, *shape: Any, dtype: Any = None, size: Any = None) -> Tensor:
        """Return a view of the same memory with another shape, or another dtype (``view(dtype)``)."""

    def view_as(self, other: Tensor) -> Tensor:
        """Return a view in the shape of ``other``."""

    def view_as_complex(self) -> Tensor:
        """View a (..., 2) float tensor as complex numbers."""

    def view_as_real(self) -> Tensor:
        """View a complex tensor as real and imaginary parts in a new last dimension of size 2."""

    @property
    def volatile(self) -> Any: ...

    def vsplit(self, indices_or_sections: Any) -> _tuple[Tensor, ...]:
        """Split as ``tensor_split`` along a fixed dimension, into equal sections."""

    def where(self, condition: Tensor, other: Any) -> Tensor:
        """Return this tensor where ``condition`` holds, else ``other``."""

    def xlogy(self, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
        """Return ``input * log(other)``, 0 where ``input`` is 0. TypeError unless one is a tensor."""

    def xlogy_(self, other: Tensor | Number) -> Tensor:
        """Return ``input * log(other)``, 0 where ``input`` is 0. TypeError unless one is a tensor."""

    def xpu(self, device: Any = None, non_blocking: Any = False) -> Tensor:
        """Raise AssertionError: there are no such devices."""

    def zero_(self) -> Tensor:
        """Set every element to zero."""
