"""``torch.func``: functions of functions. Derivatives, and mapping over examples.

They compose with each other, with in-place code and views inside the function, with ``backward()``
outside, and with ``torchlike.jit``.

Imports `nn`, `autograd`, `_functorch` and below. Begin with ``gradients.py``; ``tangents.py`` has
forward mode, ``modules.py`` `functional_call`, and ``_functorch/apis.py`` `vmap`.
"""

from torchlike._functorch.apis import vmap
from torchlike.func.gradients import grad, grad_and_value, jacrev, vjp
from torchlike.func.modules import (
    functional_call,
    replace_all_batch_norm_modules_,
    stack_module_state,
)
from torchlike.func.tangents import hessian, jacfwd, jvp, linearize
from torchlike.func.writes import functionalize

__all__ = [
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]
