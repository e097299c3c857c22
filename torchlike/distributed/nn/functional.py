"""Collectives that gradients flow through. In a world of one they are copies."""

from __future__ import annotations

from typing import Any

from torchlike._core.tensor import Tensor
from torchlike.distributed.groups import member


def _copy(tensor: Tensor, group: Any) -> Tensor:
    member(group)
    return tensor.clone()


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all processes. ValueError before ``init_process_group``."""
    return (_copy(tensor, group),)


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all processes."""
    return (_copy(tensor, group),)


def all_reduce(tensor: Tensor, op: Any = None, group: Any = None) -> Tensor:
    """The sum over all processes."""
    return _copy(tensor, group)


def reduce(tensor: Tensor, dst: int, op: Any = None, group: Any = None) -> Tensor:
    """The sum over all processes."""
    return _copy(tensor, group)


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """The tensor of one process."""
    return _copy(tensor, group)


def scatter(tensors: list[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """This process's of a list of tensors."""
    (only,) = tensors
    return _copy(only, group)
