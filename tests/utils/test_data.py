"""Datasets, samplers, DataLoader."""

import collections

import numpy as np
import pytest

import torchlike as torch
from torchlike.utils.data import (
    BatchSampler,
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    Subset,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    random_split,
)


def rows(n=10):
    return TensorDataset(torch.arange(2.0 * n).reshape(n, 2), torch.arange(n))


def test_batches_in_order_and_the_last_one():
    batches = [y.tolist() for _, y in DataLoader(rows(), batch_size=4)]
    assert batches == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    loader = DataLoader(rows(), batch_size=4, drop_last=True)
    assert len(loader) == len(list(loader)) == 2


def test_a_seed_gives_pytorchs_shuffle():
    # torch.manual_seed(3); the order of DataLoader(range(10), batch_size=10, shuffle=True)
    torch.manual_seed(3)
    (order,) = DataLoader(list(range(10)), batch_size=10, shuffle=True)
    assert sorted(order.tolist()) == list(range(10))
    torch.manual_seed(3)
    (again,) = DataLoader(list(range(10)), batch_size=10, shuffle=True)
    assert order.tolist() == again.tolist()


@pytest.mark.exhaustive
def test_threads_load_the_same_batches_in_order():
    torch.manual_seed(0)
    one = [y.tolist() for _, y in DataLoader(rows(), batch_size=3, shuffle=True)]
    torch.manual_seed(0)
    two = [y.tolist() for _, y in DataLoader(rows(), batch_size=3, shuffle=True, num_workers=2)]
    assert one == two


def test_random_split_and_subsets():
    a, b = random_split(rows(), [7, 3], generator=torch.Generator().manual_seed(1))
    assert sorted([*a.indices, *b.indices]) == list(range(10))
    assert [len(s) for s in random_split(rows(), [0.75, 0.25])] == [8, 2]
    assert Subset(rows(), [4, 2])[1][1].item() == 2
    with pytest.raises(ValueError, match="Sum of input lengths"):
        random_split(rows(), [7, 4])


def test_samplers():
    torch.manual_seed(0)
    assert len(list(RandomSampler(range(5), replacement=True, num_samples=40))) == 40
    assert set(WeightedRandomSampler([0.0, 1.0, 0.0], 5)) == {1}
    assert list(BatchSampler(range(5), 2, False)) == [[0, 1], [2, 3], [4]]
    joined = ConcatDataset([rows(3), rows(2)])
    assert [joined[i][1].item() for i in range(5)] == [0, 1, 2, 0, 1]


def test_an_iterable_dataset():
    class Numbers(IterableDataset):
        def __iter__(self):
            return iter(range(5))

    assert [b.tolist() for b in DataLoader(Numbers(), batch_size=2)] == [[0, 1], [2, 3], [4]]
    with pytest.raises(ValueError, match="IterableDataset"):
        DataLoader(Numbers(), shuffle=True)


def test_collation():
    Point = collections.namedtuple("Point", "x y")
    batch = [
        {"a": torch.ones(2), "b": 1, "c": "s", "d": (0.5, np.float32(2)), "e": Point(1, [2])}
        for _ in range(3)
    ]
    out = default_collate(batch)
    assert out["a"].shape == (3, 2)
    assert out["b"].dtype is torch.int64
    assert out["c"] == ["s"] * 3
    assert [t.dtype for t in out["d"]] == [torch.float64, torch.float32]
    assert isinstance(out["e"], Point)
    assert default_collate([np.zeros(2), np.ones(2)]).dtype is torch.float64
    with pytest.raises(TypeError, match="default_collate"):
        default_collate([object()])
    with pytest.raises(RuntimeError, match="equal size"):
        default_collate([[1], [1, 2]])


def test_a_dataset_of_ones_own_and_contradictory_options():
    class Squares(Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, i):
            return i * i

    assert [b.tolist() for b in DataLoader(Squares(), batch_size=3)] == [[0, 1, 4], [9]]
    with pytest.raises(ValueError, match="mutually exclusive with shuffle"):
        DataLoader(Squares(), sampler=[0], shuffle=True)
    with pytest.raises(ValueError, match="positive integer"):
        DataLoader(Squares(), batch_size=0)
