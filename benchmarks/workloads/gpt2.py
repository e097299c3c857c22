"""GPT-2 with 124 million parameters, under autocast to bfloat16: what an accelerator is for."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workloads.contract import Problem, TorchTraining
from benchmarks.workloads.models import gpt

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
    torch.manual_seed(0)
    x, y = torch.tensor(problem.x), torch.tensor(problem.y)
    # Each library's generator of the CPU draws the same numbers.
    with torch.device("meta" if x.is_meta else "cpu"):
        model = gpt(torch, VOCABULARY, CONTEXT, WIDTH, LAYERS, HEADS)
        for p in model.parameters():
            nn.init.normal_(p, std=0.02) if p.dim() > 1 else None
    model = model.to(x.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE)

    def loss(x: Any, y: Any) -> Any:
        # Planned on the meta device, for which there is no autocast.
        with torch.autocast("cpu" if x.is_meta else x.device.type, dtype=torch.bfloat16):
            logits = model(x)
        return F.cross_entropy(logits.float().view(-1, VOCABULARY), y.view(-1))

    return TorchTraining(model, optimizer, loss, x, y)
