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

from torchlike import devices, dtypes
from torchlike.nn.parameter import Parameter
from torchlike.serialization import legacy
from torchlike.serialization.names import STORAGES
from torchlike.serialization.rebuild import (
    LoadedTyped,
    LoadedUntyped,
    Record,
    layout_named,
    rebuild_meta_tensor,
    rebuild_parameter,
    rebuild_parameter_with_state,
    rebuild_sparse_tensor,
    rebuild_tensor,
    rebuild_tensor_v3,
    with_state,
)
from torchlike.size import Size
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
    """A storage class named in a file; without a dtype it holds bytes."""

    def __init__(self, dtype: dtypes.dtype | None) -> None:
        self.dtype = dtype


class _Storages:
    """The storages of a checkpoint, made when its pickle names them."""

    big = False

    def __init__(self, map_location: Any) -> None:
        self.map_location = map_location
        self.records: dict[str, Record] = {}

    def content(self, key: str) -> bytes:
        """The bytes of one storage."""
        raise NotImplementedError

    def storage(self, identity: Any) -> Any:
        kind, storage_type, key, location, size, *view = identity
        if kind != "storage" or not isinstance(storage_type, _StorageType):
            raise pickle.UnpicklingError(f"unknown persistent id {identity!r}")
        if view and view[0] is not None:
            raise NotImplementedError(
                "the checkpoint holds views of storages, as PyTorch wrote them before 0.4: save it "
                "again with a later PyTorch"
            )
        dtype = storage_type.dtype
        found = self.records.get(key)
        if found is None:
            content = self.content(key)
            needed = size * (1 if dtype is None else dtype.itemsize)
            if len(content) < needed:
                raise RuntimeError(
                    f"the checkpoint is truncated: storage {key} has {len(content)} of {needed} "
                    "bytes"
                )
            found = Record(content[:needed], self.big, lambda flat: self._placed(flat, location))
            self.records[key] = found
        return LoadedUntyped(found) if dtype is None else LoadedTyped(found, dtype, size)

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


class _Archive(_Storages):
    """An open checkpoint in the zip format."""

    def __init__(self, archive: zipfile.ZipFile, map_location: Any) -> None:
        super().__init__(map_location)
        self.archive = archive
        names = archive.namelist()
        self.root = next((n[: -len("data.pkl")] for n in names if n.endswith("/data.pkl")), None)
        if self.root is None:
            raise RuntimeError(
                "PytorchStreamReader failed locating file data.pkl: not a checkpoint written by "
                "torch.save"
            )
        order = f"{self.root}byteorder"
        self.big = order in names and archive.read(order).strip() == b"big"

    def pickle(self) -> bytes:
        return self.archive.read(f"{self.root}data.pkl")

    def content(self, key: str) -> bytes:
        return self.archive.read(f"{self.root}data/{key}")


class _Legacy(_Storages):
    """A checkpoint in the format before PyTorch 1.6."""

    def __init__(self, file: Any, map_location: Any) -> None:
        super().__init__(map_location)
        sizes = {name: d.itemsize for name, d in STORAGES.items()}
        self.code, self.big, self._contents = legacy.parts(file, sizes)

    def content(self, key: str) -> bytes:
        return self._contents[key]


def _allowed() -> dict[str, Any]:
    table: dict[str, Any] = {
        "torch._utils._rebuild_tensor_v2": rebuild_tensor,
        "torch._utils._rebuild_tensor_v3": rebuild_tensor_v3,
        "torch._utils._rebuild_meta_tensor_no_storage": rebuild_meta_tensor,
        "torch._utils._rebuild_parameter": rebuild_parameter,
        "torch._utils._rebuild_parameter_with_state": rebuild_parameter_with_state,
        "torch._utils._rebuild_sparse_tensor": rebuild_sparse_tensor,
        "torch.serialization._get_layout": layout_named,
        "torch.storage.UntypedStorage": _StorageType(None),
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
        # Protocol 2 writes builtins under the name that Python 2 gave their module.
        "__builtin__.set": set, "__builtin__.dict": dict, "__builtin__.complex": complex,
        "__builtin__.bytearray": bytearray, "__builtin__.bytes": bytes,
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
    """A tensor of a subclass, or with attributes of its own."""
    if function not in _REBUILD:
        raise pickle.UnpicklingError("a tensor is rebuilt by an unknown function")
    made = function(*args)
    if not (isinstance(kind, type) and issubclass(kind, Tensor)):
        raise pickle.UnpicklingError(f"a tensor is rebuilt as {kind!r}, which is no tensor")
    return with_state(made if type(made) is kind else made.as_subclass(kind), state)


_REBUILD = (rebuild_tensor, rebuild_tensor_v3, rebuild_parameter, rebuild_meta_tensor)


class _Unpickler(pickle.Unpickler):
    """An unpickler that knows only what a checkpoint needs (and what the user allowed)."""

    def __init__(self, file: Any, archive: _Storages, weights_only: Any, encoding: str) -> None:
        super().__init__(file, encoding=encoding)
        self._archive = archive
        self._weights_only = weights_only
        self._table = _allowed()

    def persistent_load(self, pid: Any) -> Any:
        if pid[0] == "module":  # a class with its source, in the legacy format
            return pid[1]
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
    if weights_only and pickle_module is not None:
        raise RuntimeError(
            "Can not safely load weights when explicit pickle_module is specified: pass "
            "weights_only=False, or leave pickle_module out"
        )
    if not hasattr(f, "read"):
        with open(os.fspath(f), "rb") as file:
            return load(file, map_location, weights_only=weights_only, **pickle_load_args)
    encoding = pickle_load_args.get("encoding", "utf-8")
    try:
        start = f.tell()
        old = legacy.is_legacy(f)
        f.seek(start)
    except (AttributeError, io.UnsupportedOperation) as error:
        raise type(error)(
            f"{error}. You can only torch.load from a file that is seekable. Please pre-load the "
            "data into a buffer like io.BytesIO and try to load from it instead."
        ) from error
    try:
        if old:
            storages = _Legacy(f, map_location)
            code = storages.code
            return _Unpickler(io.BytesIO(code), storages, weights_only, encoding).load()
        with zipfile.ZipFile(f) as archive:
            opened = _Archive(archive, map_location)
            return _Unpickler(io.BytesIO(opened.pickle()), opened, weights_only, encoding).load()
    except zipfile.BadZipFile as error:
        raise RuntimeError(
            f"not a checkpoint in PyTorch's zip or legacy format, or damaged: {error}"
        ) from None
    except (KeyError, EOFError) as error:
        raise RuntimeError(f"the checkpoint is damaged: {error}") from error
