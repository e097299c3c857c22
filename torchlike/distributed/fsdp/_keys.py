"""The keys of an optimizer's state dict: names of parameters, or their numbers."""

from __future__ import annotations

import copy
from typing import Any

from torchlike.distributed.fsdp.api import OptimStateKeyType
from torchlike.nn.modules.module import Module
from torchlike.optim.optimizer import Optimizer


def rekeyed(
    state: dict[str, Any],
    wanted: OptimStateKeyType,
    model: Module,
    given: Any,
    optimizer: Optimizer | None,
) -> dict[str, Any]:
    """Return a state dict by the keys that are wanted. ValueError for keys of both kinds, or where
    an optimizer and what it was made of are both given."""
    kind, other = (str, int) if wanted is OptimStateKeyType.PARAM_NAME else (int, str)
    kinds = {type(key) for key in state["state"]}
    if len(kinds) > 1:
        raise ValueError(f"Invalid parameter keys: {state['state'].keys()}")
    if kinds == {kind}:
        return state
    names = {id(p): name for name, p in model.named_parameters()}
    ordered = [names[id(p)] for p in _in_order(model, given, optimizer)]
    new: dict[Any, Any] = dict(enumerate(ordered)) if other is int else _numbers(ordered)
    groups = copy.deepcopy(state["param_groups"])
    for group in groups:
        group["params"] = sorted(new[key] for key in group["params"])
    return {"state": {new[key]: x for key, x in state["state"].items()}, "param_groups": groups}


def _numbers(names: list[str]) -> dict[Any, Any]:
    return {name: i for i, name in enumerate(names)}


def _in_order(model: Module, given: Any, optimizer: Optimizer | None) -> list[Any]:
    """Return the parameters in the order of an optimizer's groups."""
    if given is not None and optimizer is not None:
        raise ValueError("give optim_input or optim, not both")
    if optimizer is None:
        groups = list(model.parameters() if given is None else given)
    else:
        groups = optimizer.param_groups
    if groups and not isinstance(groups[0], dict):
        return groups
    return [p for group in groups for p in group["params"]]
