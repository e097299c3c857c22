"""A training step that ends in Python: one program and a tail, which leave what eager code does."""

import copy
import warnings

import pytest

import torchlike as torch
from tests.jit.effects_programs import Box
from tests.jit.effects_state import described
from torchlike import nn
from torchlike.optim import lr_scheduler

SCHEDULERS = {
    "StepLR": lambda o: lr_scheduler.StepLR(o, 2, 0.5),
    "CosineAnnealingLR": lambda o: lr_scheduler.CosineAnnealingLR(o, 10),
    "LambdaLR": lambda o: lr_scheduler.LambdaLR(o, lambda epoch: 0.9**epoch),
    "OneCycleLR": lambda o: lr_scheduler.OneCycleLR(o, 0.1, total_steps=100),
    "ReduceLROnPlateau": lambda o: lr_scheduler.ReduceLROnPlateau(o, patience=1),
}


class Meter:
    def __init__(self):
        self.total, self.n = 0.0, 0

    def update(self, value, n=1):
        self.total += value * n
        self.n += n


def model():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 2))
    return net, torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)


def learned(net, optimizer, x):
    optimizer.zero_grad()
    loss = net(x).square().mean()
    loss.backward()
    optimizer.step()
    return loss


def scheduled(make):
    def build():
        net, optimizer = model()
        scheduler = make(optimizer)

        def step(x):
            loss = learned(net, optimizer, x)
            if isinstance(scheduler, lr_scheduler.ReduceLROnPlateau):
                scheduler.step(loss)
            else:
                scheduler.step()
            return loss

        return step, lambda: (optimizer.param_groups[0]["lr"], list(net.parameters()))

    return build


def metered():
    net, optimizer = model()
    meter = Meter()

    def step(x):
        loss = learned(net, optimizer, x)
        meter.update(loss.item(), x.shape[0])

    return step, lambda: (meter, list(net.parameters()))


def a_number_is_returned():
    net, optimizer = model()

    def step(x, scale=2, *, more=1):
        loss = learned(net, optimizer, x * scale)
        return {"loss": loss.item() + more, "x": x}

    return step, lambda: list(net.parameters())


def logged_and_counted():
    net, optimizer = model()
    box, lines = Box(n=0, best=None), []

    def step(x):
        nonlocal lines
        box.n += 1
        batch = {"x": x, "sizes": [len(x)]}
        config = box
        loss = learned(net, optimizer, batch["x"])
        if box.n % 2 == 0:
            lines = [*lines, f"{box.n}: {loss.item():.4f}"]
        config.best = batch["sizes"], float(loss)
        return loss.detach()

    return step, lambda: (box.n, box.best, list(lines), list(net.parameters()))


def by_modules_behind_the_read():
    net, optimizer = model()
    other = nn.Sequential(nn.Linear(3, 3), nn.ReLU())

    def step(x):
        loss = learned(net, optimizer, x)
        if loss.item() > 1e9:
            raise ValueError("diverged")
        with torch.no_grad():
            return other(x)

    return step, lambda: list(net.parameters())


CASES = {name: scheduled(make) for name, make in SCHEDULERS.items()} | {
    f.__name__: f
    for f in (metered, a_number_is_returned, logged_and_counted, by_modules_behind_the_read)
}


def run(build, wrap):
    step, state = build()
    wrapped, found = wrap(step), []
    for i in range(6):
        torch.manual_seed(i)
        found.append(described((wrapped(torch.randn(4, 3)), state)))
        assert not getattr(wrapped, "ran_eagerly", False)
    return found, wrapped


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("name", CASES)
def test_a_step_is_one_program_and_a_tail(name):
    expected, _ = run(CASES[name], lambda f: f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, step = run(CASES[name], torch.compile)
    assert found == expected
    # What is counted in the head is traced at the second call, and read by a branch in the tail.
    assert step.compiles == (1 if name != "logged_and_counted" else 2)
    assert "test_tails.py:" in step.tail_at


def test_a_method_is_split_too():
    class Trainer:
        def __init__(self):
            self.net, self.optimizer = model()
            self.meter = Meter()

        @torch.compile
        def step(self, x):
            loss = learned(self.net, self.optimizer, x)
            self.meter.update(loss.item())
            return self

    trainer = Trainer()
    bound = torch.compile(Trainer().step.__func__)
    for _ in range(3):
        assert trainer.step(torch.ones(2, 3)) is trainer
        assert not Trainer.step.ran_eagerly
        assert bound(trainer, torch.ones(2, 3)) is trainer
    assert trainer.meter.n == 6
    assert Trainer.step.compiles == 1


def test_errors_of_the_tail_come_from_the_users_line():
    net, optimizer = model()

    @torch.compile
    def step(x):
        loss = learned(net, optimizer, x)
        if loss.item() >= 0:
            raise ValueError("from the tail")

    for _ in range(3):
        with pytest.raises(ValueError, match="from the tail") as caught:
            step(torch.ones(2, 3))
    entry = caught.traceback[-1]
    assert (entry.path.name, entry.name) == ("test_tails.py", "step")


def test_a_split_function_is_copied_and_inlined_whole():
    net, optimizer = model()
    meter = Meter()

    def step(x):
        loss = learned(net, optimizer, x)
        meter.update(loss.item())
        return loss

    f = torch.compile(step)
    f(torch.ones(2, 3))
    again = copy.copy(f)
    assert again(torch.ones(2, 3)).shape == ()
    assert (meter.n, again.compiles) == (2, 1)
    with torch.compiler.set_stance("force_eager"):
        f(torch.ones(2, 3))
    assert (meter.n, f.ran_eagerly) == (3, True)


def unread(x):
    return x.sum().item()


def test_what_is_no_training_step_stays_as_it_was():
    f = torch.compile(lambda x: unread(x * 2))
    with pytest.warns(RuntimeWarning, match="runs eagerly"):
        assert f(torch.ones(2)) == 4
    assert (f.ran_eagerly, f.tail_at) == (True, "")


@pytest.mark.parametrize("kind", ["backward", "early", "unbound", "kept"])
def test_what_cannot_be_split_runs_eagerly_whole(kind):
    net, optimizer = model()

    def backward(x):
        optimizer.zero_grad()
        loss = net(x).square().mean()
        if loss.item() < 1e9:
            loss.backward()
        optimizer.step()
        return loss.item()

    def early(x):
        if len(x) > 5:
            return 0
        return learned(net, optimizer, x).item()

    def unbound(x):
        if len(x) < 5:
            loss = learned(net, optimizer, x)
        return loss.item()

    def kept(x):
        n = 1
        loss = learned(net, optimizer, x)
        told = lambda: n  # noqa: E731
        n = loss.item()
        return told()

    f = torch.compile(
        {"backward": backward, "early": early, "unbound": unbound, "kept": kept}[kind]
    )
    with pytest.warns(RuntimeWarning, match="runs eagerly"):
        assert isinstance(f(torch.ones(2, 3)), float)
    assert (f.ran_eagerly, f.tail_at) == (True, "")
