"""A stage of a pipeline: a module, what it is given and what it passes on.

Activations and gradients go through the mailbox of the ranks, each with its dtype and shape, so
nothing has to be said of them beforehand and microbatches may differ in size.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from torchlike import autograd
from torchlike._core.storage import host_value
from torchlike._runtime import trees
from torchlike.autograd.grad_mode import no_grad
from torchlike.distributed.groups import ProcessGroup, member
from torchlike.distributed.host_exchange import mailbox, values_of
from torchlike.distributed.mailbox import decoded
from torchlike.distributed.works import refuse_capture
from torchlike.nn.modules.module import Module
from torchlike.nn.parallel.distributed import DistributedDataParallel
from torchlike.tensor import Tensor, wrap

#: Above the tags of scripts.
_TAGS = 1 << 40
_ACTIVATIONS, _GRADIENTS = 0, 1


class PipeliningMetadataError(RuntimeError):
    """A stage gave or got other tensors than it was said to."""


def _as_tuple(output: Any) -> tuple[Any, ...]:
    if isinstance(output, list | tuple):
        return tuple(output)
    return (output,)


class PipelineStage:
    """A module as one stage of ``num_stages``.

    Args:
        submodule: The stage's part of the model, on this rank.
        stage_index: Its place, from 0.
        num_stages: How many stages there are on all ranks together.
        device: Where it computes.
        input_args, output_args: Examples of what a microbatch gives and gets; checked where they
            are given.
        group: The ranks of the pipeline, all by default.

    Raises:
        ValueError: the index is not one of a stage, or the group has more ranks than stages.
        NotImplementedError: ``dw_builder`` or ``get_mesh`` is given.
    """

    def __init__(
        self,
        submodule: Module,
        stage_index: int,
        num_stages: int,
        device: Any,
        input_args: Any = None,
        output_args: Any = None,
        output_grads: Any = None,
        input_grads: Any = None,
        group: ProcessGroup | None = None,
        dw_builder: Any = None,
        get_mesh: Any = None,
    ) -> None:
        if not 0 <= stage_index < num_stages:
            raise ValueError(f"Stage index {stage_index} is out of range of {num_stages}")
        if dw_builder is not None or get_mesh is not None:
            raise NotImplementedError(
                "PipelineStage(dw_builder=, get_mesh=): give a plain module; schedules split "
                "gradients of inputs and weights themselves, and DTensors stay inside a stage"
            )
        self.submod, self.stage_index, self.num_stages = submodule, stage_index, num_stages
        self.device, self.group = device, member(group)
        self.group_rank, self.group_size = self.group.rank(), self.group.size()
        if self.group_size > num_stages:
            raise ValueError(
                f"Pipeline group size {self.group_size} cannot be larger than number of stages "
                f"{num_stages}"
            )
        self.stage_index_to_group_rank = {i: i % self.group_size for i in range(num_stages)}
        self.has_backward = False
        self._examples = {"inputs": input_args, "outputs": output_args}
        self.clear_runtime_states()

    @property
    def is_first(self) -> bool:
        """Whether this is the first stage."""
        return self.stage_index == 0

    @property
    def is_last(self) -> bool:
        """Whether this is the last stage."""
        return self.stage_index == self.num_stages - 1

    def clear_runtime_states(self) -> None:
        """Forget the microbatches of the step before."""
        self.output_chunks: list[Any] = []
        self._given: dict[int, tuple[list[Tensor], int]] = {}
        self._made: dict[int, list[Tensor]] = {}
        self._here: dict[tuple[int, int], list[Tensor | None]] = {}
        self._kept: dict[int, tuple[list[Any], list[Any], list[Any]]] = {}

    # -- between stages ----------------------------------------------------------------------------

    def _tag(self, kind: int, stage: int, microbatch: int) -> int:
        return _TAGS + ((microbatch * self.num_stages + stage) << 1) + kind

    def _pass_on(
        self,
        kind: int,
        to: int,
        microbatch: int,
        values: Sequence[Tensor | None],
        local: dict[int, PipelineStage],
    ) -> None:
        if to in local:
            local[to]._here[kind, microbatch] = list(values)
            return
        refuse_capture("send")
        peer = self.group.ranks[self.stage_index_to_group_rank[to]]
        tag, box, number = self._tag(kind, to, microbatch), mailbox(), self.group.number
        marks = [0 if v is None else 2 if v.requires_grad else 1 for v in values]
        box.post(peer, number, tag, np.asarray(marks, np.int64), "int64")
        for value in values:
            if value is not None:
                box.post(peer, number, tag, values_of(value.detach()), value.dtype.name)

    def _get(self, kind: int, sender: int, microbatch: int) -> list[Tensor | None]:
        if (kind, microbatch) in self._here:
            return self._here.pop((kind, microbatch))
        refuse_capture("recv")
        peer = self.group.ranks[self.stage_index_to_group_rank[sender]]
        tag, box, number = (
            self._tag(kind, self.stage_index, microbatch),
            mailbox(),
            self.group.number,
        )
        seconds = self.group.timeout.total_seconds()

        def one() -> np.ndarray:
            at = box.expect(peer, number, tag)
            return decoded(box.collect(peer, number, tag, at, seconds))

        found: list[Tensor | None] = []
        for mark in one().tolist():
            if mark == 0:
                found.append(None)
                continue
            value = wrap(host_value(one()))
            found.append(value.requires_grad_() if mark == 2 else value)
        return found

    # -- one microbatch ----------------------------------------------------------------------------

    def forward(
        self,
        microbatch: int,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        local: dict[int, PipelineStage],
    ) -> Any:
        """Compute a microbatch, and pass it on. RuntimeError where the module raises."""
        if not self.is_first:
            got = self._get(_ACTIVATIONS, self.stage_index - 1, microbatch)
            args = tuple(
                t.detach().requires_grad_(t.requires_grad and self.has_backward)
                for t in got
                if t is not None
            )
        self._check("inputs", args)
        try:
            with self._without_averaging():
                output = self.submod(*args, **kwargs)
        except Exception as error:
            raise RuntimeError(
                f"[Stage {self.stage_index}] failed to run forward of microbatch {microbatch}: "
                f"{type(error).__name__}: {error}\nargs: {_described(args)}\n"
                f"kwargs: {_described(tuple(kwargs.values()))}"
            ) from error
        outputs = _as_tuple(output)
        self._check("outputs", outputs)
        if self.has_backward:
            count = 0 if self.is_first else len(args)
            inputs = [*(args if count else ()), *trees.flatten(kwargs)[0]]
            self._given[microbatch] = [t for t in inputs if isinstance(t, Tensor)], count
            self._made[microbatch] = list(outputs)
        if self.is_last:
            self.output_chunks.append(output)
        else:
            if not all(isinstance(t, Tensor) for t in outputs):
                raise TypeError(
                    f"[Stage {self.stage_index}] passes on {_described(outputs)}: a stage gives a "
                    "tensor or a tuple of tensors"
                )
            self._pass_on(_ACTIVATIONS, self.stage_index + 1, microbatch, outputs, local)
        return output

    def backward(
        self,
        microbatch: int,
        loss: Tensor | None,
        local: dict[int, PipelineStage],
        *,
        later_weights: bool = False,
    ) -> None:
        """Compute the gradients of a microbatch: into the parameters, and back to the stage before.
        With ``later_weights`` those of the parameters wait for ``backward_weights``."""
        (inputs, count), outputs = self._given.pop(microbatch), self._made.pop(microbatch)
        if self.is_last:
            ends, grads = [loss], [None]
        else:
            got = self._get(_GRADIENTS, self.stage_index + 1, microbatch)
            pairs = [(o, g) for o, g in zip(outputs, got, strict=True) if g is not None]
            ends, grads = [o for o, _ in pairs], [g for _, g in pairs]
        wanted = [t for t in inputs[:count] if t.requires_grad]
        if later_weights:
            found: list[Any] = []
            if wanted and ends:
                found = list(
                    autograd.grad(ends, wanted, grads, retain_graph=True, allow_unused=True)
                )
            self._kept[microbatch] = ends, grads, outputs
            by_input = iter(found)
            back = [next(by_input, None) if t.requires_grad else None for t in inputs[:count]]
        else:
            if ends:
                autograd.backward(ends, grads)
            back = [t.grad for t in inputs[:count]]
        if count:
            self._pass_on(_GRADIENTS, self.stage_index - 1, microbatch, back, local)
        if self.is_last and not later_weights:
            self._let_go(outputs)

    def backward_weights(self, microbatch: int) -> None:
        """Compute the gradients of the parameters that ``backward`` left for later."""
        ends, grads, outputs = self._kept.pop(microbatch)
        wanted = [p for p in self.submod.parameters() if p.requires_grad]
        if ends and self.is_first:  # the batch itself may want gradients
            autograd.backward(ends, grads)
        elif ends and wanted:
            autograd.backward(ends, grads, inputs=wanted)
        if self.is_last:
            self._let_go(outputs)

    def _let_go(self, outputs: list[Any]) -> None:
        """Detach the outputs that are kept for the caller, so that they no longer hold the
        graph."""
        for output in outputs:
            if not self.is_first and isinstance(output, Tensor) and not output._is_view():
                output.detach_()

    # -- gradients of a step -----------------------------------------------------------------------

    def end_of_step(self, grad_scale_factor: int) -> None:
        """Average over the replicas of a DistributedDataParallel once all microbatches are through,
        and divide."""
        if isinstance(self.submod, DistributedDataParallel):
            self.submod.average_gradients()
        self.scale_grads(grad_scale_factor)

    def _without_averaging(self) -> contextlib.AbstractContextManager[Any]:
        if isinstance(self.submod, DistributedDataParallel):
            return self.submod.no_sync()
        return contextlib.nullcontext()

    def scale_grads(self, grad_scale_factor: int) -> None:
        """Divide the gradients of all parameters."""
        if grad_scale_factor == 1:
            return
        with no_grad():
            for p in self.submod.parameters():
                if p.grad is not None:
                    p.grad.div_(grad_scale_factor)

    def _check(self, which: str, values: tuple[Any, ...]) -> None:
        examples = self._examples[which]
        if examples is None:
            return
        said = _as_tuple(examples)
        same = len(said) == len(values) and all(
            not isinstance(s, Tensor)
            or (isinstance(v, Tensor) and s.shape == v.shape and s.dtype == v.dtype)
            for s, v in zip(said, values, strict=False)
        )
        if not same:
            raise PipeliningMetadataError(
                f"Stage {self.stage_index} forward {which}: expected {_described(said)}, got "
                f"{_described(values)}"
            )


def _described(values: Sequence[Any]) -> str:
    said = [
        f"{v.dtype} {tuple(v.shape)}" if isinstance(v, Tensor) else type(v).__name__ for v in values
    ]
    return f"({', '.join(said)})"


def build_stage(
    stage_module: Module,
    stage_index: int,
    pipe_info: Any,
    device: Any,
    group: ProcessGroup | None = None,
) -> PipelineStage:
    """Make a stage of a module that ``pipeline`` cut."""
    return PipelineStage(stage_module, stage_index, pipe_info.num_stages, device, group=group)
