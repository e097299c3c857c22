"""`torch.LongTensor` and kin, `torch.Tensor` and the storages, on every kind of argument."""

from __future__ import annotations

import array
import collections

import numpy as np
import pytest

import torchlike

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")

TENSORS = [
    "FloatTensor",
    "DoubleTensor",
    "HalfTensor",
    "BFloat16Tensor",
    "ByteTensor",
    "CharTensor",
    "ShortTensor",
    "IntTensor",
    "LongTensor",
    "BoolTensor",
    "Tensor",
]
STORAGES = ["FloatStorage", "LongStorage", "BoolStorage", "UntypedStorage"]


class Sequence:
    def __len__(self):
        return 3

    def __getitem__(self, i):
        if i >= 3:
            raise IndexError
        return i


ARGUMENTS = {
    "nothing": (),
    "a size": (3,),
    "a NumPy size": (np.int64(2),),
    "sizes": (2, 3),
    "a list": ([1, 0, 1],),
    "a tuple": ((1, 0),),
    "a range": (range(5),),
    "no range": (range(0),),
    "nested ranges": ([range(3), range(3)],),
    "an array": (np.arange(3),),
    "floats of NumPy": ([np.float64(1), np.float64(0)],),
    "an array of the library": (array.array("i", [1, 0]),),
    "bytes that change": (bytearray(b"abc"),),
    "a view of bytes": (memoryview(b"ab"),),
    "bytes": (b"ab",),
    "text": ("ab",),
    "a deque": (collections.deque([1, 0]),),
    "a sequence by what it can do": (Sequence(),),
    "a generator": ((i for i in range(3)),),
    "keys": ({1: 2}.keys(),),
    "a dict": ({1: 2},),
    "a set": ({1},),
    "None": (None,),
    "a float": (1.5,),
    "a NumPy float": (np.float64(1.5),),
    "an array without dimensions": (np.array(2),),
    "a bool": (True,),
    "an empty list": ([],),
}


def said(t, name, argument):
    try:
        made = getattr(t, name)(*argument)
    except Exception as error:
        return type(error).__name__, str(error).splitlines()[0]
    is_size = (
        len(argument) != 1
        or isinstance(argument[0], (int, np.integer))
        or (isinstance(argument[0], np.ndarray) and argument[0].ndim == 0)
    )
    values = None if is_size else made.tolist()  # what a size makes holds anything
    return (
        (str(made.dtype), tuple(made.shape), values)
        if name.endswith("Tensor")
        else (len(made), values)
    )


@pytest.mark.parametrize("case", ARGUMENTS)
def test_old_constructors(case):
    for name in [*TENSORS, *STORAGES]:
        ours, theirs = (said(t, name, ARGUMENTS[case]) for t in (torchlike, torch))
        if (case, name) == ("sizes", "UntypedStorage"):  # Python's words of a wrong call
            ours, theirs = ours[0], theirs[0]
        assert ours == theirs, name


def test_they_take_a_size_by_its_type_and_a_device():
    for t in (torchlike, torch):
        assert t.FloatTensor(t.Size([2, 3])).shape == (2, 3)
        assert t.LongTensor(range(2), device="cpu").tolist() == [0, 1]
        assert t.Tensor(range(2), device="cpu").tolist() == [0, 1]
        assert t.UntypedStorage(range(255, 258)).tolist() == [255, 0, 1]
