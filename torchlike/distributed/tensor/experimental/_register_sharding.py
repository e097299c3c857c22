"""``register_sharding``: how an operator's operands and results lie where these are DTensors."""

from __future__ import annotations

import functools
import itertools
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from torchlike._core.size import Size
from torchlike._ops.aten.custom import OpOverload
from torchlike._runtime import trees
from torchlike.distributed.device_mesh import DeviceMesh
from torchlike.distributed.mixed_operands import mixed
from torchlike.distributed.tensor._api import (
    DTensor,
    place,
    to_local,
)
from torchlike.distributed.tensor._api import (
    device_mesh as mesh_of,
)
from torchlike.distributed.tensor._api import (
    placements as placements_of,
)
from torchlike.distributed.tensor._specs import divides
from torchlike.distributed.tensor.experimental._func_map import on_mesh
from torchlike.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard
from torchlike.tensor import Tensor

_Rule = TypeVar("_Rule", bound=Callable[..., Any])

#: The rules by the operators' full names.
_rules: dict[str, Callable[..., Any]] = {}


@dataclass(frozen=True)
class TensorSpec:
    """What a rule gets for a tensor: how large it is, and how it lies on its mesh."""

    mesh: DeviceMesh
    placements: tuple[Placement, ...]
    shape: Size
    dtype: Any

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def device_mesh(self) -> DeviceMesh:
        """The mesh."""
        return self.mesh


def register_sharding(op: OpOverload | list[OpOverload]) -> Callable[[_Rule], _Rule]:
    """Decorate a function that is asked how an operator's DTensors may lie.

    It gets the operator's arguments, with a description (``shape``, ``ndim``, ``placements``,
    ``mesh``) in the place of each tensor, and gives pairs ``(of the results, of the arguments)``:
    for each a placement along one dimension of the mesh, None for what is no tensor. Of the
    combinations for all dimensions that one is taken which moves the fewest bytes. The operator
    then runs on what each process holds, and gradients go back the same way.

    TypeError for what is no ``torch.ops...`` overload, NotImplementedError for an operator that
    writes into its arguments, ValueError where no combination fits the tensors.

    Differs from PyTorch: the rule of an aten operator is asked where the overload itself is called
    (``torch.ops.aten.mm.default``), not by the functions and methods of its name, whose results lie
    where XLA has put them. A rule that wants terms of a sum (`Partial`) as operands is passed over,
    and such results are summed at once.
    """
    overloads = list(op) if isinstance(op, (list, tuple)) else [op]
    for overload in overloads:
        if not isinstance(overload, OpOverload):
            raise TypeError(
                "register_sharding expects an overload such as torch.ops.aten.mm.default, not "
                f"{type(overload).__name__}"
            )
        if overload._schema.is_mutable:
            raise NotImplementedError(
                f"register_sharding({overload}): it writes into its arguments. Use instead: an "
                "operator that gives its results"
            )

    def register(rule: _Rule) -> _Rule:
        for overload in overloads:
            if overload.namespace == "aten":
                warnings.warn(
                    f"register_sharding({overload}): asked where the overload is called; where the "
                    "results of functions and methods lie is XLA's choice",
                    stacklevel=2,
                )
            operator = overload.operator
            _rules[operator.qualname] = rule
            if not hasattr(operator, "asks_rule"):
                operator.__class__ = _class_of(type(operator))
        return rule

    return register


@functools.cache
def _class_of(kind: type) -> type:
    """Make the class of an operator of class ``kind`` that asks its rule."""

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return _run(self, functools.partial(kind.__call__, self), args, kwargs)

    return type(kind.__name__, (kind,), {"__call__": call, "asks_rule": True})


def _run(operator: Any, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    leaves, tree = trees.flatten((args, kwargs))
    mesh = next((mesh_of(x) for x in leaves if isinstance(x, DTensor)), None)
    if mesh is None:
        return function(*args, **kwargs)
    where = [i for i, x in enumerate(leaves) if isinstance(x, Tensor)]
    for i in where:
        if not isinstance(leaves[i], DTensor):
            if not mesh.is_local and leaves[i].numel() != 1:
                raise mixed(operator.qualname.replace("::", "."))
            leaves[i] = place(leaves[i], mesh, None)
    tensors = [leaves[i] for i in where]
    for i, t in zip(where, tensors, strict=True):
        leaves[i] = TensorSpec(mesh, placements_of(t), t.shape, t.dtype)
    given, named = trees.unflatten(tree, leaves)
    rows = _rules[operator.qualname](*given, **named)
    inputs, outputs = _chosen(operator.qualname, rows, tensors, mesh)
    for i, t, wanted in zip(where, tensors, inputs, strict=True):
        back = _of_gradient(operator.qualname, wanted, outputs) if t.requires_grad else None
        leaves[i] = to_local(place(t, mesh, wanted), grad_placements=back)
    given, named = trees.unflatten(tree, leaves)
    return on_mesh(function(*given, **named), mesh, outputs)


def _chosen(
    name: str, rows: Sequence[Any], tensors: Sequence[Tensor], mesh: DeviceMesh
) -> tuple[list[tuple[Placement, ...]], tuple[Any, ...]]:
    """Choose (placements of the tensors, of the results): those that move the fewest bytes."""
    fitting = []
    for row in itertools.product(rows, repeat=mesh.ndim):
        given = [[p for p in of_arguments if p is not None] for _, of_arguments in row]
        if any(len(line) != len(tensors) for line in given):
            raise AssertionError(
                f"register_sharding({name}): {len(tensors)} tensors among the arguments, and "
                f"placements for {[len(line) for line in given]}"
            )
        inputs = list(zip(*given, strict=True))
        if any(isinstance(p, Partial) for wanted in inputs for p in wanted) or not all(
            _fits(wanted, mesh, t) for wanted, t in zip(inputs, tensors, strict=True)
        ):
            continue
        moved = sum(
            _bytes_moved(t, wanted, mesh) for t, wanted in zip(tensors, inputs, strict=True)
        )
        results = zip(*[of_results for of_results, _ in row], strict=True)
        outputs = tuple(None if any(p is None for p in of) else of for of in results)
        fitting.append((moved, inputs, outputs))
    if not fitting:
        raise ValueError(
            f"register_sharding({name}): none of the rule's placements cuts tensors of the sizes "
            f"{[list(t.shape) for t in tensors]} into equal parts over {mesh}"
        )
    _, inputs, outputs = min(fitting, key=lambda found: found[0])
    return inputs, outputs


def _fits(wanted: Sequence[Placement], mesh: DeviceMesh, t: Tensor) -> bool:
    in_range = all(-t.dim() <= p.dim < t.dim() for p in wanted if isinstance(p, Shard))
    return in_range and divides(_from_the_front(wanted, t.dim()), mesh, tuple(t.shape))


def _from_the_front(wanted: Sequence[Placement], ndim: int) -> tuple[Placement, ...]:
    return tuple(Shard(p.dim % ndim) if isinstance(p, Shard) else p for p in wanted)


def _bytes_moved(t: Tensor, wanted: Sequence[Placement], mesh: DeviceMesh) -> int:
    """Return how many bytes a device receives until a tensor lies so: gathering brings it all that
    it lacks, cutting nothing, and cutting otherwise a part of its part."""
    pieces = math.prod(
        n for p, n in zip(placements_of(t), mesh.shape, strict=True) if not isinstance(p, Replicate)
    )
    held, found = t.numel() * t.itemsize // pieces, 0
    to = _from_the_front(wanted, t.dim())
    for own, other, n in zip(placements_of(t), to, mesh.shape, strict=True):
        if own == other:
            continue
        if isinstance(other, Replicate):
            found += held * (n - 1)
            held *= n
        elif isinstance(own, Replicate):
            held //= n
        else:
            found += held * (n - 1) // n
    return found


def _of_gradient(
    name: str, wanted: Sequence[Placement], outputs: Sequence[Any]
) -> tuple[Placement, ...]:
    """Return the placements of the gradients that the processes' operands get: where all have the
    whole operand and results of their own, as terms of a sum."""
    found: list[Placement] = []
    for i, own in enumerate(wanted):
        kinds = {isinstance(of[i], Replicate) for of in outputs if of is not None}
        if isinstance(own, Replicate) and len(kinds) > 1:
            raise NotImplementedError(
                f"register_sharding({name}): the gradient of a replicated operand, where some of "
                f"the results are replicated and others not: {outputs}. Use instead: operands "
                "without requires_grad, or two operators"
            )
        is_term = isinstance(own, Replicate) and kinds == {False}
        found.append(Partial() if is_term else own)
    return tuple(found)
