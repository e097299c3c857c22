"""Every optimizer against PyTorch's: parameters and state over twenty steps, eager and jitted."""

import copy
import warnings

import numpy as np
import pytest

import torchlike

torch = pytest.importorskip("torch")

#: name -> options, several for each optimizer.
CASES = {
    "SGD": [
        {"lr": 0.1},
        {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.01, "maximize": True},
        {"lr": 0.05, "momentum": 0.9, "nesterov": True},
        {"lr": 0.05, "momentum": 0.9, "dampening": 0.2},
    ],
    "Adam": [
        {"lr": 0.05},
        {"lr": 0.05, "amsgrad": True, "weight_decay": 0.1},
        {
            "betas": (0.8, 0.95),
            "maximize": True,
            "decoupled_weight_decay": True,
            "weight_decay": 0.1,
            "foreach": True,
        },
    ],
    "AdamW": [{"lr": 0.05}, {"weight_decay": 0.3, "amsgrad": True, "fused": True}],
    "Adamax": [{}, {"lr": 0.05, "betas": (0.7, 0.99), "weight_decay": 0.1, "maximize": True}],
    "NAdam": [
        {},
        {"lr": 0.05, "weight_decay": 0.1, "momentum_decay": 0.01},
        {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True},
    ],
    "RAdam": [
        {"lr": 0.01},
        {"lr": 0.05, "betas": (0.9, 0.9), "weight_decay": 0.1},
        {"weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True},
    ],
    "Adagrad": [
        {},
        {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5},
    ],
    "Adadelta": [{}, {"lr": 0.5, "rho": 0.8, "weight_decay": 0.1, "maximize": True}],
    "RMSprop": [
        {},
        {"momentum": 0.9, "weight_decay": 0.01},
        {"centered": True, "alpha": 0.9},
        {"centered": True, "momentum": 0.5, "maximize": True},
    ],
    "ASGD": [{}, {"lr": 0.1, "lambd": 0.01, "alpha": 0.5, "t0": 5, "weight_decay": 0.1}],
    "Rprop": [{}, {"lr": 0.1, "etas": (0.3, 1.5), "step_sizes": (1e-3, 0.5), "maximize": True}],
    "Adafactor": [
        {},
        {"lr": 0.1, "beta2_decay": -0.5, "d": 2.0, "weight_decay": 0.1},
        {"eps": (1e-6, 1e-2), "maximize": True},
    ],
    "Muon": [{}, {"lr": 0.02, "nesterov": False, "adjust_lr_fn": "match_rms_adamw"}],
}
each = pytest.mark.parametrize(
    ("name", "options"),
    [(n, o) for n, table in CASES.items() for o in table],
    ids=[f"{n}-{i}" for n, table in CASES.items() for i in range(len(table))],
)
STEPS = 20


def parameters(t, name):
    rng = np.random.default_rng(0)
    shapes = [(3, 4), (4, 3)] if name == "Muon" else [(3, 4), (4,), (2, 3, 2)]
    return [t.tensor(rng.standard_normal(s).astype(np.float32), requires_grad=True) for s in shapes]


def gradients(t, params, i):
    rng = np.random.default_rng(i + 1)
    return [t.tensor(rng.standard_normal(tuple(p.shape)).astype(np.float32)) for p in params]


def train(t, name, options, wrap=lambda f: f):
    params = parameters(t, name)
    optimizer = getattr(t.optim, name)(params, **options)
    scheduler = t.optim.lr_scheduler.StepLR(optimizer, 7, 0.5)

    def step(*grads):
        loss = sum((p * g + 0.1 * p**2).sum() for p, g in zip(params, grads, strict=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    run = wrap(step)
    for i in range(STEPS):
        run(*gradients(t, params, i))
        scheduler.step()
    return params, optimizer, run


def tolerances(name):
    # Muon computes in bfloat16, whose products are summed in another order.
    return {"rtol": 2e-2, "atol": 2e-3} if name == "Muon" else {"rtol": 3e-6, "atol": 1e-6}


def compare_state(mine, theirs, tol):
    assert mine["param_groups"] == theirs["param_groups"]
    assert [list(g) for g in mine["param_groups"]] == [list(g) for g in theirs["param_groups"]]
    assert list(mine["state"]) == list(theirs["state"])
    for i, state in theirs["state"].items():
        assert list(mine["state"][i]) == list(state)
        for key, value in state.items():
            own = mine["state"][i][key]
            assert str(own.dtype).split(".")[1] == str(value.dtype).split(".")[1]
            np.testing.assert_allclose(own.numpy(), value.numpy(), **tol, err_msg=key)


@pytest.mark.sampled(every=6, of=lambda p: p["jitted"])
@each
@pytest.mark.parametrize("jitted", [False, True])
def test_twenty_steps(name, options, jitted):
    theirs, their_optimizer, _ = train(torch, name, options)
    mine, optimizer, run = train(torchlike, name, options, torchlike.jit if jitted else lambda f: f)
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), **tolerances(name))
    compare_state(optimizer.state_dict(), their_optimizer.state_dict(), tolerances(name))
    if jitted:
        assert run.compiles == (2 if "dampening" in options else 1)


@each
def test_state_of_pytorch_continues(name, options):
    params, optimizer, _ = train(torch, name, options)
    own = [torchlike.tensor(p.detach().numpy(), requires_grad=True) for p in params]
    again = getattr(torchlike.optim, name)(own, **options)
    state = copy.deepcopy(optimizer.state_dict())
    for entry in state["state"].values():
        entry.update({k: torchlike.tensor(v.numpy()) for k, v in entry.items()})
    again.load_state_dict(state)
    for t, these, opt in ((torch, params, optimizer), (torchlike, own, again)):
        for p, g in zip(these, gradients(t, these, 99), strict=True):
            p.grad = g
        opt.step()
    for a, b in zip(own, params, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), **tolerances(name))


@pytest.mark.parametrize("name", [n for n in CASES if n not in ("Adafactor", "Muon")])
def test_complex_parameters(name):
    def run(t):
        p = t.tensor([1 + 2j, -0.5j, 3.0], requires_grad=True)
        optimizer = getattr(t.optim, name)([p], lr=0.1)
        for i in range(5):
            p.grad = t.tensor([0.3j * i, 1.0 - i, 2 + 1j], dtype=p.dtype)
            optimizer.step()
        return p.detach().numpy()

    np.testing.assert_allclose(run(torchlike), run(torch), rtol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_half_precision_stays_near_float32(name):
    def run(dtype):
        p = torchlike.tensor([[1.0, -2.0], [3.0, 0.5]], dtype=dtype, requires_grad=True)
        optimizer = getattr(torchlike.optim, name)([p], lr=0.1)
        for _ in range(5):
            p.grad = torchlike.tensor([[0.5, -1.0], [0.25, 2.0]], dtype=dtype)
            optimizer.step()
        assert p.dtype == dtype
        return p.detach().float().numpy()

    # Each of five steps rounds a parameter between 2 and 4 to bfloat16, by up to 2**-7.
    np.testing.assert_allclose(
        run(torchlike.bfloat16), run(torchlike.float32), rtol=0, atol=5 * 2**-7
    )


def _rosenbrock(t, options, steps=4):
    p = t.tensor([-1.5, 2.0], dtype=t.float64, requires_grad=True)
    q = t.tensor([[0.3]], dtype=t.float64, requires_grad=True)
    optimizer = t.optim.LBFGS([p, q], **options)
    losses = []

    def closure():
        optimizer.zero_grad()
        loss = (1 - p[0]) ** 2 + 10 * (p[1] - p[0] ** 2) ** 2 + (q**2).sum()
        loss.backward()
        return loss

    for _ in range(steps):
        losses.append(optimizer.step(closure).item())
    return losses, p.tolist(), optimizer.state_dict()


@pytest.mark.parametrize(
    "options",
    [
        {"lr": 0.1},
        {"line_search_fn": "strong_wolfe"},
        {"line_search_fn": "strong_wolfe", "max_iter": 5, "history_size": 3, "max_eval": 7},
    ],
)
def test_lbfgs(options):
    losses, p, state = _rosenbrock(torchlike, options)
    expected, q, their_state = _rosenbrock(torch, options)
    np.testing.assert_allclose(losses, expected, rtol=1e-5, atol=1e-14)
    np.testing.assert_allclose(p, q, rtol=1e-6)
    assert state["param_groups"] == their_state["param_groups"]
    assert sorted(state["state"][0]) == sorted(their_state["state"][0])
    assert state["state"][0]["n_iter"] == their_state["state"][0]["n_iter"]
    assert state["state"][0]["func_evals"] == their_state["state"][0]["func_evals"]


BAD = [
    ("SGD", {"lr": -1}),
    ("SGD", {"nesterov": True}),
    ("Adam", {"betas": (1.0, 0.9)}),
    ("Adamax", {"eps": -1}),
    ("NAdam", {"momentum_decay": -1}),
    ("RAdam", {"weight_decay": -1}),
    ("Adagrad", {"lr_decay": -1}),
    ("Adagrad", {"initial_accumulator_value": -1}),
    ("Adadelta", {"rho": 1.5}),
    ("RMSprop", {"alpha": -1}),
    ("RMSprop", {"momentum": -1}),
    ("ASGD", {"weight_decay": -1}),
    ("Rprop", {"etas": (1.1, 1.2)}),
    ("Adafactor", {"lr": -1}),
    ("Adafactor", {"d": 0.5}),
    ("Adafactor", {"eps": (-1, 1)}),
    ("Muon", {"momentum": -1}),
    ("Muon", {"adjust_lr_fn": "x"}),
    ("LBFGS", {"lr": -1}),
    ("SparseAdam", {"lr": 0}),
]


@pytest.mark.parametrize(("name", "options"), BAD)
def test_bad_options(name, options):
    said = []
    for t in (torchlike, torch):
        with pytest.raises(ValueError) as caught:
            getattr(t.optim, name)([t.ones(2, 2, requires_grad=True)], **options)
        said.append(str(caught.value))
    assert said[0] == said[1]


@pytest.mark.parametrize("name", ["Adam", "AdamW", "SGD"])
def test_a_rate_that_is_a_tensor_beside_foreach(name):
    said = []
    for t in (torchlike, torch):
        try:
            getattr(t.optim, name)([t.ones(2, requires_grad=True)], lr=t.tensor(0.1), foreach=True)
        except ValueError as error:
            said.append(str(error))
        else:
            said.append("")
    assert said[0] == said[1]


def test_sparse_adam_refuses_dense_gradients():
    for t in (torchlike, torch):
        p = t.ones(2, requires_grad=True)
        p.grad = t.ones(2)
        with pytest.raises(RuntimeError, match="does not support dense gradients"):
            t.optim.SparseAdam([p]).step()


def test_hooks_and_groups():
    def run(t):
        seen = []
        p, q = t.ones(2, requires_grad=True), t.ones(3, requires_grad=True)
        optimizer = t.optim.RMSprop([p])
        optimizer.add_param_group({"params": [q], "lr": 0.5})
        optimizer.register_step_pre_hook(lambda o, a, k: seen.append("pre"))
        optimizer.register_step_post_hook(lambda o, a, k: seen.append("post"))
        optimizer.register_state_dict_post_hook(lambda o, s: seen.append("saved"))
        optimizer.register_state_dict_pre_hook(lambda o: seen.append("saving"))
        optimizer.register_load_state_dict_pre_hook(lambda o, s: seen.append("loading"))
        optimizer.register_load_state_dict_post_hook(lambda o: seen.append("loaded"))
        (p.sum() + q.sum()).backward()
        optimizer.step()
        optimizer.load_state_dict(optimizer.state_dict())
        optimizer.zero_grad(set_to_none=False)
        return seen, [x.detach().sum().item() for x in (p, q, p.grad)], repr(optimizer)

    mine, theirs = run(torchlike), run(torch)
    assert mine[0] == theirs[0]
    np.testing.assert_allclose(mine[1], theirs[1], rtol=1e-6)
    assert mine[2] == theirs[2]


def test_momentum_and_betas_change_without_a_recompile():
    for name, key, values in (
        ("SGD", "momentum", (0.9, 0.8)),
        ("Adam", "betas", ((0.9, 0.99), (0.8, 0.95))),
    ):
        results = []
        for t in (torchlike, torch):
            p = t.ones(3, requires_grad=True)
            optimizer = getattr(t.optim, name)([p], lr=0.1, **{key: values[0]})

            def step(p=p, optimizer=optimizer):
                optimizer.zero_grad()
                (p**3).sum().backward()
                optimizer.step()

            run = torchlike.jit(step) if t is torchlike else step
            for i in range(4):
                optimizer.param_groups[0][key] = values[i // 2]
                run()
            results.append(p.detach().numpy())
            if t is torchlike:
                assert run.compiles == 1
        np.testing.assert_allclose(*results, rtol=1e-6)


def test_warnings_are_errors_here():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        train(torchlike, "Adam", {})


DIFFERENTIABLE = [
    ("SGD", {}),
    ("Adam", {}),
    ("AdamW", {}),
    ("NAdam", {}),
    ("RAdam", {}),
    ("Adagrad", {}),
    ("Adadelta", {"lr": 1.0}),
    ("RMSprop", {}),
    ("ASGD", {}),
]


@pytest.mark.parametrize(("name", "options"), DIFFERENTIABLE)
def test_gradients_flow_through_differentiable_steps(name, options):
    found = []
    for library in (torch, torchlike):
        x = library.tensor([1.0, 2.0], requires_grad=True)
        w = library.tensor(3.0, requires_grad=True)
        p = x * 2
        p.retain_grad()
        rate = {"lr": library.tensor(0.1, requires_grad=True)} if name == "SGD" else {"lr": 0.1}
        optimizer = getattr(library.optim, name)([p], differentiable=True, **{**rate, **options})
        for i in range(2):
            p.grad = (w * library.tensor([1.0, -2.0]) * (i + 1) + 0.3) * p.clone()
            optimizer.step()
        (p**2).sum().backward()
        sources = [x, w, *(r for r in rate.values() if not isinstance(r, float))]
        found.append([p.tolist(), *(t.grad.tolist() for t in sources)])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(b, a, rtol=2e-5, atol=1e-5)


def test_a_differentiable_step_refuses_leaves():
    for library in (torch, torchlike):
        p = library.ones(2, requires_grad=True)
        p.grad = library.ones(2)
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used"):
            library.optim.Adam([p], differentiable=True).step()


@pytest.mark.parametrize("flags", [{"foreach": True}, {"differentiable": True}])
@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adagrad"])
def test_fused_stands_alone(name, flags):
    words = []
    for library in (torch, torchlike):
        with pytest.raises(RuntimeError) as raised:
            getattr(library.optim, name)([library.ones(1)], lr=0.1, fused=True, **flags)
        words.append(str(raised.value))
    assert words[0] == words[1]


def test_hooks_of_a_step_get_the_optimizer_among_the_arguments():
    for library in (torch, torchlike):
        p = library.ones(1, requires_grad=True)
        p.grad = library.ones(1)
        optimizer, seen = library.optim.SGD([p], lr=0.1), []

        def before(o, args, kwargs, seen=seen):
            seen.append((args[0] is o, len(args)))
            return args, kwargs

        optimizer.register_step_pre_hook(before)
        optimizer.register_step_post_hook(
            lambda o, args, kwargs, seen=seen: seen.append((args[0] is o, len(args)))
        )
        optimizer.step()
        assert seen == [(True, 1), (True, 1)]


def test_rprop_leaves_what_has_no_gradient():
    found = []
    for library in (torch, torchlike):
        p = library.ones(3, requires_grad=True)
        optimizer = library.optim.Rprop([p], lr=0.1)
        for gradient in ([float("nan"), 1.0, -1.0], [1.0, float("nan"), -1.0]):
            p.grad = library.tensor(gradient)
            optimizer.step()
        found.append(p.tolist())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)


def test_parameters_partly_with_names():
    for library in (torch, torchlike):
        p, q = library.ones(1), library.ones(1)
        with pytest.raises(ValueError, match="Some param names are missing"):
            library.optim.SGD([("p", p), q], lr=0.1)
        with pytest.raises(ValueError, match="cannot add param group with names"):
            library.optim.SGD([{"params": [p]}, {"params": [("q", q)]}], lr=0.1)


@pytest.mark.sampled(every=7, rest="full")
@pytest.mark.parametrize("jitted", [False, True], ids=["eager", "jit"])
@each
def test_a_parameter_listed_twice_steps_twice(name, options, jitted):
    # PyTorch's loops over many tensors at once count both steps before they take one.
    options = {k: v for k, v in options.items() if k not in ("foreach", "fused")}
    after = []
    for t in (torch, torchlike):
        p, *_, q = parameters(t, name)
        with pytest.warns(UserWarning, match="duplicate parameters"):
            optimizer = getattr(t.optim, name)([p, q, p], **options)

        def step(p=p, q=q, optimizer=optimizer):
            optimizer.zero_grad()
            ((p**2).sum() + (q**2).sum() * p.sum()).backward()
            optimizer.step()

        run = torchlike.jit(step) if jitted and t is torchlike else step
        for _ in range(4):
            run()
        after.append([p.detach().numpy(), q.detach().numpy()])
    for expected, found in zip(*after, strict=True):
        np.testing.assert_allclose(found, expected, **tolerances(name))


def test_hooks_of_an_optimizer_from_a_pickle():
    for t in (torch, torchlike):
        p = t.nn.Parameter(t.ones(2))
        made, seen = t.optim.SGD([p], lr=0.1), []
        made.register_step_pre_hook(lambda *_, seen=seen: seen.append(1))
        copied = copy.deepcopy(made)
        copied.step()
        made.step()
        assert seen == [1]
        copied.register_step_post_hook(lambda *_, seen=seen: seen.append(2))
        copied.step()
        assert seen == [1, 2]


@pytest.mark.parametrize("of", ["optimizer", "module"])
def test_zeroing_a_gradient_that_is_a_view(of):
    def run(t):
        model = t.nn.Linear(2, 1, bias=False)
        flat = t.ones(2)
        model.weight.grad = flat.view(1, 2)
        owner = t.optim.SGD(model.parameters(), lr=0.1) if of == "optimizer" else model
        owner.zero_grad(set_to_none=False)
        return model.weight.grad, flat

    for made in (run(torch), run(torchlike), torchlike.jit(lambda: run(torchlike))()):
        assert [t.tolist() for t in made] == [[[0.0, 0.0]], [0.0, 0.0]]


def test_lbfgs_goes_on_from_a_gradient_of_zero():
    def stepped(t):
        p = t.nn.Parameter(t.ones(2))
        options = {"max_iter": 3, "tolerance_grad": -1, "tolerance_change": -1}
        optimizer = t.optim.LBFGS([p], **options)

        def closure():
            optimizer.zero_grad()
            loss = (p * 0).sum()
            loss.backward()
            return loss

        return optimizer.step(closure).item(), p.tolist()

    assert stepped(torchlike) == stepped(torch)
