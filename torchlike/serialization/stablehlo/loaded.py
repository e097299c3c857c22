"""Modules made of exported programs: state under the old names, ``forward`` from StableHLO."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torchlike import nn
from torchlike._runtime.trees import flatten_call
from torchlike.serialization.stablehlo.artifact import Artifact
from torchlike.serialization.stablehlo.signature import by_position
from torchlike.tensor import Tensor


class Branch(nn.Module):
    """A submodule: it holds its part of the state, and has no program of its own."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            "only the whole model was exported: export the submodule to call it alone"
        )


class LoadedModule(nn.Module):
    """A module whose ``forward`` is exported programs, one for each kind of arguments."""

    def __init__(
        self, artifacts: Sequence[Artifact], tensors: Mapping[str, Any], about: Mapping[str, Any]
    ) -> None:
        super().__init__()
        self.__dict__["_artifacts"] = list(artifacts)
        self.__dict__["_about"] = dict(about)
        #: Tensors that are no part of state_dict (non-persistent buffers).
        for name, t in tensors.items():
            owner: Any = self
            *path, last = name.split(".")
            for part in path:
                if part not in owner._modules:
                    owner.add_module(part, Branch())
                owner = owner._modules[part]
            if name in about["parameters"]:
                trainable = name in about["trainable"]
                p = t if isinstance(t, nn.Parameter) else nn.Parameter(t.detach())
                p.requires_grad_(trainable)
                owner.register_parameter(last, p)
            else:
                owner.register_buffer(last, t, persistent=name not in about["non_persistent"])
        self.train(about["training"])

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        # The programs of one file are of one function. (Not in files of torch.export.)
        parameters = self._artifacts[0].about.get("parameters")
        leaves, structure = flatten_call(*by_position(parameters, args, kwargs))
        for artifact in self._artifacts:
            mode = artifact.about["modeless"] or artifact.about["training"] is self.training
            if mode and artifact.fits(leaves, structure):
                return artifact(state_of(self), leaves)
        kinds = "; ".join(
            f"({a.describe()}) in {'training' if a.about['training'] else 'eval'} mode"
            for a in self._artifacts
        )
        given = ", ".join(
            f"{x.dtype.numpy}{list(x.shape)}" if isinstance(x, Tensor) else repr(x) for x in leaves
        )
        raise RuntimeError(
            f"no exported program takes ({given}) in "
            f"{'training' if self.training else 'eval'} mode; there are programs for {kinds}"
        )


def state_of(module: Any) -> dict[str, Tensor]:
    """Return parameters and buffers by name, shared ones under each name."""
    return {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }


def about_state(module: Any) -> dict[str, Any]:
    """Return the facts about a module's state that a file keeps besides the tensors."""
    parameters = dict(module.named_parameters(remove_duplicate=False))
    persistent = set(module.state_dict())
    buffers = [n for n, _ in module.named_buffers(remove_duplicate=False)]
    return {
        "parameters": list(parameters),
        "trainable": [n for n, p in parameters.items() if p.requires_grad],
        "non_persistent": [n for n in buffers if n not in persistent],
        "training": bool(module.training),
    }
