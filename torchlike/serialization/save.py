"""Writing checkpoints that PyTorch reads."""

from __future__ import annotations

import functools
import io
import os
import pickle
import types
from collections import OrderedDict
from pathlib import Path
from typing import IO, Any, ClassVar

import numpy as np

from torchlike._compat.archives import ALIGNMENT, PyTorchFileWriter
from torchlike._compat.typed_storage import TypedStorage
from torchlike._core import devices, dtypes, layouts, views
from torchlike._core.size import Size
from torchlike._core.storage import Storage
from torchlike._extensions.untyped_storage import UntypedStorage
from torchlike._extensions.wrapped import Wrapped
from torchlike._runtime import whole_files
from torchlike._runtime.mixed_operands import check_saved
from torchlike.nested._internal.nested_tensor import NestedTensor
from torchlike.nn.parameter import is_lazy
from torchlike.serialization import legacy
from torchlike.serialization.archives import little
from torchlike.serialization.names import STORAGE_OF
from torchlike.serialization.options import data_is_skipped
from torchlike.sparse._compressed import CompressedTensor
from torchlike.sparse._tensor import SparseTensor
from torchlike.tensor import Tensor
from torchlike.utils.hooks import warn_if_has_hooks

#: Of the pickles in files, where `save` is not told otherwise.
DEFAULT_PROTOCOL = 2


class _NamedGlobal:
    """Stands for a class or function of PyTorch's: pickled as its name alone."""

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name


class _StorageKey:
    """Stands for a storage: pickled as PyTorch's persistent id."""

    def __init__(self, key: str, kind: str | None, place: str, size: int, old: bool) -> None:
        name = ("torch", kind) if kind else ("torch.storage", "UntypedStorage")
        view = (None,) if old else ()  # the legacy format could say that it is part of another
        self.id = ("storage", _NamedGlobal(*name), key, place, size, *view)


_NAMED = (Tensor, Size, devices.device, layouts.layout)


#: The pickler written in Python: only it lets a global be written by name.
_PythonPickler: Any = pickle._Pickler  # type: ignore[attr-defined]


class _ArchivePickler(_PythonPickler):
    """Pickles tensors, dtypes, sizes and devices under PyTorch's names."""

    dispatch: ClassVar[dict[Any, Any]] = dict(_PythonPickler.dispatch)

    def __init__(self, file: IO[bytes], protocol: int, legacy: bool = False) -> None:
        super().__init__(file, protocol=protocol)
        self._legacy = legacy
        self.storages: dict[int, tuple[str, Storage, np.ndarray]] = {}
        self._dtypes: dict[str, dtypes.dtype] = {}

    def persistent_id(self, obj: Any) -> Any:
        if isinstance(obj, TypedStorage):
            return self._key(obj.untyped()._storage, obj.dtype).id
        if isinstance(obj, UntypedStorage):
            return self._key(obj._storage, None).id
        return obj.id if isinstance(obj, _StorageKey) else None

    def save_global_name(self, obj: _NamedGlobal) -> None:
        self.write(pickle.GLOBAL + f"{obj.module}\n{obj.name}\n".encode())

    dispatch[_NamedGlobal] = save_global_name

    def save_global(self, obj: Any, name: Any = None) -> None:
        """Write a class or function by its name. What has none is refused as Python's compiled
        pickler, which PyTorch uses, refuses it."""
        try:
            super().save_global(obj, name)
        except pickle.PicklingError:
            pickle.dumps(obj, 2)
            raise

    dispatch[types.FunctionType] = save_global

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, SparseTensor):
            parts = (obj._indices(), obj._values().detach(), obj.shape, obj.is_coalesced())
            return _NamedGlobal("torch._utils", "_rebuild_sparse_tensor"), (obj.layout, parts)
        if isinstance(obj, CompressedTensor):
            parts = (obj._compressed, obj._plain, obj._held.detach(), obj.shape)
            return _NamedGlobal("torch._utils", "_rebuild_sparse_tensor"), (obj.layout, parts)
        if isinstance(obj, NestedTensor):
            return self._ragged(obj)
        if isinstance(obj, Tensor):
            if _says_how(type(obj)):
                return NotImplemented
            if obj._hooks is not None or obj._node is not None:
                warn_if_has_hooks(obj)
            return self._tensor(obj)
        if isinstance(obj, Size):
            return _NamedGlobal("torch", "Size"), (tuple(obj),)
        if isinstance(obj, devices.device):
            index = () if obj.index is None else (obj.index,)
            return _NamedGlobal("torch", "device"), (obj.type, *index)
        if isinstance(obj, layouts.layout):
            return _NamedGlobal("torch.serialization", "_get_layout"), (repr(obj),)
        theirs = getattr(super(), "reducer_override", None)  # of the user's module
        return NotImplemented if theirs is None else theirs(obj)

    def _ragged(self, obj: NestedTensor) -> Any:
        """Return the parts of a ragged tensor as PyTorch writes one, without the extremes that it
        may find again."""
        parts = {
            "values": obj._values.detach(),
            "offsets": obj._offsets,
            "lengths": obj._lengths,
            "_ragged_idx": obj._ragged_idx,
            "_metadata_cache": {},
            "requires_grad": obj.requires_grad,
        }
        function = _NamedGlobal("torch.nested._internal.nested_tensor", "_rebuild_njt")
        kind = _NamedGlobal("torch.nested._internal.nested_tensor", "NestedTensor")
        return _NamedGlobal("torch._tensor", "_rebuild_from_type_v2"), (
            function,
            kind,
            (parts,),
            {},
        )

    def save(self, obj: Any, save_persistent_id: bool = True) -> Any:
        if isinstance(obj, dtypes.dtype):
            self.save_global_name(_NamedGlobal("torch", obj.name))
            return None
        if isinstance(obj, _NAMED) and id(obj) not in self.memo:
            reduced = self.reducer_override(obj)
            if reduced is not NotImplemented:
                self.save_reduce(*reduced, obj=obj)
                return None
        return super().save(obj, save_persistent_id)

    def save_reduce(self, func: Any, args: Any, *rest: Any, obj: Any = None, **kw: Any) -> None:
        if isinstance(func, _NamedGlobal):
            self.save(func)
            self.save(args)
            self.write(pickle.REDUCE)
            if obj is not None:
                self.memoize(obj)
            return
        super().save_reduce(func, args, *rest, obj=obj, **kw)

    def _key(self, storage: Storage, d: dtypes.dtype | None) -> _StorageKey:
        """Return a storage's persistent id, as elements of ``d`` or as bytes, numbering the storage
        at its first use.

        RuntimeError where it was written as elements of another dtype, as in PyTorch.
        """
        found = self.storages.get(id(storage))
        if found is None:
            found = (str(len(self.storages)), storage, _memory(storage))
            self.storages[id(storage)] = found
        key, _, memory = found
        seen = dtypes.uint8 if d is None or d not in STORAGE_OF else d
        if self._dtypes.setdefault(key, seen) is not seen:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different "
                "types"
            )
        # PyTorch reads no other accelerator's name than that of a GPU.
        place = str(storage.device) if storage.device.type == "cuda" else "cpu"
        return _StorageKey(
            key,
            None if d is None else STORAGE_OF.get(d),
            place,
            memory.nbytes // seen.itemsize,
            self._legacy,
        )

    def count(self, key: str, memory: np.ndarray) -> int:
        """Return how many elements a storage has, of the dtype it was written as."""
        return memory.nbytes // self._dtypes[key].itemsize

    def _tensor(self, t: Tensor) -> Any:
        d = t.dtype
        args: tuple[Any, ...]
        size, stride, offset = t._geometry
        if t.is_meta:
            args = (d, tuple(size), tuple(stride), bool(t.requires_grad))
            name = "_rebuild_meta_tensor_no_storage"
            return self._with_state(t, (_NamedGlobal("torch._utils", name), args))
        if type(t._storage.cell) is Wrapped:
            args = (
                type(t),
                d,
                tuple(size),
                tuple(stride),
                offset,
                t.layout,
                t.device,
                bool(t.requires_grad),
            )
            return self._with_state(
                t, (_NamedGlobal("torch._utils", "_rebuild_wrapper_subclass"), args)
            )
        args = (
            self._key(t._storage, d),
            offset,
            tuple(size),
            tuple(stride),
            bool(t.requires_grad),
            OrderedDict(),
        )
        version = 2 if d in STORAGE_OF else 3
        if version == 3:
            args = (*args, d)
        view = t._view
        if view is not None and not view.shows_memory:
            bits = (("conj", view.is_conjugated), ("neg", view.is_negated))
            args = (*args, {name: True for name, is_set in bits if is_set})
        rebuilt = _NamedGlobal("torch._utils", f"_rebuild_tensor_v{version}"), args
        return self._with_state(t, rebuilt)

    def _with_state(self, t: Tensor, rebuilt: Any) -> Any:
        """Return the reduction that rebuilds ``t``: its values as ``rebuilt`` says, its class and
        its state."""
        state = t.__getstate__()
        if getattr(type(t), "_is_param", False):  # of an instance of another class, in its state
            name = "_rebuild_parameter_with_state" if state else "_rebuild_parameter"
            args = (t.detach(), bool(t.requires_grad), OrderedDict(), *((state,) if state else ()))
            return _NamedGlobal("torch._utils", name), args
        if (type(t) is Tensor and not state) or is_lazy(t):
            return rebuilt
        kind = _NamedGlobal("torch", "Tensor") if type(t) is Tensor else type(t)
        function, args = rebuilt
        return _NamedGlobal("torch._tensor", "_rebuild_from_type_v2"), (function, kind, args, state)


def _says_how(kind: type[Tensor]) -> bool:
    """Return whether a subclass has a ``__reduce_ex__`` of its own."""
    return kind.__reduce_ex__.__module__.partition(".")[0] != __name__.partition(".")[0]


def _memory(storage: Storage) -> np.ndarray:
    """Return the storage's elements in memory order."""
    check_saved(storage.cell)
    host = np.asarray(storage.concrete() if storage.host is None else storage.host)
    if storage.strides is None:
        return np.ascontiguousarray(host)
    order = views.dense_order(host.shape, storage.strides)
    if views.dense_strides(host.shape, order) == storage.strides:
        return np.ascontiguousarray(host.transpose(order))
    # A strided NumPy array with gaps: write the whole stretch it spans.
    reach = 1 + sum((n - 1) * s for n, s in zip(host.shape, storage.strides, strict=True))
    flat = np.zeros(reach, host.dtype)
    index = views.memory_index(views.Geometry(host.shape, storage.strides, 0))
    flat[index.reshape(-1)] = host.reshape(-1)
    return flat


def save(
    obj: Any,
    f: Any,
    pickle_module: Any = None,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
) -> None:
    """Save an object in PyTorch's file format.

    Args:
      obj: tensors, state_dicts, anything picklable made of them.
      f: a path or a writable binary file. A regular file is written whole or not at all, behind
        links and with the permissions that it has; a pipe or a device gets the bytes as they come.
      pickle_module: whose ``Pickler`` writes everything else. NotImplementedError for one that is
        not written in Python (a subclass of ``pickle._Pickler``).
      pickle_protocol: of the pickles in the file.
      _use_new_zipfile_serialization: False for the format before PyTorch 1.6.

    Example:
      >>> import io
      >>> file = io.BytesIO()
      >>> torch.save({"w": torch.ones(2)}, file)
      >>> _ = file.seek(0)
      >>> torch.load(file)
      {'w': tensor([1., 1.])}
    """
    pickler = _pickler_by(pickle_module)
    writing = _write if _use_new_zipfile_serialization else _write_legacy
    write = functools.partial(writing, pickler=pickler, protocol=pickle_protocol)
    if hasattr(f, "write"):
        write(obj, f, "archive")
        if hasattr(f, "flush"):  # the file may be read by its name before it is closed
            f.flush()
        return
    if not isinstance(f, (str, os.PathLike)):
        raise AttributeError(
            "expected 'f' to be string, path, or a file-like object with a 'write' attribute"
        )
    path = Path(os.fspath(f))
    if not path.parent.is_dir():
        raise RuntimeError(f"Parent directory {path.parent} does not exist.")
    with whole_files.writing(path) as file:
        write(obj, file, path.stem)


def _pickler_by(module: Any) -> type[_ArchivePickler]:
    """Return the pickler of files that leaves to a module's what is not ours."""
    if module is None or module.Pickler in (pickle.Pickler, _PythonPickler):
        return _ArchivePickler
    theirs = module.Pickler
    if not issubclass(theirs, _PythonPickler):
        raise NotImplementedError(
            f"torch.save(pickle_module={module.__name__}): its Pickler is not written in Python. "
            f"Use instead: torch.save({module.__name__}.dumps(obj), f)."
        )
    own = _ArchivePickler.dispatch
    dispatch = {**own, **theirs.dispatch, _NamedGlobal: own[_NamedGlobal]}
    return type("_ArchivePickler", (_ArchivePickler, theirs), {"dispatch": dispatch})


def _write(
    obj: Any, file: Any, name: str, *, pickler: type[_ArchivePickler], protocol: int
) -> None:
    data = io.BytesIO()
    pickled = pickler(data, protocol)
    pickled.dump(obj)
    with PyTorchFileWriter(file, root=name) as archive:
        archive.write_record("data.pkl", data.getvalue())
        archive.write_record(".format_version", b"1")
        archive.write_record(".storage_alignment", b"%d" % ALIGNMENT)
        archive.write_record("byteorder", b"little")
        for key, _, memory in pickled.storages.values():
            content = bytes(memory.nbytes) if data_is_skipped() else little(memory)
            archive.write_record(f"data/{key}", content)
        archive.write_end_of_file()


def _write_legacy(
    obj: Any, file: Any, name: str, *, pickler: type[_ArchivePickler], protocol: int
) -> None:
    if data_is_skipped():
        raise RuntimeError("Cannot use skip_data=True with _use_new_zipfile_serialization=False")
    data = io.BytesIO()
    pickled = pickler(data, protocol, legacy=True)
    pickled.dump(obj)
    storages = {
        key: (pickled.count(key, memory), little(memory))
        for key, _, memory in pickled.storages.values()
    }

    def dumps(value: Any) -> bytes:
        plain = io.BytesIO()
        pickler(plain, protocol).dump(value)
        return plain.getvalue()

    legacy.write(file, data.getvalue(), storages, dumps)
