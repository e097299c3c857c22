"""``to_jax_function``: a function written with torchlike as one of JAX's."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from torchlike.interop.leaves import is_tensor_or_module
from torchlike.tensor import Tensor, from_jax


def to_jax_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function on tensors one on arrays, for ``jax.grad``, ``jax.jit`` and JAX's libraries;
    also a decorator.

    Each array in its arguments (pytrees, of JAX or NumPy) reaches the function as a tensor; tensors
    and modules reach it as they are. Each tensor in what it returns becomes an array, which is what
    ``jax.grad`` and ``jax.value_and_grad`` ask of a loss. The gradient is JAX's: the result has no
    place on the tape.

    Args:
      function: a function of tensors, modules and plain values.

    Returns:
      the function on arrays, with the same name.

    Raises:
      TypeError: an array in the arguments has a dtype that PyTorch does not have.

    Example:
      >>> import jax
      >>> model, x = torch.nn.Linear(3, 1), torch.ones(2, 3)
      >>> loss = torchlike.to_jax_function(lambda model, x: model(x).sum())
      >>> gradient = jax.grad(loss)(model, x)  # a module of gradients
      >>> gradient.weight.detach()
      tensor([[2., 2., 2.]])
    """

    def as_tensor(x: Any) -> Any:
        return from_jax(x) if isinstance(x, (jax.Array, np.ndarray)) else x

    def as_array(x: Any) -> Any:
        return x.jax() if isinstance(x, Tensor) else x

    @functools.wraps(function)
    def of_arrays(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = jax.tree.map(as_tensor, (args, kwargs), is_leaf=is_tensor_or_module)
        return jax.tree.map(as_array, function(*args, **kwargs), is_leaf=is_tensor_or_module)

    return of_arrays
