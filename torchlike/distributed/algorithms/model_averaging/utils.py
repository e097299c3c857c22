"""Averages of parameters over a process group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from torchlike._ops.shape.joining import cat
from torchlike.autograd.grad_mode import no_grad
from torchlike.distributed import collectives
from torchlike.distributed.grad_bucket import split_like
from torchlike.distributed.groups import ProcessGroup, member
from torchlike.nn.parameter import Parameter
from torchlike.tensor import Tensor

__all__ = [
    "average_parameters",
    "average_parameters_or_parameter_groups",
    "get_params_to_average",
]


@no_grad()
def average_parameters(params: Iterable[Tensor], process_group: ProcessGroup | None) -> None:
    """Write the mean over the group's processes into each, those of one dtype by one collective."""
    group = member(process_group)
    for _, some in groupby(sorted(params, key=lambda p: str(p.dtype)), lambda p: p.dtype):
        same = list(some)
        flat = cat([p.reshape(-1) for p in same]) / group.size()
        collectives.all_reduce(flat, group=group)
        for p, part in zip(same, split_like(flat, same), strict=True):
            p.copy_(part)


def get_params_to_average(params: Iterable[Any]) -> list[Tensor]:
    """Return the parameters that have gradients, of parameters or an optimizer's groups.
    NotImplementedError for anything else."""
    return [p for p in _parameters(params) if p.grad is not None]


def _parameters(params: Iterable[Any]) -> Iterator[Tensor]:
    for one in params:
        if isinstance(one, Parameter):
            yield one
        elif isinstance(one, dict):
            yield from one["params"]
        else:
            raise NotImplementedError(f"Parameter input of type {type(one)} is not supported")


def average_parameters_or_parameter_groups(
    params: Iterable[Any], process_group: ProcessGroup | None
) -> None:
    """Average the parameters that ``get_params_to_average`` finds."""
    average_parameters(get_params_to_average(params), process_group)
