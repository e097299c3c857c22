"""What ``torch.distributed.checkpoint.optimizer`` has and torchlike refuses."""

from torchlike._compat.unsupported import Gap, raising

_GAP = Gap("checkpoints have one layout here", "set_optimizer_state_dict")
_SPACE = "distributed.checkpoint.optimizer"
load_sharded_optimizer_state_dict = raising(f"{_SPACE}.load_sharded_optimizer_state_dict", _GAP)
