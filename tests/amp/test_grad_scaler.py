"""torchlike.amp.GradScaler inside a jitted training step: steps taken and steps skipped."""

import numpy as np
import pytest

import torchlike as torch
from torchlike._core.errors import JitCaptureError

OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.05, amsgrad=True),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.05),
    "RMSprop": lambda p: torch.optim.RMSprop(p, lr=0.02, momentum=0.5),
    "Adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1),
    "Rprop": lambda p: torch.optim.Rprop(p, lr=0.02),
}


class Training:
    """A small net, an optimizer, and a scaler that grows every other step."""

    def __init__(self, optimizer):
        torch.manual_seed(0)
        self.net = torch.nn.Sequential(
            torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)
        )
        self.optimizer = OPTIMIZERS[optimizer](self.net.parameters())
        self.scaler = torch.amp.GradScaler("cpu", init_scale=64.0, growth_interval=2)
        self.x, self.y = torch.randn(16, 4), torch.randn(16, 1)

    def step(self, factor):
        self.optimizer.zero_grad()
        loss = ((self.net(self.x) - self.y) ** 2).mean() * factor
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss

    def state(self):
        kept = [v for s in self.optimizer.state.values() for v in s.values()]
        kept = [v.detach().numpy() for v in kept if isinstance(v, torch.Tensor)]
        return [p.detach().numpy() for p in self.net.parameters()] + kept


@pytest.mark.sampled(every=18, rest="full")
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("infinite", [(), (0,), (2, 3), (0, 1, 4)])
def test_jitted_steps_are_eager_steps(optimizer, infinite):
    eager, jitted = Training(optimizer), Training(optimizer)
    compiled = torch.jit(jitted.step)
    scales = []
    for i in range(7):
        factor = torch.tensor(float("inf") if i in infinite else 1.0)
        eager.step(factor)
        compiled(factor)
        scales.append((eager.scaler.get_scale(), jitted.scaler.get_scale()))
    assert [a for a, _ in scales] == [b for _, b in scales]
    assert compiled.compiles == 1
    found, expected = jitted.state(), eager.state()
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        # In one program sums are contracted, and RMSprop divides by roots of what is near 0.
        np.testing.assert_allclose(a, b, rtol=5e-5, atol=1e-6)
    assert np.isfinite(expected[0]).all()


def test_a_skipped_step_leaves_everything_as_it_was():
    training = Training("Adam")
    compiled = torch.jit(training.step)
    compiled(torch.tensor(1.0))
    before = [a.copy() for a in training.state()]
    compiled(torch.tensor(float("nan")))
    for a, b in zip(training.state(), before, strict=True):
        np.testing.assert_array_equal(a, b)
    assert training.scaler.get_scale() == 32.0


def test_dampening_needs_its_first_step_taken():
    p = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([p], lr=0.1, momentum=0.9, dampening=0.5)
    scaler = torch.amp.GradScaler("cpu")

    @torch.jit
    def step():
        optimizer.zero_grad()
        scaler.scale((p**2).sum()).backward()
        scaler.step(optimizer)
        scaler.update()

    with pytest.raises(JitCaptureError, match="dampening that has no momentum yet"):
        step()
    assert p.tolist() == [1.0, 1.0]
