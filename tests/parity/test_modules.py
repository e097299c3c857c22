"""Every module against PyTorch's: same seed, same initial weights, names, repr, outputs, gradients.

One row a configuration. Inputs are shapes (float32), ``ints(shape, high)``, or arrays.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import torchlike
import torchlike.nn
from torchlike import random

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.parity


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


def _values(spec: Any, rng: np.random.Generator) -> np.ndarray:
    if isinstance(spec, ints):
        return rng.integers(0, spec.high, spec.shape)
    if isinstance(spec, positive):
        return rng.uniform(0.05, 0.95, spec.shape).astype(np.float32)
    if isinstance(spec, signs):
        return (rng.integers(0, 2, spec.shape) * 2 - 1).astype(np.float32)
    return rng.standard_normal(spec).astype(np.float32)


def _leaves(tree: Any) -> list[Any]:
    if isinstance(tree, (tuple, list)):
        return [leaf for t in tree for leaf in _leaves(t)]
    return [] if tree is None else [tree]


def _run(library: Any, module: Any, inputs: list[np.ndarray], weights: list[np.ndarray]) -> Any:
    """Outputs and gradients of inputs and parameters, with given gradients of the outputs."""
    given = []
    for i, values in enumerate(inputs):
        t = library.from_numpy(values.copy())
        if values.dtype == np.float32:
            t.requires_grad_(i == 0 or not isinstance(module, library.nn.modules.loss._Loss))
        given.append(t)
    outputs = _leaves(module(*given))
    if not weights:
        rng = np.random.default_rng(1)
        weights += [rng.standard_normal(tuple(o.shape)).astype(np.float32) for o in outputs]
    roots = [(o, library.from_numpy(w)) for o, w in zip(outputs, weights, strict=True)
             if o.requires_grad]  # fmt: skip
    if roots:
        library.autograd.backward([o for o, _ in roots], [w for _, w in roots])
    leaves = {f"input {i}": t for i, t in enumerate(given)} | dict(module.named_parameters())
    grads = {k: None if t.grad is None else t.grad.numpy() for k, t in leaves.items()}
    return [o.detach().numpy() for o in outputs], grads


@pytest.mark.parametrize("name", CASES)
def test_module(name):
    build, specs = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's own remarks on nested tensors and dropout
        torch.manual_seed(7)
        random.manual_seed(7)
        theirs, ours = build(torch.nn), build(torchlike.nn)
        assert repr(ours) == repr(theirs)
        state = theirs.state_dict()
        assert list(ours.state_dict()) == list(state)
        for key, value in ours.state_dict().items():
            assert np.array_equal(value.numpy(), state[key].numpy()), key
        rng = np.random.default_rng(0)
        inputs = [_values(s, rng) for s in specs]
        weights: list[np.ndarray] = []
        for mode in (True, False):
            for module in (theirs, ours):
                module.train(mode)
                module.zero_grad()
            expected, expected_grads = _run(torch, theirs, inputs, weights)
            got, grads = _run(torchlike, ours, inputs, weights)
            for a, b in zip(got, expected, strict=True):
                assert a.dtype == b.dtype
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=2e-6)
            assert grads.keys() == expected_grads.keys()
            for key, value in expected_grads.items():
                if value is None:
                    assert grads[key] is None, key
                else:
                    np.testing.assert_allclose(grads[key], value, rtol=1e-5, atol=5e-6, err_msg=key)
            after = theirs.state_dict()
            for key, value in ours.state_dict().items():
                np.testing.assert_allclose(value.numpy(), after[key].numpy(), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    "case",
    [
        ("uniform_", (3, 4), (-1.0, 2.0)), ("normal_", (5, 7), (1.0, 0.5)),
        ("constant_", (3,), (0.3,)), ("ones_", (2, 3), ()), ("zeros_", (2, 3), ()),
        ("eye_", (2, 3), ()), ("dirac_", (4, 3, 3), (2,)), ("xavier_uniform_", (3, 4, 2), (1.5,)),
        ("xavier_normal_", (6, 4), ()), ("kaiming_uniform_", (3, 4), (0.1, "fan_out")),
        ("kaiming_normal_", (3, 4), (0, "fan_in", "relu")), ("sparse_", (6, 3), (0.4,)),
        ("trunc_normal_", (5, 5), ()), ("trunc_normal_", (4, 6), (0.0, 1.0, 2.0, 2.5)),
    ],
    ids=lambda c: c[0],
)  # fmt: skip
def test_init_bit_for_bit(case):
    name, shape, args = case
    torch.manual_seed(3)
    random.manual_seed(3)
    theirs = getattr(torch.nn.init, name)(torch.empty(shape), *args)
    ours = getattr(torchlike.nn.init, name)(torchlike.empty(shape), *args)
    assert np.array_equal(ours.numpy(), theirs.numpy())
    after = random.default_generator.get_state().numpy()
    assert np.array_equal(after, torch.get_rng_state().numpy())


@pytest.mark.parametrize("shape", [(4, 3), (2, 5), (3, 2, 2)])
def test_init_orthogonal(shape):
    torch.manual_seed(3)
    random.manual_seed(3)
    theirs = torch.nn.init.orthogonal_(torch.empty(shape), 1.5)
    ours = torchlike.nn.init.orthogonal_(torchlike.empty(shape), 1.5)
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_packed_sequences(kind):
    values = np.random.default_rng(0).standard_normal((3, 5, 2)).astype(np.float32)
    lengths = [2, 5, 3]
    results = []
    for library, seed in ((torch, torch.manual_seed), (torchlike, random.manual_seed)):
        seed(0)
        layer = getattr(library.nn, kind)(2, 3, batch_first=True, bidirectional=True)
        rnn = library.nn.utils.rnn
        x = library.from_numpy(values.copy()).requires_grad_()
        packed = rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        output, state = layer(packed)
        padded, sizes = rnn.pad_packed_sequence(output, batch_first=True, padding_value=-1.0)
        assert sizes.tolist() == lengths
        (padded * padded).sum().backward()
        results.append([
            packed.data.detach().numpy(), packed.batch_sizes.numpy(),
            packed.sorted_indices.numpy(), packed.unsorted_indices.numpy(),
            padded.detach().numpy(), *(s.detach().numpy() for s in _leaves(state)),
            x.grad.numpy(), *(p.grad.numpy() for p in layer.parameters()),
        ])  # fmt: skip
    for theirs, ours in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("norm", [1.0, 2.0, float("inf")])
def test_clipping(norm):
    values = np.random.default_rng(0).standard_normal((2, 3)).astype(np.float32)
    found = []
    for library in (torch, torchlike):
        p, q = (library.from_numpy(values + i).requires_grad_() for i in range(2))
        ((p * p).sum() + (q * 3).sum()).backward()
        total = library.nn.utils.clip_grad_norm_([p, q], 1.5, norm)
        library.nn.utils.clip_grad_value_(q, 0.2)
        found.append([total.numpy(), p.grad.numpy(), q.grad.numpy()])
    for theirs, ours in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_attention_masks():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 4, 6)).astype(np.float32)
    causal = np.triu(np.ones((4, 4), bool), 1)
    padding = np.array([[False] * 4, [False, False, True, True]])
    found = []
    for library, seed in ((torch, torch.manual_seed), (torchlike, random.manual_seed)):
        seed(0)
        layer = library.nn.MultiheadAttention(6, 3, batch_first=True)
        t, mask, hidden = (library.from_numpy(a.copy()) for a in (x, causal, padding))
        outputs = [
            layer(t, t, t, attn_mask=mask, key_padding_mask=hidden),
            layer(t, t, t, attn_mask=mask, key_padding_mask=hidden, need_weights=False),
            layer(t, t, t, attn_mask=mask, is_causal=True, need_weights=False),
            layer(t, t, t, attn_mask=mask, average_attn_weights=False),
            layer(t[0], t[0], t[0], key_padding_mask=hidden[1]),
        ]
        found.append([o.detach().numpy() for o in _leaves(outputs)])
    for theirs, ours in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
