"""A network whose depth depends on its data: Python's own while and if, no special operators.

One shared layer is applied again and again until its output is quiet enough, so a loud batch goes
through more layers than a faint one, and loud and faint batches end in different output layers.
"""

import torch
import torch.nn as nn


class AdaptiveDepthNet(nn.Module):
    def __init__(self, features, max_depth=8):
        super().__init__()
        self.max_depth = max_depth
        self.input = nn.Linear(features, 64)
        self.shared = nn.Linear(64, 64)
        self.loud = nn.Linear(64, 1)
        self.quiet = nn.Linear(64, 1)
        self.depth = 0

    def forward(self, x):
        hidden = torch.tanh(self.input(x))
        self.depth = 0
        while hidden.abs().mean().item() > 0.25 and self.depth < self.max_depth:
            hidden = torch.tanh(self.shared(hidden))
            self.depth += 1
        if x.square().mean() > 1.0:
            return self.loud(hidden)
        return self.quiet(hidden)


def main():
    torch.manual_seed(0)
    model = AdaptiveDepthNet(16)
    loss_fn = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    depths = {}
    for step in range(1, 301):
        scale = 0.25 * 2.0 ** (step % 4)
        inputs = torch.randn(64, 16) * scale
        targets = torch.tanh(inputs[:, :4].sum(dim=1, keepdim=True))
        loss = loss_fn(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        depths[model.depth] = depths.get(model.depth, 0) + 1
        print(f"step {step} loss {loss.item():.6f} depth {model.depth}")

    for depth, count in sorted(depths.items()):
        print(f"{count} steps went through {depth} shared layers")


if __name__ == "__main__":
    main()
