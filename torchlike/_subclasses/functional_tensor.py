"""``torch._subclasses.functional_tensor``: asked by libraries whether a tensor is one. None is.

PyTorch wraps tensors in it to take writes out of a program. Ops here are pure functions already.
"""

from __future__ import annotations

from typing import Any, NoReturn

from torchlike.tensor import Tensor

__all__ = ["FunctionalTensor", "mb_unwrap_functional_tensor"]


class FunctionalTensor:
    """A class without instances. NotImplementedError for making one."""

    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            "torch._subclasses.functional_tensor.FunctionalTensor: there is nothing to wrap, as "
            "ops are pure functions. Use instead: the tensor itself."
        )


def mb_unwrap_functional_tensor(tensor: Tensor) -> Tensor:
    """Return the tensor inside a FunctionalTensor; as there are none, the tensor itself."""
    return tensor
