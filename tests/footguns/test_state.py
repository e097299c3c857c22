"""Tensors as state: parameters, buffers, gradients, optimizers, random generators."""

import copy
import gc
import weakref
from types import SimpleNamespace

import numpy as np
import pytest
from comparing import close

import torchlike as torch
from torchlike import nn
from torchlike._core.errors import JitCaptureError


def linear():
    torch.manual_seed(0)
    return nn.Linear(2, 2)


def batch():
    return torch.tensor([[1.0, 2.0], [3.0, -1.0]])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 4)
        self.drop = nn.Dropout(0.5)
        self.b = nn.Linear(4, 2)
        self.settings = SimpleNamespace(scale=1.0)
        self.extra = [1.0]

    def forward(self, x):
        return self.b(self.drop(self.a(x).relu())) * self.settings.scale * sum(self.extra)


def train(wrap, steps=6, optimizer=torch.optim.SGD, between=None, **options):
    """Losses, parameters and random state after some steps, with ``between`` run before each."""
    torch.manual_seed(0)
    model = Net()
    opt = optimizer(model.parameters(), lr=0.1, **options)

    def step(x):
        opt.zero_grad()
        loss = (model(x) ** 2).mean()
        loss.backward()
        opt.step()
        return loss

    run = wrap(step)
    losses = []
    for i in range(steps):
        if between is not None:
            between(i, model, opt)
        losses.append(run(batch() + i).item())
    return losses, [p.detach().numpy().copy() for p in model.parameters()], torch.rand(1).item()


def agree(**options):
    eager, jitted = train(lambda f: f, **options), train(torch.jit, **options)
    np.testing.assert_allclose(eager[0], jitted[0], rtol=2e-5, atol=1e-6)
    for a, b in zip(eager[1], jitted[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)
    assert eager[2] == jitted[2], "the random generators went different ways"


def test_dropout_draws_anew_and_like_eager():
    agree()


def test_manual_seed_between_calls():
    agree(between=lambda i, m, o: torch.manual_seed(i % 2))


def test_train_and_eval_flips():
    agree(between=lambda i, m, o: m.train(i % 2 == 0))


def test_one_submodule_flipped():
    agree(between=lambda i, m, o: m.drop.train(i % 2 == 0))


def test_dropout_rate_changed():
    agree(between=lambda i, m, o: setattr(m.drop, "p", 0.1 * i))


def test_helper_object_of_a_module_changed():
    agree(between=lambda i, m, o: setattr(m.settings, "scale", 1.0 + i % 2))


def test_list_of_a_module_changed():
    agree(between=lambda i, m, o: m.extra.append(0.1) if i == 3 else None)


def test_forward_exchanged_on_an_instance():
    def between(i, model, opt):
        if i == 3:
            model.a.forward = lambda x: nn.functional.linear(x, model.a.weight * 2)

    agree(between=between)


def test_a_parameter_frozen_between_calls():
    agree(between=lambda i, m, o: m.a.weight.requires_grad_(i % 2 == 0))


def test_a_parameter_replaced_is_seen_as_eager_sees_it():
    def between(i, model, opt):
        if i == 3:
            model.a.weight = nn.Parameter(torch.ones(4, 2))

    agree(between=between)


def test_a_bias_removed():
    def between(i, model, opt):
        if i == 3:
            model.a.bias = None

    agree(between=between)


def test_a_parameter_added_after_the_capture():
    def between(i, model, opt):
        if i == 3:
            model.a.register_parameter("bias2", nn.Parameter(torch.ones(4)))
            model.a.forward = lambda x: nn.functional.linear(x, model.a.weight, model.a.bias2)
            opt.add_param_group({"params": [model.a.bias2], "lr": 0.2})

    agree(between=between)


def test_data_swapped():
    def between(i, model, opt):
        if i == 3:
            model.a.weight.data = torch.ones(4, 2)

    agree(between=between)


def test_state_dict_loaded_between_calls():
    saved = {}

    def between(i, model, opt):
        if i == 1:
            saved["m"] = copy.deepcopy(model.state_dict())
            saved["o"] = copy.deepcopy(opt.state_dict())
        if i == 4:
            model.load_state_dict(saved["m"])
            opt.load_state_dict(saved["o"])

    agree(between=between, optimizer=torch.optim.Adam)


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    ("optimizer", "options"),
    [
        (torch.optim.SGD, {}),
        (torch.optim.SGD, {"momentum": 0.9}),
        (torch.optim.SGD, {"momentum": 0.9, "dampening": 0.1}),
        (torch.optim.Adam, {}),
        (torch.optim.AdamW, {"amsgrad": True}),
    ],
)
def test_optimizer_state_made_lazily(optimizer, options):
    agree(optimizer=optimizer, **options)


def _set(name, value):
    def between(i, model, opt):
        if i == 3:
            opt.param_groups[0][name] = value

    return between


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize(
    ("name", "value"),
    [("lr", 0.01), ("weight_decay", 0.1), ("betas", (0.5, 0.9)), ("eps", 0.1), ("maximize", True)],
)
def test_an_optimizer_setting_changed(name, value):
    agree(optimizer=torch.optim.Adam, between=_set(name, value))


@pytest.mark.parametrize(
    ("name", "value"), [("momentum", 0.5), ("nesterov", True), ("lr", torch.tensor(0.01))]
)
def test_a_setting_of_sgd_changed(name, value):
    agree(optimizer=torch.optim.SGD, momentum=0.9, between=_set(name, value))


def test_weight_decay_switched_on():
    agree(optimizer=torch.optim.Adam, weight_decay=0.0, between=_set("weight_decay", 0.5))


def test_optimizer_state_emptied():
    def between(i, model, opt):
        if i == 3:
            opt.state.clear()

    agree(optimizer=torch.optim.Adam, between=between)


def test_optimizer_state_tensor_exchanged():
    def between(i, model, opt):
        if i == 3:
            opt.state[model.a.weight]["exp_avg"] = torch.ones(4, 2)

    agree(optimizer=torch.optim.Adam, between=between)


def test_learning_rate_does_not_recompile():
    w = torch.ones(2, requires_grad=True)
    opt = torch.optim.SGD([w], lr=0.1)

    @torch.jit
    def step():
        opt.zero_grad()
        (w * w).sum().backward()
        opt.step()

    for i in range(5):
        opt.param_groups[0]["lr"] = 0.1 / (i + 1)
        step()
    assert step.compiles <= 2


def test_scheduler_between_calls_and_refused_inside():
    def run(wrap):
        w = torch.ones(2, requires_grad=True)
        opt = torch.optim.SGD([w], lr=0.5)
        sched = torch.optim.lr_scheduler.StepLR(opt, step_size=2, gamma=0.1)

        def step():
            opt.zero_grad()
            (w * w).sum().backward()
            opt.step()

        go = wrap(step)
        for _ in range(5):
            go()
            sched.step()
        return w.tolist(), sched

    eager, jitted = run(lambda f: f), run(torch.jit)
    np.testing.assert_allclose(eager[0], jitted[0], rtol=1e-6)
    with pytest.raises(JitCaptureError, match=r"scheduler\.step"):
        torch.jit(lambda: jitted[1].step())()


def test_a_learning_rate_read_as_a_number():
    w = torch.ones(2, requires_grad=True)
    opt = torch.optim.SGD([w], lr=0.5)
    f = torch.jit(lambda x: x * opt.param_groups[0]["lr"])
    assert f(torch.ones(1)).item() == 0.5
    opt.param_groups[0]["lr"] = 0.25
    assert f(torch.ones(1)).item() == 0.25


def test_gradient_clipping():
    def run(wrap):
        torch.manual_seed(0)
        model = nn.Linear(2, 2)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)

        def step(x):
            opt.zero_grad()
            (model(x) ** 2).sum().backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            opt.step()
            return norm

        go = wrap(step)
        return [go(batch()).item() for _ in range(4)], model.weight.detach().numpy()

    eager, jitted = run(lambda f: f), run(torch.jit)
    np.testing.assert_allclose(eager[0], jitted[0], rtol=1e-5)
    np.testing.assert_allclose(eager[1], jitted[1], rtol=1e-5)


def test_gradients_accumulated_over_several_calls():
    def run(wrap):
        torch.manual_seed(0)
        model = nn.Linear(2, 2)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        micro = wrap(lambda x: ((model(x) ** 2).mean() / 3).backward())
        update = wrap(lambda: (opt.step(), opt.zero_grad(set_to_none=False))[0])
        for i in range(6):
            micro(batch() + i)
            if i % 3 == 2:
                update()
        return model.weight.detach().numpy()

    np.testing.assert_allclose(run(lambda f: f), run(torch.jit), rtol=1e-5)


def test_grad_none_then_tensor_then_none():
    w = torch.ones(2, requires_grad=True)
    f = torch.jit(lambda: w * 1 if w.grad is None else w + w.grad)
    assert f().tolist() == [1, 1]
    w.grad = torch.full((2,), 5.0)
    assert f().tolist() == [6, 6]
    w.grad = torch.full((2,), 7.0)
    assert f().tolist() == [8, 8]
    w.grad = None
    assert f().tolist() == [1, 1]
    assert f.compiles == 2


def test_batch_norm_statistics_go_on():
    def run(wrap):
        norm = nn.BatchNorm1d(2)
        f = wrap(norm)
        for i in range(4):
            f(batch() * i)
        return norm.running_mean.tolist(), norm.num_batches_tracked.item()

    eager, jitted = run(lambda f: f), run(torch.jit)
    np.testing.assert_allclose(eager[0], jitted[0], rtol=1e-5)
    assert eager[1] == jitted[1] == 4


def held(kind, w):
    return {
        "detach": lambda: w.detach(),
        "view": lambda: w.detach()[:1],
        "numpy": lambda: w.detach().numpy(),
        "clone": lambda: w.detach().clone(),
        "deepcopy": lambda: copy.deepcopy(w),
        "jax": lambda: w.jax(),
        "tolist": lambda: w.tolist(),
    }[kind]()


@pytest.mark.parametrize("kind", ["detach", "view", "numpy", "clone", "deepcopy", "jax", "tolist"])
def test_what_is_held_of_donated_state_is_as_in_eager(kind):
    def run(wrap):
        w = torch.zeros(3)
        step = wrap(lambda: w.add_(1))
        seen = []
        step()
        keep = held(kind, w)
        for _ in range(2):
            step()
            seen.append(np.asarray(keep.tolist() if hasattr(keep, "tolist") else keep).tolist())
        return seen, w.tolist()

    assert run(lambda f: f) == run(torch.jit)


def test_a_saved_state_dict_shares_memory_as_in_eager_and_a_copied_one_does_not():
    model = linear()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)

    @torch.jit
    def step(x):
        opt.zero_grad()
        model(x).sum().backward()
        opt.step()

    step(batch())
    shared, copied = model.state_dict(), copy.deepcopy(model.state_dict())
    before = model.weight.tolist()
    step(batch())
    assert copied["weight"].tolist() == before
    assert shared["weight"].tolist() == model.weight.tolist() != before


def test_an_old_output_is_not_overwritten_by_the_next_call():
    w = torch.zeros(2)
    f = torch.jit(lambda: w.add_(1) * 10)
    first = f()
    second = f()
    assert (first.tolist(), second.tolist()) == ([10, 10], [20, 20])


def test_a_hook_registered_after_the_capture():
    model = linear()
    f = torch.jit(model)
    x = batch()
    f(x)
    handle = model.register_forward_hook(lambda m, a, out: out * 0)
    assert f(x).abs().sum().item() == 0
    handle.remove()
    assert f(x).abs().sum().item() > 0


def test_a_tensor_hook_registered_after_the_capture():
    w = torch.ones(2, requires_grad=True)

    @torch.jit
    def step():
        w.grad = None
        (w * 3).sum().backward()

    step()
    assert w.grad.tolist() == [3, 3]
    handle = w.register_hook(lambda g: g * 10)
    step()
    assert w.grad.tolist() == [30, 30]
    handle.remove()
    step()
    assert w.grad.tolist() == [3, 3]


def test_hooks_inside_run_in_the_graph():
    model = linear()
    k = 2.0
    model.register_forward_hook(lambda m, a, out: out * k)
    f = torch.jit(model)
    x = batch()
    close(f(x), model(x))
    k = 3.0
    close(f(x), model(x))


def test_weakly_held_state():
    class Owner:
        def __init__(self):
            self.w = torch.ones(2)

    owner = Owner()
    reference = weakref.ref(owner)

    def f(x):
        o = reference()
        return x if o is None else x * o.w

    jitted = torch.jit(f)
    assert jitted(torch.ones(2)).tolist() == [1, 1]
    owner.w.fill_(5)
    assert jitted(torch.ones(2)).tolist() == [5, 5]
    owner.w = torch.full((2,), 7.0)
    assert jitted(torch.ones(2)).tolist() == [7, 7]


def test_a_tensor_kept_in_a_plain_attribute():
    def run(wrap):
        box = SimpleNamespace(h=torch.zeros(2))

        def step(x):
            box.h = box.h * 0.5 + x
            return box.h * 1

        go = wrap(step)
        out = [go(torch.ones(2) * i).tolist() for i in range(6)]
        return out, box.h.tolist()

    eager = run(lambda f: f)
    with pytest.warns(RuntimeWarning, match="h"):
        assert run(torch.jit) == eager


def test_a_buffer_bound_anew_by_forward_is_compiled():
    class Cell(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("h", torch.zeros(2))

        def forward(self, x):
            self.h = self.h * 0.5 + x
            return self.h * 1

    def run(wrap):
        cell = Cell()
        go = wrap(cell)
        return [go(torch.ones(2) * i).tolist() for i in range(6)], cell.h.tolist(), go

    eager, jitted = run(lambda f: f), run(torch.jit)
    assert eager[:2] == jitted[:2]
    assert jitted[2].compiles == 1


def test_random_numbers_of_every_kind_are_as_in_eager():
    def run(wrap):
        torch.manual_seed(7)
        f = wrap(lambda: (torch.rand(2), torch.randn(2), torch.randint(0, 9, (2,))))
        return [[t.tolist() for t in f()] for _ in range(3)]

    assert run(lambda f: f) == run(torch.jit)


def test_a_generator_argument():
    def run(wrap):
        g = torch.Generator().manual_seed(5)
        f = wrap(lambda: torch.rand(2, generator=g))
        return [f().tolist() for _ in range(3)], torch.rand(1, generator=g).item()

    assert run(lambda f: f) == run(torch.jit)


def test_a_captured_constant_written_in_place():
    c = torch.zeros(2)

    def run(f):
        c.zero_()
        return [f(torch.ones(2)).tolist() for _ in range(3)], c.tolist()

    def f(x):
        c.add_(x)
        return c * 1

    assert run(f) == run(torch.jit(f))


def test_memory_of_dropped_programs_is_given_back():
    f = torch.jit(lambda x: x * 2, max_programs=2)
    for n in range(1, 6):
        f(torch.ones(n))
    assert sum(map(len, f._programs.values())) == 2
    f(torch.ones(5))
    assert f.compiles == 5
    f(torch.ones(1))
    assert f.compiles == 6
    f.reset()
    gc.collect()
    f(torch.ones(1))
    assert f.compiles == 7
