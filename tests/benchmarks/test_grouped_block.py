"""A decoder like Mistral's: eager, compiled whole, its training step, and PyTorch's numbers."""

import numpy as np
import pytest

import torchlike as torch
from benchmarks.workloads.models import grouped_block

AT_ONCE = {"fullgraph": True, "options": {"warmup": 0}}


def made():
    torch.manual_seed(0)
    return grouped_block(torch, 16, 4, 2, 3)


@pytest.mark.full
def test_a_training_step_is_one_program():
    results = []
    for wrap in (lambda f: f, lambda f: torch.compile(f, **AT_ONCE)):
        model = made()
        optimizer = torch.optim.AdamW(model.parameters(), 1e-2)

        @wrap
        def step(x, model=model, optimizer=optimizer):
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss

        x = torch.linspace(-1, 1, 2 * 5 * 16).view(2, 5, 16)
        results.append([step(x).item() for _ in range(4)])
    assert step.compiles == 1
    assert results[1] == pytest.approx(results[0], rel=1e-5)


def test_pytorch_has_the_same_numbers():
    reference = pytest.importorskip("torch")
    model, x = made(), torch.linspace(-1, 1, 2 * 7 * 16).view(2, 7, 16).requires_grad_()
    theirs = grouped_block(reference, 16, 4, 2, 3)
    weights = {k: reference.tensor(v.numpy()) for k, v in model.state_dict().items()}
    theirs.load_state_dict(weights)
    given = reference.tensor(x.detach().numpy(), requires_grad=True)
    expected = theirs(given)
    expected.square().mean().backward()
    found = model(x)
    found.square().mean().backward()
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), 1e-5, 1e-6)
    np.testing.assert_allclose(x.grad.numpy(), given.grad.numpy(), 1e-5, 1e-7)
