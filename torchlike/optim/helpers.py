"""What optimizers outside of the package import from ``torch.optim.optimizer``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from torchlike._core import modes
from torchlike._core.devices import device as Device
from torchlike._core.dtypes import dtype as Dtype
from torchlike.autograd.grad_mode import set_grad_enabled
from torchlike.tensor import Tensor

__all__ = [
    "_default_to_fused_or_foreach",
    "_disable_dynamo_if_unsupported",
    "_get_capturable_supported_devices",
    "_get_value",
    "_group_tensors_by_device_and_dtype",
    "_stack_if_compiling",
    "_to_scalar",
    "_use_grad_for_differentiable",
    "_view_as_real",
]

_Lists = list[list[Tensor | None]]


def _use_grad_for_differentiable(step: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a ``step`` so that it records only where the optimizer is made with
    ``differentiable=True``."""

    @functools.wraps(step)
    def stepped(self: Any, *args: Any, **kwargs: Any) -> Any:
        with set_grad_enabled(bool(self.defaults["differentiable"])):
            return step(self, *args, **kwargs)

    return stepped


def _get_value(x: Any) -> Any:
    """Return a tensor's number; while a function is captured, the tensor."""
    if not isinstance(x, Tensor) or modes.is_capturing():
        return x
    return x.item()


def _stack_if_compiling(x: Any) -> Any:
    """Return the argument as it is: a list of numbers stays one."""
    return x


def _to_scalar(x: Any) -> Any:
    """Return a tensor of one element as a 0-dim tensor; anything else as it is."""
    return x.squeeze() if isinstance(x, Tensor) and x.dim() else x


def _default_to_fused_or_foreach(
    params: list[Tensor], differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """Return (False, False): a loop over the parameters, as PyTorch on a CPU."""
    return False, False


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """Return the devices on which a step may be captured: all that JAX has."""
    return ["cpu", "cuda", "tpu", *(["xla"] if supports_xla else [])]


def _disable_dynamo_if_unsupported(single_tensor_fn: Any = None) -> Callable[..., Any]:
    """Return a decorator that leaves a function as it is: capture runs Python."""
    return lambda function: function


def _view_as_real(params: list[Tensor], *state_and_grads: Any) -> None:
    """Replace complex parameters, gradients and states by views of their real and imaginary parts,
    in the lists."""
    for i, p in enumerate(params):
        if p.is_complex():
            params[i] = p.view_as_real()
            for s in state_and_grads:
                s[i] = s[i].view_as_real()


def _group_tensors_by_device_and_dtype(
    tensorlistlist: Sequence[Sequence[Tensor | None]], with_indices: bool = False
) -> dict[tuple[Device, Dtype], tuple[_Lists, list[int]]]:
    """Group the columns of equally long (or empty) lists by device and dtype of the first list.

    Gives (device, dtype) -> (the lists, the columns' numbers if asked for). RuntimeError for lists
    of other lengths, or a first list that has no tensor at some place.
    """
    first = tensorlistlist[0]
    if any(len(column) not in (0, len(first)) for column in tensorlistlist):
        raise RuntimeError(
            f"lists of tensors must be as long as the first ({len(first)}) or empty, got "
            f"{[len(column) for column in tensorlistlist]}"
        )
    groups: dict[tuple[Device, Dtype], tuple[_Lists, list[int]]] = {}
    for i, t in enumerate(first):
        if t is None:
            raise RuntimeError(
                "Tensors of the first list of nested Tensor lists are supposed to be defined but "
                f"the {i}-th Tensor is not."
            )
        lists, indices = groups.setdefault((t.device, t.dtype), ([[] for _ in tensorlistlist], []))
        for grouped, column in zip(lists, tensorlistlist, strict=True):
            if column:
                grouped.append(column[i])
        if with_indices:
            indices.append(i)
    return groups
