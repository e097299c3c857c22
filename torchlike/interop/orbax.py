"""`Checkpoints`: modules, optimizers and trees of tensors in Orbax's checkpoints.

Importing this file imports orbax.checkpoint.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
import orbax.checkpoint as ocp

from torchlike.autograd.grad_mode import no_grad
from torchlike.nn import Module
from torchlike.serialization.json_states import decoded, encoded
from torchlike.tensor import Tensor, from_jax


class Checkpoints:
    """A folder of Orbax's checkpoints, one for each step, which appear whole or not at all.

    Each thing that is saved is an item of a checkpoint, a plain pytree of arrays that programs of
    JAX's read with ``orbax.checkpoint.StandardCheckpointer().restore(folder/"3"/"model")``: of a
    module nested dictionaries by its names (``{"0": {"weight": …}}``). Of what else has a
    ``state_dict()`` (optimizers, schedules), the numbers and names beside its tensors are a second
    item, "optimizer.json"::

        with Checkpoints("runs/1", keep=3) as checkpoints:
            checkpoints.save(step, model=model, optimizer=optimizer)
            step = checkpoints.restore(model=model, optimizer=optimizer)

    Args:
      folder: it is made if need be.
      keep: how many of the last checkpoints are kept; None keeps all.

    Raises:
      ValueError: ``keep`` is below 1.

    Example:
      >>> import tempfile
      >>> from torchlike.interop.orbax import Checkpoints
      >>> with tempfile.TemporaryDirectory() as folder, Checkpoints(folder) as checkpoints:
      ...     checkpoints.save(3, weights={"w": torch.ones(2)})
      ...     found = {"w": torch.zeros(2)}
      ...     print(checkpoints.restore(weights=found), found, checkpoints.steps())
      3 {'w': tensor([1., 1.])} [3]
    """

    def __init__(self, folder: str | os.PathLike[str], *, keep: int | None = None) -> None:
        if keep is not None and keep < 1:
            raise ValueError(f"keep must be at least 1, not {keep}")
        options = ocp.CheckpointManagerOptions(max_to_keep=keep, enable_async_checkpointing=False)
        self._manager = ocp.CheckpointManager(Path(folder).resolve(), options=options)

    def steps(self) -> list[int]:
        """Return the steps of which there is a checkpoint.

        Returns:
          their numbers in ascending order.
        """
        return sorted(self._manager.all_steps())

    def save(self, step: int, **items: Any) -> None:
        """Save modules, optimizers and trees of tensors as the checkpoint of a step.

        The checkpoints before it stay as they are until it is there.

        Args:
          step: the number of the checkpoint.
          items: what to save, under the names of the items.

        Raises:
          ValueError: nothing to save, or the step has a checkpoint.
          TypeError: a value that is no tensor, array, number, string or None, or a container of
            such.
        """
        if not items:
            raise ValueError("nothing to save: save(step, model=model)")
        if step in self._manager.all_steps():
            raise ValueError(f"there is a checkpoint of step {step} already")
        parts: dict[str, Any] = {}
        for name, item in items.items():
            if isinstance(item, Module):
                arrays: Any = _nested(item.state_dict())
            elif hasattr(item, "state_dict"):
                leaves: list[Any] = []
                rest = encoded(item.state_dict(), leaves)
                parts[f"{name}.json"] = ocp.args.JsonSave({"state_dict": rest})
                arrays = {str(i): leaf for i, leaf in enumerate(leaves)}
            else:
                arrays = item
            arrays = jax.tree.map(_array, arrays, is_leaf=lambda x: isinstance(x, Tensor))
            if jax.tree.leaves(arrays):
                parts[name] = ocp.args.StandardSave(arrays)
        self._manager.save(step, args=ocp.args.Composite(**parts))
        self._manager.wait_until_finished()

    def restore(self, step: int | None = None, **items: Any) -> int:
        """Load a checkpoint, by default the last, into modules, optimizers and trees of tensors.

        Args:
          step: the number of the checkpoint; the last one by default.
          items: what to load into, under the names by which they were saved; written in place.

        Returns:
          its step.

        Raises:
          FileNotFoundError: there is no such checkpoint.
          KeyError: it has no such item.
          RuntimeError, ValueError: from ``load_state_dict``, where names or shapes differ.
        """
        step = self._manager.latest_step() if step is None else step
        if step is None or step not in self._manager.all_steps():
            raise FileNotFoundError(
                f"{self._manager.directory} has no checkpoint"
                + ("" if step is None else f" of step {step}")
            )
        known = {p.name for p in Path(str(self._manager.directory), str(step)).iterdir()}
        for name, item in items.items():
            if name not in known and f"{name}.json" not in known:
                raise KeyError(
                    f"the checkpoint of step {step} has no {name!r}; it has "
                    f"{sorted(n for n in known if n[0] not in '_c')}"
                )
            arrays = self._item(step, name, ocp.args.StandardRestore()) if name in known else {}
            if isinstance(item, Module):
                item.load_state_dict({k: _tensor(a) for k, a in _flat(arrays).items()})
            elif hasattr(item, "load_state_dict"):
                rest = self._item(step, f"{name}.json", ocp.args.JsonRestore())["state_dict"]
                item.load_state_dict(decoded(rest, {k: _tensor(a) for k, a in arrays.items()}))
            else:
                _fill(item, arrays, name)
        return step

    def _item(self, step: int, name: str, how: Any) -> Any:
        return self._manager.restore(step, args=ocp.args.Composite(**{name: how}))[name]

    def close(self) -> None:
        """Let go of the folder."""
        self._manager.close()

    def __enter__(self) -> Checkpoints:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _array(leaf: Any) -> Any:
    return leaf.detach().jax() if isinstance(leaf, Tensor) else leaf


def _tensor(array: Any) -> Tensor:
    return from_jax(array if isinstance(array, jax.Array) else np.asarray(array))


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Turn ``{"0.weight": t}`` into ``{"0": {"weight": t}}``."""
    made: dict[str, Any] = {}
    for name, value in flat.items():
        *path, last = name.split(".")
        node = made
        for part in path:
            node = node.setdefault(part, {})
        node[last] = value
    return made


def _flat(tree: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    found = {}
    for name, value in tree.items():
        if isinstance(value, Mapping):
            found.update(_flat(value, f"{before}{name}."))
        else:
            found[f"{before}{name}"] = value
    return found


def _fill(tree: Any, arrays: Any, name: str) -> None:
    """Write arrays into the tensors of a tree. ValueError where it has other leaves or shapes."""
    tensors, _ = jax.tree_util.tree_flatten_with_path(tree, is_leaf=lambda x: isinstance(x, Tensor))
    saved, _ = jax.tree_util.tree_flatten_with_path(arrays)
    if len(tensors) != len(saved):
        raise ValueError(f"{name} has {len(tensors)} tensors, the checkpoint {len(saved)}")
    for (path, t), (_, array) in zip(tensors, saved, strict=True):
        where = f"{name}{jax.tree_util.keystr(path)}"
        if not isinstance(t, Tensor):
            raise TypeError(f"{where} is a {type(t).__name__}: restoring writes into tensors")
        if tuple(t.shape) != tuple(np.shape(array)):
            raise ValueError(
                f"{where} has shape {tuple(t.shape)}, the checkpoint {tuple(np.shape(array))}"
            )
        with no_grad():
            t.copy_(_tensor(array))
