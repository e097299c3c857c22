"""Methods and attributes of Tensor that PyTorch keeps from before: other names of what there is,
questions with one answer, and devices and layouts that this build has not."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from torchlike._core import dtypes, errors
from torchlike._core.dispatch.registry import composite
from torchlike._ops.aten.legacy import _mapped
from torchlike.tensor import Tensor, add_method, all_attributes

#: Other names of methods. Each is an object of its own, as ``__torch_function__`` has them.
for _name, _of in (
    ("ndimension", "dim"),
    ("nelement", "numel"),
    ("__nonzero__", "__bool__"),
    ("__long__", "__int__"),
    ("__div__", "__truediv__"),
    ("__idiv__", "__itruediv__"),
):
    _function = all_attributes()[_of]
    assert isinstance(_function, FunctionType)
    add_method(_name, _function)


@composite(namespaces=())
def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Any) -> Tensor:
    """Replace each element by ``callable(element, element of x, element of y)``.

    RuntimeError where one requires grad, TypeError where they differ in dtype.
    """
    for t in (self, x, y):
        if t.requires_grad:
            raise RuntimeError(
                "Can't call map2_() on Variable that requires grad. Use "
                "var.detach().map2_() instead."
            )
    for argument, t in (("x", x), ("y", y)):
        if t.dtype is not self.dtype:
            raise TypeError(
                f"map2_: expected {self.type()} for argument '{argument}' (got {t.type()})"  # type: ignore[attr-defined]
            )
    given = [
        t.expand_as(self)._value("map2_()", "ops on whole tensors").reshape(-1)
        for t in (self, x, y)
    ]
    rows = zip(*given, strict=True)
    return _mapped(self, (callable(a.item(), b.item(), c.item()) for a, b, c in rows))


@composite(namespaces=())
def resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """Return a view of as many elements in another tensor's size (use ``reshape_as``). RuntimeError
    for another number of elements."""
    errors.warn_user("non-inplace resize_as is deprecated", UserWarning)
    if self.numel() != tensor.numel():
        sizes = "x".join(map(str, self.shape))
        raise RuntimeError(
            f"requested resize to {'x'.join(map(str, tensor.shape))} ({tensor.numel()} elements in "
            f"total), but the given tensor has a size of {sizes} ({self.numel()} elements). "
            "autograd's resize can only change the shape of a given tensor, while preserving the "
            "number of elements. "
        )
    return self.reshape(tensor.shape)


@composite(namespaces=())
def _autocast_to_full_precision(self: Tensor, cuda_enabled: bool, cpu_enabled: bool) -> Tensor:
    """Return float16 and bfloat16 tensors in float32, where the flag of their device is set."""
    asked = cuda_enabled if self.is_cuda else cpu_enabled
    low = self.dtype in (dtypes.float16, dtypes.bfloat16)
    return self.to(dtypes.float32) if asked and low else self


@composite(namespaces=())
def _autocast_to_reduced_precision(
    self: Tensor, cuda_enabled: bool, cpu_enabled: bool, cuda_dtype: Any, cpu_dtype: Any
) -> Tensor:
    """Return float32 tensors in the dtype given for their device, where the flag of that device is
    set."""
    asked = cuda_enabled if self.is_cuda else cpu_enabled
    if not asked or self.dtype is not dtypes.float32:
        return self
    return self.to(cuda_dtype if self.is_cuda else cpu_dtype)


@composite(namespaces=())
def _clear_non_serializable_cached_data(self: Tensor) -> None:
    """Do nothing: sizes and strides are not cached."""


def _on_missing_device(name: str, error: type[Exception], said: str) -> None:
    def method(self: Tensor, device: Any = None, non_blocking: Any = False) -> Tensor:
        raise error(said)

    method.__doc__ = f"Raise {error.__name__}: there are no such devices."
    composite(name, namespaces=())(method)


_on_missing_device("xpu", AssertionError, "Torch not compiled with XPU enabled")
_on_missing_device("mtia", AssertionError, "Torch not compiled with MTIA enabled.")
_on_missing_device("ipu", RuntimeError, "PyTorch is not linked with support for ipu devices")


@composite(namespaces=())
def to_mkldnn(self: Tensor, dtype: Any = None) -> Tensor:
    """Raise NotImplementedError: there is no such layout."""
    raise NotImplementedError(
        "Tensor.to_mkldnn: XLA chooses the memory order of what it computes. Use instead: the "
        "tensor itself."
    )


def _without_strided(name: str) -> None:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"Could not run 'aten::{name}' with arguments from the "
            f"'{self.device.type.upper()}' backend. This could be because the operator doesn't "
            "exist for this backend: the tensor is not sparse."
        )

    method.__doc__ = "Raise NotImplementedError: the tensor is not sparse."
    composite(name, namespaces=())(method)


for _name in (
    "_dimI",
    "_dimV",
    "_indices",
    "_values",
    "_nnz",
    "_coalesced_",
    "resize_as_sparse_",
    "sparse_resize_",
    "sparse_resize_and_clear_",
    "_sparse_mask_projection",
    "_nested_tensor_size",
    "_nested_tensor_strides",
    "_nested_tensor_storage_offsets",
):
    _without_strided(_name)


def _volatile(self: Tensor) -> bool:
    """Return False, with a warning: it was replaced by ``torch.no_grad``."""
    errors.warn_user("volatile was removed (Variable.volatile is always False)", UserWarning)
    return False


def _set_volatile(self: Tensor, value: Any) -> None:
    errors.warn_user(
        "volatile was removed and now has no effect. Use `with torch.no_grad():` instead.",
        UserWarning,
    )


def _grad_dtype(self: Tensor) -> Any:
    """Return the dtype of the tensor's gradient: its own, or None, as in PyTorch, where it requires
    grad and no other was set. RuntimeError for a tensor that is no leaf."""
    if not self.is_leaf:
        raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
    return None if self.requires_grad else self.dtype


def _set_grad_dtype(self: Tensor, dtype: Any) -> None:
    if dtype is not None and dtype is not self.dtype:
        raise NotImplementedError(
            "Tensor.grad_dtype: gradients have their tensor's dtype. Use instead: a hook that "
            "keeps the gradient converted (t.register_hook)."
        )


def _refuse_deletion(self: Tensor) -> None:
    raise RuntimeError("Deletion of _grad_fn not allowed. Detach tensor instead!")


_grad_fn = property(lambda self: self.grad_fn, None, _refuse_deletion, "The same as ``grad_fn``.")
add_method("_grad_fn", _grad_fn)
add_method("volatile", property(_volatile, _set_volatile))
add_method("name", property(lambda self: None, doc="None: tensors have no names."))
add_method("grad_dtype", property(_grad_dtype, _set_grad_dtype))
