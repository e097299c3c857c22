"""What a captured step takes: its inputs by name and kind, and how each is sharded."""

from __future__ import annotations

import gc
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from weakref import WeakSet

from jax.sharding import Mesh, NamedSharding, PartitionSpec

from torchlike._core.storage import Storage
from torchlike._jit.call.captured_program import CapturedProgram
from torchlike._jit.guards.sources import ArgumentCell, FixedCell, PerCallValue, SlotCell
from torchlike._runtime.trees import flatten
from torchlike.distributed.tensor._storage import PlacedStorage
from torchlike.nn import Module
from torchlike.optim import Optimizer
from torchlike.tensor import Tensor

#: Kinds of inputs, in the order in which a plan lists them.
KINDS = (
    "parameters",
    "optimizer state",
    "gradients",
    "buffers",
    "batch",
    "random numbers",
    "other state",
)


@dataclass(frozen=True)
class Leaf:
    """One input of a step.

    Attributes:
      name: of the parameter, buffer or argument; "exp_avg of fc.weight" for optimizer state.
      kind: one of `KINDS`.
      shape, dtype: as the step takes it.
      of: the name of the parameter that it belongs to, or "".
      module: the class of the module whose parameter it is, or "".
      spec: where the script has put it on a mesh, or None.

    Example:
      >>> import numpy
      >>> from torchlike.porting.plan.leaves import Leaf
      >>> Leaf("fc.weight", "parameters", (8, 4), numpy.dtype("float32")).nbytes
      128
    """

    name: str
    kind: str
    shape: tuple[int, ...]
    dtype: Any
    of: str = ""
    module: str = ""
    spec: PartitionSpec | None = None

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


#: Cells of batches that a step fetches while it is captured: inputs like those it is given.
fetched_cells: WeakSet[Storage] = WeakSet()

#: The root of what no module holds.
_NO_ROOT = -1

#: How an input is sharded: gives a PartitionSpec, or None for replicated.
Rule = Callable[[Leaf], PartitionSpec | None]


class HeldCell(NamedTuple):
    """What a cell is to the modules and optimizers that hold it."""

    #: Its name, with ``{}`` for that of the parameter or buffer.
    form: str
    #: The name of the parameter or buffer in its root, and that root's number.
    label: str
    root: int
    kind: str
    module: str


@dataclass
class Names:
    """Who holds which cell: modules, optimizers, gradients."""

    of_cell: dict[int, HeldCell] = field(default_factory=dict)
    #: The classes of the modules that are no others' children, the one of most modules first.
    roots: list[str] = field(default_factory=list)

    @classmethod
    def collect(cls) -> Names:
        """Find the names from all modules and optimizers that are alive."""
        names = cls()
        alive = gc.get_objects()
        # By their types: to ask objects for their class is to run code of theirs.
        modules = [x for x in alive if issubclass(type(x), Module) and "_modules" in vars(x)]
        inner = {id(child) for m in modules for child in m._modules.values()}
        roots = [m for m in modules if id(m) not in inner]
        parameters: dict[int, tuple[str, int]] = {}
        roots.sort(key=lambda m: -sum(1 for _ in m.modules()))
        for root in roots:
            names._of_module(root, parameters)
        for x in alive:
            if issubclass(type(x), Optimizer) and "state" in vars(x):
                names._of_optimizer(x, parameters)
        return names

    def told(self, cells: Iterable[Any]) -> dict[int, tuple[str, str, str, str]]:
        """Return of each of a program's cells that is known its name, kind, parameter and module's
        class. Names are those in the module that most of the cells are of; others, which may only
        be alive, put their class before."""
        found = {id(cell): self.of_cell[id(cell)] for cell in cells if id(cell) in self.of_cell}
        roots = (held.root for held in found.values() if held.root != _NO_ROOT)
        most = Counter(roots).most_common(1)
        told = {}
        for key, held in found.items():
            is_main = not most or held.root in (most[0][0], _NO_ROOT)
            label = held.label if is_main else f"{self.roots[held.root]}.{held.label}"
            of = "" if held.kind == "buffers" else label
            told[key] = held.form.replace("{}", label), held.kind, of, held.module
        return told

    def _of_module(self, root: Module, parameters: dict[int, tuple[str, int]]) -> None:
        owners, n = dict(root.named_modules()), len(self.roots)
        self.roots.append(type(root).__name__)
        for label, p in root.named_parameters():
            owner = type(owners.get(label.rpartition(".")[0], root)).__name__
            self._add(p, HeldCell("{}", label, n, "parameters", owner))
            parameters.setdefault(id(p), (label, n))
            if p.grad is not None:
                self._add(p.grad, HeldCell("gradient of {}", label, n, "gradients", owner))
        for label, b in root.named_buffers():
            self._add(b, HeldCell("{}", label, n, "buffers", ""))

    def _of_optimizer(self, optimizer: Any, parameters: dict[int, tuple[str, int]]) -> None:
        for p, state in optimizer.state.items():
            label, root = parameters.get(id(p), ("a parameter", _NO_ROOT))
            leaves, _ = flatten(state if isinstance(state, Mapping) else {"state": state})
            keys = list(state) if isinstance(state, Mapping) else ["state"]
            for i, value in enumerate(leaves):
                if isinstance(value, Tensor):
                    key = keys[i] if len(keys) == len(leaves) else "state"
                    self._add(value, HeldCell(f"{key} of {{}}", label, root, "optimizer state", ""))

    def _add(self, t: Tensor, held: HeldCell) -> None:
        self.of_cell.setdefault(id(t._storage), held)


def leaves_of(program: CapturedProgram, names: Names) -> list[Leaf]:
    """Return the inputs of a captured program, in its order."""
    found = []
    storages = [_storage_of(source) for source in program.sources]
    told = names.told(storages)
    for aval, source, storage in zip(program.avals, program.sources, storages, strict=True):
        name, kind, of, module = "a tensor", "other state", "", ""
        if isinstance(source, ArgumentCell):
            name, kind = f"argument {source.position}", "batch"
        elif isinstance(source, PerCallValue):
            name, kind = f"draw {source.index}", "random numbers"
        elif id(storage) in told:
            name, kind, of, module = told[id(storage)]
        elif storage is not None and storage in fetched_cells:
            name, kind = "a batch fetched by the step", "batch"
        elif isinstance(source, SlotCell):
            slot = source.slot
            name = f"{type(slot.owner).__name__}.{slot.name.removeprefix('_')}"
            kind = "gradients" if slot.name == "_grad" else kind
        spec = storage.sharding.spec if isinstance(storage, PlacedStorage) else None
        found.append(Leaf(name, kind, tuple(aval.shape), aval.dtype, of, module, spec))
    return found


def _storage_of(source: Any) -> Any:
    """Return the cell that an input is of; None where it is of none."""
    if isinstance(source, FixedCell):
        return source.storage
    return _storage_in(source.slot) if isinstance(source, SlotCell) else None


def _storage_in(slot: Any) -> Any:
    """Return the cell of the tensor that an attribute holds; None where it holds none. Modules that
    gather their parameters (``fully_shard``) have put them back by now; a gradient is the
    capture's."""
    held = slot.initial
    if held is None and not slot.of_tensor and slot.argument < 0:
        held = slot.value(())
    return held._storage if isinstance(held, Tensor) else None


def default_rule(
    mesh: Mesh, *, batch: str | None = "data", fsdp: str | None = None, model: str | None = "model"
) -> Rule:
    """Return the rule by which a plan shards where it is not told.

    - Batch arguments, and random numbers of their first size, over the axis ``batch`` in
      dimension 0.
    - Parameters over the axis ``model``, as Megatron does: embeddings and linear layers by their
      outputs (dimension 0), but those that come back to the width of the model (more inputs than
      outputs, or a name such as ``out_proj``, ``c_proj``, ``w2``) by their inputs (dimension 1).
    - Then over the axis ``fsdp``, in the largest dimension left that it divides.
    - Optimizer state and gradients of a parameter as the parameter; everything else replicated.

    Args:
      mesh: a ``jax.sharding.Mesh``.
      batch, fsdp, model: names of its axes; None shards nothing, and so does a ``model`` that the
        mesh does not have.

    Returns:
      a function of a `Leaf` that gives its PartitionSpec, or None where it is replicated.

    Raises:
      ValueError: from the function, where ``batch`` does not divide a batch.

    Example:
      >>> import jax, numpy
      >>> from torchlike.porting.plan.leaves import Leaf, default_rule
      >>> mesh = jax.sharding.Mesh(jax.devices()[:1], ("data",))
      >>> rule = default_rule(mesh, fsdp="data")
      >>> rule(Leaf("w", "parameters", (8, 4), numpy.dtype("float32"), of="w"))
      P('data', None)
    """
    sizes = dict(mesh.shape)

    def rule(leaf: Leaf) -> PartitionSpec | None:
        if leaf.kind in ("batch", "random numbers"):
            return _over_batch(leaf, batch, sizes)
        if leaf.of == "" or not leaf.shape:
            return None
        axes: list[Any] = [None] * len(leaf.shape)
        if model in sizes:
            d = _model_dimension(leaf)
            if d is not None and leaf.shape[d] % sizes[model] == 0:
                axes[d] = model
        if fsdp is not None:
            fits = [d for d, n in enumerate(leaf.shape) if axes[d] is None and n % sizes[fsdp] == 0]
            if fits:
                axes[max(fits, key=lambda d: leaf.shape[d])] = fsdp
        return PartitionSpec(*axes)

    return rule


def _over_batch(leaf: Leaf, batch: str | None, sizes: dict[str, int]) -> PartitionSpec | None:
    if batch not in sizes or not leaf.shape:
        return None
    n = sizes[batch]
    if leaf.shape[0] % n == 0:
        return PartitionSpec(batch)
    if leaf.kind == "batch" and leaf.shape[0] > 1:
        raise ValueError(
            f"{leaf.name} has the shape {list(leaf.shape)}, and the mesh axis {batch!r} of {n} "
            f"does not divide its dimension 0: give a batch that is a multiple of {n}"
        )
    return None


#: Names of layers whose results go back into the residual stream.
_BACK = ("out_proj", "o_proj", "c_proj", "proj", "down_proj", "fc2", "w2", "wo", "linear2", "dense")


def _model_dimension(leaf: Leaf) -> int | None:
    if len(leaf.shape) < 2:
        return None
    name = leaf.of.rpartition(".")[0].rpartition(".")[2]
    outputs, inputs = leaf.shape[:2]
    back = leaf.module != "Embedding" and (
        name in _BACK or (inputs > outputs and "embed" not in name and "head" not in name)
    )
    return 1 if back else 0


def shardings(
    leaves: list[Leaf], mesh: Mesh, rule: Rule | Mapping[str, PartitionSpec]
) -> list[NamedSharding]:
    """Return a sharding for each input. KeyError for names in a mapping that no input has."""
    if isinstance(rule, Mapping):
        unknown = set(rule) - {leaf.name for leaf in leaves}
        if unknown:
            raise KeyError(
                f"shardings name inputs that the step does not have: {sorted(unknown)}. It has "
                f"{', '.join(leaf.name for leaf in leaves[:20])}"
            )
        given = rule

        def by_name(leaf: Leaf) -> PartitionSpec | None:
            """Return the input's own spec, or that of the parameter that it belongs to and is
            shaped like."""
            spec = given.get(leaf.name, given.get(leaf.of))
            return spec if spec is None or len(spec) <= len(leaf.shape) else None

        rule = by_name
    return [
        NamedSharding(mesh, spec if (spec := rule(leaf)) is not None else PartitionSpec())
        for leaf in leaves
    ]


def shard_bytes(leaves: list[Leaf], placed: list[NamedSharding]) -> Iterator[tuple[Leaf, int]]:
    """Yield each input, and its bytes on one device."""
    for leaf, sharding in zip(leaves, placed, strict=True):
        yield leaf, math.prod(sharding.shard_shape(leaf.shape)) * leaf.dtype.itemsize
