"""Arguments that go on changing, in sizes and in objects: a few programs, then none."""

import warnings

import pytest

import torchlike as torch


class Expert(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 8)
        self.outer = torch.nn.Linear(8, 4)

    def forward(self, x):
        return self.outer(torch.relu(self.inner(x)))


class Mixture(torch.nn.Module):
    """Gives each of two experts the rows that a mask says, as which is known at run time alone."""

    def __init__(self, expert=Expert):
        super().__init__()
        self.experts = torch.nn.ModuleList(expert() for _ in range(2))

    def forward(self, x, which):
        out = torch.zeros_like(x)
        for k, expert in enumerate(self.experts):
            mask = which == k
            out[mask] = expert(x[mask])
        return out


def split(n, rows=12):
    return (torch.arange(rows) >= n).long()


def told(caught, word):
    return [str(w.message) for w in caught if word in str(w.message)]


@pytest.fixture
def mixture():
    torch.manual_seed(0)
    return Mixture()


@pytest.mark.exhaustive
def test_gradients_of_what_is_deferred_are_the_same_at_all_sizes(mixture):
    jitted, x = torch.compile(mixture), torch.randn(12, 4)
    for n in (1, 2, 3, 4, 5, 6):
        results = []
        for run in (mixture, jitted):
            mixture.zero_grad()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                run(x, split(n)).square().sum().backward()
            results.append([p.grad.clone() for p in mixture.parameters()])
        for a, b in zip(*results, strict=True):
            assert torch.allclose(a, b, atol=1e-5)


class Cache:
    """An object that is more than its attributes, made for each call."""

    __slots__ = ("keys",)

    def __init__(self):
        self.keys = torch.zeros(4)


def test_objects_made_for_each_call_are_compiled_for_eight_times():
    def add(x, cache):
        return x + cache.keys

    jitted, x = torch.compile(add), torch.ones(4)
    kept = [Cache() for _ in range(12)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for cache in kept:
            cache.keys += 1
            assert jitted(x, cache).tolist() == [2.0] * 4
        kept[0].keys += 1
        assert jitted(x, kept[0]).tolist() == [3.0] * 4
        assert not jitted.ran_eagerly
        kept[11].keys += 1
        assert jitted(x, kept[11]).tolist() == [3.0] * 4
        assert jitted.ran_eagerly
    assert jitted.compiles == 8
    (message,) = told(caught, "compiled no more")
    assert "8 objects of one class (Cache) among its arguments" in message


def test_modules_and_what_is_compiled_without_falling_back_have_no_such_limit():
    def apply(x, what):
        return what.weight * x

    modules = [torch.nn.Linear(2, 2) for _ in range(10)]
    for compile, given in ((torch.compile, modules), (torch.jit, [*map(Weighed, modules)])):
        jitted = compile(apply)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for what in given:
                jitted(torch.ones(2), what)
        assert jitted.compiles == 10


class Weighed:
    __slots__ = ("weight",)

    def __init__(self, module):
        self.weight = module.weight


def compiles_of(lengths, **options):
    jitted = torch.compile(lambda x: x * 2, **options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for n in lengths:
            assert jitted(torch.ones(n)).tolist() == [2.0] * n
    return jitted.compiles, len(told(caught, "compiled no more"))


def test_what_one_asked_to_compile_is_compiled_for_eight_sizes_at_once():
    assert compiles_of(range(2, 10)) == (8, 0)


def test_lengths_that_grow_are_compiled_for_few():
    assert compiles_of(range(2, 40)) == (8, 1)
    assert compiles_of([*range(2, 40)] * 4) == (10, 1)  # at its second, and at its fourth call


@pytest.mark.exhaustive
def test_sizes_that_come_again_and_again_are_all_compiled():
    assert compiles_of([*range(2, 14)] * 16)[0] == 12


def test_where_sizes_are_static_or_nothing_falls_back_each_is_compiled():
    assert compiles_of(range(2, 14), dynamic=False) == (12, 0)
    assert compiles_of(range(2, 14), fullgraph=True) == (12, 0)
