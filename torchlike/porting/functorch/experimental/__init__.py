"""``functorch.experimental``: names that moved to ``torch.func``."""

from torchlike.func import (
    functionalize,
    hessian,
    jacfwd,
    jvp,
    replace_all_batch_norm_modules_,
)

__all__ = ["functionalize", "hessian", "jacfwd", "jvp", "replace_all_batch_norm_modules_"]
