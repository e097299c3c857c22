"""A configuration of every module: how to build it, and its inputs.

Inputs are shapes (float32), ``ints(shape, high)``, ``positive(*shape)`` or ``signs(*shape)``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class ints:
    """Integers of a shape below ``high``."""

    def __init__(self, shape: tuple[int, ...], high: int) -> None:
        self.shape, self.high = shape, high


class positive:
    """Floats in (0, 1)."""

    def __init__(self, *shape: int) -> None:
        self.shape = shape


class signs:
    """-1 and 1."""

    def __init__(self, *shape: int) -> None:
        self.shape = shape


X = (2, 3)
#: name: (constructor given nn, inputs).
CASES: dict[str, tuple[Callable[[Any], Any], list[Any]]] = {
    "Identity": (lambda nn: nn.Identity(1, a=2), [X]),
    "Linear": (lambda nn: nn.Linear(3, 4), [(2, 5, 3)]),
    "Linear-no-bias": (lambda nn: nn.Linear(3, 4, bias=False), [X]),
    "Bilinear": (lambda nn: nn.Bilinear(3, 4, 2), [(2, 3), (2, 4)]),
    "Conv1d": (lambda nn: nn.Conv1d(3, 4, 3, padding="same", dilation=2), [(2, 3, 8)]),
    "Conv2d": (lambda nn: nn.Conv2d(4, 6, (3, 2), stride=2, padding=1, groups=2), [(2, 4, 7, 6)]),
    "Conv2d-reflect": (
        lambda nn: nn.Conv2d(2, 3, 3, padding=(1, 2), padding_mode="reflect", bias=False),
        [(1, 2, 5, 6)],
    ),
    "Conv3d": (lambda nn: nn.Conv3d(2, 3, 2), [(1, 2, 3, 4, 3)]),
    "ConvTranspose1d": (lambda nn: nn.ConvTranspose1d(3, 2, 3, stride=2), [(2, 3, 4)]),
    "ConvTranspose2d": (
        lambda nn: nn.ConvTranspose2d(4, 2, 3, 2, padding=1, output_padding=1, groups=2),
        [(1, 4, 3, 4)],
    ),
    "ConvTranspose3d": (lambda nn: nn.ConvTranspose3d(2, 3, 2), [(1, 2, 2, 2, 3)]),
    "MaxPool1d": (lambda nn: nn.MaxPool1d(2, padding=1), [(2, 3, 6)]),
    "MaxPool2d": (lambda nn: nn.MaxPool2d(3, 2, ceil_mode=True), [(1, 2, 6, 6)]),
    "MaxPool3d": (lambda nn: nn.MaxPool3d(2), [(1, 2, 4, 4, 4)]),
    "AvgPool1d": (lambda nn: nn.AvgPool1d(3, 2, 1), [(1, 2, 7)]),
    "AvgPool2d": (lambda nn: nn.AvgPool2d(2, padding=1, count_include_pad=False), [(1, 2, 5, 4)]),
    "AvgPool3d": (lambda nn: nn.AvgPool3d(2, divisor_override=3), [(1, 1, 4, 4, 4)]),
    "LPPool1d": (lambda nn: nn.LPPool1d(2, 3), [positive(1, 2, 6)]),
    "LPPool2d": (lambda nn: nn.LPPool2d(2, 2, stride=1), [positive(1, 2, 4, 4)]),
    "AdaptiveAvgPool1d": (lambda nn: nn.AdaptiveAvgPool1d(3), [(1, 2, 7)]),
    "AdaptiveAvgPool2d": (lambda nn: nn.AdaptiveAvgPool2d((2, None)), [(1, 2, 5, 3)]),
    "AdaptiveAvgPool3d": (lambda nn: nn.AdaptiveAvgPool3d(1), [(1, 2, 3, 3, 2)]),
    "AdaptiveMaxPool1d": (lambda nn: nn.AdaptiveMaxPool1d(2), [(1, 2, 5)]),
    "AdaptiveMaxPool2d": (lambda nn: nn.AdaptiveMaxPool2d(2), [(1, 2, 5, 4)]),
    "AdaptiveMaxPool3d": (lambda nn: nn.AdaptiveMaxPool3d(1), [(1, 2, 2, 3, 2)]),
    "BatchNorm1d": (lambda nn: nn.BatchNorm1d(3), [(4, 3)]),
    "BatchNorm2d": (lambda nn: nn.BatchNorm2d(3, momentum=None), [(2, 3, 4, 4)]),
    "BatchNorm3d": (
        lambda nn: nn.BatchNorm3d(2, affine=False, track_running_stats=False),
        [(2, 2, 2, 2, 2)],
    ),
    "InstanceNorm1d": (lambda nn: nn.InstanceNorm1d(3), [(2, 3, 5)]),
    "InstanceNorm2d": (
        lambda nn: nn.InstanceNorm2d(3, affine=True, track_running_stats=True),
        [(2, 3, 3, 4)],
    ),
    "InstanceNorm3d": (lambda nn: nn.InstanceNorm3d(2), [(2, 2, 2, 3)]),
    "LayerNorm": (lambda nn: nn.LayerNorm((3, 4)), [(2, 3, 4)]),
    "LayerNorm-no-bias": (lambda nn: nn.LayerNorm(4, bias=False), [(2, 4)]),
    "GroupNorm": (lambda nn: nn.GroupNorm(2, 4), [(2, 4, 3)]),
    "RMSNorm": (lambda nn: nn.RMSNorm(4), [(2, 4)]),
    "LocalResponseNorm": (lambda nn: nn.LocalResponseNorm(3, k=2.0), [(1, 5, 3)]),
    "Embedding": (lambda nn: nn.Embedding(5, 3, padding_idx=-1), [ints((2, 3), 5)]),
    "EmbeddingBag": (lambda nn: nn.EmbeddingBag(5, 3, mode="sum"), [ints((2, 3), 5)]),
    "Dropout": (lambda nn: nn.Dropout(0.3), [(20,)]),
    "Dropout1d": (lambda nn: nn.Dropout1d(), [(3, 4, 2)]),
    "Dropout2d": (lambda nn: nn.Dropout2d(), [(3, 4, 2, 2)]),
    "Dropout3d": (lambda nn: nn.Dropout3d(inplace=False), [(3, 4, 2, 1, 2)]),
    "AlphaDropout": (lambda nn: nn.AlphaDropout(0.4), [(20,)]),
    "FeatureAlphaDropout": (lambda nn: nn.FeatureAlphaDropout(), [(3, 4, 2)]),
    "Flatten": (lambda nn: nn.Flatten(), [(2, 3, 4)]),
    "Unflatten": (lambda nn: nn.Unflatten(1, (2, 3)), [(2, 6)]),
    "Upsample-nearest": (lambda nn: nn.Upsample(scale_factor=2), [(1, 2, 3, 3)]),
    "Upsample-bilinear": (lambda nn: nn.Upsample((4, 5), mode="bilinear"), [(1, 2, 3, 3)]),
    "UpsamplingBilinear2d": (lambda nn: nn.UpsamplingBilinear2d(4), [(1, 1, 3, 3)]),
    "PixelShuffle": (lambda nn: nn.PixelShuffle(2), [(1, 8, 2, 3)]),
    "PixelUnshuffle": (lambda nn: nn.PixelUnshuffle(2), [(1, 2, 4, 6)]),
    "ChannelShuffle": (lambda nn: nn.ChannelShuffle(2), [(1, 4, 2, 2)]),
    "Unfold": (lambda nn: nn.Unfold(2), [(1, 2, 3, 3)]),
    "Fold": (lambda nn: nn.Fold((3, 3), 2), [(1, 8, 4)]),
    "ConstantPad1d": (lambda nn: nn.ConstantPad1d((1, 2), 3.5), [(1, 2, 3)]),
    "ZeroPad2d": (lambda nn: nn.ZeroPad2d((1, 0, 2, 1)), [(1, 2, 3, 3)]),
    "ReflectionPad2d": (lambda nn: nn.ReflectionPad2d(1), [(1, 2, 3, 3)]),
    "ReplicationPad1d": (lambda nn: nn.ReplicationPad1d(2), [(1, 2, 3)]),
    "CircularPad2d": (lambda nn: nn.CircularPad2d((1, 1, 0, 2)), [(1, 2, 3, 3)]),
    "CosineSimilarity": (lambda nn: nn.CosineSimilarity(), [(2, 4), (2, 4)]),
    "PairwiseDistance": (lambda nn: nn.PairwiseDistance(keepdim=True), [(2, 4), (2, 4)]),
    "ReLU": (lambda nn: nn.ReLU(), [X]),
    "ReLU6": (lambda nn: nn.ReLU6(), [X]),
    "RReLU": (lambda nn: nn.RReLU(), [X]),
    "RReLU-inplace": (
        lambda nn: nn.Sequential(nn.Linear(3, 4), nn.RReLU(inplace=True)),
        [X],
    ),
    "FractionalMaxPool2d": (
        lambda nn: nn.FractionalMaxPool2d(2, output_size=(3, 4)),
        [(2, 3, 7, 8)],
    ),
    "FractionalMaxPool3d": (
        lambda nn: nn.FractionalMaxPool3d((2, 1, 2), output_ratio=0.5, return_indices=True),
        [(1, 2, 6, 5, 7)],
    ),
    "LeakyReLU": (lambda nn: nn.LeakyReLU(0.2), [X]),
    "PReLU": (lambda nn: nn.PReLU(3), [X]),
    "ELU": (lambda nn: nn.ELU(1.5), [X]),
    "CELU": (lambda nn: nn.CELU(2.0), [X]),
    "SELU": (lambda nn: nn.SELU(), [X]),
    "GELU": (lambda nn: nn.GELU("tanh"), [X]),
    "SiLU": (lambda nn: nn.SiLU(), [X]),
    "Mish": (lambda nn: nn.Mish(), [X]),
    "GLU": (lambda nn: nn.GLU(0), [X]),
    "Sigmoid": (lambda nn: nn.Sigmoid(), [X]),
    "Tanh": (lambda nn: nn.Tanh(), [X]),
    "Hardtanh": (lambda nn: nn.Hardtanh(-0.5, 0.5), [X]),
    "Hardsigmoid": (lambda nn: nn.Hardsigmoid(), [X]),
    "Hardswish": (lambda nn: nn.Hardswish(), [X]),
    "Hardshrink": (lambda nn: nn.Hardshrink(), [X]),
    "Softshrink": (lambda nn: nn.Softshrink(0.3), [X]),
    "Softplus": (lambda nn: nn.Softplus(2, 1), [X]),
    "LogSigmoid": (lambda nn: nn.LogSigmoid(), [X]),
    "Softsign": (lambda nn: nn.Softsign(), [X]),
    "Tanhshrink": (lambda nn: nn.Tanhshrink(), [X]),
    "Threshold": (lambda nn: nn.Threshold(0.1, -2), [X]),
    "Softmax": (lambda nn: nn.Softmax(dim=1), [X]),
    "Softmin": (lambda nn: nn.Softmin(dim=0), [X]),
    "LogSoftmax": (lambda nn: nn.LogSoftmax(-1), [X]),
    "Softmax2d": (lambda nn: nn.Softmax2d(), [(1, 3, 2, 2)]),
    "L1Loss": (lambda nn: nn.L1Loss(), [X, X]),
    "MSELoss": (lambda nn: nn.MSELoss(reduction="sum"), [X, X]),
    "SmoothL1Loss": (lambda nn: nn.SmoothL1Loss(beta=0.5), [X, X]),
    "HuberLoss": (lambda nn: nn.HuberLoss("none", 0.7), [X, X]),
    "NLLLoss": (lambda nn: nn.NLLLoss(ignore_index=1), [(4, 3), ints((4,), 3)]),
    "CrossEntropyLoss": (
        lambda nn: nn.CrossEntropyLoss(label_smoothing=0.1),
        [(2, 3, 2), ints((2, 2), 3)],
    ),
    "LinearCrossEntropyLoss": (
        lambda nn: nn.LinearCrossEntropyLoss(4, 3, out_features=(2,), bias=True),
        [(3, 4), ints((3, 2), 3)],
    ),
    "AdaptiveLogSoftmaxWithLoss": (
        lambda nn: nn.AdaptiveLogSoftmaxWithLoss(4, 10, [3, 6], 2.0, head_bias=True),
        [(7, 4), ints((7,), 10)],
    ),
    "BCELoss": (lambda nn: nn.BCELoss(), [positive(2, 3), positive(2, 3)]),
    "BCEWithLogitsLoss": (lambda nn: nn.BCEWithLogitsLoss(), [X, positive(2, 3)]),
    "PoissonNLLLoss": (lambda nn: nn.PoissonNLLLoss(), [X, positive(2, 3)]),
    "GaussianNLLLoss": (lambda nn: nn.GaussianNLLLoss(), [X, X, positive(2, 3)]),
    "KLDivLoss": (lambda nn: nn.KLDivLoss(reduction="batchmean"), [X, positive(2, 3)]),
    "HingeEmbeddingLoss": (lambda nn: nn.HingeEmbeddingLoss(), [X, signs(2, 3)]),
    "SoftMarginLoss": (lambda nn: nn.SoftMarginLoss(), [X, signs(2, 3)]),
    "CosineEmbeddingLoss": (lambda nn: nn.CosineEmbeddingLoss(0.1), [X, X, signs(2)]),
    "MarginRankingLoss": (lambda nn: nn.MarginRankingLoss(0.2), [(4,), (4,), signs(4)]),
    "MultiLabelSoftMarginLoss": (lambda nn: nn.MultiLabelSoftMarginLoss(), [X, positive(2, 3)]),
    "MultiMarginLoss": (lambda nn: nn.MultiMarginLoss(), [(4, 3), ints((4,), 3)]),
    "TripletMarginLoss": (lambda nn: nn.TripletMarginLoss(swap=True), [X, X, X]),
    "TripletMarginWithDistanceLoss": (
        lambda nn: nn.TripletMarginWithDistanceLoss(distance_function=nn.PairwiseDistance()),
        [X, X, X],
    ),
    "RNN": (lambda nn: nn.RNN(3, 4, nonlinearity="relu"), [(5, 2, 3)]),
    "LSTM": (
        lambda nn: nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True),
        [(2, 5, 3)],
    ),
    "LSTM-dropout": (lambda nn: nn.LSTM(3, 4, 2, dropout=0.5), [(5, 2, 3)]),
    "LSTM-dropout-batch-first": (
        lambda nn: nn.LSTM(3, 4, 2, dropout=0.5, batch_first=True),
        [(2, 5, 3)],
    ),
    "LSTM-projected": (lambda nn: nn.LSTM(3, 4, bias=False, proj_size=2), [(5, 3)]),
    "GRU": (lambda nn: nn.GRU(3, 4, num_layers=2), [(5, 2, 3), (2, 2, 4)]),
    "RNNCell": (lambda nn: nn.RNNCell(3, 4), [(2, 3), (2, 4)]),
    "LSTMCell": (lambda nn: nn.LSTMCell(3, 4, bias=False), [(2, 3)]),
    "GRUCell": (lambda nn: nn.GRUCell(3, 4), [(3,), (4,)]),
    "MultiheadAttention": (
        lambda nn: nn.MultiheadAttention(4, 2, dropout=0.2),
        [(3, 2, 4), (5, 2, 4), (5, 2, 4)],
    ),
    "MultiheadAttention-other-sizes": (
        lambda nn: nn.MultiheadAttention(
            4, 2, kdim=3, vdim=5, batch_first=True, add_bias_kv=True, add_zero_attn=True
        ),
        [(2, 3, 4), (2, 5, 3), (2, 5, 5)],
    ),
    "TransformerEncoderLayer": (
        lambda nn: nn.TransformerEncoderLayer(4, 2, 6, activation="gelu", norm_first=True),
        [(3, 2, 4)],
    ),
    "TransformerDecoderLayer": (
        lambda nn: nn.TransformerDecoderLayer(4, 2, 6, 0.0, batch_first=True),
        [(2, 3, 4), (2, 5, 4)],
    ),
    "TransformerDecoderLayer-dropout": (
        lambda nn: nn.TransformerDecoderLayer(4, 2, 6),
        [(3, 2, 4), (5, 2, 4)],
    ),
    "TransformerDecoderLayer-dropout-batch-first": (
        lambda nn: nn.TransformerDecoderLayer(4, 2, 6, batch_first=True),
        [(2, 3, 4), (2, 5, 4)],
    ),
    "Transformer": (
        lambda nn: nn.Transformer(4, 2, 2, 1, 6, bias=False),
        [(3, 2, 4), (2, 2, 4)],
    ),
    "Sequential": (
        lambda nn: nn.Sequential(nn.Linear(3, 4), nn.ReLU(inplace=True), nn.Linear(4, 2)),
        [X],
    ),
}


def values_of(spec: Any, rng: np.random.Generator) -> np.ndarray:
    if isinstance(spec, ints):
        return rng.integers(0, spec.high, spec.shape)
    if isinstance(spec, positive):
        return rng.uniform(0.05, 0.95, spec.shape).astype(np.float32)
    if isinstance(spec, signs):
        return (rng.integers(0, 2, spec.shape) * 2 - 1).astype(np.float32)
    return rng.standard_normal(spec).astype(np.float32)
