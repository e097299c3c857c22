"""Every module against PyTorch's: same seed, same initial weights, names, repr, outputs, gradients.

The table of configurations is in tests/nn/module_cases.py.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from module_cases import CASES, values_of

import torchlike
import torchlike.nn
from torchlike import random

torch = pytest.importorskip("torch")


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
    roots = [
        (o, library.from_numpy(w)) for o, w in zip(outputs, weights, strict=True) if o.requires_grad
    ]
    if roots:
        library.autograd.backward([o for o, _ in roots], [w for _, w in roots])
    leaves = {f"input {i}": t for i, t in enumerate(given)} | dict(module.named_parameters())
    grads = {k: None if t.grad is None else t.grad.numpy() for k, t in leaves.items()}
    return [o.detach().numpy() for o in outputs], grads


@pytest.mark.sampled(per=lambda p: p["name"].partition("-")[0])
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
        inputs = [values_of(s, rng) for s in specs]
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
        ("uniform_", (3, 4), (-1.0, 2.0)),
        ("normal_", (5, 7), (1.0, 0.5)),
        ("constant_", (3,), (0.3,)),
        ("ones_", (2, 3), ()),
        ("zeros_", (2, 3), ()),
        ("eye_", (2, 3), ()),
        ("dirac_", (4, 3, 3), (2,)),
        ("xavier_uniform_", (3, 4, 2), (1.5,)),
        ("xavier_normal_", (6, 4), ()),
        ("kaiming_uniform_", (3, 4), (0.1, "fan_out")),
        ("kaiming_normal_", (3, 4), (0, "fan_in", "relu")),
        ("sparse_", (6, 3), (0.4,)),
        ("trunc_normal_", (5, 5), ()),
        ("trunc_normal_", (4, 6), (0.0, 1.0, 2.0, 2.5)),
    ],
    ids=lambda c: c[0],
)
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
        results.append(
            [
                packed.data.detach().numpy(),
                packed.batch_sizes.numpy(),
                packed.sorted_indices.numpy(),
                packed.unsorted_indices.numpy(),
                padded.detach().numpy(),
                *(s.detach().numpy() for s in _leaves(state)),
                x.grad.numpy(),
                *(p.grad.numpy() for p in layer.parameters()),
            ]
        )
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
