"""What the callables that a checkpoint may name take: their arguments are checked before a call."""

from __future__ import annotations

import collections
import pickle
from collections.abc import Callable
from typing import Any

from torchlike._core import devices, dtypes, layouts
from torchlike._core.size import Size
from torchlike.nested._internal.nested_tensor import _rebuild_njt
from torchlike.nn.parameter import Parameter
from torchlike.serialization.rebuild import (
    LoadedTyped,
    LoadedUntyped,
    layout_named,
    rebuild_meta_tensor,
    rebuild_parameter,
    rebuild_parameter_with_state,
    rebuild_sparse_tensor,
    rebuild_tensor,
    rebuild_tensor_v3,
    rebuild_wrapper_subclass,
)
from torchlike.tensor import Tensor

_Check = Callable[[Any], bool]


def _a(*kinds: type) -> _Check:
    return lambda x: isinstance(x, kinds)


def _anything(x: Any) -> bool:
    return True


def _maybe(check: _Check) -> _Check:
    return lambda x: x is None or check(x)


def _is_whole(x: Any) -> bool:
    return type(x) is int


def _are_sizes(x: Any) -> bool:
    return type(x) in (tuple, list, Size) and all(type(n) is int for n in x)


def _are_pairs(x: Any) -> bool:
    return type(x) in (dict, collections.OrderedDict) or (
        type(x) in (tuple, list) and all(type(p) in (tuple, list) and len(p) == 2 for p in x)
    )


def _is_flag(x: Any) -> bool:
    return type(x) in (bool, int)


def _is_factory(x: Any) -> bool:
    return x is None or x in (dict, set, frozenset, bytes, bytearray, complex, *_DICTIONARIES)


def _are_named(names: frozenset[str]) -> _Check:
    return lambda x: type(x) is dict and names.issuperset(x)


_DICTIONARIES = (collections.OrderedDict, collections.Counter)
_NESTED = frozenset(
    ("values", "offsets", "lengths", "_ragged_idx", "_metadata_cache", "requires_grad")
)
_PLACE = (_is_whole, _are_sizes, _are_sizes, _is_flag, _anything)
_METADATA = _maybe(_a(dict))
_is_items = _a(list, tuple, set, frozenset)

#: Callable -> how many arguments it needs, and what each of them is.
_SIGNATURES: dict[Any, tuple[int, tuple[_Check, ...]]] = {
    rebuild_tensor: (6, (_a(LoadedTyped), *_PLACE, _METADATA)),
    rebuild_tensor_v3: (7, (_a(LoadedTyped, LoadedUntyped), *_PLACE, _a(dtypes.dtype), _METADATA)),
    rebuild_meta_tensor: (4, (_a(dtypes.dtype), _are_sizes, _are_sizes, _is_flag)),
    rebuild_wrapper_subclass: (
        8,
        (
            lambda x: isinstance(x, type) and issubclass(x, Tensor),
            _a(dtypes.dtype),
            _are_sizes,
            _are_sizes,
            _maybe(_is_whole),
            _a(layouts.layout),
            _a(devices.device),
            _is_flag,
        ),
    ),
    rebuild_parameter: (3, (_a(Tensor), _is_flag, _anything)),
    rebuild_parameter_with_state: (4, (_a(Tensor), _is_flag, _anything, _anything)),
    rebuild_sparse_tensor: (2, (_a(layouts.layout), _a(tuple))),
    _rebuild_njt: (1, (_are_named(_NESTED),)),
    layout_named: (1, (_a(str),)),
    Parameter: (0, (_a(Tensor), _is_flag)),
    Size: (0, (_are_sizes,)),
    devices.device: (1, (_a(str), _is_whole)),
    collections.OrderedDict: (0, (_are_pairs,)),
    collections.Counter: (0, (_are_pairs,)),
    collections.defaultdict: (0, (_is_factory, _are_pairs)),
    dict: (0, (_are_pairs,)),
    set: (0, (_is_items,)),
    frozenset: (0, (_is_items,)),
    complex: (0, (_a(int, float), _a(int, float))),
    slice: (1, (_anything,) * 3),
    bytes: (0, (_a(bytes),)),
    bytearray: (0, (_a(bytes, str), lambda x: x in ("latin-1", "latin1"))),
}


def takes(function: Any, args: tuple[Any, ...]) -> None:
    """Refuse arguments of a listed callable that are not what it is called with."""
    needed, checks = _SIGNATURES[function]
    if not needed <= len(args) <= len(checks):
        raise pickle.UnpicklingError(
            f"{name_of(function)} takes {needed} to {len(checks)} arguments, not {len(args)}"
        )
    for i, (check, given) in enumerate(zip(checks, args, strict=False)):
        if not check(given):
            raise pickle.UnpicklingError(
                f"argument {i} of {name_of(function)} is a {type(given).__name__} that it does not "
                "take"
            )


def name_of(function: Any) -> str:
    """Return the name by which a message calls a callable."""
    return getattr(function, "__name__", type(function).__name__)


def is_listed(function: Any) -> bool:
    """True if a checkpoint may call a callable that its table names."""
    try:
        return function in _SIGNATURES
    except TypeError:  # without a hash
        return False
