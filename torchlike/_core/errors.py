"""The words of the errors: one place, so that a message is written once and can be tested; and
warnings that are given once.

The texts of PyTorch's well-known errors are kept recognisable, because users search for them.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from types import FrameType
from typing import TYPE_CHECKING

from torchlike._core import modes
from torchlike._runtime import device_memory
from torchlike._runtime.device_memory import OutOfMemoryError, out_of_memory
from torchlike._runtime.error_codes import with_code
from torchlike._runtime.frames import users_frame, warn_at

if TYPE_CHECKING:
    import numpy as np

LEAF_IN_PLACE = "a leaf Variable that requires grad is being used in an in-place operation."
LEAF_VIEW_IN_PLACE = (
    "a view of a leaf Variable that requires grad is being used in an in-place operation."
)
#: A view that requires grad of a base that does not, after a recorded write to that base.
LEAF_MOVED = "leaf variable has been moved into the graph interior"
#: What may be wrong with writing near a view: the next two say for which views.
VIEW_MODIFIED = "is being modified inplace"
BASE_MODIFIED = "its base or another view of its base has been modified inplace"
UNRECORDED_VIEW = (
    "{which} created in {mode} mode and {what} {where}. "
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your "
    "code by moving both the view and the inplace either both inside the {block} block (if you "
    "don't want the inplace to be tracked) or both outside (if you want the inplace to be tracked)."
)
MULTIPLE_VIEW = (
    "Output {output} of {name} is a view and {what}. This view is the output of a function that "
    "returns multiple views. Such functions do not allow the output views to be modified inplace. "
    "You should replace the inplace operation by an out-of-place one."
)
CUSTOM_FUNCTION_VIEW = (
    "Output {output} of {name} is a view and {what}. This view was created inside a custom "
    "Function (or because an input was returned as-is) and the autograd logic to handle "
    "view+inplace would override the custom backward associated with the custom Function, leading "
    "to incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of "
    "the custom Function."
)
DIRTY_IS_NO_INPUT = (
    "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been "
    "mutated should be passed to ctx.mark_dirty()."
)
PARTIAL_OVERLAP = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
    "single memory location. Please clone() the tensor before performing the operation."
)
OVERLAPPING_WRITE = (
    "unsupported operation: more than one element of the written-to tensor refers to a single "
    "memory location. Please clone() the tensor before performing the operation."
)
VIEW_INCOMPATIBLE = (
    "view size is not compatible with input tensor's size and stride (at least one dimension spans "
    "across two contiguous subspaces). Use .reshape(...) instead."
)
NO_GRAD_FN = "element {index} of tensors does not require grad and does not have a grad_fn"
IMPLICIT_GRADIENT = "grad can be implicitly created only for scalar outputs"
BACKWARD_TWICE = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you call "
    ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
    "graph a second time or if you need to access saved tensors after calling backward."
)
CREATE_GRAPH_CYCLE = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter "
    "and its gradient which can cause a memory leak. We recommend using autograd.grad when "
    "creating the graph to avoid this. If you have to use this function, make sure to reset the "
    ".grad fields of your parameters to None after use to break the cycle and avoid the leak."
)
MODIFIED = (
    "one of the variables needed for gradient computation has been modified by an inplace "
    "operation: [{kind} {size}]{which} is at version {version}; expected version {expected} "
    "instead. "
)
MODIFIED_HINT = (
    "Hint: enable anomaly detection to find the operation that failed to compute its gradient, "
    "with torch.autograd.set_detect_anomaly(True, check_nan=False)."
)
MODIFIED_HINT_SHOWN = (
    "Hint: the backtrace further above shows the operation that failed to compute its gradient. "
    "The variable in question was changed in there or anywhere later."
)
PACK_HOOK_WRITES = (
    "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack "
    "hook cannot be modified by in-place operations as this can lead to unexpected side-effects."
)
FLOAT_ONLY_GRAD = "Only Tensors of floating point and complex dtype can require gradients"
ESCAPED = (
    "this tensor escaped from inside a function that {transform} transformed, which has ended: "
    "return it instead of keeping it by a side effect"
)
OUT_RECORDED = (
    "{}(): functions with out=... arguments don't support automatic differentiation, but one of "
    "the arguments requires grad."
)
UNWRAP_TRANSFORMED = "Cannot access data pointer of Tensor that doesn't have storage"
VMAP_ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling "
    ".item() on a Tensor, please try to rewrite what you're doing with other operations."
)
VMAP_CONTROL_FLOW = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We "
    "don't support that yet; use torchlike.where or torchlike.cond."
)
VMAP_VALUE = "vmap: {asked} needs the values of one example; {instead} works on all of them"
VMAP_MASK = (
    "vmap: We do not support batching operators that can support dynamic shape. Attempting to "
    "batch over indexing with a boolean mask; {instead} works on all examples."
)
VMAP_SIZE = (
    "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap "
    "over aten::{name}; {instead} works on all examples."
)
VMAP_IN_PLACE = (
    "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor "
    "`other` in extra_args that has more elements than `self`. This happened due to `other` being "
    "vmapped over but `self` not being vmapped over in a vmap. Please try to use out-of-place "
    "operators instead of inplace arithmetic, or make `self` with new_zeros() or zeros_like() of a "
    "tensor that is vmapped over."
)
VMAP_RANDOM = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
    "'different' randomness flags on vmap or perform the randomness operation out of vmap"
)
VMAP_UNBATCHED = (
    "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear "
    "like same randomness: make the tensor of one that is vmapped over, with new_zeros() or "
    "zeros_like()."
)
VMAP_SAME_OF_EACH = "Vmap does not currently support same randomness with a batched tensor input."
CAPTURED_IN_PLACE = (
    "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call "
    "in-place operation that would mutate a captured Tensor. This is not supported; please "
    "rewrite the function being transformed to explicitly accept the mutated Tensor(s) as inputs."
)
BACKWARD_IN_TRANSFORM = (
    "backward() called inside a functorch transform. This is not supported, please use "
    "functorch.grad or functorch.vjp instead or call backward() outside of functorch transforms."
)
NO_DATA = "Cannot copy out of meta tensor; no data!"
NO_ITEM = "Tensor.item() cannot be called on meta tensors"
INFERENCE_IN_PLACE = (
    "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone "
    "to get a normal tensor before doing inplace update."
)
INFERENCE_SAVED = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
    "inference mode in computation tracked by autograd. To work around this, you can make a clone "
    "to get a normal tensor and use it in autograd, or use `torch.no_grad()` instead of "
    "`torch.inference_mode()`."
)
INFERENCE_GRAD = (
    "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."
)
UNUSED_INPUT = (
    "The differentiated Tensor at index {index} appears to not have been used in the graph. Set "
    "allow_unused=True if this is the desired behavior."
)
NOT_A_LEAF_FLAG = "you can only change requires_grad flags of leaf variables."
DETACH_HINT = (
    " If you want to use a computed variable in a subgraph that doesn't require differentiation "
    "use var_no_grad = var.detach()."
)
NON_LEAF_GRAD = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad "
    "attribute won't be populated during autograd.backward(). If you indeed want the .grad field "
    "to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. If you "
    "access the non-leaf Tensor by mistake, make sure you access the leaf Tensor instead."
)
NUMPY_REQUIRES_GRAD = (
    "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
)
NUMPY_CONJUGATED = (
    "Can't call numpy() on Tensor that has conjugate bit set. Use tensor.resolve_conj().numpy() "
    "instead."
)
NUMPY_NEGATED = (
    "Can't call numpy() on Tensor that has negative bit set. Use tensor.resolve_neg().numpy() "
    "instead."
)
NO_SCALAR = "a Tensor with {} elements cannot be converted to Scalar"
NO_BROADCAST = "output with shape {} doesn't match the broadcast shape {}"
UNCASTABLE = "result type {} can't be cast to the desired output type {}"
AMBIGUOUS_BOOL = "Boolean value of Tensor with {what} is ambiguous"
DEEPCOPY_NON_LEAF = (
    "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at "
    "the moment. Call .detach() first when a copy of the values is what you need."
)


class JitCaptureError(RuntimeError):
    """A function being captured by `torchlike.jit` did what a compiled program cannot.

    The message names the user's line, what was asked for, and what to write instead::

        @torchlike.jit
        def step(x):
            if x.sum() > 0:          # a Python `if` needs the value while the graph is being drawn
                return x
            return -x

        @torchlike.jit
        def step(x):
            return torchlike.where(x.sum() > 0, x, -x)

    The capture ends with it also where the code catches it: what an ``except`` does instead is
    never what the compiled function does.

    Example:
      >>> @torchlike.jit
      ... def step(x):
      ...     return x.tolist()
      >>> try:
      ...     step(torch.ones(2))
      ... except torchlike.jit.JitCaptureError:
      ...     print("refused")
      refused
    """

    #: Whether it was asked that this be raised (True), or the function run eagerly (False), instead
    #: of what the function was compiled with (``torch._dynamo.error_on_graph_break``).
    is_final: bool | None = None

    def __init__(self, *args: object) -> None:
        super().__init__(*[with_code(a) if isinstance(a, str) else a for a in args])
        modes.running_capture().remember_refusal(self)


class NoGeometryError(NotImplementedError):
    """Strides or an offset were asked of a tensor without memory of its own."""


class InternalError(AssertionError):
    """torchlike's own bookkeeping is inconsistent: a bug in torchlike, never the user's mistake."""


_given: set[str] = set()


def warn_once(words: str, category: type[Warning], stacklevel: int) -> None:
    """Warn, once in a process whatever the filters say (each time after ``set_warn_always(True)``),
    as PyTorch does of what it deprecates.

    ``stacklevel``: as for ``warnings.warn``, counted from the caller of this function.
    """
    if words not in _given or modes.warns_always.get():
        _given.add(words)
        warnings.warn(words, category, stacklevel=stacklevel + 1)


def warn_user_once(words: str) -> None:
    """Give a UserWarning at the user's line, once in a process as `warn_once` does."""
    warn_once_at(users_frame(), words, UserWarning)


def warn_user(words: str, category: type[Warning] = RuntimeWarning) -> None:
    """Warn at the user's line, however many of our frames and of JAX's lie between."""
    warn_at(users_frame(), words, category)


def warn_once_at(frame: FrameType | None, words: str, category: type[Warning]) -> None:
    """Warn at a frame's line, once in a process as `warn_once` does."""
    if words not in _given or modes.warns_always.get():
        _given.add(words)
        warn_at(frame, words, category)


def type_name(value: object) -> str:
    """Return the name of an object's type in PyTorch's errors: NumPy's are named with their
    package."""
    kind = type(value)
    return kind.__name__ if kind.__module__ != "numpy" else f"numpy.{kind.__name__}"


def dimension_out_of_range(dim: int, ndim: int) -> IndexError:
    """Return PyTorch's IndexError for a dimension outside ``[-ndim, ndim - 1]`` (0-dim counts as
    1)."""
    bound = max(ndim, 1)
    return IndexError(
        f"Dimension out of range (expected to be in range of [{-bound}, {bound - 1}], but got "
        f"{dim})"
    )


def wrap_dim(dim: int, ndim: int) -> int:
    """Return the non-negative form of ``dim``; raise IndexError in PyTorch's words when it is out
    of range."""
    bound = max(ndim, 1)
    if not -bound <= dim < bound:
        raise dimension_out_of_range(dim, ndim)
    return dim + bound if dim < 0 else dim


def size_mismatch(a: int, b: int, dim: int) -> RuntimeError:
    """Return PyTorch's broadcasting error."""
    return RuntimeError(
        f"The size of tensor a ({a}) must match the size of tensor b ({b}) "
        f"at non-singleton dimension {dim}"
    )


class AcceleratorError(RuntimeError):
    """A device refused (``torch.AcceleratorError``)."""


def uninitialized(op: str) -> str:
    """Return PyTorch's message for an op that is given a lazy module's parameter without a
    shape."""
    return (
        f"Attempted to use an uninitialized parameter in {op}. This error happens when you are "
        "using a `LazyModule` or explicitly manipulating "
        "`torch.nn.parameter.UninitializedParameter` objects. When using LazyModules Call "
        "`forward` with a dummy batch to initialize the parameters before calling torch functions"
    )


INDICES_ELSEWHERE = (
    "indices should be either on cpu or on the same device as the indexed tensor ({})"
)


def several_devices(devices: Iterable[object]) -> str:
    """Return PyTorch's message for operands that are not on one device."""
    first, second = list(dict.fromkeys(map(str, devices)))[:2]
    return (
        f"Expected all tensors to be on the same device, but found at least two devices, {first} "
        f"and {second}!"
    )


# -- memory that cannot be had ---------------------------------------------------------------------

#: XLA ends the process over a size whose bytes 64 bits do not count, so such a size is refused
#: before XLA sees it.
_BEYOND = 2**63


def check_count(shape: Sequence[int]) -> None:
    """Raise RuntimeError, in PyTorch's words, for a shape whose elements 64 bits do not count.

    A size that only an exported program knows is not looked at.
    """
    for n in shape:
        if type(n) is not int:
            return
    count = math.prod(shape)
    if count >= _BEYOND:
        raise RuntimeError("numel: integer multiplication overflow")
    if not count and math.prod([n or 1 for n in shape]) >= _BEYOND:  # its strides are not empty
        raise RuntimeError("Stride calculation overflowed")


def check_bytes(shape: Sequence[int], itemsize: int) -> None:
    """Raise RuntimeError, in PyTorch's words, for a shape whose elements or bytes 64 bits do not
    count.

    A size that only an exported program knows is not looked at.
    """
    check_count(shape)
    for n in shape:
        if type(n) is not int:
            return
    if math.prod(shape) * itemsize >= _BEYOND:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")


class allocating:
    """OutOfMemoryError in place of NumPy's and XLA's errors for memory that cannot be had.

    RuntimeError before anything is tried where the size overflows. (A class: a generator costs 2 µs
    more, of the 9 that ``zeros(3)`` takes.)
    """

    __slots__ = ("_dtype", "_shape")

    def __init__(self, shape: Sequence[int], dtype: np.dtype) -> None:
        self._shape, self._dtype = shape, dtype

    def __enter__(self) -> None:
        check_bytes(self._shape, self._dtype.itemsize)

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if kind is None:
            return
        if isinstance(error, MemoryError):
            raise _not_enough(self._shape, self._dtype) from None
        if isinstance(error, Exception) and device_memory.is_refused(error):
            raise out_of_memory(error, (), f"A tensor of size {list(self._shape)}") from None


def _not_enough(shape: Sequence[int], dtype: np.dtype) -> OutOfMemoryError:
    return OutOfMemoryError(
        f"not enough memory: you tried to allocate {math.prod(shape) * dtype.itemsize} bytes "
        f"(a tensor of size {list(shape)})"
    )
