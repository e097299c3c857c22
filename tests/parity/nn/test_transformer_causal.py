"""When encoders and decoders tell their layers that a mask is the causal one, against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import torchlike

torch = pytest.importorskip("torch")


LATER = np.triu(np.full((3, 3), -np.inf, np.float32), 1)
MASKS: dict[str, Any] = {
    "none": None,
    "causal": LATER,
    "of bools": LATER < 0,
    "nothing hidden": np.zeros((3, 3), np.float32),
    "hides less": np.triu(np.full((3, 3), -np.inf, np.float32), 2),
    "finite": np.triu(np.full((3, 3), -1e9, np.float32), 1),
    "for each head": np.broadcast_to(LATER, (4, 3, 3)).copy(),
}


def told(library: Any, mask: Any, hint: bool | None, shape: tuple[int, ...], batch_first: bool):
    """The hints that the layers of each module get, and what the modules give."""
    nn, hints = library.nn, []

    class Encoding(nn.TransformerEncoderLayer):
        def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
            hints.append(is_causal)
            return super().forward(src, src_mask, src_key_padding_mask, is_causal)

    class Decoding(nn.TransformerDecoderLayer):
        def forward(self, *args, **kwargs):
            hints.extend([kwargs["tgt_is_causal"], kwargs["memory_is_causal"]])
            return super().forward(*args, **kwargs)

    sizes = {"dropout": 0.0, "batch_first": batch_first}
    encoder = nn.TransformerEncoder(Encoding(4, 2, 8, **sizes), 2, enable_nested_tensor=False)
    decoder = nn.TransformerDecoder(Decoding(4, 2, 8, **sizes), 1)
    whole = nn.Transformer(4, 2, custom_encoder=encoder, custom_decoder=decoder, **sizes)
    with library.no_grad():
        for p in whole.parameters():
            p.copy_(library.linspace(-1, 1, p.numel()).reshape(p.shape))
    x = library.linspace(-1, 1, int(np.prod(shape))).reshape(shape)
    m = None if mask is None else library.from_numpy(mask)
    results = [
        encoder(x, mask=m, is_causal=hint),
        decoder(x, x, tgt_mask=m, tgt_is_causal=hint),
        whole(x, x, src_mask=m, tgt_mask=m, src_is_causal=hint, tgt_is_causal=hint),
    ]
    return hints, [r.detach().numpy() for r in results]


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("hint", [None, False])
@pytest.mark.parametrize("name", MASKS)
def test_the_hint_follows_the_mask(name, hint, batch_first):
    shape = (2, 3, 4) if batch_first else (3, 2, 4)
    found = [told(t, MASKS[name], hint, shape, batch_first) for t in (torch, torchlike)]
    assert found[0][0] == found[1][0]
    assert any(found[1][0]) == (hint is None and name in ("causal", "of bools"))
    for a, b in zip(found[0][1], found[1][1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def test_one_sequence_alone():
    found = [told(t, LATER, None, (3, 4), True) for t in (torch, torchlike)]
    assert found[0][0] == found[1][0]
    np.testing.assert_allclose(found[0][1][0], found[1][1][0], rtol=1e-5, atol=1e-5)


def test_jitted_layers_use_the_mask():
    t = torchlike
    layer = t.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
    encoder = t.nn.TransformerEncoder(layer, 2)
    x, m = t.linspace(-1, 1, 24).reshape(2, 3, 4), t.from_numpy(LATER)
    with t.no_grad():
        eager, jitted = encoder(x, mask=m), t.jit(encoder)(x, mask=m)
    np.testing.assert_allclose(eager.numpy(), jitted.numpy(), rtol=1e-5, atol=1e-6)
