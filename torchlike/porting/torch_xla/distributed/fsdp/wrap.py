"""``torch_xla.distributed.fsdp.wrap``: PyTorch's policies of which modules are wrapped."""

from torchlike.distributed.fsdp.wrap import (
    always_wrap_policy,
    lambda_auto_wrap_policy,
    size_based_auto_wrap_policy,
    transformer_auto_wrap_policy,
)
from torchlike.porting.torch_xla._absent import absent

__all__ = [
    "always_wrap_policy",
    "lambda_auto_wrap_policy",
    "size_based_auto_wrap_policy",
    "transformer_auto_wrap_policy",
]
__getattr__ = absent("torch_xla.distributed.fsdp.wrap")
