"""Tries what makes a step smaller: parameters sharded, activations computed again, half a batch."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from torchlike.nn import Module, ModuleList, Sequential
from torchlike.porting.plan.planning import Plan, target_of
from torchlike.tensor import Tensor
from torchlike.utils.checkpoint import checkpoint


def tried(
    step: Callable[..., Any],
    batch: Sequence[Any],
    options: dict[str, Any],
    *,
    has_run: bool = False,
) -> list[Plan]:
    """Plan ``step(*batch)`` as it is, then each change by itself, then the first two together. A
    change that cannot be made is left out. A step that ``has_run`` is only captured.

    - *FSDP over* an axis: parameters and their state sharded over the axis of the batch.
    - *rematerialisation*: each layer of a list of equal modules computes its activations again in
      backward (``torch.utils.checkpoint``).
    - *half the batch*: dimension 0 of every batch tensor.
    """
    as_asked = target_of(**options)
    where, axis = as_asked.topology, options["fsdp"]
    over = next(iter(as_asked.mesh.shape))

    def planned(change: str, batch: Sequence[Any], fsdp: str | None) -> Plan:
        target = target_of(**{**options, "fsdp": fsdp})
        return replace(target.plan(target.capture(step, batch, has_run=has_run)), change=change)

    half = [_half(x) for x in batch]
    plans = [planned("", batch, axis)]
    sharded_anew = axis is None and len(where.devices) > 1
    if sharded_anew:
        plans.append(planned(f"FSDP over {over}", batch, over))
    with rematerialising() as layers:
        if layers:
            plans.append(planned(f"rematerialisation of {layers} layers", batch, axis))
            if sharded_anew:
                plans.append(planned("both", batch, over))
    if any(a is not b for a, b in zip(half, batch, strict=True)):
        with contextlib.suppress(ValueError):  # fewer examples than devices
            plans.append(planned("half the batch", half, axis))
    return plans


def _half(x: object) -> object:
    if isinstance(x, Tensor) and x.dim() and x.shape[0] > 1:
        return x[: x.shape[0] // 2].clone()
    return x


@contextlib.contextmanager
def rematerialising() -> Iterator[int]:
    """Have the layers of lists of at least two modules of one class checkpointed in a ``with``
    block; yield how many there are."""
    layers = {
        id(child): child
        for x in gc.get_objects()
        if issubclass(type(x), (ModuleList, Sequential)) and len(x) > 1
        for child in x
        if _is_layer(child, x)
    }
    for layer in layers.values():
        layer.forward = _again(layer)
    try:
        yield len(layers)
    finally:
        for layer in layers.values():
            del layer.forward


def _is_layer(child: Module, among: Any) -> bool:
    return len(list(child.children())) > 1 and sum(type(x) is type(child) for x in among) > 1


def _again(layer: Module) -> Callable[..., Any]:
    forward = type(layer).forward

    def checkpointed(*args: Any, **kwargs: Any) -> object:
        return checkpoint(forward, layer, *args, use_reentrant=False, **kwargs)

    return checkpointed
