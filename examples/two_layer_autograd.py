"""A two-layer network, one of five ways: autograd finds the gradients, the update is by hand."""

import torch

torch.manual_seed(0)

inputs = torch.randn(256, 32)
targets = torch.sin(inputs @ torch.randn(32, 4) / 4)

w1 = (torch.randn(32, 64) / 32**0.5).requires_grad_()
b1 = torch.zeros(64, requires_grad=True)
w2 = (torch.randn(64, 4) / 64**0.5).requires_grad_()
b2 = torch.zeros(4, requires_grad=True)
learning_rate = 0.2

for step in range(1, 201):
    prediction = (inputs @ w1 + b1).clamp(min=0) @ w2 + b2
    loss = (prediction - targets).pow(2).mean()
    print(f"step {step} loss {loss.item():.6f}")

    loss.backward()
    with torch.no_grad():
        for parameter in (w1, b1, w2, b2):
            parameter -= learning_rate * parameter.grad
            parameter.grad = None
