"""A training step is compiled once, whatever becomes of the gradients of its first call."""

import numpy as np
import pytest

import torchlike as torch
from torchlike import nn


def learned(net, x):
    loss = net(x).square().mean()
    loss.backward()
    return loss.detach()


def zeroed_first(net, optimizer, x):
    optimizer.zero_grad()
    loss = learned(net, x)
    optimizer.step()
    return loss


def set_to_zeros(net, optimizer, x):
    optimizer.zero_grad(set_to_none=False)
    loss = learned(net, x)
    optimizer.step()
    return loss


def zeroed_last(net, optimizer, x):
    loss = learned(net, x)
    optimizer.step()
    optimizer.zero_grad()
    return loss


def never_zeroed(net, optimizer, x):
    loss = learned(net, x)
    optimizer.step()
    return loss


def only_backward(net, optimizer, x):
    return learned(net, x)


def stepped(optimizer):
    optimizer.step()
    optimizer.zero_grad()


#: The step, how often the script steps itself, which calls run eagerly, and how many programs.
CASES = {
    "zeroed first": (zeroed_first, 0, [], 1),
    "set to zeros": (set_to_zeros, 0, [0], 1),
    "zeroed last": (zeroed_last, 0, [], 1),
    "never zeroed": (never_zeroed, 0, [0], 1),
    "stepped outside": (only_backward, 1, [0], 1),
    "accumulated": (only_backward, 3, [0], 2),
}


def trained(body, every, make, wrap):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 2))
    optimizer = make(net.parameters())
    step, losses, eager = wrap(lambda x: body(net, optimizer, x)), [], []
    for i in range(7):
        losses.append(step(torch.randn(4, 3)).item())
        if getattr(step, "ran_eagerly", False):
            eager.append(i)
        if every and i % every == every - 1:
            stepped(optimizer)
    return [*losses, *(p.detach().numpy() for p in net.parameters())], eager, step


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("optimizer", ["SGD", "AdamW"])
def test_a_training_step_is_compiled_once(name, optimizer):
    body, every, run_eagerly, compiles = CASES[name]
    make = {
        "SGD": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
        "AdamW": lambda p: torch.optim.AdamW(p, lr=0.01),
    }[optimizer]
    expected, _, _ = trained(body, every, make, lambda f: f)
    found, eager, step = trained(body, every, make, torch.compile)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    assert (eager, step.compiles) == (run_eagerly, compiles)


def test_what_was_put_off_is_done_once():
    weight, seen = torch.ones(2, requires_grad=True), []

    @torch.compile
    def f(x):
        seen.append(len(x))
        (weight * x + torch.rand(2)).sum().backward()
        return x * 2

    torch.manual_seed(0)
    for _ in range(3):
        f(torch.ones(2))
    after = torch.rand(1).item()
    torch.manual_seed(0)
    torch.rand(6)
    assert after == torch.rand(1).item()
    assert (seen, weight.grad.tolist(), f.compiles) == ([2, 2, 2], [3, 3], 1)
