"""A small character-level GPT that learns to write Python from Python's own standard library."""

import os
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F

MODULES = ("argparse", "ast", "contextlib", "dataclasses", "functools", "heapq", "inspect")
BLOCK_SIZE = 64
BATCH_SIZE = 16
STEPS = 150


class SelfAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.project = nn.Linear(width, width, bias=False)

    def forward(self, x):
        batch, length, width = x.shape
        query, key, value = self.qkv(x).split(width, dim=2)
        query = query.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
        key = key.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
        value = value.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.project(mixed.transpose(1, 2).contiguous().view(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = SelfAttention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width),
            nn.GELU(),
            nn.Linear(4 * width, width),
        )

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, vocabulary, width=64, heads=4, layers=3):
        super().__init__()
        self.token = nn.Embedding(vocabulary, width)
        self.position = nn.Embedding(BLOCK_SIZE, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.apply(self._init_weights)

    def _init_weights(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, mean=0.0, std=0.02)

    def forward(self, tokens, targets=None):
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.token(tokens) + self.position(positions)
        logits = self.head(self.norm(self.blocks(x)))
        if targets is None:
            return logits, None
        loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))
        return logits, loss


@torch.no_grad()
def generate(model, window, count):
    """Sample ``count`` tokens that follow ``window``, whose shape (1, T) stays the same."""
    written = []
    for _ in range(count):
        logits, _ = model(window)
        probabilities = F.softmax(logits[:, -1, :] / 0.8, dim=-1)
        token = torch.multinomial(probabilities, num_samples=1)
        written.append(token.item())
        window = torch.cat([window[:, 1:], token], dim=1)
    return written


def get_batch(data):
    starts = torch.randint(len(data) - BLOCK_SIZE, (BATCH_SIZE,))
    inputs = torch.stack([data[i : i + BLOCK_SIZE] for i in starts])
    targets = torch.stack([data[i + 1 : i + 1 + BLOCK_SIZE] for i in starts])
    return inputs, targets


def main():
    torch.manual_seed(0)
    library = Path(os.__file__).parent
    text = "".join((library / f"{name}.py").read_text(encoding="utf-8") for name in MODULES)
    alphabet = sorted(set(text))
    number = {character: i for i, character in enumerate(alphabet)}
    data = torch.tensor([number[character] for character in text], dtype=torch.long)

    model = GPT(len(alphabet))
    count = sum(p.numel() for p in model.parameters())
    print(f"{len(text)} characters, {len(alphabet)} different, {count} parameters")

    # Weight matrices decay; biases and layer norms, which have one dimension, do not.
    decay = [p for p in model.parameters() if p.dim() >= 2]
    no_decay = [p for p in model.parameters() if p.dim() < 2]
    groups = [
        {"params": decay, "weight_decay": 0.1},
        {"params": no_decay, "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=2e-3, betas=(0.9, 0.95))

    for step in range(1, STEPS + 1):
        inputs, targets = get_batch(data)
        _, loss = model(inputs, targets)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.6f}")

    model.eval()
    prompt = text[:BLOCK_SIZE]
    window = torch.tensor([[number[character] for character in prompt]])
    print(prompt + "".join(alphabet[i] for i in generate(model, window, 150)))


if __name__ == "__main__":
    main()
