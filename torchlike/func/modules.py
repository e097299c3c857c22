"""Modules as functions: their state as an argument, several of them as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torchlike._ops.shape.joining import stack
from torchlike.nn.modules.batchnorm import _BatchNorm
from torchlike.nn.modules.module import Module
from torchlike.nn.utils.stateless import reparametrized
from torchlike.tensor import Tensor


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Any,
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Tensor:
    """Call ``module(*args, **kwargs)`` with the given tensors in the place of its own.

    Args:
      parameter_and_buffer_dicts: {dotted name: tensor}, or several such dictionaries.
      args: the arguments, one or a tuple.
      tie_weights: give the same tensor to every name of a shared one.
      strict: RuntimeError unless all names are there and no other.

    ValueError for something else than dictionaries, or for a name in two of them.
    """
    given: dict[str, Tensor] = {}
    if isinstance(parameter_and_buffer_dicts, dict):
        given = parameter_and_buffer_dicts
    elif isinstance(parameter_and_buffer_dicts, Sequence) and all(
        isinstance(d, dict) for d in parameter_and_buffer_dicts
    ):
        names = [name for d in parameter_and_buffer_dicts for name in d]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(
                f"{repeated} appeared in multiple dictionaries; behavior of functional call is "
                "ambiguous"
            )
        for d in parameter_and_buffer_dicts:
            given |= d
    else:
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(parameter_and_buffer_dicts)}"
        )
    positional = () if args is None else args if isinstance(args, tuple) else (args,)
    with reparametrized(module, given, tie_weights, strict):
        return module(*positional, **({} if kwargs is None else kwargs))


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return ``(parameters, buffers)`` of models of one class, each stacked along a new first
    dimension.

    The parameters are leaves that require grad where the models' own do. RuntimeError for no model,
    for models of different classes, or in different training modes.
    """
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if any(m.training != models[0].training for m in models):
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval mode."
        )
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = _stacked([dict(m.named_parameters()) for m in models])
    return parameters, _stacked([dict(m.named_buffers()) for m in models])


def _stacked(states: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    made = {}
    for name in states[0]:
        tensors = [state[name] for state in states]
        flags = {t.requires_grad for t in tensors}
        if len(flags) > 1:
            raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
        made[name] = stack([t.detach() for t in tensors]).requires_grad_(flags.pop())
    return made


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Make every batch norm below ``root`` (and itself) use the statistics of its batch only, as it
    must inside ``vmap``. In place; gives ``root``."""
    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
