"""``distribute_module``: a module's parameters and buffers as DTensors, in place."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from torchlike._core import modes
from torchlike.distributed.device_mesh import DeviceMesh, current_mesh
from torchlike.distributed.tensor._api import Placements, place_, where
from torchlike.distributed.tensor._declared import declared
from torchlike.distributed.tensor._specs import checked, sharding_for
from torchlike.tensor import Tensor

_M = TypeVar("_M")  # a module, whose room stands above this one


def place_parameter(module: Any, name: str, mesh: DeviceMesh, placements: Placements) -> None:
    """Put a parameter or buffer of a module onto the mesh; it stays the object that it is. Nothing
    where there is none, or where it lies on a mesh already."""
    t = module._parameters.get(name)
    t = module._buffers.get(name) if t is None else t
    if not isinstance(t, Tensor) or where(t) is not None:
        return
    wanted = checked(placements, mesh, t.dim())
    shape = tuple(t.shape)
    place_(t, mesh, sharding_for(wanted, mesh, shape), declared(wanted, mesh, shape))


def distribute_module(
    module: _M,
    device_mesh: DeviceMesh | None = None,
    partition_fn: Callable[[str, Any, DeviceMesh], None] | None = None,
    input_fn: Callable[..., Any] | None = None,
    output_fn: Callable[..., Any] | None = None,
) -> _M:
    """Put the parameters and buffers of a module onto the mesh as ``partition_fn(name, submodule,
    mesh)`` does; what it leaves is replicated.

    ``input_fn(module, inputs, mesh)`` and ``output_fn(module, outputs, mesh)`` run around forward.
    RuntimeError the second time, ValueError for functions of another number of arguments.
    """
    if getattr(module, "_distribute_module_applied", False):
        raise RuntimeError(
            "distribute_module should only be called once on a module, but it has already been "
            "called on this module!"
        )
    mesh = device_mesh or current_mesh()
    given: Any = module
    for name, part in given.named_modules():
        if partition_fn is not None:
            partition_fn(name, part, mesh)
        for table in (part._parameters, part._buffers):
            for key in table:
                place_parameter(part, key, mesh, None)
    if input_fn is not None:
        before = _with_module(input_fn, "input_fn", "inputs")
        given.register_forward_pre_hook(lambda m, inputs: before(m, inputs, mesh))
    if output_fn is not None:
        after = _with_module(output_fn, "output_fn", "outputs")
        given.register_forward_hook(lambda m, inputs, outputs: after(m, outputs, mesh))
    given._distribute_module_applied = True
    modes.epoch.advance()
    return module


def _with_module(function: Callable[..., Any], name: str, what: str) -> Callable[..., Any]:
    """Wrap ``function`` so that it takes the module as its first argument, which an older form
    lacks."""
    count = len(inspect.signature(function).parameters)
    if count == 3:
        return function
    if count != 2:
        raise ValueError(f"{name} should take in 3 arguments, but got {count} arguments!")
    warnings.warn(
        f"Deprecating {name} that takes two arguments ({what}, device_mesh), please use {name} "
        f"that takes in (module, {what}, device_mesh) instead!",
        FutureWarning,
        stacklevel=3,
    )
    return lambda module, values, mesh: function(values, mesh)
