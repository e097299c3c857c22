"""torch.LongTensor and its kin."""

import numpy as np
import pytest

import torchlike as torch


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("FloatTensor", torch.float32), ("LongTensor", torch.int64), ("BoolTensor", torch.bool)],
)
def test_constructs_its_dtype(name, dtype):
    make = getattr(torch, name)
    assert make([1, 0]).tolist() == torch.tensor([1, 0], dtype=dtype).tolist()
    for t, shape in (
        (make(2, 3), (2, 3)),
        (make(), (0,)),
        (make(torch.Size([4])), (4,)),
        (make(np.ones(3)), (3,)),
    ):
        assert (t.dtype, t.shape) == (dtype, shape)
        assert isinstance(t, make)
        assert isinstance(t, torch.Tensor)
    assert not isinstance(torch.ones(1, dtype=torch.float64), make)


def test_refuses_another_dtype():
    with pytest.raises(TypeError, match="int64"):
        torch.LongTensor(torch.ones(2))
