"""A module whose layers are linear branches side by side, in a ModuleList, joined by torch.cat.

Each branch sees its own slice of the input; the task is to name the slice with the largest sum of
squares, which no branch can do alone.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

BRANCHES = 4
FEATURES = 16


class ParallelLinear(nn.Module):
    """Linear layers applied to equal slices of the last dimension, their outputs side by side."""

    def __init__(self, branches, in_features, out_features):
        super().__init__()
        self.branches = nn.ModuleList(nn.Linear(in_features, out_features) for _ in range(branches))

    def forward(self, x):
        parts = x.chunk(len(self.branches), dim=-1)
        outputs = [branch(part) for branch, part in zip(self.branches, parts, strict=True)]
        return torch.cat(outputs, dim=-1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide = ParallelLinear(BRANCHES, FEATURES, 32)
        self.narrow = ParallelLinear(BRANCHES, 32, 8)
        self.output = nn.Linear(BRANCHES * 8, BRANCHES)

    def forward(self, x):
        x = F.gelu(self.wide(x))
        x = F.gelu(self.narrow(x))
        return self.output(x)


def make_batch(size):
    x = torch.randn(size, BRANCHES * FEATURES)
    energy = x.view(size, BRANCHES, FEATURES).square().sum(dim=-1)
    return x, energy.argmax(dim=-1)


def main():
    torch.manual_seed(0)
    model = Net()
    print(f"{sum(p.numel() for p in model.parameters())} parameters")
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-2)

    for step in range(1, 401):
        inputs, targets = make_batch(128)
        loss = F.cross_entropy(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.6f}")

    model.eval()
    inputs, targets = make_batch(2000)
    with torch.no_grad():
        accuracy = (model(inputs).argmax(dim=-1) == targets).float().mean()
    print(f"accuracy {accuracy.item():.2%} (chance is {1 / BRANCHES:.2%})")


if __name__ == "__main__":
    main()
