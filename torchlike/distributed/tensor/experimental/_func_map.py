"""``local_map``: a function of ordinary tensors, applied to what each process holds of DTensors."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from torchlike._runtime import trees
from torchlike.distributed.device_mesh import DeviceMesh
from torchlike.distributed.tensor._api import (
    DTensor,
    place,
    redistribute,
    to_local,
)
from torchlike.distributed.tensor._api import (
    device_mesh as mesh_of,
)
from torchlike.distributed.tensor._api import (
    placements as placements_of,
)
from torchlike.distributed.tensor.placement_types import Partial, Replicate
from torchlike.tensor import Tensor

Placements = Sequence[Any] | None


def local_map(
    func: Callable[..., Any] | None = None,
    out_placements: Any = None,
    in_placements: Sequence[Placements] | None = None,
    in_grad_placements: Sequence[Placements] | None = None,
    device_mesh: DeviceMesh | None = None,
    *,
    redistribute_inputs: bool = False,
) -> Callable[..., Any]:
    """Wrap ``func`` for DTensors: it gets what this process holds of each, its results become
    DTensors of ``out_placements`` (a tuple of them for several results, None for what is no
    tensor).

    A decorator without ``func``. ``in_placements`` says for each argument how it has to lie, None
    for what is no DTensor; ``in_grad_placements``, how the gradient lies that its part gets.
    ``device_mesh`` is that of the first DTensor unless said. Without a DTensor among the arguments
    the results stay as they are.

    ValueError for a DTensor that lies otherwise, unless ``redistribute_inputs`` moves it;
    AssertionError where placements are missing or too many.

    Differs from PyTorch: a result of other ops is moved without being asked, for how it lies was
    XLA's choice. Where all devices are this process' own, it holds the whole tensor (`to_local`).
    """
    if func is None:
        return functools.partial(
            local_map,
            out_placements=out_placements,
            in_placements=in_placements,
            in_grad_placements=in_grad_placements,
            device_mesh=device_mesh,
            redistribute_inputs=redistribute_inputs,
        )

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        flat, tree = trees.flatten(args)
        if in_placements is not None and len(in_placements) != len(flat):
            raise AssertionError(
                f"in_placements length {len(in_placements)} does not match the number of input "
                f"args {len(flat)}!"
            )
        mesh, is_mapped = device_mesh, False
        for i, arg in enumerate(flat):
            wanted = None if in_placements is None else in_placements[i]
            if isinstance(arg, DTensor):
                mesh, is_mapped = mesh or mesh_of(arg), True
                if in_placements is not None:
                    arg = _placed(arg, wanted, redistribute_inputs)
                back = None
                if in_grad_placements is not None:
                    back = _said(arg, in_grad_placements[i], "in grad placements")
                flat[i] = to_local(arg, grad_placements=back)
            elif wanted is not None and not isinstance(arg, Tensor):
                raise AssertionError(
                    f"Non-Tensor input {arg} expects None placements but received {wanted}!"
                )
        out = func(*trees.unflatten(tree, flat), **kwargs)
        return on_mesh(out, mesh, out_placements) if is_mapped and mesh is not None else out

    return mapped


def _said(arg: Any, placements: Placements, what: str) -> tuple[Any, ...]:
    if placements is None:
        raise AssertionError(f"DTensor input {arg} expects {what} but received {placements}!")
    return tuple(placements)


def _placed(arg: Tensor, placements: Placements, moves: bool) -> Tensor:
    """Return a DTensor with the wanted placements."""
    wanted = _said(arg, placements, "placements")
    own = placements_of(arg)
    if own == wanted:
        return arg
    if not moves and arg._storage.is_placed:
        raise ValueError(
            f"arg {arg} in local_map has a mismatched placements: arg placements is {own} but the "
            f"input placements is {wanted}! If redistribute_inputs is wanted, set "
            "redistribute_inputs=True to local_map."
        )
    return redistribute(arg, placements=wanted)


def on_mesh(out: Any, mesh: DeviceMesh, placements: Any) -> Any:
    """Return local results as DTensors, with the placements of each."""
    flat, tree = trees.flatten(out)
    each = placements if isinstance(placements, tuple) else (placements,)
    if len(flat) != len(each):
        raise AssertionError(
            "local_map requires one PlacementType be provided for each output value, received "
            f"{len(each)} out_placements but {len(flat)} is expected!"
        )
    for i, (value, wanted) in enumerate(zip(flat, each, strict=True)):
        if isinstance(value, Tensor):
            flat[i] = _whole_of(value, mesh, wanted)
        elif wanted is not None:
            raise AssertionError(
                f"Non-tensor output {value} expects None placements but received {wanted}!"
            )
    return trees.unflatten(tree, flat)


def _whole_of(local: Tensor, mesh: DeviceMesh, placements: Placements) -> Tensor:
    """Return the DTensor of which ``local`` is what the process holds."""
    if not mesh.is_local:
        if isinstance(local, DTensor):
            raise AssertionError(f"torch.Tensor output expected but received {DTensor}: {local}")
        return DTensor.from_local(local, mesh, placements)
    # It holds the whole, which may lie on the mesh already: what was local lay there, too.
    reduced = [Replicate() if isinstance(p, Partial) else p for p in placements or ()]
    return place(local, mesh, reduced or None)
