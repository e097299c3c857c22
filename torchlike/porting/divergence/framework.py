"""What watching a run needs to know of PyTorch, or of torchlike in its place."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

#: Of PyTorch and of torchlike, below their folders.
_DISPATCH = ("overrides.py", "_tensor.py", "tensor.py", "_core/", "_extensions/overrides/")


@dataclass(frozen=True)
class WatchedFramework:
    """The classes and functions of one framework, and how values are read.

    Attributes:
      folder: the folder of its files, whose lines are not the user's.
      before_step: ``register_optimizer_step_pre_hook`` and ``..._post_hook``.
      function_mode: ``TorchFunctionMode``, and what it calls a function.
      function: ``torch.autograd.Function``.
      dispatch: beginnings of the paths of files by which calls come to a mode.
      array: a tensor's values; None where it has none, as within a transformation.
      initial_seed: the seed of the default generator.
      capture: what captures a program now, or None.
      snapshot: a tensor of its own with the same value, in the program that is being captured; None
        where it has none.
      see_programs: lets a ``EventWatch`` see into compiled functions, until what it gives is
        called.
    """

    name: str
    folder: str
    tensor: type
    module: type
    before_step: Callable[[Callable[..., None]], Any]
    after_step: Callable[[Callable[..., None]], Any]
    function_mode: type
    name_of: Callable[[Any], str | None]
    function: type
    dispatch: tuple[str, ...]
    array: Callable[[Any], np.ndarray | None]
    initial_seed: Callable[[], int]
    capture: Callable[[], Any] = lambda: None
    snapshot: Callable[[Any], Any] = lambda tensor: None
    see_programs: Callable[[Any], Callable[[], None]] | None = None


def of(
    torch: Any, optimizer: Any, overrides: Any, values: Callable[[Any], Any]
) -> WatchedFramework:
    """Describe the framework that ``torch`` is.

    Args:
        optimizer: its ``torch.optim.optimizer``.
        overrides: its ``torch.overrides``.
        values: gives a detached, dense tensor's values as an array.
    """

    def array(tensor: Any) -> np.ndarray | None:
        if tensor.is_meta:
            return None
        try:
            detached = tensor.detach()
            return values(detached if detached.layout == torch.strided else detached.to_dense())
        except (RuntimeError, TypeError, NotImplementedError):  # it stands for one, as under vmap
            return None

    return WatchedFramework(
        name=torch.__name__,
        folder=torch.__path__[0],
        tensor=torch.Tensor,
        module=torch.nn.Module,
        before_step=optimizer.register_optimizer_step_pre_hook,
        after_step=optimizer.register_optimizer_step_post_hook,
        function_mode=overrides.TorchFunctionMode,
        name_of=overrides.resolve_name,
        function=torch.autograd.Function,
        dispatch=tuple(os.path.join(torch.__path__[0], *name.split("/")) for name in _DISPATCH),
        array=array,
        initial_seed=torch.initial_seed,
    )


def of_torch(torch: Any, optimizer: Any, overrides: Any) -> WatchedFramework:
    """Describe real PyTorch as a framework."""
    kept_by_numpy = {getattr(torch, name) for name in _NUMPYS}

    def values(tensor: Any) -> np.ndarray:
        on_host = tensor.resolve_conj().resolve_neg().cpu()
        return (on_host if on_host.dtype in kept_by_numpy else on_host.double()).numpy()

    return of(torch, optimizer, overrides, values)


#: Dtypes that NumPy has.
_NUMPYS = (
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
)


def of_torchlike(torchlike: Any, optimizer: Any, overrides: Any, programs: Any) -> WatchedFramework:
    """Describe torchlike as a framework. Its arrays are JAX's: to read one leaves the tensor's
    memory to it alone.

    Args:
        programs: ``torchlike.porting.divergence.programs``.
    """
    return replace(
        of(torchlike, optimizer, overrides, programs.values),
        capture=programs.capture,
        snapshot=programs.snapshot,
        see_programs=programs.see,
    )
