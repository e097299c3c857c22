"""``out=`` beside DTensors, on eight devices of one process."""

import pytest

import torchlike as torch
from torchlike.distributed.device_mesh import init_device_mesh
from torchlike.distributed.tensor import DTensor, Shard, distribute_tensor

LINE = init_device_mesh("cpu", (8,))
D = distribute_tensor(torch.arange(8.0), LINE, [Shard(0)])
MIXED = "got mixed torch.Tensor and DTensor"


def test_results_of_dtensors_go_into_dtensors():
    plain = torch.ones(8)
    for call in (
        lambda: torch.add(D, D, out=plain),
        lambda: torch.cat([D], out=plain),
        lambda: torch.sort(D, out=(plain, torch.ones(8, dtype=torch.int64))),
    ):
        with pytest.raises(RuntimeError, match=MIXED):
            call()
    assert not isinstance(plain, DTensor)
    assert plain.tolist() == [1.0] * 8
    target = torch.zeros_like(D) + D * 0
    torch.add(D, D, out=target)
    assert isinstance(target, DTensor)
    assert target.full_tensor().tolist() == [2.0 * i for i in range(8)]


def test_results_of_plain_tensors_go_into_none():
    target = distribute_tensor(torch.zeros(8), LINE, [Shard(0)])
    with pytest.raises(ValueError, match=r"find device mesh .* aten::add\.out"):
        torch.add(torch.ones(8), torch.ones(8), out=target)
    assert target.full_tensor().tolist() == [0.0] * 8


def test_a_plain_scalar_takes_the_value():
    scalar = torch.tensor(0.0)
    torch.sum(D, 0, out=scalar)
    assert not isinstance(scalar, DTensor)
    assert scalar.item() == 28
