"""``functorch.experimental``: names that moved to ``torch.func``."""

from torchlike._functorch.apis import chunk_vmap
from torchlike.func import (
    functionalize,
    hessian,
    jacfwd,
    jvp,
    replace_all_batch_norm_modules_,
)

__all__ = [
    "chunk_vmap",
    "functionalize",
    "hessian",
    "jacfwd",
    "jvp",
    "replace_all_batch_norm_modules_",
]
