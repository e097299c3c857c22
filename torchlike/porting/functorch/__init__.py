"""``import functorch`` where ``torch`` is torchlike: ``torch.func`` by its older names.

Each of them warns, as PyTorch's do. First-class dimensions (``functorch.dim``) and
``functorch.einops`` are not here: their import fails, which libraries are ready for. Use instead:
``torch.vmap``, ``torch.einsum``.
"""

from torchlike._functorch.python_key import make_fx
from torchlike.func.deprecated import (
    combine_state_for_ensemble,
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    make_functional,
    make_functional_with_buffers,
    vjp,
    vmap,
)
from torchlike.func.make_functional import FunctionalModule, FunctionalModuleWithBuffers
from torchlike.version import __version__ as __version__

__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "combine_state_for_ensemble",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "make_functional",
    "make_functional_with_buffers",
    "make_fx",
    "vjp",
    "vmap",
]
