"""Schedules: in which order a rank computes the microbatches of its stages, and a step of that."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from torchlike._compat.unsupported import Gap, raising
from torchlike.autograd.grad_mode import is_grad_enabled
from torchlike.distributed.pipelining import _orders
from torchlike.distributed.pipelining._orders import Action
from torchlike.distributed.pipelining.microbatch import (
    check_is_cut,
    merge_chunks,
    split_args_kwargs_into_chunks,
    split_tensor,
)
from torchlike.distributed.pipelining.stage import PipelineStage
from torchlike.tensor import Tensor


class _PipelineSchedule:
    """What all schedules share: cutting a batch, running the order, losses and outputs."""

    def __init__(
        self,
        stages: list[PipelineStage],
        n_microbatches: int,
        loss_fn: Callable[..., Tensor] | None,
        args_chunk_spec: Any,
        kwargs_chunk_spec: Any,
        output_merge_spec: Any,
        scale_grads: bool,
    ) -> None:
        if n_microbatches < 1:
            raise ValueError(f"n_microbatches must be at least 1, got {n_microbatches}")
        self._stages, self._n_microbatches, self._loss_fn = stages, n_microbatches, loss_fn
        self._num_stages = stages[0].num_stages
        self.pp_group_size, self.rank = stages[0].group_size, stages[0].group_rank
        self._specs = args_chunk_spec, kwargs_chunk_spec
        self._output_merge_spec, self.scale_grads = output_merge_spec, scale_grads
        self._has_backward = loss_fn is not None
        #: The order of each rank.
        self.pipeline_order: dict[int, list[Action]] = {
            r: self._order(r) for r in range(self.pp_group_size)
        }
        own = {a.stage_index for a in self.pipeline_order[self.rank]}
        given = {s.stage_index for s in stages}
        if own != given:
            raise ValueError(
                f"{type(self).__name__}: rank {self.rank} of {self.pp_group_size} has stages "
                f"{sorted(own)} of {self._num_stages}, and was given {sorted(given)}"
            )

    def _order(self, rank: int) -> list[Action]:
        """Return the steps of a rank; NotImplementedError, as a subclass has them."""
        raise NotImplementedError(
            f"{type(self).__name__} has no order of its own: use ScheduleGPipe, Schedule1F1B, "
            "ScheduleInterleaved1F1B or ScheduleLoopedBFS"
        )

    def step(
        self,
        *args: Any,
        target: Any = None,
        losses: list[Any] | None = None,
        return_outputs: bool = True,
        loss_kwargs: dict[str, Any] | None = None,
        arg_mbs: list[tuple[Any, ...]] | None = None,
        kwarg_mbs: list[dict[str, Any]] | None = None,
        target_mbs: list[Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Run a batch forward and backward: gradients are added to those of the parameters.

        Args:
            *args: The batch, on the rank of the first stage.
            target: What the loss compares with, on the rank of the last stage.
            losses: Is filled with the loss of each microbatch there.
            return_outputs: Whether the outputs are put together.
            loss_kwargs: More arguments of the loss.
            arg_mbs: A batch that is cut already, in the place of ``args``: the positional arguments
                of each microbatch.
            kwarg_mbs: Its keyword arguments, in the place of ``kwargs``.
            target_mbs: Its targets, in the place of ``target``.
            **kwargs: Keyword arguments of this rank's stages.

        Returns:
            The outputs on the rank of the last stage, None on others.

        Raises:
            RuntimeError: gradients are off, or a stage raised.
            ValueError: the batch does not give as many microbatches, or is given whole and cut.
            TypeError: ``losses`` is no list, or a loss is to be computed without a target; what
                is cut is no list of tuples and dictionaries.
        """
        if self._has_backward and not is_grad_enabled():
            raise RuntimeError(
                "step() requires gradients to be enabled for backward computation; it should not "
                "be used under torch.no_grad() context. Please call eval() instead."
            )
        if losses is not None and not isinstance(losses, list):
            raise TypeError(f"losses must be a list but got a {type(losses)}")
        for stage in self._stages:
            stage.has_backward = self._has_backward
            stage.clear_runtime_states()
        inputs, targets = self._microbatches(
            args, kwargs, target, arg_mbs=arg_mbs, kwarg_mbs=kwarg_mbs, target_mbs=target_mbs
        )
        found = self._run(inputs, targets, loss_kwargs or {})
        for stage in self._stages:
            if self._has_backward:
                stage.end_of_step(self._n_microbatches if self.scale_grads else 1)
            if stage.is_last:
                if losses is not None:
                    losses[:] = found
                if return_outputs:
                    return merge_chunks(stage.output_chunks, self._output_merge_spec)
        return None

    def eval(
        self,
        *args: Any,
        target: Any = None,
        losses: list[Any] | None = None,
        arg_mbs: list[tuple[Any, ...]] | None = None,
        kwarg_mbs: list[dict[str, Any]] | None = None,
        target_mbs: list[Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Do ``step`` without backward."""
        cut = {"arg_mbs": arg_mbs, "kwarg_mbs": kwarg_mbs, "target_mbs": target_mbs}
        before, self._has_backward = self._has_backward, False
        try:
            return self.step(*args, target=target, losses=losses, **cut, **kwargs)
        finally:
            self._has_backward = before

    def _microbatches(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], target: Any, **cut: Any
    ) -> tuple[tuple[list[Any], list[Any]], list[Any] | None]:
        """Return the arguments and targets of the microbatches, of a batch that is whole, or
        ``cut`` by the caller."""
        if all(parts is None for parts in cut.values()):
            inputs = self._inputs(args, kwargs)
            return inputs, None if self._lacks(target) else split_tensor(
                target, 0, self._n_microbatches
            )
        check_is_cut(args, kwargs, target, cut, self._n_microbatches)
        arg_mbs, kwarg_mbs, targets = cut.values()
        n = self._n_microbatches
        inputs = arg_mbs or [()] * n, kwarg_mbs or [{}] * n
        return inputs, None if self._lacks(targets) else targets

    def _inputs(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], list[Any]]:
        n = self._n_microbatches
        if not args and not kwargs:
            return [()] * n, [{}] * n
        cut = split_args_kwargs_into_chunks(args, kwargs, n, *self._specs)
        for name, parts in zip(("arg_mbs", "kwarg_mbs"), cut, strict=True):
            if len(parts) != n:
                raise ValueError(f"Expecting {n} {name} but got {len(parts)}")
        return cut

    def _lacks(self, target: Any) -> bool:
        """Return whether there is no target; TypeError where the loss needs one."""
        last = any(s.is_last for s in self._stages)
        if target is None and last and self._loss_fn is not None:
            raise TypeError("step(): there is a loss function, and no target= on the last stage")
        return target is None

    def _run(
        self,
        inputs: tuple[list[Any], list[Any]],
        targets: list[Any] | None,
        loss_kwargs: dict[str, Any],
    ) -> list[Any]:
        local = {s.stage_index: s for s in self._stages}
        losses: dict[int, Any] = {}
        for stage_index, kind, i in self.pipeline_order[self.rank]:
            stage = local[stage_index]
            if kind == _orders.FORWARD:
                output = stage.forward(i, inputs[0][i], inputs[1][i], local)
                if stage.is_last and self._loss_fn is not None and targets is not None:
                    losses[i] = self._loss_fn(output, targets[i], **loss_kwargs)
            elif not self._has_backward:
                continue
            elif kind == _orders.WEIGHT:
                stage.backward_weights(i)
            else:
                loss = losses[i] if stage.is_last else None
                stage.backward(i, loss, local, later_weights=kind == _orders.INPUT)
        return [losses[i] for i in sorted(losses)]


class PipelineScheduleSingle(_PipelineSchedule):
    """Schedules of ranks with one stage each."""

    def __init__(
        self,
        stage: PipelineStage,
        n_microbatches: int,
        loss_fn: Callable[..., Tensor] | None = None,
        args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
    ) -> None:
        self._stage = stage
        super().__init__(
            [stage],
            n_microbatches,
            loss_fn,
            args_chunk_spec,
            kwargs_chunk_spec,
            output_merge_spec,
            scale_grads,
        )


class ScheduleGPipe(PipelineScheduleSingle):
    """All microbatches forward, then all backward."""

    def _order(self, rank: int) -> list[Action]:
        return _orders.gpipe(rank, self._n_microbatches)


class Schedule1F1B(PipelineScheduleSingle):
    """One forward, one backward: fewer microbatches are kept. ValueError for fewer microbatches
    than stages."""

    def _order(self, rank: int) -> list[Action]:
        n, stages = self._n_microbatches, self._num_stages
        if n < stages:
            raise ValueError(
                f"Number of microbatches ({n}) must be greater than or equal to the number of "
                f"stages ({stages})."
            )
        return _orders.one_forward_one_backward(rank, stages, n)


class _ScheduleForwardOnly(PipelineScheduleSingle):
    """Forward alone. RuntimeError with a loss function."""

    def _order(self, rank: int) -> list[Action]:
        if self._loss_fn is not None:
            raise RuntimeError("Forward-only schedule does not support loss computation")
        return [a for a in _orders.gpipe(rank, self._n_microbatches) if a.kind == _orders.FORWARD]


class PipelineScheduleMulti(_PipelineSchedule):
    """Schedules of ranks with several stages each: stage ``i`` on rank ``i % ranks``."""

    def __init__(
        self,
        stages: list[PipelineStage],
        n_microbatches: int,
        loss_fn: Callable[..., Tensor] | None = None,
        args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None,
        output_merge_spec: Any = None,
        use_full_backward: bool | None = None,
        scale_grads: bool = True,
        backward_requires_autograd: bool = True,
        defer_pp_recv: bool = False,
    ) -> None:
        if use_full_backward is not None:
            warnings.warn("use_full_backward is no longer used: the schedule decides", stacklevel=3)
        size, number = stages[0].group_size, stages[0].num_stages
        if number % size:
            raise ValueError(f"{number} stages do not divide among {size} ranks")
        for stage in stages:
            stage.stage_index_to_group_rank = {
                i: self._rank_of(i, size, number) for i in range(number)
            }
        self.n_local_stages = number // size
        super().__init__(
            stages,
            n_microbatches,
            loss_fn,
            args_chunk_spec,
            kwargs_chunk_spec,
            output_merge_spec,
            scale_grads,
        )

    def _rank_of(self, stage: int, ranks: int, stages: int) -> int:
        return stage % ranks


class ScheduleLoopedBFS(PipelineScheduleMulti):
    """Breadth first: all microbatches through a stage before the rank's next one."""

    def __init__(
        self,
        stages: list[PipelineStage],
        n_microbatches: int,
        loss_fn: Callable[..., Tensor] | None = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
        backward_requires_autograd: bool = True,
        defer_pp_recv: bool = False,
    ) -> None:
        super().__init__(
            stages,
            n_microbatches,
            loss_fn,
            output_merge_spec=output_merge_spec,
            scale_grads=scale_grads,
            backward_requires_autograd=backward_requires_autograd,
        )

    def _order(self, rank: int) -> list[Action]:
        stages = list(range(rank, self._num_stages, self.pp_group_size))
        return _orders.looped(stages, self._n_microbatches)


class _WithoutDeprecated(PipelineScheduleMulti):
    """The arguments of the schedules below."""

    _split = False

    def __init__(
        self,
        stages: list[PipelineStage],
        n_microbatches: int,
        loss_fn: Callable[..., Tensor] | None = None,
        args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
        backward_requires_autograd: bool = True,
        defer_pp_recv: bool = False,
    ) -> None:
        super().__init__(
            stages,
            n_microbatches,
            loss_fn,
            args_chunk_spec,
            kwargs_chunk_spec,
            output_merge_spec,
            None,
            scale_grads,
            backward_requires_autograd,
        )


class ScheduleInterleaved1F1B(_WithoutDeprecated):
    """Depth first over the stages of a rank, one backward for each forward. ValueError where the
    microbatches do not divide into rounds (``n // ranks`` of them)."""

    def _order(self, rank: int) -> list[Action]:
        n, ranks = self._n_microbatches, self.pp_group_size
        what = "Zero bubble" if self._split else "Interleaved 1F1B"
        self.number_of_rounds = max(1, n // ranks)
        self.microbatches_per_round = _orders.microbatches_per_round(n, ranks, what)
        return _orders.interleaved(
            rank, ranks, self.n_local_stages, n, self.microbatches_per_round, self._split
        )


class ScheduleInterleavedZeroBubble(ScheduleInterleaved1F1B):
    """The same with gradients of weights computed apart, while a rank would wait.

    Differs from PyTorch: the pass for the weights goes through the whole stage again, so it takes
    longer than PyTorch's, which keeps what lies between.
    """

    _split = True


class ScheduleZBVZeroBubble(_WithoutDeprecated):
    """Two stages on each rank, ``r`` and ``last - r``, gradients of weights apart. ValueError for
    another number of stages.

    Differs from PyTorch: as of ``ScheduleInterleavedZeroBubble``; and the order is found by a
    simulation in which each step takes as long.
    """

    def _rank_of(self, stage: int, ranks: int, stages: int) -> int:
        return stage if stage < ranks else stages - 1 - stage

    def _order(self, rank: int) -> list[Action]:
        if self.n_local_stages != 2:
            raise ValueError(
                f"ZBV requires exactly 2 stages per rank, but got {self.n_local_stages}."
            )
        return _orders.v_shaped(self.pp_group_size, self._n_microbatches)[rank]


ScheduleDualPipeV = raising(
    "distributed.pipelining.ScheduleDualPipeV",
    Gap(
        "forward and backward steps of two microbatches run one after the other here",
        "ScheduleZBVZeroBubble, which places stages the same way",
    ),
)

_BY_NAME: dict[str, Any] = {
    "1F1B": Schedule1F1B,
    "Interleaved1F1B": ScheduleInterleaved1F1B,
    "GPipe": ScheduleGPipe,
    "LoopedBFS": ScheduleLoopedBFS,
    "InterleavedZeroBubble": ScheduleInterleavedZeroBubble,
    "PipelineScheduleSingle": PipelineScheduleSingle,
    "PipelineScheduleMulti": PipelineScheduleMulti,
    "ZBVZeroBubble": ScheduleZBVZeroBubble,
    "DualPipeV": ScheduleDualPipeV,
}


def get_schedule_class(schedule_name: str) -> Any:
    """Return the schedule of a name, whatever its case. ValueError for none."""
    for name, schedule in _BY_NAME.items():
        if name.lower() == schedule_name.lower():
            return schedule
    raise ValueError(
        f"Unknown schedule name '{schedule_name}'. The valid options are {list(_BY_NAME)}"
    )
