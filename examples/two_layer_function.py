"""A two-layer network, one of five ways: the activation is a torch.autograd.Function of its own."""

import torch


class SquaredReLU(torch.autograd.Function):
    """max(x, 0)**2, whose derivative is 2 * max(x, 0)."""

    @staticmethod
    def forward(ctx, x):
        positive = x.clamp(min=0)
        ctx.save_for_backward(positive)
        return positive * positive

    @staticmethod
    def backward(ctx, grad_output):
        (positive,) = ctx.saved_tensors
        return 2 * positive * grad_output


torch.manual_seed(0)

inputs = torch.randn(256, 32)
targets = torch.sin(inputs @ torch.randn(32, 4) / 4)

w1 = (torch.randn(32, 64) / 32**0.5).requires_grad_()
w2 = (torch.randn(64, 4) / 64**0.5).requires_grad_()
learning_rate = 0.05

for step in range(1, 201):
    prediction = SquaredReLU.apply(inputs @ w1) @ w2
    loss = (prediction - targets).pow(2).mean()
    print(f"step {step} loss {loss.item():.6f}")

    loss.backward()
    with torch.no_grad():
        for parameter in (w1, w2):
            parameter -= learning_rate * parameter.grad
            parameter.grad.zero_()
