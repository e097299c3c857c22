"""Files of Python 2, of other objects than files, archives by hand, and datasets with locks."""

from __future__ import annotations

import importlib
import inspect
import io
import os
import pickle
import signal
import tarfile
import tempfile
import types
import zipfile
from typing import Any, ClassVar

import torch

_Pickler: Any = pickle._Pickler  # type: ignore[attr-defined]


class _Python2(_Pickler):
    """Writes text as Python 2 writes its strings: bytes of no encoding."""

    dispatch: ClassVar[dict[Any, Any]] = dict(_Pickler.dispatch)

    def save_str(self, obj: str) -> None:
        data = obj.encode("latin1")
        head = (
            b"U" + bytes([len(data)]) if len(data) < 256 else b"T" + len(data).to_bytes(4, "little")
        )
        self.write(head + data)
        self.memoize(obj)

    dispatch[str] = save_str


def _dump(obj: Any, file: Any, protocol: int = 2) -> None:
    _Python2(file, protocol).dump(obj)


_PYTHON_2 = types.ModuleType("python_2")
_PYTHON_2.__dict__.update(Pickler=_Python2, dump=_dump, Unpickler=pickle.Unpickler)


def _of_python_2(value: Any, new: bool = False) -> io.BytesIO:
    """A file of PyTorch's, in text as Python 2 writes it."""
    file = io.BytesIO()
    how = {"pickle_module": _PYTHON_2, "_use_new_zipfile_serialization": new}
    torch.save(value(torch), file, **how)
    file.seek(0)
    return file


def _load(value: Any, new: bool = False, **how: Any) -> Any:
    """A behaviour that loads what Python 2 saved."""

    def behaviour(t: Any) -> Any:
        return t.load(_of_python_2(value, new), **how)

    behaviour.__module__ = __name__
    return behaviour


def _state(t: Any) -> Any:
    return {"weight": t.arange(3.0), "name": "caf\xe9", "n": 2}


def _file(t: Any, value: Any, **how: Any) -> io.BytesIO:
    file = io.BytesIO()
    t.save(value, file, **how)
    file.seek(0)
    return file


class _Reads:
    """A file that is no BytesIO, and counts what it is asked."""

    def __init__(self, file: io.BytesIO, into: bool) -> None:
        self.file, self.asked = file, []
        if into:
            self.readinto = self._readinto
        for name in ("seek", "tell", "read", "readline"):
            setattr(self, name, getattr(file, name))

    def _readinto(self, buffer: Any) -> int:
        self.asked.append("readinto")
        return self.file.readinto(buffer)


def an_old_file_by_readinto(t: Any) -> Any:
    reads = _Reads(_file(t, t.arange(300.0), _use_new_zipfile_serialization=False), True)
    return t.load(reads).sum(), "readinto" in reads.asked


def an_archive_by_readinto(t: Any) -> Any:
    reads = _Reads(_file(t, t.arange(300.0)), True)
    return t.load(reads).sum()


def an_archive_without_readinto(t: Any) -> Any:
    return t.load(_Reads(_file(t, t.arange(300.0)), False)).sum()


def an_archive_by_readinto_that_gives_little(t: Any) -> Any:
    class Slow(io.BytesIO):
        def readinto(self, buffer: Any) -> int:
            return super().readinto(memoryview(buffer)[:7])

    file = _file(t, t.arange(5.0), _use_new_zipfile_serialization=False)
    return t.load(Slow(file.getvalue()))


def one_storage_as_two_dtypes(t: Any) -> Any:
    x = t.arange(4.0)
    return _file(t, [x, x.view(t.int32)]).tell()


def one_storage_as_two_dtypes_in_an_old_file(t: Any) -> Any:
    x = t.arange(4.0)
    return _file(t, [x, x.view(t.int32)], _use_new_zipfile_serialization=False).tell()


def two_files_of_one_storage_as_two_dtypes(t: Any) -> Any:
    x = t.arange(4.0)
    return t.load(_file(t, x.view(t.int32))), t.load(_file(t, x))


def bytes_of_a_storage(t: Any) -> Any:
    x = t.arange(2.0)
    found = t.load(_file(t, [x, x.untyped_storage()]), weights_only=False)
    return found[0], list(found[1])


def pickles_of_each_protocol(t: Any) -> Any:
    kept = {"a": t.arange(2.0), "b": [1, "x"]}
    found = []
    for protocol in range(1, 6):
        for new in (False, True):
            how = {"pickle_protocol": protocol, "_use_new_zipfile_serialization": new}
            file = _file(t, kept, **how)
            found.append(t.load(file, weights_only=False))
            data = file.getvalue() if not new else zipfile.ZipFile(file).read("archive/data.pkl")
            found.append(data[:2] if protocol > 1 else data[:1])
    return found


def files_of_each_protocol(t: Any) -> Any:
    files = []
    for protocol in range(1, 6):
        how = {"pickle_protocol": protocol, "_use_new_zipfile_serialization": False}
        files.append(_file(torch, torch.ones(2), **how))
    return [t.load(file, weights_only=False) for file in files]


def text_written_by_a_module_of_ones_own(t: Any) -> Any:
    found = []
    for new in (False, True):
        how = {"pickle_module": _PYTHON_2, "_use_new_zipfile_serialization": new}
        found.append(t.load(_file(t, _state(t), **how), encoding="latin1", weights_only=False))
        found.append(b"caf\xe9" in _file(t, _state(t), **how).getvalue())
    return found


class _Marking(_Pickler):
    """A pickler that knows how to pickle lambdas."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, types.LambdaType) and obj.__name__ == "<lambda>":
            return str, ("a lambda",)
        return NotImplemented


def lambdas_pickled_by_a_module_of_ones_own(t: Any) -> Any:
    own = types.ModuleType("own")
    own.__dict__.update(Pickler=_Marking, dump=pickle.dump)
    return t.load(_file(t, [lambda: 1, t.ones(1)], pickle_module=own), weights_only=False)


def _is_zip(t: Any, file: Any) -> Any:
    return t.serialization._is_zipfile(file)


def archives_that_are_told(t: Any) -> Any:
    old = _file(t, t.ones(2), _use_new_zipfile_serialization=False)
    shifted = io.BytesIO(b"xx" + _file(t, t.ones(2)).getvalue())
    shifted.seek(2)
    empty = io.BytesIO()
    files = [_file(t, t.ones(2)), old, shifted, empty, io.BytesIO(b"PK\x03\x04"), io.BytesIO(b"PK")]
    return [(_is_zip(t, f), f.tell()) for f in files]


def an_archive_asked_of_a_path(t: Any) -> Any:
    return _is_zip(t, "somewhere")


def an_archive_written_by_hand(t: Any) -> Any:
    file = io.BytesIO()
    with t.serialization._open_zipfile_writer(file) as writer:
        writer.write_record("a", b"abc", 3)
    with zipfile.ZipFile(file) as found:
        return sorted(n.rpartition("/")[2] for n in found.namelist())


def an_archive_written_to_a_path(t: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.pt")
        with t.serialization._open_zipfile_writer(path) as writer:
            writer.write_record("data", b"abc", 3)
        with t.serialization._open_zipfile_reader(path) as reader:
            return reader.get_record("data"), reader.has_record("none"), zipfile.is_zipfile(path)


def an_archive_written_where_no_folder_is(t: Any) -> Any:
    with t.serialization._open_zipfile_writer("/nowhere/at/all.pt"):
        pass


def an_archive_with_a_record_that_is_missing(t: Any) -> Any:
    with t.serialization._open_zipfile_reader(_file(t, t.ones(1))) as reader:
        return reader.get_record("nothing")


def _container(t: Any) -> io.BytesIO:
    """The container of PyTorch 0.1: a tar of pickles."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        for name, data in (("sys_info", b"x"), ("pickle", pickle.dumps({}, 2))):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    file.seek(0)
    return file


def a_container_of_the_first_release(t: Any) -> Any:
    return t.load(_container(t))


def a_container_of_the_first_release_without_safety(t: Any) -> Any:
    return t.load(_container(t), weights_only=False)


def a_file_that_is_a_tar_of_something_else(t: Any) -> Any:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("a"))
    file.seek(0)
    return t.load(file, weights_only=False)


def a_module_that_is_kept_with_its_source(t: Any) -> Any:
    model = t.nn.Linear(2, 1)
    file = _file(t, model, _use_new_zipfile_serialization=False)
    return type(t.load(file, weights_only=False)).__name__


class _Kept:
    """Stands for a module's class whose source has changed since it was saved."""


def _with_source(source: str) -> Any:
    def behaviour(t: Any) -> Any:
        file = io.BytesIO()

        class Saving(pickle.Pickler):
            def persistent_id(self, obj: Any) -> Any:
                return ("module", obj, "kept.py", source) if obj is _Kept else None

        torch.save(torch.ones(1), file, _use_new_zipfile_serialization=False)
        head = file.getvalue()[: file.getvalue().index(b"\x80\x02ctorch._utils")]
        file = io.BytesIO(head)
        file.seek(0, 2)
        Saving(file, 2).dump([_Kept, 1])
        pickle.dump([], file, 2)
        file.seek(0)
        return t.load(file, weights_only=False)[1]

    behaviour.__module__ = __name__
    return behaviour


def _loaded(t: Any, make: Any, use: Any, workers: int = 2) -> Any:
    held = make(importlib.import_module(f"{t.__name__}.multiprocessing"))

    class Data(t.utils.data.Dataset):
        def __len__(self) -> int:
            return 4

        def __getitem__(self, i: int) -> int:
            use(held, i)
            return i

    made = t.utils.data.DataLoader(Data(), batch_size=2, num_workers=workers)
    before = signal.getsignal(signal.SIGCHLD)  # PyTorch takes it over
    try:
        return held, [batch.tolist() for batch in made]
    finally:
        signal.signal(signal.SIGCHLD, before)


def _counted(value: Any, i: int) -> None:
    with value.get_lock():
        value.value += i


def _entered(lock: Any, i: int) -> None:
    with lock:
        pass


def _written(array: Any, i: int) -> None:
    array[i] = i


def _put(queue: Any, i: int) -> None:
    queue.put(i)


def _met(barrier: Any, i: int) -> None:
    barrier.wait(20)


def a_dataset_with_a_shared_number(t: Any) -> Any:
    value, batches = _loaded(t, lambda mp: mp.Value("i", 0), _counted)
    return value.value, batches


def a_dataset_with_a_shared_array(t: Any) -> Any:
    array, batches = _loaded(t, lambda mp: mp.Array("d", 4), _written)
    return list(array), batches


def a_dataset_with_a_lock(t: Any) -> Any:
    return _loaded(t, lambda mp: mp.Lock(), _entered)[1]


def a_dataset_with_a_semaphore(t: Any) -> Any:
    return _loaded(t, lambda mp: mp.Semaphore(1), _entered)[1]


def a_dataset_with_a_queue(t: Any) -> Any:
    queue, batches = _loaded(t, lambda mp: mp.Queue(), _put)
    return sorted(queue.get(timeout=20) for _ in range(4)), batches


def a_dataset_whose_workers_wait_for_each_other(t: Any) -> Any:
    return _loaded(t, lambda mp: mp.Barrier(2), _met)[1]


def workers_beyond_the_cores(t: Any) -> Any:
    made = t.utils.data.DataLoader(list(range(4)), num_workers=5000)
    return made.num_workers


def workers_of_a_negative_number(t: Any) -> Any:
    return t.utils.data.DataLoader(list(range(4)), num_workers=-1)


_TABLE = {
    "a_class_kept_with_another_source": _with_source("class _Kept:\n    pass\n"),
    "a_class_kept_with_its_source": _with_source(inspect.getsource(_Kept)),
    "a_class_kept_without_a_source": _with_source(""),
    "text_of_python_2_as_bytes": _load(_state, encoding="bytes", weights_only=False),
    "text_of_python_2_as_latin": _load(_state, encoding="latin1", weights_only=False),
    "text_of_python_2_as_ascii": _load(_state, encoding="ascii", weights_only=False),
    "text_of_python_2": _load(_state, weights_only=False),
    "text_of_python_2_safely_as_bytes": _load(_state, encoding="bytes"),
    "text_of_python_2_safely_as_latin": _load(_state, encoding="latin1"),
    "text_of_python_2_in_an_archive_as_bytes": _load(
        _state, True, encoding="bytes", weights_only=False
    ),
    "text_of_python_2_in_an_archive_safely_as_bytes": _load(_state, True, encoding="bytes"),
    "a_tensor_of_python_2_as_bytes": _load(
        lambda t: t.ones(2), encoding="bytes", weights_only=False
    ),
    "an_unknown_encoding": _load(_state, encoding="klingon", weights_only=False),
    "errors_of_decoding_that_are_replaced": _load(
        _state, encoding="ascii", errors="replace", weights_only=False
    ),
    "an_argument_that_pickle_does_not_have": _load(_state, colour="red", weights_only=False),
}
globals().update(_TABLE)
