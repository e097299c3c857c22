"""``recompile_limit``: after how many kinds of calls a compiled function is compiled no more.

The numbers of programs are those of PyTorch 2.13, of which one serves all sizes.
"""

import copy

import pytest

import torchlike as torch
from torchlike._dynamo import config, exc

X = torch.ones(3)


def double(x):
    return x * 2


def plus_length(x, text):
    return x + len(text)


def times(x, k):
    return x * k


STRINGS = [(X, "a" * i) for i in range(5)]
SIZES = [(torch.ones(i),) for i in range(2, 7)]
WITH_ONES = [(torch.ones(i),) for i in (3, 4, 1, 0, 5)]
RANKS = [(torch.ones((2,) * i),) for i in range(1, 6)]
DTYPES = [(torch.ones(2, dtype=t),) for t in (torch.float32, torch.int32, torch.bool)]
NUMBERS = [(X, i) for i in range(5)]


@pytest.mark.parametrize(
    ("function", "calls", "most", "dynamic", "n"),
    [
        (plus_length, STRINGS, 3, None, 3),
        (double, SIZES, 2, None, None),
        (double, SIZES, 1, None, 1),
        (double, SIZES, 3, False, 3),
        (double, SIZES, 1, True, None),
        (double, WITH_ONES, 4, None, None),
        (double, WITH_ONES, 3, None, 3),
        (double, RANKS, 4, None, 4),
        (double, DTYPES, 2, None, 2),
        (times, NUMBERS, 2, None, None),
        (times, NUMBERS, 3, False, 3),
        (double, SIZES, 0, None, 0),
    ],
)
def test_a_whole_graph_raises_beyond_it(function, calls, most, dynamic, n):
    compiled = torch.compile(function, fullgraph=True, dynamic=dynamic, recompile_limit=most)
    for given in calls[:n]:
        assert compiled(*given).equal(function(*given))
    if n is not None:
        for _ in range(2):
            with pytest.raises(exc.FailOnRecompileLimitHit, match="fullgraph=True"):
                compiled(*calls[n])
    if n:
        assert compiled(*calls[0]).equal(function(*calls[0]))
        compiled.reset()
        assert compiled(*calls[n]).equal(function(*calls[n]))


@pytest.mark.filterwarnings("ignore:torchlike.jit. double is compiled no more, because its recom")
def test_without_calls_beyond_it_run_eagerly():
    compiled = torch.compile(double, recompile_limit=2)
    eager = []
    for given in RANKS:
        assert compiled(*given).equal(double(*given))
        eager.append(compiled.ran_eagerly)
    assert eager == [False, False, True, True, True]
    assert compiled.compiles == 2


def test_the_setting_of_all_is_that_of_whole_graphs():
    assert config.recompile_limit == 8
    with config.patch(recompile_limit=2):
        compiled, other = torch.compile(double, fullgraph=True), torch.compile(double)
        for given in RANKS[:2]:
            compiled(*given)
        with pytest.raises(exc.FailOnRecompileLimitHit):
            compiled(*RANKS[2])
        for given in RANKS[:4]:
            other(*given)
    assert other.compiles == 4
    compiled(*RANKS[2])


@pytest.mark.parametrize("in_place", [False, True])
def test_of_modules(in_place):
    module = torch.nn.ReLU()
    if in_place:
        module.compile(fullgraph=True, recompile_limit=1)
    else:
        module = torch.compile(fullgraph=True, recompile_limit=1)(module)
    for one in [module] if in_place else [module, copy.deepcopy(module)]:
        assert one(X).equal(X)
        with pytest.raises(exc.FailOnRecompileLimitHit):
            one(torch.ones(2, 2))


def test_wrong_arguments():
    with pytest.raises(TypeError, match="recompile_limit must be an int or None, not str"):
        torch.compile(double, recompile_limit="3")
    with pytest.raises(TypeError, match="shapes_spec must be ParamsSpec, dict, or None, got int"):
        torch.compile(double, shapes_spec=3)
    with pytest.raises(ValueError, match="`dynamic` and `shapes_spec` cannot both be set"):
        torch.compile(double, shapes_spec={}, dynamic=True)
    assert torch.compile(double, shapes_spec={}, isolate_recompiles=True)(X).equal(X * 2)
