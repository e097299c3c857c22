"""``torch.distributed.utils``: what libraries that wrap modules call."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from torchlike.autograd.grad_mode import no_grad
from torchlike.distributed import collectives
from torchlike.distributed.groups import ProcessGroup
from torchlike.tensor import Tensor


@no_grad()
def send_all(tensors: Sequence[Tensor], at: int, group: ProcessGroup) -> None:
    """Have all processes of a group hold the tensors of one, by its rank in the group."""
    full = [t for t in tensors if t.numel()]
    if full:
        collectives._broadcast_coalesced(full, at, group)


def _sync_module_states(
    module: Any,
    process_group: ProcessGroup,
    broadcast_bucket_size: int,
    src: int,
    params_and_buffers_to_ignore: Collection[str],
    broadcast_buffers: bool = True,
) -> None:
    """Have all processes hold the parameters and buffers of one. ``src`` is its rank in the group;
    the size of PyTorch's buckets is taken and means nothing."""
    named = [*module.named_parameters(), *(module.named_buffers() if broadcast_buffers else ())]
    tensors = [t for name, t in named if name not in params_and_buffers_to_ignore]
    send_all(tensors, src, process_group)
