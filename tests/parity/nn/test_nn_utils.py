"""nn.utils against PyTorch's: the same seed gives the same weights, outputs and gradients."""

import warnings

import numpy as np
import pytest
from oracle import same

import torchlike

torch = pytest.importorskip("torch")
pytest.importorskip("torch.nn.utils.prune")


def quiet(function, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return function(*args, **kwargs)


def linear(t):
    return t.nn.Linear(4, 3), (5, 4)


def square(t):
    return t.nn.Linear(4, 4, bias=False), (2, 4)


def wide(t):
    return t.nn.Linear(6, 3), (2, 6)


def conv(t):
    return t.nn.Conv2d(2, 3, 3), (1, 2, 5, 5)


def transposed(t):
    return t.nn.ConvTranspose2d(2, 3, 3), (1, 2, 4, 4)


#: name -> (what is made, how it is changed).
CHANGES = {
    "weight_norm": (linear, lambda u, m: quiet(u.weight_norm, m)),
    "weight_norm-dim1": (conv, lambda u, m: quiet(u.weight_norm, m, dim=1)),
    "weight_norm-all": (conv, lambda u, m: quiet(u.weight_norm, m, dim=None)),
    "weight_norm-bias": (linear, lambda u, m: quiet(u.weight_norm, m, "bias")),
    "spectral_norm": (linear, lambda u, m: u.spectral_norm(m)),
    "spectral_norm-conv": (conv, lambda u, m: u.spectral_norm(m, n_power_iterations=3)),
    "spectral_norm-transposed": (transposed, lambda u, m: u.spectral_norm(m)),
    "p.weight_norm": (linear, lambda u, m: u.parametrizations.weight_norm(m)),
    "p.weight_norm-dim1": (conv, lambda u, m: u.parametrizations.weight_norm(m, dim=1)),
    "p.weight_norm-all": (conv, lambda u, m: u.parametrizations.weight_norm(m, dim=None)),
    "p.spectral_norm": (conv, lambda u, m: u.parametrizations.spectral_norm(m)),
    "p.spectral_norm-transposed": (
        transposed,
        lambda u, m: u.parametrizations.spectral_norm(m, n_power_iterations=2),
    ),
    "p.spectral_norm-vector": (linear, lambda u, m: u.parametrizations.spectral_norm(m, "bias")),
    "p.orthogonal": (square, lambda u, m: u.parametrizations.orthogonal(m)),
    "p.orthogonal-tall": (linear, lambda u, m: u.parametrizations.orthogonal(m)),
    "p.orthogonal-wide": (wide, lambda u, m: u.parametrizations.orthogonal(m)),
    "p.orthogonal-cayley": (
        square,
        lambda u, m: u.parametrizations.orthogonal(m, orthogonal_map="cayley"),
    ),
    "p.orthogonal-exp-wide": (
        wide,
        lambda u, m: u.parametrizations.orthogonal(m, orthogonal_map="matrix_exp"),
    ),
    "p.orthogonal-householder-plain": (
        square,
        lambda u, m: u.parametrizations.orthogonal(
            m, orthogonal_map="householder", use_trivialization=False
        ),
    ),
    "l1_unstructured": (linear, lambda u, m: u.prune.l1_unstructured(m, "weight", 0.4)),
    "random_unstructured": (linear, lambda u, m: u.prune.random_unstructured(m, "weight", 5)),
    "random_structured": (conv, lambda u, m: u.prune.random_structured(m, "weight", 1, dim=0)),
    "ln_structured": (conv, lambda u, m: u.prune.ln_structured(m, "weight", 1, n=2, dim=1)),
    "prune-twice": (
        linear,
        lambda u, m: u.prune.ln_structured(
            u.prune.l1_unstructured(m, "weight", 3), "weight", 1, n=1, dim=0
        ),
    ),
    "prune-structured-then-random": (
        linear,
        lambda u, m: u.prune.random_unstructured(
            u.prune.random_structured(m, "weight", 1, dim=0), "weight", 0.5
        ),
    ),
}
each = pytest.mark.parametrize("name", CHANGES)


def made(t, name):
    make, change = CHANGES[name]
    t.manual_seed(3)
    module, shape = make(t)
    return change(t.nn.utils, module), shape


def step(module, x):
    y = module(x)
    (y * y).sum().backward()
    return y


@pytest.mark.sampled(every=6, of=lambda p: p["jitted"])
@each
@pytest.mark.parametrize("jitted", [False, True])
def test_outputs_gradients_and_state(name, jitted):
    mine, shape = made(torchlike, name)
    theirs, _ = made(torch, name)
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)

    def run(x):
        return step(mine, x)

    if jitted:
        run = torchlike.jit(run)
    for _ in range(3):
        mine.zero_grad()
        theirs.zero_grad()
        same(run(torchlike.from_numpy(x)), step(theirs, torch.from_numpy(x)))
    own, other = dict(mine.named_parameters()), dict(theirs.named_parameters())
    assert list(own) == list(other)
    for key in own:
        same(own[key].grad, other[key].grad, rtol=1e-4, atol=2e-5)
    own, other = mine.state_dict(), theirs.state_dict()
    assert list(own) == list(other)
    for key in own:
        same(own[key], other[key])
    assert repr(mine) == repr(theirs)
    if jitted:
        # The old spectral norm leaves a plain tensor behind, which becomes one with a history.
        assert run.compiles == (2 if name.startswith("spectral") else 1)


@each
def test_state_from_pytorch_loads(name):
    mine, _ = made(torchlike, name)
    torch.manual_seed(8)
    theirs, _ = made(torch, name)
    with torch.no_grad():
        for p in theirs.parameters():
            p.mul_(1.5)
    mine.load_state_dict({k: torchlike.tensor(v.numpy()) for k, v in theirs.state_dict().items()})
    mine.eval()(torchlike.ones(*made(torchlike, name)[1]))
    theirs.eval()(torch.ones(*made(torch, name)[1]))
    same(mine.weight, theirs.weight)


@pytest.mark.parametrize(
    ("name", "undo"),
    [
        ("weight_norm", lambda u, m: u.remove_weight_norm(m)),
        ("spectral_norm", lambda u, m: u.remove_spectral_norm(m)),
        ("p.weight_norm", lambda u, m: u.parametrize.remove_parametrizations(m, "weight")),
        ("p.orthogonal", lambda u, m: u.parametrize.remove_parametrizations(m, "weight")),
        (
            "p.orthogonal-wide",
            lambda u, m: u.parametrize.remove_parametrizations(m, "weight", False),
        ),
        ("p.spectral_norm", lambda u, m: u.parametrize.remove_parametrizations(m, "weight")),
        ("prune-twice", lambda u, m: u.prune.remove(m, "weight")),
    ],
)
def test_undone(name, undo):
    (mine, _), (theirs, _) = made(torchlike, name), made(torch, name)
    undo(torchlike.nn.utils, mine)
    undo(torch.nn.utils, theirs)
    assert repr(mine) == repr(theirs)
    assert type(mine) in (torchlike.nn.Linear, torchlike.nn.Conv2d)
    own, other = mine.state_dict(), theirs.state_dict()
    assert list(own) == list(other)
    for key in own:
        same(own[key], other[key])


def test_global_pruning():
    def prune(t):
        t.manual_seed(0)
        net = t.nn.Sequential(t.nn.Linear(3, 4), t.nn.Linear(4, 2))
        pairs = [(net[0], "weight"), (net[1], "weight")]
        prune = t.nn.utils.prune
        prune.global_unstructured(pairs, pruning_method=prune.L1Unstructured, amount=7)
        assert prune.is_pruned(net)
        return net

    mine, theirs = prune(torchlike), prune(torch)
    for a, b in zip(mine.buffers(), theirs.buffers(), strict=True):
        same(a, b)


class _Symmetric:
    def forward(self, x):
        return x.triu() + x.triu(1).transpose(-1, -2)

    def right_inverse(self, a):
        return a.triu()


def test_parametrizations_of_ones_own():
    def run(t):
        parametrize = t.nn.utils.parametrize
        Symmetric = type("Symmetric", (_Symmetric, t.nn.Module), {})
        Doubled = type(
            "Doubled",
            (t.nn.Module,),
            {"forward": lambda self, x: 2 * x, "right_inverse": lambda self, x: x / 2},
        )
        t.manual_seed(1)
        m = t.nn.Linear(3, 3)
        parametrize.register_parametrization(m, "weight", Symmetric())
        parametrize.register_parametrization(m, "weight", Doubled())
        assert parametrize.is_parametrized(m)
        assert not parametrize.is_parametrized(m, "bias")
        assert parametrize.type_before_parametrizations(m) is t.nn.Linear
        m.weight = t.ones(3, 3) * 4
        with parametrize.cached():
            assert m.weight is m.weight
        assert m.weight is not m.weight
        m.weight.sum().backward()
        return m

    mine, theirs = run(torchlike), run(torch)
    same(mine.weight, theirs.weight)
    same(mine.parametrizations.weight.original.grad, theirs.parametrizations.weight.original.grad)
    assert repr(mine) == repr(theirs)


def _error(function):
    with pytest.raises(Exception) as caught:
        function()
    return type(caught.value), str(caught.value)


ERRORS = {
    "not parametrized": lambda t: t.nn.utils.parametrize.remove_parametrizations(
        t.nn.Linear(2, 2), "weight"
    ),
    "no such tensor": lambda t: t.nn.utils.parametrizations.orthogonal(t.nn.Linear(2, 2), "w"),
    "a vector": lambda t: t.nn.utils.parametrizations.orthogonal(t.nn.Linear(2, 2), "bias"),
    "a map": lambda t: t.nn.utils.parametrizations.orthogonal(
        t.nn.Linear(2, 2), orthogonal_map="x"
    ),
    "iterations": lambda t: t.nn.utils.spectral_norm(t.nn.Linear(2, 2), n_power_iterations=0),
    "shape": lambda t: t.nn.utils.parametrize.register_parametrization(
        t.nn.Linear(2, 3), "weight", t.nn.Flatten(0)
    ),
    "amount": lambda t: t.nn.utils.prune.l1_unstructured(t.nn.Linear(2, 3), "weight", 1.5),
    "too many": lambda t: t.nn.utils.prune.l1_unstructured(t.nn.Linear(2, 3), "weight", 7),
    "one dim": lambda t: t.nn.utils.prune.ln_structured(t.nn.Linear(2, 3), "bias", 1, 2, 0),
    "not pruned": lambda t: t.nn.utils.prune.remove(t.nn.Linear(2, 3), "weight"),
    "amount by itself": lambda t: t.nn.utils.prune._validate_pruning_amount_init("x"),
    "too many by itself": lambda t: t.nn.utils.prune._validate_pruning_amount(11, 10),
    "one dim by itself": lambda t: t.nn.utils.prune._validate_structured_pruning(t.ones(3)),
    "dim by itself": lambda t: t.nn.utils.prune._validate_pruning_dim(t.ones(3, 4), 2),
    "no weight norm": lambda t: t.nn.utils.remove_weight_norm(t.nn.Linear(2, 3)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    assert _error(lambda: ERRORS[name](torchlike)) == _error(lambda: ERRORS[name](torch))


@pytest.mark.parametrize("amount", [0, 3, 11, 0.25, 0.5, 1.0])
def test_how_many_an_amount_prunes(amount):
    mine, theirs = (t.nn.utils.prune._compute_nparams_toprune for t in (torchlike, torch))
    assert [mine(amount, n) for n in (5, 10)] == [theirs(amount, n) for n in (5, 10)]


def test_norms_of_slices():
    for n, dim in ((2, 0), (1, -1), (float("inf"), 1)):
        mine, theirs = (
            t.nn.utils.prune._compute_norm(t.arange(12.0).view(3, 4) - 5, n, dim)
            for t in (torchlike, torch)
        )
        same(mine, theirs)


def test_fusion_and_skip_init():
    def run(t):
        t.manual_seed(2)
        conv, bn = t.nn.Conv2d(2, 3, 3), t.nn.BatchNorm2d(3)
        bn.running_mean.uniform_()
        bn.running_var.uniform_(0.5, 2)
        fused = t.nn.utils.fuse_conv_bn_eval(conv.eval(), bn.eval())
        linear = t.nn.utils.fuse_linear_bn_eval(
            t.nn.Linear(2, 3).eval(), t.nn.BatchNorm1d(3).eval()
        )
        before = t.get_rng_state()
        skipped = t.nn.utils.skip_init(t.nn.Linear, 3, 4)
        assert bool((t.get_rng_state() == before).all())
        assert skipped.weight.shape == (4, 3)
        return [fused.weight, fused.bias, linear.weight, linear.bias]

    for a, b in zip(run(torchlike), run(torch), strict=True):
        same(a, b)


def test_functional_call():
    def run(t):
        t.manual_seed(2)
        m = t.nn.Sequential(t.nn.Linear(3, 2), t.nn.BatchNorm1d(2))
        w = t.full((2, 3), 0.5, requires_grad=True)
        x = t.rand(4, 3)
        y = quiet(t.nn.utils.stateless.functional_call, m, {"0.weight": w}, x)
        (y[:, 0] * x[:, 1]).sum().backward()
        assert m[0].weight.grad is None
        return [y, w.grad, m[0].weight, m[1].running_mean]

    for a, b in zip(run(torchlike), run(torch), strict=True):
        same(a, b, rtol=1e-4, atol=1e-5)
