"""Modules as functions of their state, as ``functorch`` had them before ``torch.func``.

``make_functional(module)`` gives a function and the parameters; ``torch.func.functional_call`` is
what PyTorch names instead.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from torchlike._core.dispatch.registry import NAMESPACES
from torchlike._ops.shape.joining import stack
from torchlike.nn.modules.module import Module
from torchlike.nn.parameter import Parameter
from torchlike.nn.utils._named_member_accessor import NamedMemberAccessor
from torchlike.nn.utils.stateless import reparametrized
from torchlike.tensor import Tensor

__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "combine_state_for_ensemble",
    "make_functional",
    "make_functional_with_buffers",
]

#: The first name of each tensor -> all its names.
_Names = dict[str, list[str]]


def _extract(
    module: Module,
    named: Callable[..., Iterable[tuple[str, Tensor]]],
    stand_in: Callable[[Tensor], Tensor],
) -> tuple[tuple[Tensor, ...], _Names]:
    """Take a module's tensors out, each once, and return them and their names; the module keeps
    tensors without memory."""
    every = list(named(remove_duplicate=False))
    tensors, names = {}, {}
    for name, tensor in every:
        first = next((n for n, t in tensors.items() if t is tensor), name)
        tensors[first] = tensor
        names.setdefault(first, []).append(name)
    accessor = NamedMemberAccessor(module)
    for first, tensor in tensors.items():
        empty = stand_in(NAMESPACES[""]["empty_like"](tensor, device="meta"))
        for name in names[first]:
            accessor.set_tensor(name, empty)
    return tuple(tensors.values()), names


class FunctionalModuleWithBuffers(Module):
    """``function(params, buffers, *args, **kwargs)``: a module with the given state."""

    def __init__(
        self,
        stateless_model: Module,
        param_names: tuple[str, ...],
        buffer_names: tuple[str, ...],
        param_names_map: _Names,
        buffer_names_map: _Names,
    ) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names, self.buffer_names = param_names, buffer_names
        self.all_names_map = {**param_names_map, **buffer_names_map}

    @staticmethod
    def _create_from(
        model: Module, disable_autograd_tracking: bool = False
    ) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
        model = copy.deepcopy(model)
        params, param_names = _extract(model, model.named_parameters, Parameter)
        buffers, buffer_names = _extract(model, model.named_buffers, lambda t: t)
        if disable_autograd_tracking:
            for param in params:
                param.requires_grad_(False)
        function = FunctionalModuleWithBuffers(
            model, tuple(param_names), tuple(buffer_names), param_names, buffer_names
        )
        return function, params, buffers

    def forward(
        self, params: Iterable[Tensor], buffers: Iterable[Tensor], *args: Any, **kwargs: Any
    ) -> Any:
        return _call(self, (*params, *buffers), args, kwargs)


class FunctionalModule(Module):
    """``function(params, *args, **kwargs)``: a module with the given parameters."""

    def __init__(
        self, stateless_model: Module, param_names: tuple[str, ...], names_map: _Names
    ) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names = param_names
        self.all_names_map = self.names_map = names_map

    @staticmethod
    def _create_from(
        model: Module, disable_autograd_tracking: bool = False
    ) -> tuple[FunctionalModule, tuple[Tensor, ...]]:
        made, params, _ = FunctionalModuleWithBuffers._create_from(model, disable_autograd_tracking)
        return FunctionalModule(made.stateless_model, made.param_names, made.all_names_map), params

    def forward(self, params: Iterable[Tensor], *args: Any, **kwargs: Any) -> Any:
        return _call(self, tuple(params), args, kwargs)


def _call(
    function: Any, state: tuple[Tensor, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    names = function.all_names_map.values()
    given = {name: t for same, t in zip(names, state, strict=False) for name in same}
    with reparametrized(function.stateless_model, given):
        return function.stateless_model(*args, **kwargs)


def make_functional(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModule, tuple[Tensor, ...]]:
    """Return ``function, params`` such that ``function(params, *args)`` is ``model(*args)``.

    disable_autograd_tracking: the parameters do not require grad.

    RuntimeError for a module with buffers.
    """
    if list(model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use "
            "make_functional_with_buffers(model) instead."
        )
    return FunctionalModule._create_from(model, disable_autograd_tracking)


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return ``function, params, buffers`` such that ``function(params, buffers, *args)`` is
    ``model(*args)``."""
    return FunctionalModuleWithBuffers._create_from(model, disable_autograd_tracking)


def combine_state_for_ensemble(
    models: Sequence[Module],
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return ``function, params, buffers`` of models of one class, their tensors stacked along a
    new first dimension, for ``vmap``.

    RuntimeError for no model, for models of different classes, or in different training modes.
    """
    where = "combine_state_for_ensemble: Expected"
    if not models:
        raise RuntimeError(f"{where} at least one model, got 0.")
    if any(m.training != models[0].training for m in models):
        raise RuntimeError(f"{where} all models to have the same training/eval mode.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError(f"{where} all models to be of the same class.")
    functions, params, buffers = zip(*map(make_functional_with_buffers, models), strict=True)
    return functions[0], _stacked(params), _stacked(buffers)


def _stacked(states: Iterable[tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
    return tuple(stack(same).detach() for same in zip(*states, strict=True))
