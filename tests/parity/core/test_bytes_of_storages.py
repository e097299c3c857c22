"""``UntypedStorage`` and ``TypedStorage``: copies, casts and writes, against PyTorch."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")

from tests.parity.oracle import compare


def _untyped(t: Any) -> Any:
    return t.arange(4.0).untyped_storage()


def _typed(t: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return t.arange(4.0).storage()


def _written(t: Any, write: Callable[[Any], Any]) -> Any:
    """What a tensor has after a write to its storage, and what the write gave."""
    x = t.arange(4.0)
    storage = x.untyped_storage()
    result = write(storage)
    return x, result is storage, x.view(3, 1) if x.numel() == 3 else x[1:]


def _set(storage: Any, index: Any, value: Any) -> None:
    storage[index] = value


def _shares(storage: Any, other: Any) -> Any:
    """The other's bytes, and whether a write to it is seen by the first."""
    other[0] = 7
    return other.tolist(), storage.tolist(), other.nbytes()


CASTS = ("float", "half", "bfloat16", "bool", "byte", "char", "short", "int", "long", "double")
BEHAVIOURS: dict[str, Callable[[Any], Any]] = {
    **{
        f"{of.__name__}.{name}": lambda t, of=of, name=name: (
            lambda cast: (cast.dtype.itemsize, str(cast.dtype)[-9:], cast.double().tolist())
        )(getattr(of(t), name)())
        for of in (_untyped, _typed)
        for name in CASTS
    },
    "complex": lambda t: (_typed(t).complex_float().tolist(), _untyped(t).complex_double()[6]),
    "float8": lambda t: (_typed(t).float8_e5m2().size(), _untyped(t).float8_e4m3fn().nbytes()),
    "clone": lambda t: (lambda s: _shares(s, s.clone()))(_untyped(t)),
    "copy": lambda t: (lambda s: _shares(s, copy.copy(s)))(_untyped(t)),
    "cpu": lambda t: (lambda s: _shares(s, s.cpu()))(_untyped(t)),
    "to": lambda t: (lambda s: _shares(s, s.to(device="cpu", non_blocking=True)))(_untyped(t)),
    "facts": lambda t: [
        (s.element_size(), s.get_device(), s.is_pinned(), s.type(), s.is_cuda, s.is_sparse)
        for s in (_untyped(t),)
    ],
    "new": lambda t: _untyped(t).new().nbytes(),
    "copy_": lambda t: _written(t, lambda s: s.copy_(t.ones(4).untyped_storage())),
    "copy_: size": lambda t: _untyped(t).copy_(t.ones(3).untyped_storage()),
    "copy_: tensor": lambda t: _untyped(t).copy_(t.ones(4)),
    "fill_": lambda t: _written(t, lambda s: s.fill_(0)),
    "fill_: lowest byte": lambda t: _untyped(t).fill_(-1).tolist(),
    "fill_: float": lambda t: _untyped(t).fill_(1.5),
    "set": lambda t: _written(t, lambda s: _set(s, 3, 0x40)),
    "set: negative": lambda t: _written(t, lambda s: _set(s, -1, 0)),
    "set: slice": lambda t: _written(t, lambda s: _set(s, slice(4, 8), 0)),
    "set: step": lambda t: _set(_untyped(t), slice(0, 8, 2), 0),
    "set: beyond": lambda t: _set(_untyped(t), 16, 0),
    "set: float": lambda t: _set(_untyped(t), 0, 1.5),
    "set: by name": lambda t: _set(_untyped(t), "a", 1),
    "byteswap": lambda t: _written(t, lambda s: s.byteswap(t.float32)),
    "byteswap: complex": lambda t: (lambda s: (s.byteswap(t.complex64), s.tolist()))(_untyped(t)),
    "typed: to": lambda t: _typed(t).to(device="cpu").tolist(),
    "typed: resize_": lambda t: (lambda s: (s.resizable(), s.resize_(6), s.size(), s.tolist()[:4]))(
        _typed(t)
    ),
    "typed: quiet names": lambda t: (
        lambda s: (s._size(), s._nbytes(), s._element_size(), s._data_ptr() == s.data_ptr())
    )(_typed(t)),
    "typed: from_buffer": lambda t: t.storage.TypedStorage.from_buffer(
        b"\0\0\x80\x3f" * 2, byte_order="little", dtype=t.float32
    ).tolist(),
    "FloatStorage.from_buffer": lambda t: t.FloatStorage.from_buffer(
        b"\0\0\x80\x3f" * 2, byte_order="little", dtype=t.float32
    ),
    "typed: from_file": lambda t: t.storage.TypedStorage.from_file("none", False, 2),
}


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_bytes(name: str) -> None:
    compare(BEHAVIOURS[name])
