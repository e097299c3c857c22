"""``torch_xla.experimental.spmd_fully_sharded_data_parallel``, usually FSDPv2."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from torchlike.distributed.fsdp.wrap import wrap_children
from torchlike.nn.modules.module import Module
from torchlike.porting.torch_xla._absent import absent
from torchlike.porting.torch_xla.distributed import spmd

__getattr__ = absent("torch_xla.experimental.spmd_fully_sharded_data_parallel")


class SpmdFullyShardedDataParallel(Module):
    """A module whose parameters are sharded over the mesh's axis ``fsdp``, each in its largest
    dimension that the axis divides; others are on each device. XLA gathers them where they are
    used, and shards what is computed by the batch.

    Args:
      mesh: `spmd.get_global_mesh()` unless given.
      shard_output: called with what the module gives and the mesh.
      auto_wrap_policy: which modules inside are wrapped too
        (`torch_xla.distributed.fsdp.wrap`), by ``auto_wrapper_callable`` or this class.
      extra_data_axis: another axis over which parameters are sharded.

    RuntimeError for a module that is wrapped already; ValueError without a mesh, or where it has no
    axis ``fsdp`` or ``extra_data_axis``.
    """

    def __init__(
        self,
        module: Module,
        *,
        mesh: spmd.Mesh | None = None,
        shard_output: Callable[[Any, spmd.Mesh], None] | None = None,
        auto_wrap_policy: Any = None,
        auto_wrapper_callable: Callable[..., Module] | None = None,
        extra_data_axis: str | None = None,
    ) -> None:
        if isinstance(module, SpmdFullyShardedDataParallel):
            raise RuntimeError("Cannot wrap a module that is already wrapped with FSDP.")
        mesh = mesh or spmd.get_global_mesh()
        if mesh is None:
            raise ValueError(
                "No mesh is provided and no global mesh is set. Please provide a mesh."
            )
        if "fsdp" not in mesh.axis_names:
            raise ValueError("The mesh must have an axis named 'fsdp'.")
        if extra_data_axis and extra_data_axis not in mesh.axis_names:
            raise ValueError(f"The provided {extra_data_axis} axis is not in the mesh.")
        super().__init__()
        if auto_wrap_policy is not None:
            wrapper = functools.partial(
                auto_wrapper_callable or SpmdFullyShardedDataParallel,
                mesh=mesh,
                shard_output=shard_output,
            )
            wrap_children(module, auto_wrap_policy, wrapper, set())
        self._orig_module = module
        self._mesh, self._shard_output = mesh, shard_output
        axes = (extra_data_axis, "fsdp") if extra_data_axis else ("fsdp",)
        for parameter in module.parameters():
            _shard(parameter, mesh, axes)

    @property
    def module(self) -> Module:
        """The module that was wrapped."""
        return self._orig_module

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module, and shard its output where that was asked for."""
        output = self._orig_module(*args, **kwargs)
        if self._shard_output is not None:
            self._shard_output(output, self._mesh)
        return output


def _shard(parameter: Any, mesh: spmd.Mesh, axes: tuple[str, ...]) -> None:
    count = 1
    for axis in axes:
        count *= mesh.shape()[axis]
    sizes = [n if n % count == 0 else 0 for n in parameter.shape]
    spec: list[Any] = [None] * len(sizes)
    if any(sizes):
        spec[sizes.index(max(sizes))] = axes
    spmd.mark_sharding(parameter, mesh, spec)
