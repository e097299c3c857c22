"""What ``torch.distributed.checkpoint.default_planner`` has and torchlike refuses."""

from torchlike._compat.unsupported import Gap, raising

_GAP = Gap("checkpoints have one layout here", "save() and load() without planner=")
_SPACE = "distributed.checkpoint.default_planner"
DefaultLoadPlanner = raising(f"{_SPACE}.DefaultLoadPlanner", _GAP)
DefaultSavePlanner = raising(f"{_SPACE}.DefaultSavePlanner", _GAP)
