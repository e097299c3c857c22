"""``torch.utils``."""

from torchlike.utils import benchmark, checkpoint, data, dlpack, hooks, model_zoo

__all__ = ["benchmark", "checkpoint", "data", "dlpack", "hooks", "model_zoo"]
