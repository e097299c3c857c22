"""Every schedule against PyTorch's: the rates of fifty steps, identical to the last bit."""

import types
import warnings

import numpy as np
import pytest

import torchlike

torch = pytest.importorskip("torch")


class Halving:
    def __init__(self, every):
        self.every = every

    def __call__(self, epoch):
        return 0.5 ** (epoch // self.every)


#: name -> schedule of an optimizer, given the module lr_scheduler.
CASES = {
    "Lambda": lambda s, o: s.LambdaLR(o, [lambda e: 0.95**e, Halving(7)]),
    "Lambda-one": lambda s, o: s.LambdaLR(o, lambda e: 1 / (e + 1)),
    "Multiplicative": lambda s, o: s.MultiplicativeLR(o, lambda e: 0.97),
    "Step": lambda s, o: s.StepLR(o, 7, 0.3),
    "MultiStep": lambda s, o: s.MultiStepLR(o, [3, 11, 11, 30], 0.4),
    "Constant": lambda s, o: s.ConstantLR(o, 0.3, 8),
    "Linear": lambda s, o: s.LinearLR(o, 0.1, 0.8, 20),
    "Exponential": lambda s, o: s.ExponentialLR(o, 0.93),
    "Polynomial": lambda s, o: s.PolynomialLR(o, 30, 2.0),
    "Cosine": lambda s, o: s.CosineAnnealingLR(o, 12, 0.01),
    "Restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 5, 2, 0.001),
    "Restarts-1": lambda s, o: s.CosineAnnealingWarmRestarts(o, 7),
    "Cyclic": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 5, 8),
    "Cyclic-2": lambda s, o: s.CyclicLR(
        o, [0.01, 0.02], 0.1, 4, mode="triangular2", cycle_momentum=False
    ),
    "Cyclic-exp": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 4, mode="exp_range", gamma=0.98),
    "Cyclic-own": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 4, scale_fn=Halving(2)),
    "OneCycle": lambda s, o: s.OneCycleLR(o, 0.5, total_steps=60),
    "OneCycle-3": lambda s, o: s.OneCycleLR(
        o, [0.5, 0.2], epochs=6, steps_per_epoch=10, three_phase=True, anneal_strategy="linear"
    ),
    "Sequential": lambda s, o: s.SequentialLR(
        o, [s.ConstantLR(o, 0.1, 3), s.LinearLR(o, 0.5), s.ExponentialLR(o, 0.9)], [5, 12]
    ),
    "Sequential-warm": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.01, total_iters=10), s.CosineAnnealingLR(o, 40)], [10]
    ),
    "Chained": lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 3), s.ExponentialLR(o, 0.9)]),
    "SWA": lambda s, o: None,
    "SWA-linear": lambda s, o: None,
}
each = pytest.mark.parametrize("name", CASES)
SWA = {
    "SWA": {"swa_lr": 0.05},
    "SWA-linear": {"swa_lr": [0.05, 0.2], "anneal_epochs": 5, "anneal_strategy": "linear"},
}


def optimizer(t, kind="SGD"):
    p, q = t.ones(2, requires_grad=True), t.ones(3, requires_grad=True)
    groups = [{"params": [p]}, {"params": [q], "lr": 0.3}]
    if kind == "SGD":
        return t.optim.SGD(groups, lr=0.1, momentum=0.9)
    return t.optim.Adam(groups, lr=0.1)


def schedule(t, name, o):
    if name in SWA:
        return t.optim.swa_utils.SWALR(o, **SWA[name])
    return CASES[name](t.optim.lr_scheduler, o)


def settings(o):
    return [
        {k: v for k, v in g.items() if k not in ("params", "foreach", "fused")}
        for g in o.param_groups
    ]


def run(t, name, kind="SGD", steps=50):
    o = optimizer(t, kind)
    o.step()
    s = schedule(t, name, o)
    seen = [(settings(o), s.get_last_lr())]
    for _ in range(steps):
        o.step()
        s.step()
        seen.append((settings(o), s.get_last_lr()))
    return s, seen


@each
@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_rates_of_fifty_steps(name, kind):
    mine, theirs = run(torchlike, name, kind), run(torch, name, kind)
    assert mine[1] == theirs[1]


@each
def test_a_state_continues(name):
    s, _ = run(torchlike, name, steps=9)
    theirs, _ = run(torch, name, steps=9)
    state, other = s.state_dict(), theirs.state_dict()
    # Bound methods and references to them are PyTorch's own.
    assert set(other) - set(state) <= {"_scale_fn_ref", "anneal_func"}
    o = optimizer(torchlike)
    o.step()
    again = schedule(torchlike, name, o)
    again.load_state_dict(state)
    o.load_state_dict(s.optimizer.state_dict())
    for _ in range(5):
        s.step()
        again.step()
        assert again.get_last_lr() == s.get_last_lr()


def test_plateau():
    metrics = [5, 4, 4, 4, 4, 3.9999, 3, 3, 3, 3, 3, 3, 3, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2]
    for options in (
        {"patience": 2},
        {"patience": 1, "cooldown": 2, "threshold_mode": "abs"},
        {"mode": "max", "factor": 0.5, "min_lr": [0.05, 0.1]},
        {"patience": 0, "threshold": 0.3},
        {"mode": "max", "threshold_mode": "abs", "patience": 3, "min_lr": 1e-3},
    ):
        rates = []
        for t in (torchlike, torch):
            o = optimizer(t)
            s = t.optim.lr_scheduler.ReduceLROnPlateau(o, **options)
            rates.append([])
            for m in metrics:
                s.step(t.tensor(float(m)))
                rates[-1].append((s.get_last_lr(), s.num_bad_epochs, s.best))
        assert rates[0] == rates[1]


@pytest.mark.parametrize("name", ["Step", "MultiStep", "Linear", "Cosine", "Restarts", "Lambda"])
def test_steps_to_an_epoch(name):
    rates = []
    for t in (torchlike, torch):
        o = optimizer(t)
        o.step()
        s = schedule(t, name, o)
        rates.append([])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for epoch in (3, 17, 2, 40):
                s.step(epoch)
                rates[-1].append(s.get_last_lr())
    assert rates[0] == rates[1]


def said(t, function):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            function(t)
        except Exception as error:
            return type(error), str(error)
    return [(w.category, str(w.message)) for w in caught]


def overridden(t):
    """A step that gets another one, before the first schedule or after it."""
    made = []
    for late in (False, True):
        o = optimizer(t)
        if late:
            made.append(t.optim.lr_scheduler.StepLR(o, 1))
        own = o.step
        o.step = types.MethodType(lambda self, own=own: own(), o)
        if not late:
            made.append(t.optim.lr_scheduler.StepLR(o, 1))
        o.step()
    for s in made:
        s.step()


COMPLAINTS = {
    "overridden step": overridden,
    "no optimizer": lambda t: t.optim.lr_scheduler.StepLR(3, 1),
    "resumed": lambda t: t.optim.lr_scheduler.StepLR(optimizer(t), 1, last_epoch=2),
    "lambdas": lambda t: t.optim.lr_scheduler.LambdaLR(optimizer(t), [abs]),
    "multiplicative": lambda t: t.optim.lr_scheduler.MultiplicativeLR(optimizer(t), 3),
    "constant": lambda t: t.optim.lr_scheduler.ConstantLR(optimizer(t), 2),
    "linear": lambda t: t.optim.lr_scheduler.LinearLR(optimizer(t), 0),
    "linear-end": lambda t: t.optim.lr_scheduler.LinearLR(optimizer(t), end_factor=2),
    "T_0": lambda t: t.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer(t), 0),
    "mode": lambda t: t.optim.lr_scheduler.CyclicLR(optimizer(t), 0.1, 1, mode="x"),
    "length": lambda t: t.optim.lr_scheduler.CyclicLR(optimizer(t), [0.1], 1),
    "momentum": lambda t: t.optim.lr_scheduler.CyclicLR(
        t.optim.Adagrad([t.ones(1, requires_grad=True)]), 0.1, 1
    ),
    "total": lambda t: t.optim.lr_scheduler.OneCycleLR(optimizer(t), 0.1),
    "strategy": lambda t: t.optim.lr_scheduler.OneCycleLR(
        optimizer(t), 0.1, 10, anneal_strategy="x"
    ),
    "milestones": lambda t: t.optim.lr_scheduler.SequentialLR(
        o := optimizer(t), [t.optim.lr_scheduler.StepLR(o, 1)], [1]
    ),
    "factor": lambda t: t.optim.lr_scheduler.ReduceLROnPlateau(optimizer(t), factor=1),
    "plateau-mode": lambda t: t.optim.lr_scheduler.ReduceLROnPlateau(optimizer(t), "x"),
    "none": lambda t: t.optim.lr_scheduler.ChainedScheduler([]),
    "order": lambda t: t.optim.lr_scheduler.StepLR(optimizer(t), 1).step(),
    "get_lr": lambda t: t.optim.lr_scheduler.StepLR(optimizer(t), 1).get_lr(),
}


@pytest.mark.parametrize("name", COMPLAINTS)
def test_complaints(name):
    assert said(torchlike, COMPLAINTS[name]) == said(torch, COMPLAINTS[name])


def test_a_cycle_of_momentum_compiles_once():
    p = torchlike.ones(3, requires_grad=True)
    o = torchlike.optim.AdamW([p], lr=0.1)
    s = torchlike.optim.lr_scheduler.OneCycleLR(o, 0.1, total_steps=10)

    @torchlike.jit
    def step():
        o.zero_grad()
        (p**2).sum().backward()
        o.step()

    for _ in range(8):
        step()
        s.step()
    assert step.compiles == 1


@pytest.mark.parametrize("how", ["mean", "ema", "ema-one", "buffers"])
def test_averaged_models(how):
    def run(t):
        swa = t.optim.swa_utils
        t.manual_seed(0)
        model = t.nn.Sequential(t.nn.Linear(3, 4), t.nn.BatchNorm1d(4), t.nn.Linear(4, 1))
        options = {
            "mean": {},
            "ema": {"multi_avg_fn": swa.get_ema_multi_avg_fn(0.9)},
            "ema-one": {"avg_fn": swa.get_ema_avg_fn(0.9)},
            "buffers": {"use_buffers": True},
        }[how]
        averaged = swa.AveragedModel(model, **options)
        o = t.optim.SGD(model.parameters(), lr=0.1)
        xs = [t.rand(5, 3) for _ in range(4)]
        for x in xs:
            o.zero_grad()
            model(x).square().sum().backward()
            o.step()
            averaged.update_parameters(model)
        before = {k: v.clone() for k, v in averaged.state_dict().items()}
        swa.update_bn([(x, 0) for x in xs], averaged)
        return before, averaged.state_dict(), averaged(xs[0])

    mine, theirs = run(torchlike), run(torch)
    for a, b in zip(mine[:2], theirs[:2], strict=True):
        assert list(a) == list(b)
        for key in b:
            np.testing.assert_allclose(
                a[key].numpy(), b[key].numpy(), rtol=1e-5, atol=1e-6, err_msg=key
            )
    np.testing.assert_allclose(mine[2].detach(), theirs[2].detach(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["Cyclic", "OneCycle", "SWA"])
def test_tensors_given_are_copied(name):
    """What is written into the caller's tensors changes no later rate and no noted bound."""

    def run(t):
        p = t.nn.Parameter(t.ones(2))
        optimizer = t.optim.SGD([p], lr=t.tensor(0.1), momentum=0.9)
        high, low = t.tensor(0.5), t.tensor(0.25)
        s = t.optim.lr_scheduler
        schedule = {
            "Cyclic": lambda: s.CyclicLR(
                optimizer, 0.125, high, 3, base_momentum=low, max_momentum=high
            ),
            "OneCycle": lambda: s.OneCycleLR(
                optimizer, high, 9, base_momentum=low, max_momentum=high
            ),
            "SWA": lambda: t.optim.swa_utils.SWALR(optimizer, high, 4),
        }[name]()
        seen = []
        for _ in range(4):
            high.mul_(0.5)
            low.mul_(0.5)
            optimizer.step()
            schedule.step()
            group = optimizer.param_groups[0]
            seen.append({k: float(v) for k, v in group.items() if "lr" in k or "mom" in k})
        return seen

    for ours, theirs in zip(run(torchlike), run(torch), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-6)


@pytest.mark.parametrize("kind", ["cos", "linear"])
def test_one_cycle_states_that_have_the_function_load(kind):
    def rates(t):
        optimizer = t.optim.SGD([t.nn.Parameter(t.ones(2))], lr=0.1, momentum=0.9)
        schedule = t.optim.lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=8)
        del schedule._anneal_func_type
        old = dict(schedule.state_dict())
        old["anneal_func"] = getattr(type(schedule), f"_annealing_{kind}")
        schedule.load_state_dict(old)
        found = []
        for _ in range(6):
            optimizer.step()
            schedule.step()
            found += [schedule.get_last_lr()[0], optimizer.param_groups[0]["momentum"]]
        return found

    assert rates(torchlike) == pytest.approx(rates(torch), rel=1e-12)
