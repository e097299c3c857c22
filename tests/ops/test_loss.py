"""torchlike._ops.nn.loss.loss, elementwise_loss, margin_loss: identities, weights, bad targets."""

import math

import numpy as np
import pytest

import torchlike as torch
import torchlike.nn.functional as F
from torchlike._ops.nn.loss import loss

LOGITS = [[1.0, 2.0, 0.5], [0.1, -1.0, 3.0], [0.0, 0.0, 0.0]]


def test_cross_entropy_of_indices_and_of_one_hot_probabilities_agree():
    x, y = torch.tensor(LOGITS), torch.tensor([0, 2, 1])
    soft = F.one_hot(y, 3).float()
    for smoothing in (0.0, 0.3):
        a = F.cross_entropy(x, y, label_smoothing=smoothing)
        b = F.cross_entropy(x, soft, label_smoothing=smoothing)
        assert a.item() == pytest.approx(b.item(), rel=1e-6)
    assert F.cross_entropy(x[2:], y[2:]).item() == pytest.approx(math.log(3), rel=1e-6)


def test_the_gradient_is_softmax_minus_one_hot():
    x = torch.tensor(LOGITS, requires_grad=True)
    F.cross_entropy(x, torch.tensor([0, 2, 1]), reduction="sum").backward()
    expected = F.softmax(x.detach(), 1) - torch.tensor([[1.0, 0, 0], [0, 0, 1], [0, 1, 0]])
    np.testing.assert_allclose(x.grad.numpy(), expected.numpy(), rtol=1e-5, atol=1e-6)


def test_weights_divide_the_mean_and_ignored_targets_count_nothing():
    x, y = torch.tensor(LOGITS), torch.tensor([0, 2, -100])
    w = torch.tensor([2.0, 1.0, 0.5])
    none = F.cross_entropy(x, y, w, reduction="none")
    assert none[2].item() == 0.0
    assert F.cross_entropy(x, y, w).item() == pytest.approx(none.sum().item() / 2.5, rel=1e-6)
    assert math.isnan(F.cross_entropy(x, torch.tensor([-100] * 3)).item())


@pytest.mark.parametrize("function", [F.cross_entropy, F.nll_loss])
def test_a_class_out_of_range_raises(function):
    with pytest.raises(IndexError, match="Target 5 is out of bounds"):
        function(torch.tensor(LOGITS), torch.tensor([0, 5, 1]))


def test_a_class_out_of_range_is_nan_where_nothing_can_be_raised():
    fn = loss.nll_loss_op.spec.fn
    found = fn(torch.tensor(LOGITS).jax(), torch.tensor([0, 5, 1]).jax(), None, -100, "none")
    assert np.isnan(np.asarray(found)).tolist() == [False, True, False]


def test_binary_cross_entropy_forms_agree_and_stay_finite():
    x = torch.tensor([-2.0, 0.3, 4.0])
    t = torch.tensor([0.0, 1.0, 0.5])
    a = F.binary_cross_entropy(x.sigmoid(), t)
    b = F.binary_cross_entropy_with_logits(x, t)
    assert a.item() == pytest.approx(b.item(), rel=1e-5)
    sure = F.binary_cross_entropy(torch.tensor([1.0]), torch.tensor([0.0]))
    assert sure.item() == 100.0
    with pytest.raises(RuntimeError, match="all elements of input should be between 0 and 1"):
        F.binary_cross_entropy(x, t)


def test_huber_and_smooth_l1_meet_their_limits():
    x, y = torch.tensor([0.1, 3.0]), torch.zeros(2)
    assert F.huber_loss(x, y, reduction="none").tolist() == pytest.approx([0.005, 2.5])
    assert F.smooth_l1_loss(x, y, beta=0.0).item() == pytest.approx(1.55)


def test_kl_divergence_of_a_distribution_from_itself_is_zero():
    p = F.softmax(torch.tensor(LOGITS), 1)
    assert F.kl_div(p.log(), p, reduction="batchmean").item() == pytest.approx(0, abs=1e-6)
    with pytest.warns(UserWarning, match="'batchmean' divides only by the batch size"):
        F.kl_div(p.log(), p)


def test_old_flags_and_odd_sizes_warn():
    x = torch.ones(3, 1)
    with pytest.warns(UserWarning, match="please use reduction='sum' instead"):
        assert F.mse_loss(x, 2 * x, size_average=False).item() == 3.0
    with pytest.warns(UserWarning, match="Using a target size"):
        F.l1_loss(x, torch.ones(3))


def test_margins():
    x = torch.tensor([[0.1, 0.9]])
    assert F.multi_margin_loss(x, torch.tensor([1])).item() == pytest.approx(0.1)
    a, p, n = torch.tensor([[0.0, 0.0]]), torch.tensor([[0.0, 1.0]]), torch.tensor([[3.0, 0.0]])
    assert F.triplet_margin_loss(a, p, n, margin=3.0).item() == pytest.approx(1.0, rel=1e-5)
