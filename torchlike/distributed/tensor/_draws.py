"""Random numbers written into a DTensor over processes: each process draws those of its own part.

So does PyTorch on the CPU: with one seed in all processes each part has the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable

from torchlike._core import modes
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike._runtime import mixed_operands
from torchlike.distributed.tensor._api import DTensor, placements, where
from torchlike.distributed.tensor._utils import compute_local_shape_and_global_offset
from torchlike.distributed.tensor.placement_types import Shard
from torchlike.tensor import Tensor


@mixed_operands.own_draws.by
def draw_own_part(t: Tensor, draw: Callable[[Tensor], Tensor]) -> bool:
    """Have ``draw(part)`` fill this process' part of a DTensor that is cut, and write the whole of
    the parts into it; return whether ``t`` is one. Not within a captured program."""
    found = None if modes.is_capturing() or t._view is not None else where(t)
    if found is None or found[1].is_local or t.device.type != "cpu":
        return False
    wanted, mesh = placements(t), found[1]
    if not all(type(p) is Shard or p.is_replicate() for p in wanted) or not any(
        type(p) is Shard for p in wanted
    ):
        return False
    size, _ = compute_local_shape_and_global_offset(t.shape, mesh, wanted)
    own = draw(NAMESPACES[""]["empty"](size, dtype=t.dtype))
    t.copy_(DTensor.from_local(own, mesh, wanted, shape=t.shape, stride=t.stride()))
    return True
