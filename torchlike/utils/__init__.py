"""``torch.utils``."""

from torchlike.utils import _pytree, benchmark, checkpoint, data, dlpack, hooks, model_zoo

__all__ = ["_pytree", "benchmark", "checkpoint", "data", "dlpack", "hooks", "model_zoo"]
