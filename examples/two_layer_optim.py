"""A two-layer network, one of five ways: torch.nn holds the parameters, torch.optim steps."""

import torch

torch.manual_seed(0)

inputs = torch.randn(256, 32)
targets = torch.sin(inputs @ torch.randn(32, 4) / 4)

model = torch.nn.Sequential(
    torch.nn.Linear(32, 64),
    torch.nn.ReLU(),
    torch.nn.Linear(64, 4),
)
loss_fn = torch.nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

for step in range(1, 201):
    loss = loss_fn(model(inputs), targets)
    print(f"step {step} loss {loss.item():.6f}")

    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
