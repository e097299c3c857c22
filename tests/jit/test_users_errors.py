"""A `raise` in a branch on a value and an `assert` on one: calls raise what eager code does."""

import pytest

import torchlike as torch
from torchlike import nn

BATCHES = [torch.ones(4, 3), torch.full((4, 3), float("nan")), torch.full((4, 3), 2.0)]


class Trainer:
    """A small net, its optimizer, and how many batches came."""

    def __init__(self):
        torch.manual_seed(0)
        self.net = nn.Linear(3, 1)
        self.optimizer = torch.optim.SGD(self.net.parameters(), 0.1)
        self.seen = 0

    def update(self, loss):
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def raised_before_the_update(trainer, x):
    loss = trainer.net(x).square().mean()
    if torch.isnan(loss):
        raise FloatingPointError(f"the loss is {loss.item()}")
    trainer.update(loss)
    return loss


def raised_after_it(trainer, x):
    loss = trainer.net(x).square().mean()
    trainer.update(loss)
    trainer.seen += 1
    if not torch.isfinite(loss):
        raise FloatingPointError("diverged")
    return loss


def raised_in_the_other_branch(trainer, x):
    loss = trainer.net(x).square().mean()
    if torch.isfinite(loss):
        loss = loss * 2
    else:
        raise FloatingPointError("diverged")
    trainer.update(loss)
    return loss


def an_assert(trainer, x):
    assert not torch.isnan(x).any(), f"{x.isnan().sum().item()} are no numbers"
    loss = trainer.net(x).square().mean()
    trainer.update(loss)
    return loss


def an_assert_of_two(trainer, x):
    if x.sum() > 6:
        x = x * 2
    assert x[0, 0] == x[0, 0] and x[1, 0] > 0  # noqa: PT018
    return trainer.net(x).sum()


def without_an_update(trainer, x):
    found = trainer.net(x)
    if found.isnan().any():
        raise ValueError("no number")
    return found.sum()


def said(call, x):
    """What a call gives, or raises."""
    try:
        return call(x).item()
    except (ArithmeticError, AssertionError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize(
    "step",
    [
        raised_before_the_update,
        raised_after_it,
        raised_in_the_other_branch,
        an_assert,
        an_assert_of_two,
        without_an_update,
    ],
)
def test_a_step_raises_as_eager_code_does(step):
    eager, trainer = Trainer(), Trainer()
    compiled = torch.compile(step, options={"warmup": 0})
    for x in BATCHES:
        expected, found = said(lambda x: step(eager, x), x), said(lambda x: compiled(trainer, x), x)
        if isinstance(expected, str):
            assert found == expected
        else:
            assert found == pytest.approx(expected, rel=1e-5)
        assert trainer.seen == eager.seen
        weights = trainer.net.weight, eager.net.weight
        torch.testing.assert_close(*weights, rtol=1e-5, atol=1e-6, equal_nan=True)
    assert compiled.compiles == 1
    assert not compiled.fell_back


def test_under_jit():
    @torch.jit
    def root(x):
        if x.sum() < 0:
            raise ValueError("negative")
        return x.sqrt()

    assert root(torch.full((2,), 4.0)).tolist() == [2.0, 2.0]
    with pytest.raises(ValueError, match=r"^negative$"):
        root(torch.full((2,), -4.0))
    assert root(torch.full((2,), 9.0)).tolist() == [3.0, 3.0]
    assert root.compiles == 1


def test_in_a_loop():
    @torch.jit
    def halved(x):
        while x > 1:
            x = x / 2
            assert x != 3
        return x

    assert halved(torch.tensor(8.0)).item() == 1
    with pytest.raises(AssertionError):
        halved(torch.tensor(12.0))
    assert halved(torch.tensor(5.0)).item() == 0.625
    assert halved.compiles == 1


def test_where_no_values_are_checked_it_is_refused():
    @torch.jit(checks=False)
    def root(x):
        if x.sum() < 0:
            raise ValueError("negative")
        return x.sqrt()

    with pytest.raises(torch.jit.JitCaptureError, match="ValueError while a branch"):
        root(torch.ones(2))


def test_a_second_derivative_goes_on_where_nothing_is_raised():
    w = torch.tensor([0.5, -1.0], requires_grad=True)

    def f(x):
        if x.isnan().any():
            raise ValueError("no number")
        assert (x < 100).all()
        return (x * w).sin().sum()

    for x in (torch.tensor([1.0, 2.0]), torch.tensor([3.0, 0.5])):
        found, expected = [
            torch.autograd.grad(torch.autograd.grad(g(x), w, create_graph=True)[0].sum(), w)[0]
            for g in (torch.jit(f), f)
        ]
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
