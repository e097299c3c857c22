"""``torch.nn.grad``: the gradients of convolutions by themselves, for functions that compute their
own backward pass.

Each is the gradient of a convolution at zeros: it is linear in its input as in its weight, so that
the value there does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torchlike._core.dispatch.registry import NAMESPACES
from torchlike.autograd.backward import grad
from torchlike.autograd.grad_mode import enable_grad, is_grad_enabled
from torchlike.tensor import Tensor

__all__ = [
    "conv1d_input",
    "conv1d_weight",
    "conv2d_input",
    "conv2d_weight",
    "conv3d_input",
    "conv3d_weight",
]


def _at_zeros(
    convolve: Callable[[Tensor], Tensor], size: Sequence[int], like: Tensor, grad_output: Tensor
) -> Tensor:
    recorded = is_grad_enabled()
    with enable_grad():
        zeros = like.detach().new_zeros(tuple(size)).requires_grad_()
        out = convolve(zeros)
    (found,) = grad(out, zeros, grad_output, create_graph=recorded)
    assert found is not None
    return found


def _pair(n: int) -> tuple[Any, Any]:
    convolution = NAMESPACES["nn.functional"][f"conv{n}d"]

    def of_input(
        input_size: Sequence[int],
        weight: Tensor,
        grad_output: Tensor,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        how = (None, stride, padding, dilation, groups)
        return _at_zeros(lambda x: convolution(x, weight, *how), input_size, weight, grad_output)

    def of_weight(
        input: Tensor,
        weight_size: Sequence[int],
        grad_output: Tensor,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        how = (None, stride, padding, dilation, groups)
        return _at_zeros(lambda w: convolution(input, w, *how), weight_size, input, grad_output)

    for function, of in ((of_input, "input"), (of_weight, "weight")):
        function.__name__ = function.__qualname__ = f"conv{n}d_{of}"
        function.__doc__ = f"The gradient of conv{n}d for its {of}, given that for its output."
    return of_input, of_weight


conv1d_input, conv1d_weight = _pair(1)
conv2d_input, conv2d_weight = _pair(2)
conv3d_input, conv3d_weight = _pair(3)
