"""A two-layer network, one of five ways: the gradients are derived and written by hand."""

import torch

torch.manual_seed(0)

inputs = torch.randn(256, 32)
targets = torch.sin(inputs @ torch.randn(32, 4) / 4)

w1 = torch.randn(32, 64) / 32**0.5
b1 = torch.zeros(64)
w2 = torch.randn(64, 4) / 64**0.5
b2 = torch.zeros(4)
learning_rate = 0.2

for step in range(1, 201):
    hidden = (inputs @ w1 + b1).clamp(min=0)
    prediction = hidden @ w2 + b2
    loss = (prediction - targets).pow(2).mean()
    print(f"step {step} loss {loss.item():.6f}")

    grad_prediction = 2 * (prediction - targets) / prediction.numel()
    grad_w2 = hidden.t() @ grad_prediction
    grad_b2 = grad_prediction.sum(dim=0)
    grad_hidden = grad_prediction @ w2.t()
    grad_hidden[hidden == 0] = 0
    grad_w1 = inputs.t() @ grad_hidden
    grad_b1 = grad_hidden.sum(dim=0)

    w1 -= learning_rate * grad_w1
    b1 -= learning_rate * grad_b1
    w2 -= learning_rate * grad_w2
    b2 -= learning_rate * grad_b2
