"""A language model of seven billion parameters, sharded by ``fully_shard`` and tensor-parallel
styles, planned for chips that are not here.

    pip install 'torchlike[plan]'
    torchlike run examples/seven_billion.py v5e:4x4 --tp 4
    torchlike run examples/seven_billion.py v5p:8x8x16 --tp 4 --sequences 4

Nothing is computed: the model is on the meta device, the mesh is one of described devices, and XLA
compiles the step for them. What is printed is one line of the table in docs/scale.md.
"""

import argparse

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from torch.utils.checkpoint import checkpoint

import torchlike
from torchlike.porting.plan import device_mesh
from torchlike.porting.plan.table import show

WORDS, WIDTH, HIDDEN, LAYERS, HEADS, TOKENS = 32000, 4096, 11008, 32, 32, 4096


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.wq, self.wk, self.wv = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(3))
        self.wo = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x, cos, sin):
        b, t, _ = x.shape
        q, k, v = (f(x).view(b, t, HEADS, -1).transpose(1, 2) for f in (self.wq, self.wk, self.wv))
        q, k = (turned(y, cos, sin) for y in (q, k))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.wo(y.transpose(1, 2).reshape(b, t, WIDTH))


def turned(x, cos, sin):
    """Rotary positions: pairs of features are turned by an angle that grows with the position."""
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1).type_as(x)


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1, self.w3 = (nn.Linear(WIDTH, HIDDEN, bias=False) for _ in range(2))
        self.w2 = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm, self.attention = nn.RMSNorm(WIDTH), Attention()
        self.ffn_norm, self.feed_forward = nn.RMSNorm(WIDTH), FeedForward()

    def forward(self, x, cos, sin):
        x = x + self.attention(self.attention_norm(x), cos, sin)
        return x + self.feed_forward(self.ffn_norm(x))


class Model(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(Block() for _ in range(layers))
        self.norm, self.output = nn.RMSNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, tokens):
        half = WIDTH // HEADS // 2
        rate = 10000 ** (-torch.arange(half, device=tokens.device) / half)
        angle = torch.outer(torch.arange(tokens.shape[1], device=tokens.device), rate)
        cos, sin = angle.cos(), angle.sin()
        x = self.words(tokens)
        for layer in self.layers:
            x = checkpoint(layer, x, cos, sin, use_reentrant=False)
        return self.output(self.norm(x))


ENDS = {
    "words": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
    "norm": SequenceParallel(),
    "output": ColwiseParallel(input_layouts=Shard(1), output_layouts=Shard(-1)),
}
LAYER = {
    "attention_norm": SequenceParallel(),
    "attention": PrepareModuleInput(
        input_layouts=(Shard(1), None, None), desired_input_layouts=(Replicate(), None, None)
    ),
    "attention.wq": ColwiseParallel(),
    "attention.wk": ColwiseParallel(),
    "attention.wv": ColwiseParallel(),
    "attention.wo": RowwiseParallel(output_layouts=Shard(1)),
    "ffn_norm": SequenceParallel(),
    "feed_forward": PrepareModuleInput(
        input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)
    ),
    "feed_forward.w1": ColwiseParallel(),
    "feed_forward.w3": ColwiseParallel(),
    "feed_forward.w2": RowwiseParallel(output_layouts=Shard(1)),
}


def parallel(model, mesh):
    """Tensor and sequence parallelism along ``tp``, then parts along ``dp``."""
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    parallelize_module(model, mesh["tp"], ENDS)
    for layer in model.layers:
        parallelize_module(layer, mesh["tp"], LAYER)
        fully_shard(layer, mesh=mesh["dp"], mp_policy=policy)
    return fully_shard(model, mesh=mesh["dp"], mp_policy=policy)


def planned(topology, tp, layers=LAYERS, sequences=1):
    """The plan of a training step with ``sequences`` for each group of ``tp`` chips."""
    mesh = device_mesh(topology, {"dp": -1, "tp": tp})
    with torch.device("meta"):
        model = parallel(Model(layers), mesh)
        tokens = torch.zeros(sequences * mesh["dp"].size(), TOKENS, dtype=torch.long)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)

    def step(tokens, following):
        loss = F.cross_entropy(model(tokens).flatten(0, 1).float(), following.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    return torchlike.plan(step, tokens, tokens.clone(), topology=topology, mesh=mesh)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("topology")
    parser.add_argument("--tp", type=int, default=4)
    parser.add_argument("--layers", type=int, default=LAYERS)
    parser.add_argument("--sequences", type=int, default=1)
    parser.add_argument("--text", help="a file for the optimised program")
    args = parser.parse_args()
    plan = planned(args.topology, args.tp, args.layers, args.sequences)
    if args.text:
        with open(args.text, "w", encoding="utf-8") as file:
            file.write(plan.text)
    show(plan)


if __name__ == "__main__":
    main()
