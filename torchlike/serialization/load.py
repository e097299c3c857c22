"""Reading checkpoints, PyTorch's and ours.

With ``weights_only=True``, the default, nothing in a file is executed: `Weights` (``weights.py``)
unpickles, and finds what a file names in `known_globals` there, or among what users allowed
(``allowed.py``). `Archive` and `Legacy` (``storages.py``) read the storages, and the functions of
``rebuild.py`` make tensors on them.
"""

from __future__ import annotations

import io
import os
import pickle
import pickletools
import warnings
import zipfile
from typing import Any

from torchlike._core import errors
from torchlike._runtime.mapped_files import map_file
from torchlike.serialization import legacy
from torchlike.serialization.allowed import global_name, user_globals
from torchlike.serialization.archives import _is_zipfile
from torchlike.serialization.damage import damaged, reading
from torchlike.serialization.options import SHARED, get_default_mmap_options
from torchlike.serialization.safe import load_safetensors
from torchlike.serialization.sources import class_of_file
from torchlike.serialization.storages import Archive, Legacy, Storages, as_text
from torchlike.serialization.weights import Weights, known_globals
from torchlike.tensor import Tensor

_SEEKABLE = (
    "You can only torch.load from a file that is seekable. Please pre-load the data into a buffer "
    "like io.BytesIO and try to load from it instead."
)


class _Checkpoint:
    """What an unpickler of files that are trusted knows of checkpoints: it imports what they name,
    and calls what they say (``weights_only=False``)."""

    def __init__(self, file: Any, archive: Storages, **options: Any) -> None:
        super().__init__(file, **options)  # type: ignore[call-arg]
        self._archive = archive
        self._table = known_globals()

    def persistent_load(self, pid: Any) -> Any:
        if as_text(pid[0]) == "module":
            return class_of_file(*pid[1:])
        return self._archive.storage(pid)

    def find_class(self, module: str, name: str) -> Any:
        full = global_name(module, name)
        if full in self._table:
            return self._table[full]
        if full in user_globals:
            return user_globals[full][0]
        if module.split(".")[0] == "torch":
            module = "torchlike" + module[len("torch") :]
        return super().find_class(module, name)  # type: ignore[misc]


class _Unpickler(_Checkpoint, pickle.Unpickler):
    """The unpickler of a checkpoint that is trusted."""


def _trusting(pickle_module: Any) -> Any:
    """Return `_Unpickler`, or what a module of the user's makes of it: dill, one that renames
    classes."""
    if pickle_module is None or pickle_module is pickle:
        return _Unpickler
    return type("_Unpickler", (_Checkpoint, pickle_module.Unpickler), {})


def _forced(name: str) -> bool:
    return os.environ.get(name, "0").lower() in ("1", "y", "yes", "true")


def _weights_only(given: Any, pickle_module: Any) -> Any:
    """Return whether only weights are loaded: as asked for, as an environment variable wants, or
    unless another pickle is given."""
    always, never = map(
        _forced, ("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    )
    if always and never:
        raise RuntimeError(
            "Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` "
            "should be set, but both were set."
        )
    if always:
        return True
    if never and given is None:
        warnings.warn(
            "Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected: weights_only was not "
            "passed to torch.load, forcing weights_only=False.",
            UserWarning,
            stacklevel=3,
        )
        return False
    return pickle_module is None if given is None else given


def _no_checkpoint(content: Any, weights_only: Any) -> Exception:
    """Return the error for a file that is in neither of the formats. Nothing in it is executed."""
    if not content:
        error = EOFError()  # PyTorch's has no words
        error.add_note("The file is empty.")
        return error
    protocol: Any = 0
    try:
        for code, argument, _ in pickletools.genops(content):
            protocol = argument if code.name == "PROTO" else protocol
        is_pickle = True
    except (ValueError, TypeError):
        is_pickle = False
    if is_pickle and (protocol == 2 or not weights_only):
        return RuntimeError("Invalid magic number; corrupt file?")
    if not weights_only:
        return pickle.UnpicklingError("the file is in neither of PyTorch's formats, zip or legacy")
    if protocol > 2:
        errors.warn_user(
            f"Detected pickle protocol {protocol} in the checkpoint, which was not the default "
            "pickle protocol used by `torch.load` (2)",
            UserWarning,
        )
    return pickle.UnpicklingError(
        "Weights only load failed. In PyTorch 2.6, we changed the default value of the "
        "`weights_only` argument in `torch.load` from `False` to `True`. But the file would not be "
        "loaded with `weights_only=False` either: it is in neither of PyTorch's formats, zip or "
        "legacy."
    )


def _safetensors(path: str, map_location: Any) -> dict[str, Tensor]:
    """Load the tensors of a safetensors file. RuntimeError for places that depend on the
    storage."""
    if isinstance(map_location, dict) or callable(map_location):
        kind = "dict" if isinstance(map_location, dict) else "callable"
        raise RuntimeError(
            f"Loading safetensors file with {kind} map_location is not supported. Use a device "
            "string or torch.device instead."
        )
    found = load_safetensors(path)
    if map_location is None:
        return found
    return {name: t.to(device=map_location) for name, t in found.items()}


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: Any = None,
    mmap: Any = None,
    **pickle_load_args: Any,
) -> Any:
    """Load a checkpoint that PyTorch or torchlike saved.

    Args:
      f: a path, or a readable binary file that can seek.
      map_location: where storages go: a device, a string, a dictionary of such, a function.
      pickle_module: whose ``Unpickler`` finds classes; with ``weights_only=False``.
      weights_only: unpickle nothing but tensors, containers, numbers and allowed classes. By
        default so, unless ``pickle_module`` is given. ``TORCH_FORCE_WEIGHTS_ONLY_LOAD=1`` makes it
        True, ``TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1`` the default False.
      pickle_load_args: the ``Unpickler``'s, such as ``encoding="latin1"`` or ``"bytes"`` for the
        text of files that Python 2 wrote. Warns with ``weights_only``, as in PyTorch.
      mmap: map the file (a path) into memory: tensors on the CPU lie in the map, and their bytes
        are read when they are used. Writes stay in this process, unless
        ``set_default_mmap_options`` says otherwise. A tensor that is computed with gets memory of
        its own then; compressed records get theirs at once.

    A path that ends in ``.safetensors`` is a file of that format.

    Raises:
      FileNotFoundError: no such file.
      pickle.UnpicklingError: the file asks for a class or function that is not allowed.
      EOFError: the file is empty.
      pickle.UnpicklingError, RuntimeError: the file is no checkpoint.
      RuntimeError: it is damaged, or not one that ``mmap`` can map.
      ValueError: ``mmap`` with something else than a path.

    Differs from PyTorch: without ``mmap`` the checksums of the file are compared, which writes to a
    map of the file (``MAP_SHARED``) do not renew; ``mmap=True`` loads such a file.

    Example:
      >>> import io
      >>> file = io.BytesIO()
      >>> torch.save(torch.nn.Linear(3, 2).state_dict(), file)
      >>> _ = file.seek(0)
      >>> sorted(torch.load(file, map_location="cpu"))
      ['bias', 'weight']
    """
    weights_only = _weights_only(weights_only, pickle_module)
    if weights_only and pickle_module is not None:
        raise RuntimeError(
            "Can not safely load weights when explicit pickle_module is specified: pass "
            "weights_only=False, or leave pickle_module out"
        )
    if weights_only and pickle_load_args:
        warnings.warn("pickle_load_args only works if `weights_only=False`.", stacklevel=2)
    if not isinstance(f, (str, bytes, os.PathLike)) and not hasattr(f, "read"):
        raise AttributeError(f"'{type(f).__name__}' object has no attribute 'seek'. {_SEEKABLE}")
    if not hasattr(f, "read"):
        path = os.fsdecode(os.fspath(f))
        if path.endswith(".safetensors"):
            return _safetensors(path, map_location)
        with open(path, "rb") as file:
            return _load(
                file,
                map_location,
                pickle_module,
                weights_only,
                bool(mmap),
                f,
                **pickle_load_args,
            )
    return _load(f, map_location, pickle_module, weights_only, bool(mmap), f, **pickle_load_args)


def _load(
    f: Any,
    map_location: Any,
    pickle_module: Any,
    weights_only: Any,
    mmap: bool,
    given: Any,
    **pickle_load_args: Any,
) -> Any:
    """Do ``load`` from an open file; ``given`` is what the user named it by."""
    options = {"encoding": "utf-8", **pickle_load_args}
    try:
        seek, start = f.seek, f.tell()
        old = legacy.is_legacy(f)
        seek(start)
    except (AttributeError, io.UnsupportedOperation) as error:
        raise type(error)(f"{error}. {_SEEKABLE}") from error
    if mmap and (old or not _is_zipfile(f)):
        named = f"{given}, " if isinstance(given, str) else ""
        raise RuntimeError(
            f"mmap can only be used with files saved with `torch.save({named}"
            "_use_new_zipfile_serialization=True), please torch.save your checkpoint with this "
            "option in order to use mmap."
        )
    if mmap and not isinstance(given, (str, os.PathLike)):
        raise ValueError("f must be a file path in order to use the mmap argument")
    if not old and not _is_zipfile(f):
        raise _no_checkpoint(f.read(), weights_only)
    region = reading(given)

    def loaded(code: bytes, storages: Storages) -> Any:
        storages.region = region
        if weights_only:
            return Weights(code, storages, region, **options).load()
        region.users_turn = True
        return _trusting(pickle_module)(io.BytesIO(code), storages, **options).load()

    try:
        with region:
            if old:
                storages = Legacy(f, map_location)
                return loaded(storages.code, storages)
            # Files by wrappers of other libraries may lack what zipfile asks for.
            with zipfile.ZipFile(f if hasattr(f, "seekable") else io.BytesIO(f.read())) as archive:
                mapped = map_file(given, get_default_mmap_options() == SHARED) if mmap else None
                opened = Archive(archive, map_location, mapped)
                return loaded(opened.pickle(), opened)
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        if weights_only:  # of what the user allowed
            raise
        raise damaged(given, error) from error
