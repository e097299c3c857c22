"""Draws whose parameters are tensors, inside of transforms, against PyTorch."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torchlike  # noqa: E402

# PyTorch's own: a result that its binomial resizes, what its forward mode imports.
pytestmark = [
    pytest.mark.filterwarnings("ignore:An output with one or more elements"),
    pytest.mark.filterwarnings("ignore:`torch.jit.script`"),
]
BOTH = (torch, torchlike)

DRAWS = {
    "multinomial": lambda t, p: t.multinomial(p, 2),
    "multinomial of one": lambda t, p: t.multinomial(p, 1),
    "multinomial, replaced": lambda t, p: t.multinomial(p, 3, replacement=True),
    "multinomial of rows": lambda t, p: t.multinomial(t.stack([p, p + 1]), 2),
    "poisson": lambda t, p: t.poisson(5 * p),
    "binomial": lambda t, p: t.binomial(t.full((4,), 9.0), p),
    "gamma": lambda t, p: t._standard_gamma(p),
    "dirichlet": lambda t, p: t._sample_dirichlet(p),
    "normal": lambda t, p: t.normal(p, p),
    "categorical": lambda t, p: t.distributions.Categorical(p, validate_args=False).sample(),
}


def weights(t, *shape):
    t.manual_seed(1)
    return t.rand(*shape) * 0.5 + 0.25


@pytest.mark.parametrize("name", DRAWS)
def test_each_example_has_its_own(name):
    found = []
    for t in BOTH:
        p = weights(t, 3, 4)
        t.manual_seed(0)
        found.append(t.vmap(lambda p, t=t: DRAWS[name](t, p), randomness="different")(p).tolist())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5)


@pytest.mark.parametrize("how", ["nested", "of one only"])
def test_examples_in_other_ways(how):
    found = []
    for t in BOTH:
        t.manual_seed(0)
        each = {"randomness": "different"}
        if how == "nested":
            run = t.vmap(t.vmap(lambda p, t=t: t.multinomial(p, 1), **each), **each)
            found.append(run(weights(t, 2, 3, 4)).tolist())
        else:
            run = t.vmap(lambda n, p, t=t: t.binomial(n, p), in_dims=(None, 0), **each)
            found.append(run(t.full((3, 4), 9.0), weights(t, 2, 4)[:, None]).tolist())
    assert found[0] == found[1]


def test_examples_that_are_to_have_the_same():
    for t in BOTH:
        with pytest.raises(RuntimeError, match="same randomness with a batched tensor input"):
            t.vmap(t.poisson, randomness="same")(t.ones(3, 2))
        with pytest.raises(RuntimeError, match="randomness error mode"):
            t.vmap(t.poisson)(t.ones(3, 2))
        drawn = t.vmap(lambda x, t=t: x + t.poisson(t.ones(2)), randomness="same")(t.zeros(3, 2))
        assert (drawn == drawn[0]).all()


@pytest.mark.parametrize("name", ["multinomial", "poisson", "normal"])
def test_tangents_end_at_a_draw(name):
    for t in BOTH:
        with t.autograd.forward_ad.dual_level():
            p = t.autograd.forward_ad.make_dual(weights(t, 4), t.ones(4))
            tangent = t.autograd.forward_ad.unpack_dual(DRAWS[name](t, p)).tangent
        assert tangent is None or not tangent.any()


def test_a_compiled_function_draws_for_each_example():
    run = torchlike.vmap(lambda p: torchlike.multinomial(p, 2), randomness="different")
    compiled = torchlike.jit(run)
    p = weights(torchlike, 3, 4)
    for _ in range(2):
        torchlike.manual_seed(0)
        expected = run(p).tolist()
        torchlike.manual_seed(0)
        assert compiled(p).tolist() == expected


@pytest.mark.parametrize("chunk_size", [None, 1, 3, 4])
@pytest.mark.parametrize("draw", ["rand", "dropout"])
def test_the_same_numbers_in_all_chunks(chunk_size, draw):
    found = []
    for t in BOTH:
        of_one = {
            "rand": lambda x, t=t: x + t.rand(2),
            "dropout": lambda x, t=t: t.nn.functional.dropout(x + 1, 0.5),
        }[draw]
        t.manual_seed(0)
        mapped = t.func.vmap(of_one, randomness="same", chunk_size=chunk_size)(t.zeros(4, 2))
        found.append([mapped.numpy(), t.rand(2).numpy()])
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_same_numbers_in_chunks_are_refused_under_jit():
    t = torchlike
    mapped = t.func.vmap(lambda x: x + t.rand(2), randomness="same", chunk_size=2)
    with pytest.raises(t.jit.JitCaptureError, match="in chunks"):
        t.jit(mapped)(t.zeros(4, 2))
    whole = t.func.vmap(lambda x: x + t.rand(2), randomness="same", chunk_size=4)
    assert t.jit(whole)(t.zeros(4, 2)).std(0).tolist() == [0, 0]
