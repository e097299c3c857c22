"""Weight normalization by a forward pre-hook (Salimans & Kingma 2016)."""

from __future__ import annotations

import warnings
from typing import Any

from torchlike._ops.linalg.norms import norm_except_dim
from torchlike.nn.modules.module import M
from torchlike.nn.parameter import Parameter, is_lazy
from torchlike.nn.utils.weight_hook import WeightHook
from torchlike.tensor import Tensor


def normalized(v: Tensor, g: Tensor, dim: int) -> Tensor:
    """Return ``g v / ‖v‖``, with the norm taken over all dimensions but ``dim``."""
    return v * (g / norm_except_dim(v, 2, dim))


class WeightNorm(WeightHook):
    """The hook: before each forward the weight is made from its length and its direction."""

    _function = "weight_norm"

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Any) -> Tensor:
        """Compute the weight from ``name_g`` and ``name_v``."""
        g = getattr(module, self.name + "_g")
        v = getattr(module, self.name + "_v")
        return normalized(v, g, self.dim)

    @staticmethod
    def apply(module: Any, name: str, dim: int | None) -> WeightNorm:
        """Split the parameter ``name`` in two and register the hook. RuntimeError for a second."""
        WeightNorm.refuse_second(module, name)
        made = WeightNorm(name, dim)
        weight = getattr(module, name)
        if is_lazy(weight):
            raise ValueError(
                "The module passed to `WeightNorm` can't have uninitialized parameters. Make sure "
                "to run the dummy forward before applying weight normalization"
            )
        delattr(module, name)
        module.register_parameter(name + "_g", Parameter(norm_except_dim(weight, 2, made.dim).data))
        module.register_parameter(name + "_v", Parameter(weight.data))
        setattr(module, name, made.compute_weight(module))
        module.register_forward_pre_hook(made)
        return made

    def remove(self, module: Any) -> None:
        """Put one plain parameter in the place of the two."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        for part in ("_g", "_v"):
            delattr(module, self.name + part)
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Replace a parameter by ``name_g`` (lengths along ``dim``) and ``name_v``. Gives the module.

    RuntimeError when it is there already. ``parametrizations.weight_norm`` is the newer form.
    """
    warnings.warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of "
        "`torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: M, name: str = "weight") -> M:
    """Undo ``weight_norm``. ValueError when the parameter has none."""
    WeightNorm.take_off(module, name)
    return module
