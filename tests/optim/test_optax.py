"""``Optax`` as an optimizer in PyTorch's sense: groups, state, schedules, closures, programs."""

import copy
import io
import math
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import torchlike as torch
from torchlike._core.errors import JitCaptureError
from torchlike.compiler import set_first_calls
from torchlike.optim import Optax


def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))


torch.manual_seed(1)
X = torch.randn(8, 3)


def train(m, optimizer, n=4, jitted=False, schedule=None):
    def step():
        optimizer.zero_grad()
        loss = m(X).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    step = torch.jit(step) if jitted else step
    losses = []
    for _ in range(n):
        losses.append(step().item())
        if schedule is not None:
            schedule.step()
    return losses


def same(a, b, rtol=1e-5):
    for p, q in zip(a, b, strict=True):
        np.testing.assert_allclose(p.detach(), q.detach(), rtol=rtol, atol=1e-7)


@pytest.mark.parametrize(
    ("jitted", "mode"),
    [(False, "numpy"), pytest.param(False, "compiled", marks=pytest.mark.full), (True, "numpy")],
)
def test_adamw_is_torchs(jitted, mode):
    with set_first_calls(mode):
        ours, theirs = model(), model()
        a = train(ours, Optax(ours.parameters(), optax.adamw, lr=1e-2, weight_decay=0.1), 4, jitted)
        b = train(theirs, torch.optim.AdamW(theirs.parameters(), 1e-2, weight_decay=0.1), 4, jitted)
    np.testing.assert_allclose(a, b, rtol=1e-5)
    same(ours.parameters(), theirs.parameters())


@pytest.mark.parametrize("jitted", [False, True])
def test_a_schedule_drives_the_rate_without_compiling_again(jitted):
    ours, theirs = model(), model()
    for m, optimizer in (
        (ours, Optax(ours.parameters(), optax.sgd, lr=0.1, momentum=0.9)),
        (theirs, torch.optim.SGD(theirs.parameters(), 0.1, momentum=0.9)),
    ):
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 6)
        train(m, optimizer, 1, jitted, schedule)
        train(m, optimizer, 1, jitted, schedule)
        with jax.log_compiles(False):
            before = optax_compilations()
            train(m, optimizer, 4, jitted, schedule)
            if not jitted:  # a new jitted function is a new program
                assert optax_compilations() == before
    same(ours.parameters(), theirs.parameters())


def optax_compilations():
    return torch.optim.optax_step.compiled.cache_info().misses


def test_a_cycle_of_momentum_is_an_operand_too():
    ours, theirs = model(), model()
    optimizers = (
        Optax(ours.parameters(), optax.sgd, lr=0.1, momentum=0.9),
        torch.optim.SGD(theirs.parameters(), 0.1, momentum=0.9),
    )
    for m, optimizer in zip((ours, theirs), optimizers, strict=True):
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.2, total_steps=5)
        train(m, optimizer, 4, False, schedule)
    assert optimizers[0].param_groups[0]["momentum"] == pytest.approx(
        optimizers[1].param_groups[0]["momentum"]
    )
    # optax multiplies by the momentum of now what PyTorch does: the same trace.
    same(ours.parameters(), theirs.parameters())


@pytest.mark.parametrize("jitted", [False, pytest.param(True, marks=pytest.mark.full)])
def test_groups_have_their_own_hyperparameters_and_transformations(jitted):
    m, other = model(), model()
    optimizer = Optax(
        [{"params": m[0].parameters(), "lr": 0.5}, {"params": m[2].parameters()}],
        optax.sgd,
        lr=0.1,
    )
    theirs = torch.optim.SGD(
        [{"params": other[0].parameters(), "lr": 0.5}, {"params": other[2].parameters()}], 0.1
    )
    train(m, optimizer, 3, jitted)
    train(other, theirs, 3, jitted)
    same(m.parameters(), other.parameters())
    extra = torch.nn.Parameter(torch.ones(2))
    optimizer.add_param_group({"params": [extra], "transformation": optax.sgd(1.0)})
    extra.grad = torch.ones(2)
    optimizer.zero_grad(set_to_none=False)
    extra.grad = torch.full((2,), 0.25)
    optimizer.step()
    assert extra.tolist() == [0.75, 0.75]


def test_maximize_goes_up():
    p = torch.nn.Parameter(torch.ones(2))
    p.grad = torch.ones(2)
    Optax([p], optax.sgd, lr=0.5, maximize=True).step()
    assert p.tolist() == [1.5, 1.5]


@pytest.mark.parametrize(
    ("names", "jitted"),
    [(False, True), (True, False), pytest.param(True, True, marks=pytest.mark.full)],
)
def test_state_goes_through_a_file(jitted, names, tmp_path):
    def make(m):
        return Optax(m.named_parameters() if names else m.parameters(), optax.adam, lr=1e-2)

    whole = model()
    expected = train(whole, make(whole), 6, jitted)
    first = model()
    optimizer = make(first)
    train(first, optimizer, 3, jitted)
    torch.save({"m": first.state_dict(), "o": optimizer.state_dict()}, tmp_path / "c.pt")
    saved = torch.load(tmp_path / "c.pt")
    group = saved["o"]["state"]["group 0"]
    key = "[0].mu['0.weight']" if names else "[0].mu[0]"
    assert group["[0].count"].item() == 3
    assert group[key].shape == (4, 3)
    assert saved["o"]["param_groups"][0]["lr"] == 1e-2
    second = model()
    second.load_state_dict(saved["m"])
    optimizer = make(second)
    optimizer.load_state_dict(saved["o"])
    found = train(second, optimizer, 3, jitted)
    np.testing.assert_allclose(found, expected[3:], rtol=1e-6)


def test_a_copy_steps_alone():
    m = model()
    optimizer = Optax(m.parameters(), optax.adam(1e-2))
    train(m, optimizer, 2)
    twin = copy.deepcopy(optimizer)
    before = [p.clone() for p in m.parameters()]
    for group, own in zip(twin.param_groups, optimizer.param_groups, strict=True):
        for p, q in zip(group["params"], own["params"], strict=True):
            p.grad = q.grad.clone()
    twin.step()
    same(before, m.parameters())
    assert twin.state["group 0"]["[0].count"].item() == 3
    assert optimizer.state["group 0"]["[0].count"].item() == 2


def test_a_state_of_another_transformation_is_refused():
    m = model()
    adam, sgd = Optax(m.parameters(), optax.adam, lr=1e-2), Optax(m.parameters(), optax.lion, lr=1)
    train(m, adam, 1)
    train(m, sgd, 1)
    before = sgd.state["group 0"]
    with pytest.raises(ValueError, match="another transformation"):
        sgd.load_state_dict(adam.state_dict())
    assert sgd.state["group 0"] is before
    torchs = torch.optim.Adam(m.parameters())
    train(m, torchs, 1)
    with pytest.raises(ValueError, match="saved by another optimizer"):
        sgd.load_state_dict(torchs.state_dict())
    other = Optax(list(m.parameters())[:2], optax.adam, lr=1e-2)
    with pytest.raises(ValueError, match="size of optimizer's group"):
        other.load_state_dict(adam.state_dict())


def test_keys_of_jax_random_are_numbers_in_the_state():
    make = lambda p: Optax(p, optax.noisy_sgd, lr=0.1, key=jax.random.key(5))  # noqa: E731
    ours = model()
    optimizer = make(ours.parameters())
    train(ours, optimizer, 2)
    kept = optimizer.state_dict()
    buffer = io.BytesIO()
    torch.save(kept, buffer)
    assert [v.dtype for v in kept["state"]["group 0"].values()].count(torch.uint32) == 1
    other = make(ours.parameters())
    buffer.seek(0)
    other.load_state_dict(torch.load(buffer))
    for o in (optimizer, other):
        before = [p.detach().clone() for p in ours.parameters()]
        o.step()
        moved = [p.detach() - b for p, b in zip(ours.parameters(), before, strict=True)]
        with torch.no_grad():
            for p, b in zip(ours.parameters(), before, strict=True):
                p.copy_(b)
        if o is optimizer:
            first = moved
    same(first, moved)


# -- gradients that are missing --------------------------------------------------------------------


def test_a_parameter_without_gradient_stays():
    a, b = (torch.nn.Parameter(torch.ones(2)) for _ in range(2))
    optimizer = Optax([a, b], optax.adamw, lr=0.1, weight_decay=0.5)
    optimizer.step()
    assert not optimizer.state
    a.grad = torch.ones(2)
    optimizer.step()
    assert b.tolist() == [1, 1]
    assert a[0] < 1


def test_a_gradient_that_a_value_decides_of():
    def run(jitted):
        a, b = (torch.nn.Parameter(torch.full((2,), 1.0)) for _ in range(2))
        optimizer = Optax([a, b], optax.adam, lr=0.1)

        def step(x):
            optimizer.zero_grad()
            if x.sum() > 0:
                loss = (a * x).sum()
            else:
                loss = (b * x).sum()
            loss.backward()
            optimizer.step()

        step = torch.jit(step) if jitted else step
        for sign in (1, 1, -1, 1):
            step(torch.full((2,), float(sign)))
        return a, b

    same(run(False), run(True))


# -- closures --------------------------------------------------------------------------------------


def closure_of(m, optimizer, calls=None):
    def closure():
        optimizer.zero_grad()
        loss = m(X).square().mean()
        loss.backward()
        if calls is not None:
            calls.append(1)
        return loss

    return closure


@pytest.mark.parametrize("jitted", [False, True])
def test_a_closure_gives_the_value(jitted):
    m = model()
    optimizer = Optax(m.parameters(), optax.polyak_sgd)
    step = lambda: optimizer.step(closure_of(m, optimizer))  # noqa: E731
    step = torch.jit(step) if jitted else step
    losses = [step().item() for _ in range(4)]
    assert losses[-1] < losses[0] / 5


def test_a_missing_argument_is_explained():
    m = model()
    optimizer = Optax(m.parameters(), optax.polyak_sgd)
    m(X).sum().backward()
    with pytest.raises(TypeError, match=r"asks for 'value': give it by step\(closure\)"):
        optimizer.step()
    optimizer = Optax(m.parameters(), optax.lbfgs)
    with pytest.raises(TypeError, match=r"step\(closure\)"):
        optimizer.step()


@pytest.mark.full
@pytest.mark.parametrize("search", ["zoom", "backtracking", "none"])
def test_lbfgs_is_that_of_a_loop_of_optax(search):
    def make():
        if search == "zoom":
            return optax.lbfgs()
        if search == "none":
            return optax.lbfgs(0.1, linesearch=None)
        return optax.chain(optax.sgd(1.0), optax.scale_by_backtracking_linesearch(10))

    m = model()
    optimizer = Optax(m.named_parameters(), make())
    calls = []
    losses = [optimizer.step(closure_of(m, optimizer, calls)).item() for _ in range(4)]
    assert (len(calls) > 4) is (search != "none")
    transformation, hand = optax.with_extra_args_support(make()), model()

    @torch.to_jax_function
    def loss(params):
        # A search in 64 bits, as here, asks at float64 parameters.
        params = {k: p.float() for k, p in params.items()}
        return torch.func.functional_call(hand, params, (X,)).square().mean()

    params = {k: p.detach().jax() for k, p in hand.named_parameters()}
    state = transformation.init(params)
    for expected in losses:
        value, grad = jax.value_and_grad(loss)(params)
        np.testing.assert_allclose(value, expected, rtol=1e-4)  # a search along rounded slopes
        updates, state = transformation.update(
            grad, state, params, value=value, grad=grad, value_fn=loss
        )
        params = optax.apply_updates(params, updates)


@pytest.mark.exhaustive
def test_a_search_along_a_line_calls_the_closure_again():
    p = torch.nn.Parameter(torch.tensor(3.0))
    optimizer = Optax(
        [p], optax.chain(optax.sgd(16.0), optax.scale_by_backtracking_linesearch(9, 0.1, 0.25))
    )
    calls = []

    def closure():
        calls.append(p.item())
        optimizer.zero_grad()
        loss = p.square()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 9
    assert calls == [3, -93, -21, -3, 1.5]
    assert p.item() == 1.5


def test_a_line_search_is_refused_where_it_cannot_run():
    m = model()
    optimizer = Optax(m.parameters(), optax.lbfgs)
    with pytest.raises(JitCaptureError, match="search along a line"):
        torch.jit(lambda: optimizer.step(closure_of(m, optimizer)))()
    optimizer = Optax([{"params": [p]} for p in m.parameters()], optax.lbfgs)
    with pytest.raises(NotImplementedError, match="single group"):
        optimizer.step(closure_of(m, optimizer))


@pytest.mark.full
def test_further_arguments_reach_update():
    p = torch.nn.Parameter(torch.tensor([1.0, -2.0]))

    def objective(params):
        return jnp.sum(params[0] ** 4)

    optimizer = Optax([p], optax.contrib.sophia, lr=0.1)
    transformation = optax.contrib.sophia(0.1)
    params = [p.detach().jax()]
    state = transformation.init(params)
    for _ in range(3):
        optimizer.zero_grad()
        (p**4).sum().backward()
        optimizer.step(obj_fn=objective)
        gradients = jax.grad(objective)(params)
        updates, state = transformation.update(gradients, state, params, obj_fn=objective)
        params = optax.apply_updates(params, updates)
    np.testing.assert_allclose(p.detach(), params[0], rtol=1e-5)


# -- hooks, hints, bad input -----------------------------------------------------------------------


def test_hooks_see_steps():
    m, seen = model(), []
    optimizer = Optax(m.parameters(), optax.sgd(0.1))
    optimizer.register_step_pre_hook(lambda *_: seen.append("pre"))
    optimizer.register_step_post_hook(lambda *_: seen.append("post"))
    train(m, optimizer, 1)
    assert seen == ["pre", "post"]


def test_hints_are_told_once():
    p = torch.nn.Parameter(torch.ones(1))
    with pytest.warns(UserWarning, match="foreach=True changes nothing"):
        Optax([p], optax.sgd, lr=0.1, foreach=True)
    Optax([p], optax.sgd, lr=0.1, foreach=True)
    Optax([p], optax.sgd, lr=0.1, fused=False)


def test_what_is_no_transformation_is_refused():
    p = [torch.nn.Parameter(torch.ones(1))]
    with pytest.raises(TypeError, match="GradientTransformation"):
        Optax(p, 1e-3)
    with pytest.raises(TypeError, match="made already"):
        Optax(p, optax.adam(1e-3), lr=1e-3)
    with pytest.raises(TypeError, match="no hyperparameter 'betas'"):
        Optax(p, optax.adam, lr=1e-3, betas=(0.9, 0.99))
    with pytest.raises(TypeError, match=r"needs a rate: Optax\(params, adam, lr=...\)"):
        Optax(p, optax.adam)
    with pytest.raises(TypeError, match="not a GradientTransformation"):
        Optax(p, lambda: 3)
    with pytest.raises(NotImplementedError, match="differentiable"):
        Optax(p, optax.adam, lr=1e-3, differentiable=True)
    with pytest.raises(KeyError, match="lr"):
        torch.optim.lr_scheduler.StepLR(Optax(p, optax.adam(1e-3)), 1)


def test_a_function_that_looks_at_its_numbers_has_them_compiled_in():
    def make(learning_rate, decay):
        steps = [optax.add_decayed_weights(decay)] if decay > 0 else []
        return optax.chain(*steps, optax.sgd(learning_rate))

    p = torch.nn.Parameter(torch.ones(1))
    optimizer = Optax([p], make, lr=0.5, decay=0.5)
    p.grad = torch.zeros(1)
    optimizer.step()
    assert p.item() == 0.75
    optimizer.param_groups[0].update(lr=1.0, decay=0.0)
    optimizer.step()
    assert p.item() == 0.75


def test_the_state_is_not_the_memory_of_the_parameters():
    """optax.contrib.schedule_free keeps the first parameters, whose memory a step gives away."""
    with set_first_calls("compiled"):
        p = torch.nn.Parameter(torch.ones(4))
        optimizer = Optax([p], lambda: optax.contrib.schedule_free(optax.sgd(0.1), 0.1))
        for _ in range(3):
            p.grad = torch.ones(4)
            optimizer.step()
        assert all(math.isfinite(v.sum().item()) for v in optimizer.state["group 0"].values())


def test_parameters_on_the_meta_device_step():
    p = torch.nn.Parameter(torch.ones(2, 3, device="meta"))
    p.grad = torch.ones(2, 3, device="meta")
    optimizer = Optax([p], optax.adam, lr=0.1)
    optimizer.step()
    assert optimizer.state["group 0"]["[0].mu[0]"].is_meta


@pytest.mark.full
def test_bfloat16_and_complex_parameters():
    half = torch.nn.Parameter(torch.ones(3, dtype=torch.bfloat16))
    pair = torch.nn.Parameter(torch.tensor([3 + 4j]))
    optimizer = Optax([half, pair], optax.adam, lr=0.1)
    half.sum().backward()
    pair.abs().square().sum().backward()
    optimizer.step()
    assert half.dtype == torch.bfloat16
    assert pair.abs().item() < 5


def test_it_is_pickled_with_functions_that_have_a_name():
    p = torch.nn.Parameter(torch.ones(2))
    optimizer = Optax([p], optax.adam, lr=0.1)
    p.grad = torch.ones(2)
    optimizer.step()
    again = pickle.loads(pickle.dumps(optimizer))
    assert again.state["group 0"]["[0].count"].item() == 1
