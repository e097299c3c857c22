"""torchlike._ops.nn.embedding.embedding: rows, padding, range, bags."""

import pytest

import torchlike as torch
import torchlike.nn.functional as F
from torchlike._core.errors import JitCaptureError

WEIGHT = [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]


def test_rows_and_their_gradients():
    w = torch.tensor(WEIGHT, requires_grad=True)
    out = F.embedding(torch.tensor([[2, 0], [2, 1]]), w, padding_idx=1)
    assert out[0].tolist() == [WEIGHT[2], WEIGHT[0]]
    out.sum().backward()
    assert w.grad.tolist() == [[1.0, 1.0], [0.0, 0.0], [2.0, 2.0]]


@pytest.mark.parametrize("index", [3, -1])
def test_an_index_out_of_range_raises(index):
    with pytest.raises(IndexError, match="index out of range in self"):
        F.embedding(torch.tensor([index]), torch.tensor(WEIGHT))


def test_max_norm_scales_only_the_rows_used_in_place():
    w = torch.tensor(WEIGHT)
    F.embedding(torch.tensor([1, 1]), w, max_norm=1.0)
    assert w[1].norm().item() == pytest.approx(1.0, rel=1e-5)
    assert w[2].tolist() == WEIGHT[2]


def test_bags_of_a_flat_list():
    w, i, o = torch.tensor(WEIGHT), torch.tensor([0, 2, 1]), torch.tensor([0, 2])
    assert F.embedding_bag(i, w, o, mode="sum").tolist() == [[4.0, 6.0], [2.0, 3.0]]
    assert F.embedding_bag(i, w, o).tolist() == [[2.0, 3.0], [2.0, 3.0]]
    assert F.embedding_bag(i, w, o, mode="max").tolist() == [[4.0, 5.0], [2.0, 3.0]]


def test_sparse_gradients_are_refused_under_jit():
    w, i = torch.tensor(WEIGHT, requires_grad=True), torch.tensor([0, 2])
    for look_up in (
        lambda: F.embedding(i, w, sparse=True),
        lambda: F.embedding_bag(i[None], w, sparse=True),
    ):
        with pytest.raises(JitCaptureError, match="Use sparse=False"):
            torch.jit(look_up)()
        with torch.no_grad():
            assert torch.jit(look_up)().tolist() == look_up().tolist()
    F.embedding(i, w, sparse=True).sum().backward()
    with pytest.raises(JitCaptureError, match="a sparse gradient cannot be compiled"):
        torch.jit(torch.optim.SGD([w]).step)()


def test_bags_of_half_precision_are_added_up_in_single():
    w = torch.tensor([[256.0], [0.75], [0.75]], dtype=torch.bfloat16)
    rows = torch.tensor([[0, 1, 2]])
    assert F.embedding_bag(rows, w, mode="sum").item() == 258  # 256 + 0.75 would be 256
    assert F.embedding_bag(rows, w, mode="mean").dtype is torch.bfloat16


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_max_norm_keeps_the_tangents_of_the_weight(mode):
    weight = torch.tensor([[3.0, 4.0], [0.3, 0.1], [6.0, 8.0]])
    tangent = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    index = torch.tensor([0, 2, 1, 0])

    def looked_up(w):
        return torch.nn.functional.embedding(index, w, max_norm=1.0)

    def bags(w):
        return torch.nn.functional.embedding_bag(index[None], w, max_norm=1.0, mode=mode)

    value, pushed = torch.func.jvp(looked_up, (weight.clone(),), (tangent,))
    assert value[0].tolist() == pytest.approx([0.6, 0.8])
    assert torch.equal(pushed, tangent[index])
    _, pushed = torch.func.jvp(bags, (weight.clone(),), (tangent,))
    _, push = torch.func.linearize(bags, weight.clone())
    assert torch.allclose(pushed, push(tangent))
