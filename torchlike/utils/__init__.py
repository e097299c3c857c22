"""``torch.utils``."""

from torchlike.utils import _pytree, benchmark, checkpoint, data, dlpack, hooks, model_zoo
from torchlike.utils.swap import swap_tensors

__all__ = ["_pytree", "benchmark", "checkpoint", "data", "dlpack", "hooks", "model_zoo",
           "swap_tensors"]  # fmt: skip
