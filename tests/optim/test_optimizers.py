"""Optimizers: one table drives every property, eager and jitted."""

import copy

import numpy as np
import pytest

import torchlike as torch
from torchlike._core.errors import JitCaptureError

CASES = {
    "SGD": (torch.optim.SGD, {"lr": 0.1}),
    "SGD-momentum": (torch.optim.SGD, {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.01}),
    "SGD-nesterov": (torch.optim.SGD, {"lr": 0.05, "momentum": 0.9, "nesterov": True}),
    "SGD-dampening": (torch.optim.SGD, {"lr": 0.05, "momentum": 0.9, "dampening": 0.2}),
    "Adam": (torch.optim.Adam, {"lr": 0.05}),
    "Adam-amsgrad": (torch.optim.Adam, {"lr": 0.05, "amsgrad": True, "weight_decay": 0.1}),
    "AdamW": (torch.optim.AdamW, {"lr": 0.05}),
}
every = pytest.mark.parametrize(("make", "options"), CASES.values(), ids=CASES)


def parameters():
    return [
        torch.tensor([[1.0, -2.0], [0.5, 3.0]], requires_grad=True),
        torch.tensor([0.3, -0.1], requires_grad=True),
    ]


def train(make, options, steps, wrap=lambda f: f, schedule=False):
    w, b = parameters()
    optimizer = make([w, b], **options)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3, 0.5) if schedule else None

    def step(x):
        optimizer.zero_grad()
        loss = ((w @ x - b) ** 2).sum()
        loss.backward()
        optimizer.step()
        return loss

    run = wrap(step)
    losses = []
    for i in range(steps):
        losses.append(run(torch.tensor([1.0, 0.5 + 0.1 * i])).item())
        if scheduler:
            scheduler.step()
    return losses, w, b, optimizer, run


@pytest.mark.sampled(every=3)
@every
def test_jitted_training_equals_eager_with_a_changing_rate(make, options):
    eager = train(make, options, 8, schedule=True)
    jitted = train(make, options, 8, torch.jit, schedule=True)
    np.testing.assert_allclose(eager[0], jitted[0], rtol=1e-5)
    np.testing.assert_allclose(eager[1].detach(), jitted[1].detach(), rtol=1e-5)
    # The first step with dampening is another rule than the following ones.
    assert jitted[4].compiles == (2 if "dampening" in options else 1)


@every
def test_the_loss_falls(make, options):
    losses, *_ = train(make, options, 40)
    assert losses[-1] < losses[0] / 2


@every
def test_a_restored_state_continues_the_same(make, options):
    _, w, b, optimizer, _ = train(make, options, 4)
    state = copy.deepcopy(optimizer.state_dict())
    w2, b2 = (p.detach().clone().requires_grad_() for p in (w, b))
    again = make([w2, b2], **options)
    again.load_state_dict(state)
    for params, opt in (([w, b], optimizer), ([w2, b2], again)):
        opt.zero_grad()
        (params[0].sum() ** 2 + params[1].sum() ** 2).backward()
        opt.step()
    assert w.tolist() == w2.tolist()
    assert b.tolist() == b2.tolist()


@every
def test_parameters_without_gradient_stay(make, options):
    w, b = parameters()
    optimizer = make([w, b], **options)
    before = b.tolist()
    w.sum().backward()
    optimizer.step()
    assert b.tolist() == before
    assert w.tolist() != parameters()[0].tolist()


def test_groups_have_their_own_options():
    w, b = parameters()
    optimizer = torch.optim.SGD([{"params": [w]}, {"params": [b], "lr": 0.0}], lr=0.1)
    (w.sum() + b.sum()).backward()
    optimizer.step()
    assert b.tolist() == parameters()[1].tolist()
    np.testing.assert_allclose(w.detach(), parameters()[0].detach() - 0.1, rtol=1e-6)


def test_state_dict_is_laid_out_as_pytorchs():
    _, _, _, optimizer, _ = train(torch.optim.Adam, {"lr": 0.1}, 2)
    state = optimizer.state_dict()
    assert sorted(state["state"][0]) == ["exp_avg", "exp_avg_sq", "step"]
    assert state["state"][1]["step"].item() == 2.0
    assert state["param_groups"][0]["params"] == [0, 1]
    assert state["param_groups"][0]["betas"] == (0.9, 0.999)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: torch.optim.SGD([], lr=0.1), ValueError, "empty parameter list"),
        (lambda: torch.optim.SGD(parameters(), lr=-1), ValueError, "Invalid learning rate: -1"),
        (lambda: torch.optim.Adam(parameters(), betas=(1.0, 0.9)), ValueError, "Invalid beta"),
        (lambda: torch.optim.SGD(parameters()[0]), TypeError, "iterable of Tensors"),
        (lambda: torch.optim.SGD([1, 2]), TypeError, "can only optimize Tensors"),
        (lambda: torch.optim.SGD([parameters()[0] * 2]), ValueError, "non-leaf"),
        (lambda: torch.optim.SGD(parameters(), nesterov=True), ValueError, "Nesterov"),
    ],
)
def test_bad_arguments(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_a_closure_is_called_with_gradients_on():
    w, _ = parameters()
    optimizer = torch.optim.SGD([w], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = (w * w).sum()
        loss.backward()
        return loss

    with torch.no_grad():
        assert optimizer.step(closure).item() == pytest.approx(14.25)


def test_users_own_optimizers_work():
    class Sign(torch.optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        @torch.no_grad()
        def step(self):
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    state["count"] = state.get("count", 0) + 1
                    p.add_(p.grad.sign(), alpha=-group["lr"])

    w, _ = parameters()
    optimizer = Sign([w], lr=0.5)
    w.sum().backward()
    optimizer.step()
    assert w.tolist() == [[0.5, -2.5], [0.0, 2.5]]
    assert optimizer.state[w]["count"] == 1


def test_a_scheduler_inside_a_jitted_function_is_refused():
    w, _ = parameters()
    optimizer = torch.optim.SGD([w], lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    with pytest.raises(JitCaptureError, match="outside the jitted function"):
        torch.jit(scheduler.step)()


def test_the_order_of_scheduler_and_optimizer_is_watched():
    w, _ = parameters()
    optimizer = torch.optim.SGD([w], lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    with pytest.warns(UserWarning, match="Detected call of `lr_scheduler.step"):
        scheduler.step()


def test_a_thousand_jitted_steps_with_a_scheduler_compile_once():
    w, b = parameters()
    optimizer = torch.optim.Adam([w, b], lr=0.01)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.999)

    @torch.jit
    def step():
        optimizer.zero_grad()
        loss = (w.sum() - b.sum()) ** 2
        loss.backward()
        optimizer.step()
        return loss

    for _ in range(1000):
        step()
        scheduler.step()
    assert step.compiles == 1
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.01 * 0.999**1000)


class Wrapper(torch.optim.Optimizer):
    """Holds an optimizer in place of being one: its own __init__ calls no other."""

    def __init__(self, optimizer):
        self.optimizer = optimizer

    @property
    def param_groups(self):
        return self.optimizer.param_groups

    def step(self, closure=None):
        return self.optimizer.step(closure)

    def zero_grad(self):
        self.optimizer.zero_grad()


@pytest.mark.parametrize("wrap", [lambda f: f, torch.jit])
def test_a_wrapper_around_an_optimizer(wrap):
    seen = []
    for cover in (lambda o: o, Wrapper):
        w = torch.ones(2, requires_grad=True)
        inner = torch.optim.AdamW([w], lr=0.1)
        optimizer = cover(inner)

        @wrap
        def step(w=w, optimizer=optimizer):
            optimizer.zero_grad()
            (w * w).sum().backward()
            optimizer.step()

        for i in range(3):
            inner.param_groups[0]["lr"] = 0.1 / (i + 1)
            step()
        seen.append(w.tolist())
    assert seen[0] == seen[1]
    assert optimizer._patch_step_function() is None  # as wrappers call it


def test_parameters_of_one_shape_share_a_trace():
    traced = []

    class Counting(torch.optim.Adam):
        @staticmethod
        def _rule(settings, p, *rest):
            traced.append(p.shape)
            return torch.optim.Adam._rule(settings, p, *rest)

    shapes = [(3, 5), (5,), (3, 5), (5,), (3, 5)]
    params = [torch.nn.Parameter(torch.ones(shape)) for shape in shapes]
    optimizer = Counting(params, lr=0.25)

    @torch.jit
    def step():
        optimizer.zero_grad()
        sum((p * p * (i + 1)).sum() for i, p in enumerate(params)).backward()
        optimizer.step()

    step()
    assert traced == [(3, 5), (5,)]
    for p in params:  # the first step of Adam is lr times the gradient's sign
        np.testing.assert_allclose(p.detach().numpy(), 0.75, rtol=1e-6)
