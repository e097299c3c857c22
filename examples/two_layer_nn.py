"""A two-layer network, one of five ways: torch.nn holds the parameters, the update is by hand."""

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
learning_rate = 0.2

for step in range(1, 201):
    loss = loss_fn(model(inputs), targets)
    print(f"step {step} loss {loss.item():.6f}")

    model.zero_grad()
    loss.backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= learning_rate * parameter.grad
