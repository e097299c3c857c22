"""``save`` and ``load`` with Orbax's checkpoints, which programs of JAX's write and read."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding

from torchlike._runtime.lazy import LazyModule
from torchlike.distributed.checkpoint._ranks import meet, same_for_all
from torchlike.distributed.checkpoint.filesystem import (
    Contents,
    FileSystemReader,
    FileSystemWriter,
)
from torchlike.serialization.json_states import decoded, encoded

ocp: Any = LazyModule("orbax.checkpoint")
#: The items of a checkpoint: tensors, and what else there is.
_STATE, _OBJECTS = "state", "objects"


def _check_installed() -> None:
    """Raise ImportError where Orbax is not installed."""
    if importlib.util.find_spec("orbax") is None:
        raise ImportError(
            "checkpoints of Orbax's need the package orbax-checkpoint: "
            "pip install 'torchlike[orbax]'"
        )


class OrbaxStorageWriter(FileSystemWriter):
    """Writes the checkpoints of a folder by Orbax's ``CheckpointManager``, each a step of its own:
    0, 1, 2, … One appears whole or not at all: a save that is killed leaves the former whole.

    The item "state" is a dictionary of arrays by the names of the state dict, joined by dots
    (``{"model.0.weight": …}``), which programs of JAX's read with
    ``orbax.checkpoint.StandardCheckpointer().restore(folder / "0" / "state")``. Numbers, names and
    containers of such are a second item, "objects", in JSON.

    Args:
        path: The folder.
        keep: How many of the last checkpoints are kept; None keeps all.

    Raises:
        ImportError: Orbax is not installed (``pip install 'torchlike[orbax]'``).
        ValueError: ``keep`` is less than 1.
        TypeError: from ``save``, for a value that JSON has no place for.

    PyTorch has no such writer.

    Example:
        >>> import pathlib, tempfile
        >>> from torchlike.distributed import checkpoint
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     writer = checkpoint.OrbaxStorageWriter(folder, keep=2)
        ...     saved = checkpoint.save({"w": torch.ones(2)}, storage_writer=writer, no_dist=True)
        ...     print([path.name for path in pathlib.Path(folder).iterdir()])
        ['0']
    """

    def __init__(self, path: Any, *, keep: int | None = 1) -> None:
        super().__init__(path)
        _check_installed()
        if keep is not None and keep < 1:
            raise ValueError(f"keep must be at least 1, not {keep}")
        self._keep = keep

    def write(
        self,
        folder: Path,
        arrays: Mapping[str, Any],
        objects: Mapping[str, Any],
        rank: int,
        count: int,
    ) -> None:
        """Write a checkpoint of arrays and other objects, with the other processes of ``count``."""
        if count != jax.process_count():
            raise NotImplementedError(
                f"OrbaxStorageWriter: a save of {count} of the {jax.process_count()} processes. "
                "Use instead: FileSystemWriter, or save() in all processes without no_dist"
            )
        texts = {name: encoded(value) for name, value in objects.items()}
        parts: dict[str, Any] = {}
        if arrays:
            found = {name: _of_world(array, count) for name, array in arrays.items()}
            parts[_STATE] = ocp.args.StandardSave(found)
        if texts or not arrays:
            parts[_OBJECTS] = ocp.args.JsonSave(texts)
        options = ocp.CheckpointManagerOptions(
            max_to_keep=self._keep, enable_async_checkpointing=False
        )
        with ocp.CheckpointManager(folder.resolve(), options=options) as manager:
            last = manager.latest_step()
            step = same_for_all(0 if last is None else last + 1, count)
            manager.save(step, args=ocp.args.Composite(**parts))
            manager.wait_until_finished()
        meet(count)


def _of_world(array: Any, count: int) -> Any:
    """Return an array as Orbax takes it: one of this process alone by its values, which the first
    process writes."""
    return np.asarray(array) if count > 1 and array.is_fully_addressable else array


class OrbaxStorageReader(FileSystemReader):
    """Reads the last of a folder's Orbax checkpoints, or that of a ``step``, onto whatever mesh the
    tensors lie on: one of `OrbaxStorageWriter`, or any that has a dictionary of arrays as the item
    "state".

    Args:
        path: The folder.
        step: The number of the checkpoint; the last one by default.

    Raises:
        ImportError: Orbax is not installed (``pip install 'torchlike[orbax]'``).
        FileNotFoundError: from ``load``, where there is no such checkpoint.

    PyTorch has no such reader.

    Example:
        >>> import tempfile
        >>> from torchlike.distributed import checkpoint
        >>> state = {"w": torch.ones(2)}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     writer = checkpoint.OrbaxStorageWriter(folder)
        ...     saved = checkpoint.save(state, storage_writer=writer, no_dist=True)
        ...     found = {"w": torch.zeros(2)}
        ...     reader = checkpoint.OrbaxStorageReader(folder)
        ...     checkpoint.load(found, storage_reader=reader, no_dist=True)
        >>> found
        {'w': tensor([1., 1.])}
    """

    def __init__(self, path: Any, *, step: int | None = None) -> None:
        super().__init__(path)
        _check_installed()
        self._step = step

    def find(self, folder: Path) -> Contents:
        """Return the checkpoint of a folder. FileNotFoundError where there is none."""
        if not folder.is_dir():
            raise FileNotFoundError(f"{folder} holds no checkpoint of Orbax's: it is not there")
        # A step's folder has its name once it is whole. (A CheckpointManager waits for everybody.)
        steps = [int(p.name) for p in folder.iterdir() if p.name.isdigit() and p.is_dir()]
        step = max(steps, default=None) if self._step is None else self._step
        if step not in steps:
            of_step = "" if step is None else f" of step {step}"
            raise FileNotFoundError(f"{folder} holds no checkpoint of Orbax's{of_step}")
        return _OfOrbax(folder.resolve() / str(step))


class _OfOrbax:
    """A checkpoint of Orbax's."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._paths: dict[str, tuple[str, ...]] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        if not (folder / _STATE).is_dir():
            return
        with contextlib.closing(ocp.PyTreeCheckpointHandler()) as handler:
            tree = handler.metadata(folder / _STATE).tree
        for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]:
            keys = tuple(str(getattr(k, "key", getattr(k, "idx", k))) for k in path)
            self._paths[".".join(keys)] = keys
            self.shapes[".".join(keys)] = tuple(leaf.shape)

    def arrays(self, wanted: Mapping[str, NamedSharding | None]) -> Iterator[tuple[str, Any]]:
        """Yield the tensors that a name and a sharding are given of, read at once."""
        item: dict[str, Any] = {}
        how: dict[str, Any] = {}
        for name, sharding in wanted.items():
            one = (
                ocp.RestoreArgs(restore_type=np.ndarray)
                if sharding is None
                else ocp.ArrayRestoreArgs(sharding=sharding, global_shape=self.shapes[name])
            )
            _put(item, self._paths[name], 0)
            _put(how, self._paths[name], one)
        if not wanted:
            return
        args = ocp.args.PyTreeRestore(item=item, restore_args=how, partial_restore=True)
        with contextlib.closing(ocp.PyTreeCheckpointHandler()) as handler:
            tree = handler.restore(self._folder / _STATE, args=args)
        for name in wanted:
            found = tree
            for key in self._paths[name]:
                found = found[key]
            yield name, found if isinstance(found, jax.Array) else jax.device_put(found)

    def objects(self) -> Mapping[str, Any]:
        """Return the values of the checkpoint that are no tensors, by name."""
        if not (self._folder / _OBJECTS).is_dir():
            return {}
        with contextlib.closing(ocp.JsonCheckpointHandler()) as handler:
            texts = handler.restore(self._folder / _OBJECTS)
        return {name: decoded(text) for name, text in texts.items()}


def _put(tree: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    *first, last = path
    for key in first:
        tree = tree.setdefault(key, {})
    tree[last] = value
