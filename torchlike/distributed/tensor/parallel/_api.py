"""``parallelize_module``: a plan of styles, by the names of modules; ``loss_parallel``."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from fnmatch import fnmatch
from typing import Any, TypeVar

from torchlike.distributed.device_mesh import DeviceMesh, current_mesh
from torchlike.distributed.tensor.parallel._styles import ParallelStyle
from torchlike.nn.modules.module import Module

_M = TypeVar("_M", bound=Module)


def parallelize_module(
    module: _M,
    device_mesh: DeviceMesh | None = None,
    parallelize_plan: ParallelStyle | dict[str, ParallelStyle] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> _M:
    """Put a module onto a mesh of one dimension as a style, or a plan of them by dotted names
    (``"layers.*.wq"``), says; gives the module.

    TypeError for another kind of plan; ValueError for a mesh of several dimensions, whose slice is
    meant.
    """
    mesh = device_mesh or current_mesh()
    if parallelize_plan is None:
        warnings.warn(
            "No parallelize_plan is provided and auto-parallel is not supported at the moment, so "
            "this parallelize_module call will do nothing.",
            stacklevel=2,
        )
        return module
    if mesh.ndim != 1:
        raise ValueError(
            f"parallelize_module takes a mesh of one dimension, mesh['tp'], not {mesh}"
        )
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        parallelize_plan._apply(module, mesh)
        return module
    if not isinstance(parallelize_plan, dict):
        raise TypeError(
            "Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for parallelize_plan, "
            f"{type(parallelize_plan)} found!"
        )
    for path, style in parallelize_plan.items():
        if not path:
            parallelize_module(module, mesh, style, src_data_rank=src_data_rank)
            continue
        token, _, rest = path.partition(".")
        matched = [child for name, child in module.named_children() if fnmatch(name, token)]
        if not matched:
            warnings.warn(
                f"Parallelize plan key '{path}' could not be resolved: no submodule matching token "
                f"'{token}' in module {module}, skipping this plan entry.",
                stacklevel=2,
            )
        for child in matched:
            plan: Any = {rest: style} if rest else style
            parallelize_module(child, mesh, plan, src_data_rank=src_data_rank)
    return module


@contextlib.contextmanager
def loss_parallel() -> Iterator[None]:
    """Have ``cross_entropy`` take logits that are cut in their classes, in a ``with`` block; so it
    does outside: XLA takes the maximum and the sum over devices, and gathers no logits."""
    yield
