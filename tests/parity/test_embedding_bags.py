"""Bags and look-ups at their edges: none, empty ones, rows out of range. Against PyTorch."""

import pytest
from answers import answer, source

import torchlike

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

WEIGHT = "w = t.arange(10.).reshape(5, 2); none = t.zeros(0, dtype=t.int64); F = t.nn.functional; "
BAGS = [
    "F.embedding_bag(t.zeros(0, 3, dtype=t.int64), w, mode=mode)",
    "F.embedding_bag(none, w, t.tensor([0, 0]), mode=mode)",
    "F.embedding_bag(none, w, none, mode=mode)",
    "F.embedding_bag(none, w, none, mode=mode, include_last_offset=True)",
    "F.embedding_bag(t.zeros(2, 0, dtype=t.int64), w, mode=mode)",
]
LINES = [
    "F.embedding_bag(t.tensor([1, 2]), w, t.tensor([0]), mode='sum', include_last_offset=True)",
    "F.embedding_bag(t.tensor([[0, 1]]), w, padding_idx=-5, mode='sum')",
    "F.embedding_bag(t.tensor([[0, 1]]), w, padding_idx=5)",
    "F.embedding_bag(t.tensor([[0, 1]]), w, padding_idx=-6)",
    "F.embedding(t.tensor([[0, 1]]), w, padding_idx=-6)",
    "t.nn.Embedding(3, 2, padding_idx=7)",
    "t.nn.EmbeddingBag(3, 2, padding_idx=7)",
]


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("line", BAGS)
def test_no_bags_and_empty_bags(line, mode):
    function = source(f"mode = {mode!r}; {WEIGHT}{line}")
    assert answer(function, torchlike, words=True) == answer(function, torch, words=True)


@pytest.mark.parametrize("line", LINES)
def test_as_pytorch(line):
    function = source(WEIGHT + line)
    assert answer(function, torchlike, words=True) == answer(function, torch, words=True)


def test_no_bags_by_their_maximum():
    """PyTorch 2.13 ends the process here."""
    bags = torchlike.nn.EmbeddingBag(3, 2, mode="max", include_last_offset=True)
    assert bags(torchlike.tensor([1, 2]), torchlike.tensor([0])).shape == (0, 2)


@pytest.mark.parametrize(("rows", "features"), [(0, 0), (3, 0), (3, 2)])
def test_sparse_gradients_of_nothing(rows, features):
    def gradient(t):
        layer = t.nn.Embedding(rows, features, sparse=True)
        layer(t.zeros(0, dtype=t.int64)).sum().backward()
        grad = layer.weight.grad.coalesce()
        return tuple(grad.shape), grad.indices().tolist(), grad.values().tolist()

    assert gradient(torchlike) == gradient(torch)
