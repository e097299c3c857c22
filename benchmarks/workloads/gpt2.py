"""GPT-2 with 124 million parameters, under autocast to bfloat16: what an accelerator is for."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workloads.contract import Problem, TorchTraining

LAYERS, HEADS, WIDTH = 12, 12, 768
BATCH, CONTEXT, VOCABULARY = 8, 1024, 50304
LEARNING_RATE = 3e-4
TITLE = f"GPT-2 124M, {BATCH}×{CONTEXT} tokens, bfloat16 autocast, AdamW"


def problem(seed: int = 0) -> Problem:
    """Make a batch; the weights are the initial ones of the library."""
    text = np.random.default_rng(seed).integers(0, VOCABULARY, (BATCH, CONTEXT + 1))
    return Problem(x=text[:, :-1].copy(), y=text[:, 1:].copy(), weights={})


def in_torch(torch: Any, problem: Problem) -> TorchTraining:
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.ln1, self.ln2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.qkv, self.out_proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.fc1, self.fc2 = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x: Any) -> Any:
            b, t, c = x.shape
            q, k, v = (
                a.view(b, t, HEADS, c // HEADS).transpose(1, 2)
                for a in self.qkv(self.ln1(x)).split(c, 2)
            )
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out_proj(y.transpose(1, 2).reshape(b, t, c))
            return x + self.fc2(F.gelu(self.fc1(self.ln2(x)), approximate="tanh"))

    class GPT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.wte, self.wpe = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(CONTEXT, WIDTH)
            self.layers = nn.ModuleList(Block() for _ in range(LAYERS))
            self.ln, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)
            self.head.weight = self.wte.weight
            for p in self.parameters():
                nn.init.normal_(p, std=0.02) if p.dim() > 1 else None

        def forward(self, tokens: Any) -> Any:
            x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
            for layer in self.layers:
                x = layer(x)
            return self.head(self.ln(x))

    torch.manual_seed(0)
    x, y = torch.tensor(problem.x), torch.tensor(problem.y)
    # Each library's generator of the CPU draws the same numbers.
    with torch.device("meta" if x.is_meta else "cpu"):
        model = GPT()
    model = model.to(x.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE)

    def loss(x: Any, y: Any) -> Any:
        # Planned on the meta device, for which there is no autocast.
        with torch.autocast("cpu" if x.is_meta else x.device.type, dtype=torch.bfloat16):
            logits = model(x)
        return F.cross_entropy(logits.float().view(-1, VOCABULARY), y.view(-1))

    return TorchTraining(model, optimizer, loss, x, y)
