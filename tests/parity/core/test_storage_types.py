"""Storages by dtype, made by hand, against PyTorch's: what they hold, share and refuse."""

import warnings
from typing import Any

import numpy as np
import pytest

import torchlike

torch = pytest.importorskip("torch")

BYTES = bytes(range(1, 25))


def shared(t):
    memory = t.UntypedStorage([0, 0, 128, 63])
    floats = t.FloatStorage(wrap_storage=memory)
    before = floats.tolist()
    floats[0] = 2.0
    return before, memory.tolist()


def covered(t):
    storage = t.FloatStorage([1, 2, 3])
    x = t.FloatTensor(storage)
    x[1] = 9
    return storage.tolist(), x, x.data_ptr() == storage.data_ptr()


def copied(t):
    buffer = bytearray(b"abc")
    storage = t.ByteStorage.from_buffer(buffer)
    buffer[0] = 0
    return storage.tolist(), t.ByteTensor(storage)


def on_a_storage(t):
    storage = t.FloatStorage([1, 2])
    t.Tensor(storage)[0] = 5
    return storage.tolist()


CASES = {
    "sizes": lambda t: (len(t.FloatStorage(3)), t.HalfStorage().size(), len(t.UntypedStorage(5))),
    "data": lambda t: (t.FloatStorage([1, 2]), t.BoolStorage((1, 0)), t.UntypedStorage([1, 255])),
    "typed": lambda t: t.TypedStorage([1, 2], dtype=t.int16),
    "dtypes": lambda t: [
        getattr(t, f"{name}Storage").dtype.itemsize
        for name in (
            "BFloat16",
            "Bool",
            "Byte",
            "Char",
            "ComplexDouble",
            "ComplexFloat",
            "Double",
            "Float",
            "Half",
            "Int",
            "Long",
            "Short",
        )
    ],
    "kinds": lambda t: [
        isinstance(t.ones(2).storage(), kind)
        for kind in (t.FloatStorage, t.LongStorage, t.TypedStorage)
    ],
    "made kinds": lambda t: (type(t.LongStorage(2)).__name__, t.LongStorage(2).type()),
    "shared": shared,
    "covered": covered,
    "copied": copied,
    "buffers": lambda t: [
        getattr(t, f"{name}Storage").from_buffer(BYTES, order, count, offset).tolist()
        for name in ("Short", "Int", "Float", "Double", "ComplexFloat", "Bool")
        for order in ("little", "big", "native")
        for count, offset in ((-1, 0), (1, 8))
    ],
    "array": lambda t: t.ByteStorage.from_buffer(np.arange(3, dtype=np.uint8)),
    "untyped buffer": lambda t: t.UntypedStorage.from_buffer(b"abc", dtype=t.uint8),
    "set": lambda t: t.empty(0).set_(t.FloatStorage([1, 2])),
    "tensor of": lambda t: (t.tensor(t.FloatStorage([1, 2])), t.Tensor(t.FloatStorage([3]))),
    "no order": lambda t: t.IntStorage.from_buffer(BYTES),
    "other order": lambda t: t.IntStorage.from_buffer(BYTES, "middle"),
    "within an element": lambda t: t.IntStorage.from_buffer(BYTES[:6], "little"),
    "too many": lambda t: t.IntStorage.from_buffer(BYTES, "little", 7),
    "beyond": lambda t: t.IntStorage.from_buffer(BYTES, "little", 1, 24),
    "no dtype": lambda t: t.UntypedStorage.from_buffer(BYTES),
    "other dtype": lambda t: t.FloatTensor(t.LongStorage([1, 2])),
    "a float": lambda t: t.FloatStorage(1.5),
    "a string": lambda t: t.FloatStorage("a"),
    "an array": lambda t: t.FloatStorage(np.ones(2)),
    "two sizes": lambda t: t.FloatStorage(1, 2),
    "nothing": lambda t: t.ByteStorage.from_buffer(b""),
    "on a storage": on_a_storage,
}


def outcome(t, case):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # storages of a dtype are deprecated
        try:
            return repr(case(t))
        except (RuntimeError, TypeError, ValueError) as error:
            return type(error), str(error)


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_storages_by_dtype(case):
    assert outcome(torchlike, case) == outcome(torch, case)


def test_storage_is_the_class_of_the_default_dtype():
    t: Any = torchlike
    assert t.Storage is t.FloatStorage
    assert t.Storage([1, 2]).tolist() == torch.FloatStorage([1, 2]).tolist()
    assert "Storage" in dir(t)
    t.set_default_dtype(t.float64)
    try:
        assert t.Storage is t.DoubleStorage
    finally:
        t.set_default_dtype(t.float32)
