"""The names of the package ``functorch``, each of which warns that ``torch.func`` has it."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from torchlike.func import gradients, tangents, writes
from torchlike.func import make_functional as _modules
from torchlike.func import vmap as _vmap

F = TypeVar("F", bound=Callable[..., Any])


def _deprecated(function: F, instead: str = "") -> F:
    name = function.__name__

    @functools.wraps(function)
    def warned(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(
            "We've integrated functorch into PyTorch. As the final step of the integration, "
            f"`functorch.{name}` is deprecated as of PyTorch 2.0 and will be deleted in a future "
            f"version of PyTorch >= 2.3. Please use `{instead or f'torch.func.{name}'}` instead; "
            "see the PyTorch 2.0 release notes and/or the `torch.func` migration guide for more "
            "details https://pytorch.org/docs/main/func.migrating.html",
            FutureWarning,
            stacklevel=2,
        )
        return function(*args, **kwargs)

    return warned  # type: ignore[return-value]


vmap = _deprecated(_vmap, "torch.vmap")
grad = _deprecated(gradients.grad)
grad_and_value = _deprecated(gradients.grad_and_value)
vjp = _deprecated(gradients.vjp)
jacrev = _deprecated(gradients.jacrev)
jvp = _deprecated(tangents.jvp)
jacfwd = _deprecated(tangents.jacfwd)
hessian = _deprecated(tangents.hessian)
functionalize = _deprecated(writes.functionalize)
make_functional = _deprecated(_modules.make_functional, "torch.func.functional_call")
make_functional_with_buffers = _deprecated(
    _modules.make_functional_with_buffers, "torch.func.functional_call"
)
combine_state_for_ensemble = _deprecated(
    _modules.combine_state_for_ensemble, "torch.func.stack_module_state"
)
