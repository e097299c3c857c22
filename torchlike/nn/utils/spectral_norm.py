"""Spectral normalization by a forward pre-hook (Miyato et al. 2018)."""

from __future__ import annotations

from typing import Any

from torchlike._ops import functions
from torchlike.autograd.grad_mode import no_grad
from torchlike.nn.modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from torchlike.nn.modules.module import M
from torchlike.nn.parameter import Parameter, is_lazy
from torchlike.nn.utils.weight_hook import WeightHook
from torchlike.tensor import Tensor

normalize = functions.nn_functional.normalize


def output_dim(module: Any, dim: int | None) -> int:
    """Return the dimension of the weight that counts outputs."""
    if dim is not None:
        return dim
    kinds = (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)
    return 1 if isinstance(module, kinds) else 0


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """Return the weight as a matrix: ``dim`` first, all other dimensions in one."""
    if dim != 0:
        weight = weight.permute(dim, *(d for d in range(weight.dim()) if d != dim))
    return weight.reshape(weight.size(0), -1)


class SpectralNorm(WeightHook):
    """The hook: before each forward the weight is divided by its largest singular value, which a
    few power iterations follow while it trains."""

    _function = "spectral_norm"
    #: 1: the right singular vector is saved too.
    _version = 1

    def __init__(
        self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        self.name, self.dim, self.eps = name, dim, eps
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.n_power_iterations = n_power_iterations

    def compute_weight(self, module: Any, do_power_iteration: bool) -> Tensor:
        """Return ``W / σ``. The power iteration updates the vectors in place, and copies of them
        are used, so that two forwards can both be differentiated."""
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = as_matrix(weight, self.dim)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(normalize(functions.mv(matrix.t(), u), dim=0, eps=self.eps))
                    u.copy_(normalize(functions.mv(matrix, v), dim=0, eps=self.eps))
                u, v = u.clone(), v.clone()
        return weight / functions.dot(u, functions.mv(matrix, v))

    def remove(self, module: Any) -> None:
        """Make the normalized weight a plain parameter."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for name in (self.name, *(self.name + part for part in ("_u", "_v", "_orig"))):
            delattr(module, name)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Any, inputs: Any) -> None:
        weight = self.compute_weight(module, do_power_iteration=module.training)
        setattr(module, self.name, weight)

    @staticmethod
    def apply(module: Any, name: str, n_power_iterations: int, dim: int, eps: float) -> Any:
        """Register the hook and its buffers. RuntimeError for a second one."""
        SpectralNorm.refuse_second(module, name)
        made = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if is_lazy(weight):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters. Make "
                "sure to run the dummy forward before applying spectral normalization"
            )
        with no_grad():
            h, w = as_matrix(weight, dim).shape
            u = normalize(weight.new_empty(h).normal_(0, 1), dim=0, eps=eps)
            v = normalize(weight.new_empty(w).normal_(0, 1), dim=0, eps=eps)
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        setattr(module, name, weight.data)
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(made)
        module._register_state_dict_hook(_SaveVersion(made))
        module._register_load_state_dict_pre_hook(_LoadOlder(made))
        return made

    def solve_v(self, matrix: Tensor, u: Tensor, sigma: Tensor) -> Tensor:
        """Return the right vector for which ``uᵀ W v`` is ``sigma`` (least squares)."""
        v = functions.linalg.pinv(matrix.t() @ matrix) @ (matrix.t() @ u)
        return v * (sigma / functions.dot(u, functions.mv(matrix, v)))


class _SaveVersion:
    """Notes in a checkpoint that it has the right vector."""

    def __init__(self, norm: SpectralNorm) -> None:
        self.norm = norm

    def __call__(self, module: Any, state: Any, prefix: str, metadata: dict[str, Any]) -> None:
        notes = metadata.setdefault("spectral_norm", {})
        key = self.norm.name + ".version"
        if key in notes:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        notes[key] = self.norm._version


class _LoadOlder:
    """Completes checkpoints from before the right vector was saved."""

    def __init__(self, norm: SpectralNorm) -> None:
        self.norm = norm

    def __call__(
        self,
        state: Any,
        prefix: str,
        metadata: Any,
        strict: Any,
        missing: Any,
        unexpected: Any,
        errors: Any,
    ) -> None:
        norm = self.norm
        version = metadata.get("spectral_norm", {}).get(norm.name + ".version")
        if version is not None and version >= 1:
            return
        key = prefix + norm.name
        parts = [key + part for part in ("_orig", "_u")]
        if version is None and all(k in state for k in parts) and key not in state:
            return  # saved without metadata, and complete
        lost = [k for k in (*parts, key) if k not in state]
        if lost:
            if strict:
                missing.extend(lost)
            return
        with no_grad():
            original = state[parts[0]]
            weight = state.pop(key)
            sigma = (original / weight).mean()
            matrix = as_matrix(original, norm.dim)
            state[key + "_v"] = norm.solve_v(matrix, state[parts[1]], sigma)


def spectral_norm(
    module: Any,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Any:
    """Divide a parameter by its largest singular value before each forward. Gives the module.

    The weight is a matrix of ``dim`` (0, for transposed convolutions 1) by everything else.
    RuntimeError when it is there already. ``parametrizations.spectral_norm`` is the newer form.
    """
    SpectralNorm.apply(module, name, n_power_iterations, output_dim(module, dim), eps)
    return module


def remove_spectral_norm(module: M, name: str = "weight") -> M:
    """Undo ``spectral_norm``. ValueError when the parameter has none."""
    SpectralNorm.take_off(module, name)
    for table, kind in (
        (module._state_dict_hooks, _SaveVersion),
        (module._load_state_dict_pre_hooks, _LoadOlder),
    ):
        for number, hook in table.items():
            inner = getattr(hook, "hook", hook)
            if isinstance(inner, kind) and inner.norm.name == name:
                del table[number]
                break
    return module
