"""Losses whose reduction is a number, and dropouts by torch's own names, against PyTorch's."""

import numpy as np
import pytest
from oracle import compare

import torchlike

torch = pytest.importorskip("torch")

#: Calls with a reduction to be filled in: with none of it the default, and 0, 1, 2.
LOSSES = [
    "T.margin_ranking_loss(a[:, 0], b[:, 0], y, 0.1{})",
    "T.cosine_embedding_loss(a, b, y, 0.1{})",
    "T.hinge_embedding_loss(a, signs, 1.5{})",
    "T.triplet_margin_loss(a, b, a * b, 1.0, 2.0, 1e-6, False{})",
    "T.kl_div(a, b{})",
    "T.kl_div(a, b{}, log_target=True)",
    "T.binary_cross_entropy_with_logits(a, b{named})",
    "T.binary_cross_entropy_with_logits(a, b, b, b + 1{})",
    "T.ctc_loss(long, T.tensor([[1, 2]]), [3], [2], 0{})",
    "T.ops.aten.mse_loss(a, b{})",
    "T.ops.aten.l1_loss(a, b{})",
    "T.ops.aten.smooth_l1_loss(a, b{})",
    "T.ops.aten.huber_loss(a, b{})",
    "T.ops.aten.soft_margin_loss(a, signs{})",
    "T.ops.aten.binary_cross_entropy(b, b, b{})",
    "T.ops.aten.kl_div(a, b{})",
    "T.ops.aten.nll_loss(a, classes, None{})",
    "T.ops.aten.cross_entropy_loss(a, classes, None{})",
    "T.ops.aten.margin_ranking_loss(a[:, 0], b[:, 0], y, 0.1{})",
]
OTHERS = [
    "T.poisson_nll_loss(a, b, True, False, 1e-8, 2)",
    "T.poisson_nll_loss(a, b, log_input=True, full=True, eps=1e-8, reduction=0)",
    "T.ops.aten.smooth_l1_loss(a, b, 2, 0.5)",
    "T.ops.aten.nll_loss(a, classes, b[0], 2, 1)",
    "T.ops.aten.cross_entropy_loss(a, classes, None, 1, -100, 0.3)",
    *(
        f"T.{name}(a, 0.5, {train})"
        for name in (
            "alpha_dropout",
            "alpha_dropout_",
            "feature_alpha_dropout",
            "dropout",
            "feature_alpha_dropout_",
            "feature_dropout_",
            "feature_dropout",
            "dropout_",
        )
        for train in (True, False)
    ),
]
CALLS = OTHERS + [
    loss.format(f", {number}" if number else "", named=f", reduction={number}" if number else "")
    for loss in LOSSES
    for number in ("", "0", "1", "2")
]


def called(T, call):
    a = T.tensor(np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4) ** 3)
    names = {
        "T": T,
        "a": a,
        "b": T.rand(3, 4),
        "y": T.tensor([1.0, -1.0, 1.0]),
        "signs": T.sign(a),
        "long": a.reshape(3, 1, 4).log_softmax(2),
        "classes": T.tensor([1, 0, 3]),
    }
    return eval(call, names)


@pytest.mark.sampled(every=3)
@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")
@pytest.mark.parametrize("call", CALLS)
def test_reductions_by_number(call):
    compare(lambda T: called(T, call), jitted=(False, True))


@pytest.mark.parametrize("number", [3, -1, "mean", True])
def test_no_other_reductions(number):
    with pytest.raises((TypeError, ValueError), match="reduction"):
        torchlike.kl_div(torchlike.ones(2), torchlike.ones(2), number)


def test_anomaly_detection_by_its_names_in_torch():
    for T in (torch, torchlike):
        assert not T.is_anomaly_enabled()
        assert T.is_anomaly_check_nan_enabled()
        T.set_anomaly_enabled(True, False)
        assert T.is_anomaly_enabled()
        assert not T.is_anomaly_check_nan_enabled()
        T.set_anomaly_enabled(False)
        assert not T.is_anomaly_enabled()
        assert T.is_anomaly_check_nan_enabled()
