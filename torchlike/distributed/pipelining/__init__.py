"""``torch.distributed.pipelining``: a model in stages on several ranks, fed with microbatches."""

from torchlike.distributed.pipelining._IR import Pipe, SplitPoint, pipe_split, pipeline
from torchlike.distributed.pipelining.schedules import (
    Schedule1F1B,
    ScheduleDualPipeV,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleInterleavedZeroBubble,
    ScheduleLoopedBFS,
    ScheduleZBVZeroBubble,
    _ScheduleForwardOnly,
)
from torchlike.distributed.pipelining.stage import PipelineStage, build_stage

__all__ = [
    "Pipe",
    "PipelineStage",
    "Schedule1F1B",
    "ScheduleDualPipeV",
    "ScheduleGPipe",
    "ScheduleInterleaved1F1B",
    "ScheduleInterleavedZeroBubble",
    "ScheduleLoopedBFS",
    "ScheduleZBVZeroBubble",
    "SplitPoint",
    "_ScheduleForwardOnly",
    "build_stage",
    "pipe_split",
    "pipeline",
]
