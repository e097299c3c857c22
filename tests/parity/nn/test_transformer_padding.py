"""Encoders in evaluation without gradients leave padding out, under PyTorch's conditions."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

import numpy as np
import pytest

import torchlike

torch = pytest.importorskip("torch")


RIGHT = [[False] * 5, [False] * 3 + [True] * 2, [False, True, True, True, True]]
LEFT = [[False] * 5, [True] * 2 + [False] * 3, [True] * 4 + [False]]
LAYER: dict[str, Any] = {"d_model": 8, "nhead": 2, "dim_feedforward": 12, "batch_first": True}

#: layer, encoder, mask, and what is done before the call.
CASES: dict[str, tuple[dict, dict, Any, str]] = {
    "padded at the end": ({}, {}, RIGHT, ""),
    "gelu": ({"activation": "gelu"}, {}, RIGHT, ""),
    "a module as activation": ({"activation": "module"}, {}, RIGHT, ""),
    "another activation": ({"activation": "silu"}, {}, RIGHT, ""),
    "norm first": ({"norm_first": True}, {}, RIGHT, ""),
    "sequence first": ({"batch_first": False}, {}, RIGHT, ""),
    "an odd number of heads": ({"nhead": 1}, {}, RIGHT, ""),
    "no biases": ({"bias": False}, {}, RIGHT, ""),
    "padded at the front": ({}, {}, LEFT, ""),
    "switched off": ({}, {"enable_nested_tensor": False}, RIGHT, ""),
    "unchecked": ({}, {"mask_check": False}, RIGHT, ""),
    "nothing padded": ({}, {}, [[False] * 5] * 3, ""),
    "a float mask": ({}, {}, np.where(RIGHT, -np.inf, 0).astype(np.float32), ""),
    "a mask besides": ({}, {}, RIGHT, "mask"),
    "training": ({}, {}, RIGHT, "training"),
    "with gradients": ({}, {}, RIGHT, "gradients"),
    "frozen": ({}, {}, RIGHT, "frozen"),
    "switched off for all": ({}, {}, RIGHT, "disabled"),
}


def outputs(library: Any, name: str) -> np.ndarray:
    layer, encoder, padding, how = CASES[name]
    given = LAYER | layer
    nn = library.nn
    activations = {"module": nn.ReLU(), "silu": nn.functional.silu}
    activation = given.pop("activation", "relu")
    library.manual_seed(3)
    module = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(
            **given, dropout=0.0, activation=activations.get(activation, activation)
        ),
        2,
        nn.LayerNorm(8),
        **encoder,
    )
    library.nn.init.uniform_(module.norm.bias)  # what zeros come out as
    module.train(how == "training")
    if how == "frozen":
        module.requires_grad_(False)
    x = library.randn(3, 5, 8)
    if not given["batch_first"]:
        x = x.transpose(0, 1).contiguous()
    mask = library.zeros(5, 5, dtype=library.bool) if how == "mask" else None
    gradients = how in ("gradients", "frozen")
    mode = contextlib.nullcontext() if gradients else library.no_grad()
    library.backends.mha.set_fastpath_enabled(how != "disabled")
    try:
        with mode:
            out = module(x, mask=mask, src_key_padding_mask=library.tensor(padding))
    finally:
        library.backends.mha.set_fastpath_enabled(True)
    return out.detach().numpy()


@pytest.mark.parametrize("name", CASES)
def test_padding_comes_out_as_from_pytorch(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's remarks on nested tensors
        expected = outputs(torch, name)
    np.testing.assert_allclose(outputs(torchlike, name), expected, rtol=1e-5, atol=2e-6)


def test_compiled_code_leaves_nothing_out():
    """As under PyTorch's compiler, which cannot ask where the padding is."""
    layer = torchlike.nn.TransformerEncoderLayer(**LAYER, dropout=0.0)
    module = torchlike.nn.TransformerEncoder(layer, 1).eval().requires_grad_(False)
    x, padding = torchlike.randn(3, 5, 8), torchlike.tensor(RIGHT)
    compiled = torchlike.compile(module)(x, src_key_padding_mask=padding)
    assert compiled[2, 1:].abs().min() > 0
    assert module(x, src_key_padding_mask=padding)[2, 1:].eq(0).all()
