"""Post-local SGD: after some steps gradients are averaged within a subgroup alone."""

from __future__ import annotations

from typing import Any

from torchlike._core import modes
from torchlike.distributed.algorithms.ddp_comm_hooks.default_hooks import averaged, done
from torchlike.distributed.groups import ProcessGroup
from torchlike.distributed.subgroups import new_subgroups
from torchlike.futures import Future
from torchlike.tensor import Tensor

__all__ = ["PostLocalSGDState", "post_localSGD_hook"]


class PostLocalSGDState:
    """How many steps average over ``process_group`` (None: the world), and what the others do:
    average over ``subgroup`` (None: the processes of one machine), or nothing."""

    def __init__(
        self,
        process_group: ProcessGroup | None,
        subgroup: ProcessGroup | None,
        start_localSGD_iter: int,
        post_local_gradient_allreduce: bool = True,
    ) -> None:
        self.process_group = process_group
        self.subgroup = subgroup
        self.start_localSGD_iter = start_localSGD_iter
        self.post_local_gradient_allreduce = post_local_gradient_allreduce
        self.iter = 0

    def maybe_increase_iter(self, bucket: Any) -> None:
        """Count a step, at its last bucket."""
        self.iter += bucket.is_last()


def post_localSGD_hook(state: PostLocalSGDState, bucket: Any) -> Future[Tensor]:
    """Average a bucket over all processes, and over the subgroup alone in later steps. Parameters
    are averaged by a ``PeriodicModelAverager`` after the optimizer's step.

    JitCaptureError in a compiled step: the hook counts the steps.
    """
    modes.running_capture().refuse(
        "a step whose communication hook counts the steps", "the step outside torchlike.jit"
    )
    if state.iter < state.start_localSGD_iter:
        state.maybe_increase_iter(bucket)
        return averaged(state.process_group, bucket.buffer())
    if not state.post_local_gradient_allreduce:
        return done(bucket.buffer())
    if state.subgroup is None:
        state.subgroup = new_subgroups()[0]
    return averaged(state.subgroup, bucket.buffer())
