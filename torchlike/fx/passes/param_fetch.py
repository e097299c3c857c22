"""Hands the parameters of modules that nodes call to functions that describe them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike import nn
from torchlike.fx.graph_module import GraphModule

__all__ = ["default_matching", "extract_attrs_for_lowering", "lift_lowering_attrs_to_nodes"]


def default_matching(name: str, target_version: int) -> str:
    """Return the attribute's name unchanged."""
    return name


#: Class -> version of its state, its attributes, and how names of another version are found.
module_fetch_book: dict[type, tuple[int, list[str], Callable[[str, int], str]]] = {
    nn.Linear: (1, ["weight", "bias"], default_matching),
    nn.Conv2d: (
        1,
        [
            "weight",
            "bias",
            "kernel_size",
            "stride",
            "padding",
            "dilation",
            "groups",
            "padding_mode",
        ],
        default_matching,
    ),
    nn.BatchNorm2d: (2, ["weight", "bias", "running_mean", "running_var", "eps"], default_matching),
    nn.AdaptiveAvgPool2d: (1, [], default_matching),
    nn.MaxPool2d: (
        1,
        ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"],
        default_matching,
    ),
    nn.ReLU: (1, ["inplace"], default_matching),
}


def extract_attrs_for_lowering(mod: nn.Module) -> dict[str, Any]:
    """Return the attributes of a module that the table names, with its class's name; an empty
    dictionary for a class that is not in the table. Raises RuntimeError for a module of an older
    version than the table's."""
    found: dict[str, Any] = {"name": f"{type(mod).__module__}.{type(mod).__qualname__}"}
    found["name"] = found["name"].replace("torchlike", "torch", 1)
    if type(mod) not in module_fetch_book:
        return {}
    version, attributes, match = module_fetch_book[type(mod)]
    own = getattr(mod, "_version", 1)
    if own < version:
        raise RuntimeError(
            f"Fetcher version {version} try to fetch {mod} version {own}, please upgrade the "
            "module_fetch_book"
        )
    for name in attributes:
        found[name] = getattr(mod, match(name, own))
    return found


def lift_lowering_attrs_to_nodes(fx_module: GraphModule) -> None:
    """Put the attributes of the modules that are called on the nodes, as ``attrs_for_lowering``."""
    submodules = dict(fx_module.named_modules())
    for node in fx_module.graph.nodes:
        if node.op == "call_module":
            below = submodules[node.target]
            if isinstance(below, GraphModule):
                lift_lowering_attrs_to_nodes(below)
            else:
                node.attrs_for_lowering = extract_attrs_for_lowering(below)
        else:
            node.attrs_for_lowering = {}
