"""torch.utils.checkpoint: gradients as without it, memory given back, errors; eager and jitted."""

import functools
import gc
import weakref

import pytest

import torchlike as torch
from torchlike.utils import checkpoint as room
from torchlike.utils.checkpoint import (
    CheckpointError,
    checkpoint,
    checkpoint_sequential,
    create_selective_checkpoint_contexts,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
)

F, aten = torch.nn.functional, torch.ops.aten


def mlp(seed=0):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3))


def gradients(run, model, x, jitted):
    """Output, gradients of input and parameters, and the next random number."""
    x = x.detach().clone().requires_grad_()
    for p in model.parameters():
        p.grad = None
    torch.manual_seed(7)
    out = (torch.jit(run) if jitted else run)(x)
    out.sum().backward()
    return [out.detach(), x.grad, *(p.grad for p in model.parameters()), torch.rand(2)]


def agree(plain, checkpointed, model, jitted):
    torch.manual_seed(3)
    x = torch.randn(6, 4)
    for a, b in zip(
        gradients(plain, model, x, False), gradients(checkpointed, model, x, jitted), strict=True
    ):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)


both = pytest.mark.parametrize("jitted", [False, True], ids=["eager", "jit"])
either = pytest.mark.parametrize("use_reentrant", [False, True])


@both
@either
def test_gradients_are_those_without_it_and_dropout_drops_the_same(jitted, use_reentrant):
    model = mlp()

    def inside(x):
        return F.dropout(model(F.dropout(x, 0.3)).exp(), 0.4)

    agree(inside, lambda x: checkpoint(inside, x, use_reentrant=use_reentrant), model, jitted)


@both
def test_nested_regions(jitted):
    model = mlp()
    counts = [0, 0]

    def inner(x):
        counts[1] += 1
        return F.dropout(model[0](x).sin(), 0.3).exp()

    def outer(x):
        counts[0] += 1
        h = checkpoint(inner, x * 2, use_reentrant=False)
        return model[2](model[1](h)).cos()

    def plain(x):
        return model[2](model[1](inner(x * 2))).cos()

    agree(plain, lambda x: checkpoint(outer, x, use_reentrant=False), model, jitted)


@both
def test_keyword_arguments_structures_and_several_outputs(jitted):
    model = mlp()

    def inside(x, *, scale, extra):
        h = model(x * extra["a"][0])
        return {"out": h * scale, "also": [h.sin()]}

    def run(x, how):
        found = how(inside, x, scale=2.0, extra={"a": [x.cos()]})
        return found["out"] + found["also"][0]

    agree(
        lambda x: run(x, lambda f, *a, **k: f(*a, **k)),
        lambda x: run(x, lambda f, *a, **k: checkpoint(f, *a, use_reentrant=False, **k)),
        model,
        jitted,
    )


@both
def test_a_step_with_backward_inside_is_compiled_once(jitted):
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    reference = mlp()
    other = torch.optim.SGD(reference.parameters(), lr=0.1)

    def step_of(model, optimizer, use):
        def step(x):
            optimizer.zero_grad()
            h = checkpoint(model, x, use_reentrant=False) if use else model(x)
            loss = (h * h).mean()
            loss.backward()
            optimizer.step()
            return loss

        return torch.jit(step) if jitted else step

    first, second = step_of(model, optimizer, True), step_of(reference, other, False)
    for i in range(3):
        torch.manual_seed(i)
        x = torch.randn(6, 4)
        torch.testing.assert_close(first(x), second(x), rtol=1e-5, atol=1e-6)
    if jitted:
        assert first.compiles == 1


def test_second_derivatives_and_grad():
    x = torch.tensor([0.3, -0.5], requires_grad=True)

    def inside(x):
        return (x * x).sin() * x.exp()

    for f in (inside, lambda x: checkpoint(inside, x, use_reentrant=False)):
        (g,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), x, create_graph=True)
        (t,) = torch.autograd.grad(h.sum(), x)
        if f is inside:
            expected = g, h, t
    for a, b in zip(expected, (g, h, t), strict=True):
        torch.testing.assert_close(a, b)


def test_retain_graph_computes_again_each_time():
    x, calls = torch.ones(3, requires_grad=True), []

    def inside(x):
        calls.append(1)
        return x.sin().exp()

    y = checkpoint(inside, x, use_reentrant=False).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert len(calls) == 3
    torch.testing.assert_close(
        x.grad, 2 * torch.cos(torch.ones(3)) * torch.sin(torch.ones(3)).exp()
    )
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


@either
def test_what_is_inside_is_not_kept(use_reentrant):
    inner = []

    def inside(x):
        h = x.cos()
        inner.append(weakref.ref(h._storage.cell))
        return (h * h).exp()

    x = torch.randn(100, requires_grad=True)
    y = checkpoint(inside, x, use_reentrant=use_reentrant)
    assert inner[0]() is None
    y.sum().backward()
    kept = inside(x)
    assert inner[-1]() is not None
    del kept


def test_the_arguments_are_kept_as_they_were():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    z = checkpoint(lambda a, flags: a * a * flags[0], y, [torch.ones(2)], use_reentrant=False)
    y.mul_(10)
    z.sum().backward()
    assert x.grad.tolist() == [2, 4]


def test_an_argument_that_is_a_strided_view_is_one_again():
    seen = []

    def inside(a):
        seen.append((a.stride(), a.is_contiguous(), a.requires_grad))
        return a.sin().exp()

    x = torch.randn(3, 4, requires_grad=True)
    checkpoint(inside, x.t(), use_reentrant=False).sum().backward()
    assert seen == [((1, 4), False, True)] * 2


def test_early_stop():
    reached = []

    def inside(x):
        y = x.sin().exp()
        reached.append(1)
        return y

    x = torch.ones(2, requires_grad=True)
    checkpoint(inside, x, use_reentrant=False).sum().backward()
    assert len(reached) == 1
    checkpoint(inside, x, use_reentrant=False, early_stop=False).sum().backward()
    assert len(reached) == 3
    with set_checkpoint_early_stop(False):
        y = checkpoint(inside, x, use_reentrant=False)
    y.sum().backward()
    assert len(reached) == 5
    with set_checkpoint_early_stop(True):
        y = checkpoint(inside, x, use_reentrant=False, early_stop=False)
    y.sum().backward()
    assert len(reached) == 6


def test_contexts_of_the_two_runs():
    seen = []

    class Says:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            seen.append(self.name)

        def __exit__(self, *exc):
            seen.append(f"end of {self.name}")

    x = torch.ones(2, requires_grad=True)
    y = checkpoint(torch.sin, x, use_reentrant=False, context_fn=lambda: (Says("1"), Says("2")))
    assert seen == ["1", "end of 1"]
    y.sum().backward()
    assert seen[2:] == ["2", "end of 2"]


def test_random_state_unless_told_otherwise():
    x = torch.ones(64, requires_grad=True)
    torch.manual_seed(0)
    y = checkpoint(lambda a: F.dropout(a * a, 0.5), x, use_reentrant=False)
    y.sum().backward()
    assert torch.equal(x.grad != 0, y != 0)
    x.grad = None
    y = checkpoint(
        lambda a: F.dropout(a * a, 0.5),
        x,
        use_reentrant=False,
        preserve_rng_state=False,
        early_stop=False,
    )
    y.sum().backward()
    assert not torch.equal(x.grad != 0, y != 0)


def test_without_gradients_it_only_runs():
    calls = []
    with torch.no_grad():
        y = checkpoint(
            lambda a: calls.append(1) or a.sin(),
            torch.ones(1, requires_grad=True),
            use_reentrant=False,
        )
    assert (calls, y.requires_grad) == ([1], False)


def changing(first, second):
    calls = []

    def inside(x):
        calls.append(1)
        return (first if len(calls) == 1 else second)(x)

    return inside


CASES = [
    (
        lambda x: x.sin().sin().sin(),
        lambda x: x.sin().sin(),
        {},
        "different number of tensors was saved.*\nNumber of tensors saved during forward: 3\n"
        "Number of tensors saved during recomputation: 2",
    ),
    (
        lambda x: x.sin(),
        lambda x: x.sin().sin(),
        {"early_stop": False},
        "trying to save more tensors during recomputation",
    ),
    (
        lambda x: x.sin().cos(),
        lambda x: x.double().sin().cos(),
        {},
        r"different metadata.*\ntensor at position 0:\nsaved metadata: \{'shape': torch.Size\(",
    ),
]


@pytest.mark.parametrize(("first", "second", "options", "words"), CASES)
def test_runs_that_differ(first, second, options, words):
    x = torch.ones(2, requires_grad=True)
    y = checkpoint(changing(first, second), x, use_reentrant=False, **options)
    with pytest.raises(CheckpointError, match=words):
        y.sum().backward()


def test_debug_names_the_lines():
    x = torch.ones(2, requires_grad=True)
    inside = changing(lambda x: x.sin().cos(), lambda x: x.sin())
    with set_checkpoint_debug_enabled(True):
        y = checkpoint(inside, x, use_reentrant=False)
    with pytest.raises(CheckpointError, match=r"during the recomputation:\n1\. .*x\.sin\(\)"):
        y.sum().backward()


def test_no_check_of_determinism():
    x = torch.ones(2, requires_grad=True)
    inside = changing(lambda x: (x * 2).exp(), lambda x: (x * 3).exp())
    checkpoint(inside, x, use_reentrant=False, determinism_check="none").sum().backward()
    assert x.grad is not None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"use_reentrant": True, "foo": 1}, "Unexpected keyword arguments: foo"),
        ({"use_reentrant": True, "debug": True}, "only supported when use_reentrant=False"),
        ({"use_reentrant": False, "determinism_check": "no"}, "determinism_check should be one of"),
        (
            {"use_reentrant": False, "debug": True, "context_fn": lambda: None},
            "debug=True is incomp",
        ),
    ],
)
def test_options_that_do_not_go_together(options, words):
    with pytest.raises(ValueError, match=words):
        checkpoint(torch.sin, torch.ones(1, requires_grad=True), **options)


def test_reentrant_refusals_and_warnings():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="When use_reentrant=True"):
        torch.autograd.grad(checkpoint(torch.sin, x, use_reentrant=True).sum(), x)
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        checkpoint(torch.sin, x.detach(), use_reentrant=True)
    with pytest.warns(UserWarning, match="should be passed explicitly"):
        checkpoint(torch.sin, x).sum().backward()
    y = checkpoint(lambda a: a.detach(), x, use_reentrant=True)
    with pytest.raises(RuntimeError, match="none of output has requires_grad=True"):
        y.sum().backward()


@either
@both
def test_sequential(use_reentrant, jitted):
    model = torch.nn.Sequential(*[torch.nn.Linear(4, 4) for _ in range(5)])
    agree(
        model,
        lambda x: checkpoint_sequential(model, 2, x, use_reentrant=use_reentrant),
        model,
        jitted,
    )
    with pytest.raises(ValueError, match="Unexpected"):
        checkpoint_sequential(model, 2, torch.ones(1, 4), use_reentrant=False, foo=1)
    with pytest.raises(ValueError, match="5 functions into 6 segments"):
        checkpoint_sequential(model, 6, torch.ones(1, 4), use_reentrant=False)


def test_an_error_inside_the_second_run_reaches_the_user():
    def broken(x):
        raise KeyError("mine")

    x = torch.ones(2, requires_grad=True)
    y = checkpoint(changing(torch.sin, broken), x, use_reentrant=False)
    with pytest.raises(KeyError, match="mine"):
        y.sum().backward()
    assert torch.is_grad_enabled()
    assert not room.saving.hooks


def keeping(*ops):
    return functools.partial(create_selective_checkpoint_contexts, list(ops))


def compiled_step(checkpointed, **options):
    """Twelve layers of [1024, 128] in blocks of three: temporary bytes, and how many products."""
    torch.manual_seed(0)
    layers = [torch.nn.Linear(128, 128) for _ in range(12)]
    blocks = [
        torch.nn.Sequential(*[m for layer in layers[i : i + 3] for m in (layer, torch.nn.GELU())])
        for i in range(0, 12, 3)
    ]

    @torch.jit(warmup=0)
    def step(x):
        for layer in layers:
            layer.weight.grad = layer.bias.grad = None
        for block in blocks:
            x = checkpoint(block, x, use_reentrant=False, **options) if checkpointed else block(x)
        x.sum().backward()

    step(torch.randn(1024, 128, requires_grad=True))
    program = step.latest
    compiled = program.forward.lower(*program.inputs.avals).compile()
    products = compiled.as_text().count(" dot(") + compiled.as_text().count("custom-call(")
    return compiled.memory_analysis().temp_size_in_bytes, products


def test_a_compiled_step_computes_again_and_takes_less_memory():
    (plain, products), (less, more_products) = compiled_step(False), compiled_step(True)
    # XLA did not merge the two runs. (Equal computations are counted once, and the last block's
    # first run is dropped, because nothing but the sum of its result is asked for.)
    assert more_products >= products + 4
    assert less < 0.9 * plain


def test_a_compiled_step_does_not_compute_again_what_is_kept():
    kept, its_products = compiled_step(True, context_fn=keeping(aten.addmm))
    less, products = compiled_step(True)
    assert its_products == compiled_step(False)[1] < products
    assert kept > less


@pytest.mark.parametrize("checkpointed", [False, True])
def test_what_crosses_from_a_jitted_forward_to_its_backward(checkpointed):
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        *[m for _ in range(6) for m in (torch.nn.Linear(16, 16), torch.nn.GELU())]
    )

    @torch.jit
    def forward(x):
        return (checkpoint(model, x, use_reentrant=False) if checkpointed else model(x)).sum()

    forward(torch.randn(8, 16, requires_grad=True)).backward()
    residuals = len(forward.latest.gradient.residual_avals)
    assert residuals == 0 if checkpointed else residuals >= 12


class Halves(torch.autograd.Function):
    """A Function of the user's own, whose node and ctx know each other."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x / 2

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


REGIONS = {
    "ops": lambda x, w: torch.tanh(x * w),
    "a Function at the end": lambda x, w: Halves.apply(x * w),
    "a Function first": lambda x, w: Halves.apply(x) * w,
    "random": lambda x, w: F.dropout(torch.relu(x * w)),
}


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("region", REGIONS)
def test_arguments_are_freed_as_backward_walks(region, reentrant):
    inputs, left = [], []
    weights = [torch.ones(3, requires_grad=True) for _ in range(4)]
    for w in weights:
        w.register_hook(lambda g: left.append(sum(array() is not None for array in inputs)))
    gc.collect()
    gc.disable()
    try:
        y = torch.full((3,), 0.5).requires_grad_() * 1
        for w in weights:
            inputs.append(weakref.ref(y._read()))
            y = checkpoint(REGIONS[region], y, w, use_reentrant=reentrant)
        y.sum().backward()
        assert left == sorted(left, reverse=True)
        assert left[0] - left[-1] == 3
        del y
        assert [array() for array in inputs] == [None] * 4
    finally:
        gc.enable()


def test_a_region_with_reentrance_runs_backward_once():
    x = torch.ones(2, requires_grad=True)
    y = checkpoint(lambda x: (x * x).sum(), x, use_reentrant=True)
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4.0, 4.0]
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


@pytest.mark.parametrize("early_stop", [True, False])
@pytest.mark.parametrize("where", ["outside", "inside", "both"])
def test_a_backward_pass_within_a_region(where, early_stop):
    """It asks for what the first run saved, before that has ended."""

    def inner(x):
        return x.sin().exp().sin()

    def derivative(f):
        def of(x):
            with torch.enable_grad():
                return torch.autograd.grad(f(x), x, create_graph=True)[0]

        return of

    def region(f):
        return functools.partial(checkpoint, f, use_reentrant=False)

    x = torch.tensor(0.3, requires_grad=True)
    wanted = derivative(derivative(inner))(x).item()
    with set_checkpoint_early_stop(early_stop):
        f = region(inner) if where != "outside" else inner
        f = derivative(f)
        f = region(f) if where != "inside" else f
        assert derivative(f)(x).item() == pytest.approx(wanted, rel=1e-5)
