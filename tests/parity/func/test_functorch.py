"""The package functorch, and torch._functorch as libraries extend it, against PyTorch's."""

import importlib
import warnings

import functorch
import pytest
from oracle import compare, refused

import torchlike
from torchlike.porting import functorch as ours

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning"),
]


@pytest.fixture(scope="module", autouse=True)
def _loaded():
    """PyTorch compiles scripts of its own when the first transform runs, and warns of that."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.func.jvp(torch.sin, (torch.ones(1),), (torch.ones(1),))


def package(t):
    return functorch if t is torch else ours


def f(x):
    return (x.sin() * x).sum()


DEPRECATED = {
    "vmap": lambda t, p, x: p.vmap(f)(x),
    "grad": lambda t, p, x: p.grad(f)(x),
    "grad_and_value": lambda t, p, x: p.grad_and_value(f)(x),
    "vjp": lambda t, p, x: p.vjp(f, x)[1](t.tensor(2.0)),
    "jvp": lambda t, p, x: p.jvp(f, (x,), (x,)),
    "jacrev": lambda t, p, x: p.jacrev(f)(x),
    "jacfwd": lambda t, p, x: p.jacfwd(f)(x),
    "hessian": lambda t, p, x: p.hessian(f)(x[0]),
    "functionalize": lambda t, p, x: p.functionalize(f)(x),
}


@pytest.mark.parametrize("name", DEPRECATED)
def test_old_names_warn_and_work(name):
    compare(lambda t: DEPRECATED[name](t, package(t), t.arange(6.0).reshape(2, 3)), warned=150)


def model(t):
    made = t.nn.Sequential(t.nn.Linear(3, 4), t.nn.BatchNorm1d(4), t.nn.Linear(4, 3))
    made[2].weight = t.nn.Parameter(made[0].weight.detach().T.contiguous())
    with t.no_grad():
        for i, p in enumerate(made.parameters()):
            p.copy_((t.arange(p.numel()) * (3 + i) % 7 / 7.0).reshape(p.shape))
    return made


def test_modules_as_functions():
    def run(t):
        function, params, buffers = package(t).make_functional_with_buffers(model(t))
        x = t.arange(15.0).reshape(5, 3)
        out = function(params, buffers, x)
        out.sum().backward()
        return (
            out.detach(),
            [p.grad for p in params],
            [b.clone() for b in buffers],
            function.param_names,
            function.buffer_names,
            function.all_names_map,
            [str(p.device) for p in function.stateless_model.parameters()],
        )

    compare(run)


def test_tied_weights_are_one():
    def run(t):
        made = t.nn.Sequential(t.nn.Linear(3, 3), t.nn.Linear(3, 3))
        made[1].weight = made[0].weight
        function, params = package(t).make_functional(made, disable_autograd_tracking=True)
        x = t.arange(6.0).reshape(2, 3)
        zeros = [p * 0 + 1 for p in params]
        return (
            function.param_names,
            function.names_map,
            function(zeros, x),
            [p.requires_grad for p in params],
        )

    compare(run)


def test_an_ensemble():
    def run(t):
        models = [model(t).eval() for _ in range(3)]
        function, params, buffers = package(t).combine_state_for_ensemble(models)
        x = t.arange(6.0).reshape(2, 3)
        out = t.vmap(function, (0, 0, None))(params, buffers, x)
        return out, [tuple(p.shape) for p in params], [p.requires_grad for p in params]

    compare(run)


def test_modules_that_do_not_fit():
    refused(lambda t: package(t).make_functional(model(t)))
    refused(lambda t: package(t).combine_state_for_ensemble([]))
    refused(lambda t: package(t).combine_state_for_ensemble([model(t), model(t).eval()]))
    refused(lambda t: package(t).combine_state_for_ensemble([model(t), t.nn.Linear(2, 2)]))


class Bag:
    """A container that takes care of its mapped dimension itself, as a tensordict does."""

    def __init__(self, a, size):
        self.a, self.size = a, size

    def dim(self):
        return len(self.size)


@pytest.fixture(params=[torch, torchlike], ids=lambda t: t.__name__)
def opened(request, monkeypatch):
    """The functions of torch._functorch.vmap that tensordict replaces, replaced for Bag."""
    source = importlib.import_module(f"{request.param.__name__}._functorch.vmap")

    def leaf(v):
        return isinstance(v, Bag)

    def inputs(in_dims, args, func):
        flat, spec = source.tree_flatten(args, is_leaf=leaf)
        dims = source._broadcast_to_and_flatten(in_dims, spec)
        sizes = {
            (v.size if leaf(v) else v.shape)[d]
            for v, d in zip(flat, dims, strict=True)
            if d is not None
        }
        assert len(sizes) == 1
        return sizes.pop(), dims, flat, spec

    def enter(dims, flat, level, spec):
        made = []
        for v, d in zip(flat, dims, strict=True):
            if leaf(v):
                size = v.size[:d] + v.size[d + 1 :]
                made.append(Bag(source._add_batch_dim(v.a, d, level), size))
            else:
                made.append(v if d is None else source._add_batch_dim(v, d, level))
        return source.tree_unflatten(made, spec)

    def leave(outputs, out_dims, level, size, func):
        flat, spec = source.tree_flatten(outputs, is_leaf=leaf)
        dims = source._broadcast_to_and_flatten(out_dims, spec)
        name = source._get_name(func)
        made = []
        for v, d in zip(flat, dims, strict=True):
            whole = source._maybe_remove_batch_dim(name, v.a if leaf(v) else v, level, size, d)
            made.append(Bag(whole, (*v.size[:d], size, *v.size[d:])) if leaf(v) else whole)
        return source.tree_unflatten(made, spec)

    monkeypatch.setattr(source, "_process_batched_inputs", inputs)
    monkeypatch.setattr(source, "_create_batched_inputs", enter)
    monkeypatch.setattr(source, "_unwrap_batched", leave)
    return request.param


def test_vmap_over_containers_of_a_library(opened):
    t = opened

    def g(bag, x):
        assert bag.size == (3,)
        assert bag.a.shape == (3, 2)
        bag.a.add_(1)  # in place: so is the caller's
        return {"bag": Bag(bag.a * x, bag.size), "sum": bag.a.sum()}

    given = t.arange(24.0).reshape(3, 4, 2)
    out = t.vmap(g, (1, 0), 0)(Bag(given, (3, 4)), t.arange(4.0))
    assert out["bag"].size == (4, 3)
    assert given.sum().item() == 24 * 25 / 2
    expected = given.movedim(1, 0) * t.arange(4.0).reshape(4, 1, 1)
    assert t.equal(out["bag"].a, expected)
    assert t.equal(out["sum"], given.sum((0, 2)))
    assert t.equal(t.func.jacrev(lambda x: x.sin())(given).sum((3, 4, 5)), given.cos())


def test_an_example_that_is_kept_sees_what_is_written_between():
    def kept(t):
        source, held = importlib.import_module(f"{t.__name__}._functorch.vmap"), []
        given = t.arange(6.0).reshape(2, 3)

        def f(x):
            if not held:
                held.append(source._add_batch_dim(given, 0, 1))
            return x + held[0], held[0].add_(x)

        results = []
        for i in range(3):
            results += [r.clone() for r in t.vmap(f)(t.full((2,), float(i)))]
            given.mul_(2)
        return [*results, given, held[0].shape]

    compare(kept)


def test_levels_that_do_not_run():
    functorch_of = torchlike._C._functorch
    with pytest.raises(RuntimeError, match="no vmap of level 1 is running"):
        functorch_of._add_batch_dim(torchlike.ones(2), 0, 1)


def test_dimensions_of_the_first_class_are_not_there():
    with pytest.raises(ImportError):
        importlib.import_module("torchlike.porting.functorch.dim")
