"""Reading checkpoints, PyTorch's and ours; nothing in a file is executed."""

from __future__ import annotations

import collections
import io
import os
import pickle
import zipfile
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from torchlike import devices, dtypes, views
from torchlike.nn.parameter import Parameter
from torchlike.serialization.names import STORAGES
from torchlike.size import Size
from torchlike.storage import Storage
from torchlike.tensor import Tensor

_REFUSED = (
    "Weights only load failed. {what} was not an allowed global by default. If you trust the file, "
    "load it with weights_only=False, or allow it with "
    "torch.serialization.add_safe_globals([{what}])."
)

#: What users allowed: the name a file may call it by -> (the object, as they gave it).
_user_globals: dict[str, tuple[Any, Any]] = {}


def _in_pytorch(name: str) -> str:
    """A dotted name as PyTorch's files spell it: ``torch.nn…`` for what is ours."""
    return "torch" + name[len("torchlike") :] if name.startswith("torchlike.") else name


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Allow classes or functions, or pairs of one and its name, in files loaded with
    ``weights_only=True``."""
    for item in safe_globals:
        given, name = item if isinstance(item, tuple) else (
            item, f"{item.__module__}.{item.__qualname__}")  # fmt: skip
        _user_globals[_in_pytorch(name)] = given, item


def get_safe_globals() -> list[Any]:
    """What ``add_safe_globals`` allowed, as it was given."""
    return [item for _, item in _user_globals.values()]


def clear_safe_globals() -> None:
    """Forget what ``add_safe_globals`` allowed."""
    _user_globals.clear()


class safe_globals:
    """``with safe_globals([...]):`` allows classes or functions within the block."""

    def __init__(self, safe_globals: list[Any]) -> None:
        self._given = safe_globals
        self._before: dict[str, tuple[Any, Any]] = {}

    def __enter__(self) -> None:
        self._before = dict(_user_globals)
        add_safe_globals(self._given)

    def __exit__(self, *exc: object) -> None:
        _user_globals.clear()
        _user_globals.update(self._before)


class _StorageType:
    """A storage class named in a file."""

    def __init__(self, dtype: dtypes.dtype) -> None:
        self.dtype = dtype


class _Archive:
    """An open checkpoint: its records, and the storages made from them so far."""

    def __init__(self, archive: zipfile.ZipFile, map_location: Any) -> None:
        self.archive = archive
        self.map_location = map_location
        names = archive.namelist()
        self.root = next((n[: -len("data.pkl")] for n in names if n.endswith("/data.pkl")), None)
        if self.root is None:
            raise RuntimeError(
                "PytorchStreamReader failed locating file data.pkl: not a checkpoint written by "
                "torch.save"
            )
        order = f"{self.root}byteorder"
        self.big = order in names and archive.read(order).strip() == b"big"
        self.storages: dict[str, Storage] = {}

    def pickle(self) -> bytes:
        return self.archive.read(f"{self.root}data.pkl")

    def storage(self, identity: Any) -> tuple[Storage, dtypes.dtype]:
        kind, storage_type, key, location, size = identity
        if kind != "storage" or not isinstance(storage_type, _StorageType):
            raise pickle.UnpicklingError(f"unknown persistent id {identity!r}")
        dtype = storage_type.dtype
        found = self.storages.get(key)
        if found is None:
            content = self.archive.read(f"{self.root}data/{key}")
            stored = dtype.numpy.newbyteorder(">") if self.big else dtype.numpy
            if len(content) < size * dtype.itemsize:
                raise RuntimeError(
                    f"the checkpoint is truncated: storage {key} has {len(content)} of "
                    f"{size * dtype.itemsize} bytes"
                )
            flat = np.frombuffer(content, stored, size).astype(dtype.numpy)
            found = self.storages[key] = Storage(self._placed(flat, location))
        return found, dtype

    def _placed(self, flat: np.ndarray, location: str) -> Any:
        target = self.map_location
        if isinstance(target, dict):
            target = target.get(location, location)
        elif callable(target):
            placed = target(flat, location)
            target = location if placed is None or placed is flat else getattr(
                placed, "device", location)  # fmt: skip
        device = devices.device(location if target is None else target)
        if device.type != "cpu" and not devices.available(device.type):
            raise RuntimeError(
                f"Attempting to deserialize object on a {device.type.upper()} device but no such "
                "device is available. If you are running on a CPU-only machine, please use "
                "torch.load with map_location=torch.device('cpu') to map your storages to the CPU."
            )
        array = jnp.asarray(flat)
        return array if device.type == "cpu" else jax.device_put(array, devices.to_jax(device))


def _rebuild_tensor(
    storage: Any, offset: int, size: Any, stride: Any, requires_grad: Any, hooks: Any,
    metadata: Any = None,
) -> Tensor:  # fmt: skip
    """A tensor on a flat storage. One that covers it all owns it in its own shape."""
    cell, _ = storage
    size, stride = tuple(size), tuple(stride)
    t = object.__new__(Tensor)
    order = views.dense_order(size, stride)
    whole = views.dense_strides(size, order) == stride and offset == 0
    if whole and cell.size == int(np.prod(size)) and len(cell.shape) == 1 and cell.version == 0:
        flat = cell.concrete()
        shaped = flat.reshape([size[d] for d in order]).transpose(np.argsort(order))
        cell.cell, cell.version = shaped, 1
        if stride != views.contiguous_strides(size):
            cell.strides = stride
        t._storage = cell
    else:
        t._storage = cell
        base = t
        t = base.as_strided(size, stride, offset)
        t._base = None
    t._requires_grad = bool(requires_grad)
    return t


def _rebuild_parameter(data: Tensor, requires_grad: Any, hooks: Any) -> Parameter:
    return Parameter(data, bool(requires_grad))


def _allowed() -> dict[str, Any]:
    table: dict[str, Any] = {
        "torch._utils._rebuild_tensor_v2": _rebuild_tensor,
        "torch._utils._rebuild_parameter": _rebuild_parameter,
        "torch._tensor._rebuild_from_type_v2": _rebuild_from_type,
        "torch.Size": Size,
        "torch.device": devices.device,
        "torch.nn.parameter.Parameter": Parameter,
        "torch.Tensor": Tensor,
        "collections.OrderedDict": collections.OrderedDict,
        "collections.defaultdict": collections.defaultdict,
        "collections.Counter": collections.Counter,
        "builtins.set": set, "builtins.frozenset": frozenset, "builtins.complex": complex,
        "builtins.bytearray": bytearray, "builtins.slice": slice, "builtins.dict": dict,
        "__builtin__.set": set, "__builtin__.dict": dict,
        "_codecs.encode": _encode,
    }  # fmt: skip
    table.update({f"torch.{d.name}": d for d in dtypes.ALL})
    table.update({f"torch.{name}": _StorageType(d) for name, d in STORAGES.items()})
    return table


def _encode(text: str, encoding: str) -> bytes:
    """How protocol 2 writes bytes; nothing but latin1 text is accepted."""
    if encoding not in ("latin1", "latin-1"):
        raise pickle.UnpicklingError(f"encoding {encoding!r} is not allowed in a checkpoint")
    return text.encode("latin1")


def _rebuild_from_type(function: Callable[..., Any], kind: Any, args: Any, state: Any) -> Any:
    if function not in (_rebuild_tensor, _rebuild_parameter):
        raise pickle.UnpicklingError("a tensor is rebuilt by an unknown function")
    return function(*args)


class _Unpickler(pickle.Unpickler):
    """An unpickler that knows only what a checkpoint needs (and what the user allowed)."""

    def __init__(self, file: Any, archive: _Archive, weights_only: Any, encoding: str) -> None:
        super().__init__(file, encoding=encoding)
        self._archive = archive
        self._weights_only = weights_only
        self._table = _allowed()

    def persistent_load(self, pid: Any) -> Any:
        return self._archive.storage(pid)

    def find_class(self, module: str, name: str) -> Any:
        full = _in_pytorch(f"{module}.{name}")
        if full in self._table:
            return self._table[full]
        if full in _user_globals:
            return _user_globals[full][0]
        if self._weights_only:
            raise pickle.UnpicklingError(_REFUSED.format(what=full))
        if module.split(".")[0] == "torch":
            module = "torchlike" + module[len("torch") :]
        return super().find_class(module, name)


def load(
    f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: Any = True,
    mmap: Any = None, **pickle_load_args: Any,
) -> Any:  # fmt: skip
    """Load a checkpoint that PyTorch or torchlike saved.

    Args:
      f: a path, or a readable binary file that can seek.
      map_location: where storages go: a device, a string, a dictionary of such, a function.
      weights_only: unpickle nothing but tensors, containers, numbers and allowed classes.

    Raises:
      FileNotFoundError: no such file.
      pickle.UnpicklingError: the file asks for a class or function that is not allowed.
      RuntimeError: the file is no checkpoint, or damaged.
    """
    if not hasattr(f, "read"):
        with open(os.fspath(f), "rb") as file:
            return load(file, map_location, weights_only=weights_only, **pickle_load_args)
    try:
        archive = zipfile.ZipFile(f)
    except zipfile.BadZipFile as error:
        raise RuntimeError(
            "not a checkpoint in PyTorch's zip format (damaged, or written in the legacy format, "
            f"which torchlike does not read: save it again with a current PyTorch): {error}"
        ) from None
    with archive:
        opened = _Archive(archive, map_location)
        encoding = pickle_load_args.get("encoding", "utf-8")
        try:
            return _Unpickler(io.BytesIO(opened.pickle()), opened, weights_only, encoding).load()
        except (KeyError, zipfile.BadZipFile, EOFError) as error:
            raise RuntimeError(f"the checkpoint is damaged: {error}") from error
