"""A plain tensor beside a DTensor of several processes: PyTorch's error, and the way around it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from torchlike._runtime.mixed_operands import refuse, replicating
from torchlike.ops._aten import schemas

#: Ops that users do not call, whose second operand torchlike made: random numbers.
_OWN_OPERANDS = frozenset(
    (
        "apply_mask",
        "apply_noise",
        "apply_alpha_noise",
        "drawn",
        *(
            f"{fill}_fill"
            for fill in (
                "normal0",
                "uniform0",
                "exponential0",
                "geometric0",
                "cauchy0",
                "lognormal0",
                "bernoulli1",
                "bernoulli2",
                "random0",
                "random1",
                "random2",
            )
        ),
    )
)


@contextlib.contextmanager
def implicit_replication() -> Iterator[None]:
    """Have ops take a plain tensor beside a DTensor for one that is the same in all processes, in a
    ``with`` block.

    Where one process has all devices of the mesh they always do.
    """
    with replicating():
        yield


def watch() -> None:
    """Refuse plain tensors beside DTensors of several processes from now on, and run what waited
    for a mesh that spans them."""
    refuse.by(_refuse)
    while _waiting_for_processes:
        _waiting_for_processes.pop()()


_waiting: list[Callable[[], None]] = []
_waiting_for_processes: list[Callable[[], None]] = []
_is_made = False


def at_first_mesh_of_processes(begin: Callable[[], None]) -> None:
    """Have ``begin()`` called once there is a mesh that spans processes."""
    if refuse.is_provided:
        begin()
    else:
        _waiting_for_processes.append(begin)


def at_first_mesh(begin: Callable[[], None]) -> None:
    """Have ``begin()`` called once there is a mesh: what it has looked at nobody else pays for."""
    if _is_made:
        begin()
    else:
        _waiting.append(begin)


def mesh_made() -> None:
    """Record that there is a mesh, and run what waited for one."""
    global _is_made
    _is_made = True
    while _waiting:
        _waiting.pop()()


def _refuse(op: str) -> None:
    """Raise RuntimeError in PyTorch's words, for an op by its name."""
    if op not in _OWN_OPERANDS:
        raise mixed(in_aten(op))


def mixed(op: str) -> RuntimeError:
    """Return PyTorch's error about mixed operands, for an overload such as ``aten.add.Tensor``."""
    return RuntimeError(
        f"{op} got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to "
        "DTensor before calling distributed operators! (DTensor.from_local takes what this process "
        "holds, distribute_tensor what all processes have.)"
    )


def in_aten(op: str) -> str:
    """Return ``aten.add.Tensor`` for ``add``; other names as they are."""
    overloads = schemas.overloads_of(op)
    if not overloads:
        return op
    return f"aten.{op}.{'Tensor' if 'Tensor' in overloads else 'default'}"
