"""``local_map``: a function of ordinary tensors, applied to what each process holds of DTensors."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, cast

from torchlike._core.tensor import Tensor
from torchlike.distributed.device_mesh import DeviceMesh
from torchlike.distributed.tensor._api import DTensor
from torchlike.utils import _pytree as pytree

Placements = Sequence[Any] | None


def local_map(
    func: Callable[..., Any] | None = None, out_placements: Any = None,
    in_placements: Sequence[Placements] | None = None,
    in_grad_placements: Sequence[Placements] | None = None,
    device_mesh: DeviceMesh | None = None, *, redistribute_inputs: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    """``func`` of DTensors: it gets what this process holds of each, its results become DTensors of
    ``out_placements`` (a tuple of them for several results, None for what is no tensor).

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
            local_map, out_placements=out_placements, in_placements=in_placements,
            in_grad_placements=in_grad_placements, device_mesh=device_mesh,
            redistribute_inputs=redistribute_inputs,
        )  # fmt: skip

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        flat, tree = pytree.tree_flatten(args)
        if in_placements is not None and len(in_placements) != len(flat):
            raise AssertionError(
                f"in_placements length {len(in_placements)} does not match the number of input "
                f"args {len(flat)}!"
            )
        mesh = device_mesh
        for i, arg in enumerate(flat):
            wanted = None if in_placements is None else in_placements[i]
            if not isinstance(arg, DTensor):
                if wanted is not None and not isinstance(arg, Tensor):
                    raise AssertionError(
                        f"Non-Tensor input {arg} expects None placements but received {wanted}!"
                    )
                continue
            t = cast(Any, arg)
            mesh = mesh or t.device_mesh
            if in_placements is not None:
                t = _placed(t, wanted, redistribute_inputs)
            back = None
            if in_grad_placements is not None:
                back = _said(t, in_grad_placements[i], "in grad placements")
            flat[i] = t.to_local(grad_placements=back)
        out = func(*pytree.tree_unflatten(flat, tree), **kwargs)
        if any(isinstance(arg, DTensor) for arg in pytree.tree_leaves(args)):
            assert mesh is not None
            return _distributed(out, mesh, out_placements)
        return out

    return mapped


def _said(arg: Any, placements: Placements, what: str) -> tuple[Any, ...]:
    if placements is None:
        raise AssertionError(f"DTensor input {arg} expects {what} but received {placements}!")
    return tuple(placements)


def _placed(arg: Any, placements: Placements, redistribute: bool) -> Any:
    """A DTensor as it is to lie."""
    wanted = _said(arg, placements, "placements")
    if arg.placements == wanted:
        return arg
    if not redistribute and arg.is_leaf:
        raise ValueError(
            f"arg {arg} in local_map has a mismatched placements: arg placements is "
            f"{arg.placements} but the input placements is {wanted}! If redistribute_inputs is "
            "wanted, set redistribute_inputs=True to local_map."
        )
    return arg.redistribute(placements=wanted)


def _distributed(out: Any, mesh: DeviceMesh, placements: Any) -> Any:
    flat, tree = pytree.tree_flatten(out)
    each = placements if isinstance(placements, tuple) else (placements,)
    if len(flat) != len(each):
        raise AssertionError(
            "local_map requires one PlacementType be provided for each output value, received "
            f"{len(each)} out_placements but {len(flat)} is expected!"
        )
    found = []
    for value, wanted in zip(flat, each, strict=True):
        if isinstance(value, DTensor):
            raise AssertionError(f"torch.Tensor output expected but received {type(value)}")
        if isinstance(value, Tensor):
            value = DTensor.from_local(value, mesh, wanted)
        elif wanted is not None:
            raise AssertionError(
                f"Non-tensor output {value} expects None placements but received {wanted}!"
            )
        found.append(value)
    return pytree.tree_unflatten(found, tree)
