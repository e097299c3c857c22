"""Models that several benchmarks have, in PyTorch's API: each function is given the library first.

`gpt` is made of `block`, `resnet50` of bottlenecks. Sizes, data, optimizers and losses are the
benchmarks' own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def block(torch: Any, width: int, heads: int, gelu: str = "none") -> Any:
    """Return a block of a decoder: attention, then two linear layers, each behind a layer norm and
    added to its input. ``gelu`` is its approximation, "tanh" in GPT-2.

    ``step(x, past)`` gives keys and values, too, behind those of the tokens before.
    """
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1 = nn.LayerNorm(width)
            self.qkv = nn.Linear(width, 3 * width)
            self.out = nn.Linear(width, width)
            self.norm2 = nn.LayerNorm(width)
            self.up = nn.Linear(width, 4 * width)
            self.down = nn.Linear(4 * width, width)

        def forward(self, x: Any) -> Any:
            return self.step(x)[0]

        def step(self, x: Any, past: Any = None) -> tuple[Any, tuple[Any, Any]]:
            b, t, _ = x.shape
            q, k, v = (
                part.view(b, t, heads, width // heads).transpose(1, 2)
                for part in self.qkv(self.norm1(x)).split(width, 2)
            )
            if past is not None:
                k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=past is None)
            x = x + self.out(y.transpose(1, 2).reshape(b, t, width))
            return x + self.down(F.gelu(self.up(self.norm2(x)), approximate=gelu)), (k, v)

    return Block()


def grouped_block(torch: Any, width: int, heads: int, groups: int, window: int) -> Any:
    """Return a block of a decoder like Mistral's: rotated queries and keys, ``groups`` heads of
    keys and values for all ``heads`` of queries, each token attending to ``window`` tokens, gated
    linear layers, RMS norms."""
    nn, F = torch.nn, torch.nn.functional
    size = width // heads

    def rotated(x: Any) -> Any:
        t = x.shape[-2]
        rates = 10000.0 ** (-torch.arange(0, size, 2, dtype=torch.float32) / size)
        angles = torch.outer(torch.arange(t, dtype=torch.float32), rates)
        cos, sin = torch.cat([angles, angles], -1).cos(), torch.cat([angles, angles], -1).sin()
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat([-b, a], -1) * sin

    class GroupedBlock(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
            self.q = nn.Linear(width, width, bias=False)
            self.k = nn.Linear(width, groups * size, bias=False)
            self.v = nn.Linear(width, groups * size, bias=False)
            self.out = nn.Linear(width, width, bias=False)
            self.gate = nn.Linear(width, 2 * width, bias=False)
            self.up = nn.Linear(width, 2 * width, bias=False)
            self.down = nn.Linear(2 * width, width, bias=False)

        def forward(self, x: Any) -> Any:
            b, t, _ = x.shape
            y = self.norm1(x)
            q, k, v = (
                made(y).view(b, t, -1, size).transpose(1, 2) for made in (self.q, self.k, self.v)
            )
            back = torch.arange(t)[:, None] - torch.arange(t)
            seen = (back >= 0) & (back < window)
            y = F.scaled_dot_product_attention(
                rotated(q), rotated(k), v, attn_mask=seen, enable_gqa=True
            )
            x = x + self.out(y.transpose(1, 2).reshape(b, t, width))
            y = self.norm2(x)
            return x + self.down(F.silu(self.gate(y)) * self.up(y))

    return GroupedBlock()


def gpt(
    torch: Any,
    vocabulary: int,
    context: int,
    width: int,
    layers: int,
    heads: int,
    *,
    tied: bool = True,
    gelu: str = "tanh",
) -> Any:
    """Return a decoder of `block`: (B, T) tokens to (B, T, vocabulary) logits. The head has the
    embedding's weight where they are ``tied``."""
    nn = torch.nn

    class GPT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens = nn.Embedding(vocabulary, width)
            self.positions = nn.Embedding(context, width)
            self.blocks = nn.ModuleList(block(torch, width, heads, gelu) for _ in range(layers))
            self.norm = nn.LayerNorm(width)
            self.head = nn.Linear(width, vocabulary, bias=False)
            if tied:
                self.head.weight = self.tokens.weight

        def forward(self, tokens: Any) -> Any:
            places = torch.arange(tokens.shape[1], device=tokens.device)
            x = self.tokens(tokens) + self.positions(places)
            for layer in self.blocks:
                x = layer(x)
            return self.head(self.norm(x))

    return GPT()


def resnet50(
    torch: Any, width: int = 64, depths: Sequence[int] = (3, 4, 6, 3), classes: int = 10
) -> Any:
    """Return a ResNet of bottlenecks, so many in each stage; ``width`` is that of the first."""
    nn, F = torch.nn, torch.nn.functional

    class Bottleneck(nn.Module):
        def __init__(self, inputs: int, inner: int, stride: int) -> None:
            super().__init__()
            sizes = [(inputs, inner, 1, 1), (inner, inner, 3, stride), (inner, 4 * inner, 1, 1)]
            self.convs = nn.ModuleList(
                nn.Conv2d(a, b, k, s, padding=k // 2, bias=False) for a, b, k, s in sizes
            )
            self.norms = nn.ModuleList(nn.BatchNorm2d(b) for _, b, _, _ in sizes)
            self.shortcut = None
            if stride != 1 or inputs != 4 * inner:
                self.shortcut = nn.Sequential(
                    nn.Conv2d(inputs, 4 * inner, 1, stride, bias=False), nn.BatchNorm2d(4 * inner)
                )

        def forward(self, x: Any) -> Any:
            y = x
            for i, (conv, norm) in enumerate(zip(self.convs, self.norms, strict=True)):
                y = norm(conv(y))
                y = F.relu(y) if i < 2 else y
            return F.relu(y + (x if self.shortcut is None else self.shortcut(x)))

    blocks, inputs = [], width
    for stage, depth in enumerate(depths):
        for i in range(depth):
            inner = width << stage
            blocks.append(Bottleneck(inputs, inner, 2 if stage and not i else 1))
            inputs = 4 * inner
    stem = [nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
    ends = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes)]
    return nn.Sequential(*stem, nn.MaxPool2d(3, 2, 1), *blocks, *ends)
