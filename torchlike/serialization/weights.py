"""The unpickler of ``weights_only=True``: it makes what checkpoints hold, no more."""

from __future__ import annotations

import collections
import pickle
from collections.abc import Callable
from typing import Any

from torchlike._core import devices, dtypes
from torchlike._core.size import Size
from torchlike.nested._internal.nested_tensor import NestedTensor, _rebuild_njt
from torchlike.nn.parameter import Parameter
from torchlike.serialization.allowed import BLOCKED_MODULES, global_name, user_globals
from torchlike.serialization.arguments import is_listed, name_of, takes
from torchlike.serialization.damage import reading
from torchlike.serialization.names import STORAGES
from torchlike.serialization.opcodes import MAPPINGS, Machine, check_key
from torchlike.serialization.rebuild import (
    layout_named,
    rebuild_meta_tensor,
    rebuild_parameter,
    rebuild_parameter_with_state,
    rebuild_sparse_tensor,
    rebuild_tensor,
    rebuild_tensor_v3,
    rebuild_wrapper_subclass,
    with_state,
)
from torchlike.serialization.sources import class_of_file
from torchlike.serialization.storages import Storages, StorageType, as_text
from torchlike.tensor import Tensor

_HEAD = "Weights only load failed. "
_REFUSED = (
    "This file can still be loaded, to do so you have two options, both "
    "for files that you trust: load it with weights_only=False, or allow what it names. "
    "WeightsUnpickler error: Unsupported global: GLOBAL {what} was not an allowed global by "
    "default. Use torch.serialization.add_safe_globals([{what}]), or for a while the context "
    "manager torch.serialization.safe_globals([{what}])."
)
_BLOCKED = (
    "This file can still be loaded, if you trust it, with "
    "weights_only=False. WeightsUnpickler error: Trying to load unsupported GLOBAL {what} whose "
    "module {module} is blocked."
)
_OTHERS = (
    "This file can still be loaded, if you trust it, with weights_only=False. "
    "WeightsUnpickler error: {what}"
)


def known_globals() -> dict[str, Any]:
    """Return what any checkpoint may name: the dotted name in the file -> what it is here."""
    table: dict[str, Any] = {
        "torch._utils._rebuild_tensor_v2": rebuild_tensor,
        "torch._utils._rebuild_tensor_v3": rebuild_tensor_v3,
        "torch._utils._rebuild_meta_tensor_no_storage": rebuild_meta_tensor,
        "torch._utils._rebuild_wrapper_subclass": rebuild_wrapper_subclass,
        "torch._utils._rebuild_parameter": rebuild_parameter,
        "torch._utils._rebuild_parameter_with_state": rebuild_parameter_with_state,
        "torch._utils._rebuild_sparse_tensor": rebuild_sparse_tensor,
        "torch.nested._internal.nested_tensor._rebuild_njt": _rebuild_njt,
        "torch.nested._internal.nested_tensor.NestedTensor": NestedTensor,
        "torch.serialization._get_layout": layout_named,
        "torch.storage.UntypedStorage": StorageType(None),
        "torch._tensor._rebuild_from_type_v2": _rebuild_from_type,
        "torch.Size": Size,
        "torch.device": devices.device,
        "torch.nn.parameter.Parameter": Parameter,
        "torch.Tensor": Tensor,
        "collections.OrderedDict": collections.OrderedDict,
        "collections.defaultdict": collections.defaultdict,
        "collections.Counter": collections.Counter,
        "builtins.set": set,
        "builtins.frozenset": frozenset,
        "builtins.complex": complex,
        "builtins.bytearray": bytearray,
        "builtins.slice": slice,
        "builtins.dict": dict,
        "builtins.bytes": bytes,
        "_codecs.encode": _encode,
    }
    table.update({f"torch.{d.name}": d for d in dtypes.ALL})
    table.update({f"torch.{name}": StorageType(d) for name, d in STORAGES.items()})
    return table


def _encode(text: str, encoding: str) -> bytes:
    """Encode latin1 text, by which protocol 2 writes bytes; nothing else is accepted."""
    if type(text) is not str or encoding not in ("latin1", "latin-1"):
        raise pickle.UnpicklingError(f"encoding {encoding!r} is not allowed in a checkpoint")
    return text.encode("latin1")


def _rebuild_from_type(function: Callable[..., Any], kind: Any, args: Any, state: Any) -> Any:
    """Rebuild a tensor of a subclass, or with attributes of its own."""
    if type(args) is not tuple or not any(function is f for f in (*_REBUILD, _rebuild_njt)):
        raise pickle.UnpicklingError("a tensor is rebuilt by an unknown function")
    takes(function, args)
    if function is _rebuild_njt:  # its attributes are what it is made of
        return _rebuild_njt(*args)
    made = function(*args)
    if not (isinstance(kind, type) and issubclass(kind, Tensor)):
        raise pickle.UnpicklingError(f"a tensor is rebuilt as {kind!r}, which is no tensor")
    return with_state(made if type(made) is kind else made.as_subclass(kind), state)


_REBUILD = (
    rebuild_tensor,
    rebuild_tensor_v3,
    rebuild_parameter,
    rebuild_meta_tensor,
    rebuild_wrapper_subclass,
)


def refused(what: str) -> pickle.UnpicklingError:
    """Return the error for something that a file asks for and that only weights_only=False does."""
    return pickle.UnpicklingError(_HEAD + _OTHERS.format(what=what))


class Weights(Machine):
    """The unpickler of a checkpoint whose author need not be trusted."""

    def __init__(
        self,
        code: bytes,
        archive: Storages,
        region: reading,
        encoding: str = "utf-8",
        errors: str = "strict",
        fix_imports: bool = True,
    ) -> None:
        super().__init__(code, encoding, errors)
        self._archive = archive
        self._region = region
        self._table = known_globals()
        given = [item for item, _ in user_globals.values()]
        self._allowed = frozenset(map(id, given))
        self._classes = tuple(item for item in given if isinstance(item, type))

    def load(self) -> Any:
        try:
            return super().load()
        except pickle.UnpicklingError as error:
            if str(error).startswith(_HEAD):
                raise
            raise refused(str(error)) from error

    def find_class(self, module: str, name: str) -> Any:
        full = global_name(module, name)
        if full in self._table:
            return self._table[full]
        if (at := full.partition(".")[0]) in BLOCKED_MODULES:
            raise pickle.UnpicklingError(_HEAD + _BLOCKED.format(what=full, module=at))
        if full in user_globals:
            return user_globals[full][0]
        raise pickle.UnpicklingError(_HEAD + _REFUSED.format(what=full.removeprefix("builtins.")))

    def persistent_load(self, pid: Any) -> Any:
        if type(pid) is not tuple or not pid:
            raise pickle.UnpicklingError(f"persistent_load id must be tuple, but got {type(pid)}")
        if as_text(pid[0]) == "module" and len(pid) > 1:
            return class_of_file(*pid[1:])
        return self._archive.storage(pid)

    def _users(self, function: Callable[[], Any]) -> Any:
        """Call a class or function that the user allowed, and return its result. Its errors are its
        own."""
        self._region.users_turn = True
        made = function()
        self._region.users_turn = False
        return made

    def call(self, function: Any, args: tuple[Any, ...]) -> Any:
        if id(function) in self._allowed:
            return self._users(lambda: function(*args))
        if function is _rebuild_from_type or function is _encode:
            return function(*args)
        if not is_listed(function):
            raise pickle.UnpicklingError(
                f"Trying to call reduce for unrecognized function {name_of(function)}"
            )
        takes(function, args)
        if function in (set, frozenset, dict, collections.OrderedDict, collections.Counter):
            for item in args[0] if args else ():
                check_key(item)
        return function(*args)

    def new(self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if id(cls) in self._allowed and isinstance(cls, type):
            return self._users(lambda: cls.__new__(cls, *args, **kwargs))
        if kwargs or not isinstance(cls, type) or not is_listed(cls):
            raise pickle.UnpicklingError(
                "Can only create new object for nn.Parameter or classes allowlisted via "
                f"`add_safe_globals` but got {cls}"
            )
        return self.call(cls, args)

    def build(self, made: Any, state: Any) -> Any:
        kind = type(made)
        if kind in MAPPINGS and kind is not dict:
            return _with_attributes(made, state)
        if kind in (Tensor, Parameter):
            return with_state(made, state)
        if self.is_filled(made):
            return self._users(lambda: _with_users_state(made, state))
        raise pickle.UnpicklingError(
            "Can only build Tensor, Parameter, OrderedDict or types allowlisted via "
            f"`add_safe_globals`, but got {type(made)}"
        )

    def is_filled(self, made: Any) -> bool:
        return isinstance(made, self._classes)


def _with_attributes(made: Any, state: Any) -> Any:
    """Give a dictionary attributes, as a state_dict has ``_metadata``, and return it. None hides a
    method."""
    for name in _names(state):
        if hasattr(type(made), name):
            raise pickle.UnpicklingError(f"an attribute {name!r} would hide that of {type(made)}")
    vars(made).update(state)
    return made


def _names(state: Any) -> list[str]:
    if type(state) is not dict or not all(type(name) is str for name in state):
        raise pickle.UnpicklingError(f"a state is no dictionary of names: {type(state)}")
    return list(state)


def _with_users_state(made: Any, state: Any) -> Any:
    """Give an instance of a class that the user allowed its state, as pickle does, and return
    it."""
    setstate = getattr(made, "__setstate__", None)
    if setstate is not None:
        setstate(state)
        return made
    parts: Any = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    own, slots = parts[0] or {}, parts[1] or {}
    if own:
        vars(made).update({name: own[name] for name in _names(own)})
    for name in _names(slots):
        setattr(made, name, slots[name])
    return made
