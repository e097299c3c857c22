"""The stream of a GPU: its generator and states, the layout of its kernels, numbers in programs."""

from __future__ import annotations

import copy
import functools
import io
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import torchlike as torch
from torchlike.random.cuda import cards, fills, layout, permutation, philox, samplers
from torchlike.random.cuda.stream import PhiloxEngine
from torchlike.random.generator import drawing_from


def on(seed: int, offset: int = 0) -> torch.Generator:
    made = torch.Generator(device="cuda").manual_seed(seed)
    made.set_offset(offset)
    return made


@pytest.fixture
def card():
    yield cards.set_card
    cards.set_card(None)


# -- the function, and where its words go ----------------------------------------------------------

#: Of the paper's reference code: counter, key, words.
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    (
        (0xFFFFFFFF,) * 4,
        (0xFFFFFFFF,) * 2,
        (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD),
    ),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN)
def test_philox_is_that_of_the_paper(counter, key, words):
    state = [np.array([c], np.uint32) for c in counter]
    with np.errstate(over="ignore"):
        found = philox.encrypted(philox.FourWords(*state), *map(np.uint32, key))
    assert [int(word[0]) for word in found] == list(words)


def test_calls_are_counted_in_64_bits():
    key = philox.key_of(1 << 40, 4 * ((1 << 32) - 1))
    here = philox.words(key, np.zeros(2, np.uint32), np.arange(2, dtype=np.uint32))
    later = philox.key_of(1 << 40, 4 << 32)
    there = philox.words(later, np.zeros(1, np.uint32), np.zeros(1, np.uint32))
    assert here.w[1] == there.w[0] != here.w[0]


@pytest.mark.parametrize(
    ("n", "unroll", "passes"), [(1, 4, 1), (2048, 4, 1), (2049, 4, 2), (1025, 2, 2)]
)
def test_threads_go_over_a_tensor(card, n, unroll, passes):
    card("1x512")
    grid = layout.grid(n, unroll)
    assert grid.threads == min(512, -(-n // 256) * 256)
    assert grid.increment == 4 * passes
    words, place = grid.drawn(philox.key_of(5, 0))
    index = np.arange(n)
    turn, thread = index // grid.threads, index % grid.threads
    each = philox.words(
        philox.key_of(5, 0), thread.astype(np.uint32), (turn // unroll).astype(np.uint32)
    )
    np.testing.assert_array_equal(np.asarray(words.z), each.z)
    if n > grid.threads:
        np.testing.assert_array_equal(np.asarray(place), turn % unroll)


@pytest.mark.parametrize("cosine", [False, True])
def test_sines_of_the_angles_there_are(cosine):
    angle = np.linspace(0, 2 * np.pi, 100_001).astype(np.float32)
    found = samplers.sine_or_cosine(jnp.asarray(angle), cosine)
    wanted = (np.cos if cosine else np.sin)(angle.astype(np.float64))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1.2e-7)


def test_a_tensor_beyond_2_gib_is_filled_in_halves():
    assert (
        list(layout.pieces(1 << 29, 4)) == [1 << 28] * 2
        or sum(layout.pieces(1 << 29, 4)) == 1 << 29
    )
    assert list(layout.pieces((1 << 29) - 1, 4)) == [(1 << 29) - 1]
    assert list(layout.pieces((1 << 30) + 3, 2)) == [(1 << 29) + 1, (1 << 29) + 2]


@pytest.mark.parametrize("width", [2, 4, 8])
def test_neighbours_of_dropout_share_a_call(card, width):
    card("1x256")
    n = 4096
    mask = np.asarray(fills.bernoulli_mask(on(3).engine, (n,), 0.5, width=width))
    thread, turn = np.arange(n) // width % 256, np.arange(n) // width // 256
    place = np.arange(n) % width
    call = turn * max(width // 4, 1) + place // 4
    each = philox.words(philox.key_of(3, 0), thread.astype(np.uint32), call.astype(np.uint32))
    word = np.choose(place % 4, each)
    np.testing.assert_array_equal(mask, (word.astype(np.float32) * 2.0**-32 + 2.0**-33) < 0.5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("size", [40, 42, 41])
def test_dropout_scales_in_float32(dtype, size):
    x = (torch.arange(size) / 8 + 1).to(dtype)
    with drawing_from(PhiloxEngine(7)):
        found = torch.nn.functional.dropout(x, 0.1)
    width = {40: 16 // dtype.itemsize, 42: 2, 41: 1}[size]
    kept = np.asarray(fills.bernoulli_mask(on(7).engine, (size,), 1 - 0.1, width=width))
    scale = np.float32(1) / np.float32(1 - 0.1)
    noise = torch.from_numpy(np.where(kept, scale, 0).astype(np.float32))
    assert torch.equal(found, (x.float() * noise).to(dtype))


@pytest.mark.parametrize(
    "name", ["a100", "NVIDIA A100", "tesla-t4", "GeForce RTX 3090", "108x2048"]
)
def test_cards_by_name(name):
    assert cards.named(name).threads in (221184, 40960, 125952)


def test_no_such_card():
    with pytest.raises(ValueError, match="no card 'H1000' is known"):
        torch.set_card("H1000")


# -- generators ------------------------------------------------------------------------------------


def test_the_state_is_seed_and_offset():
    g = on(7, 12)
    state = np.array([7, 12], "<i8").view(np.uint8)
    np.testing.assert_array_equal(g.get_state().numpy(), state)
    other = torch.Generator(device="cuda")
    other.set_state(torch.tensor(state))  # as PyTorch has written it
    assert (other.initial_seed(), other.get_offset()) == (7, 12)
    assert torch.equal(torch.randn(3, generator=g), torch.randn(3, generator=other))
    other.set_state(torch.tensor(state[:8]))
    assert (other.initial_seed(), other.get_offset()) == (7, 0)


def test_a_checkpoint_is_continued():
    g = on(11)
    torch.rand(5, generator=g)
    file = io.BytesIO()
    torch.save({"cuda_rng_state": g.get_state(), "step": 1}, file)
    after = torch.rand(5, generator=g)
    file.seek(0)
    again = torch.Generator(device="cuda").set_state(torch.load(file)["cuda_rng_state"])
    assert torch.equal(torch.rand(5, generator=again), after)


@pytest.mark.parametrize(
    "again", [copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g)), torch.Generator.clone_state]
)
def test_copies_go_on_alike(again):
    g = on(3, 8)
    other = again(g)
    assert (other.device.type, other.get_offset()) == ("cuda", 8)
    assert torch.equal(torch.rand(2, generator=g), torch.rand(2, generator=other))


def test_what_a_generator_refuses():
    g = on(0)
    with pytest.raises(RuntimeError, match="offset must be a multiple of 4"):
        g.set_offset(3)
    with pytest.raises(RuntimeError, match="RNG state is wrong size"):
        g.set_state(torch.zeros(5056, dtype=torch.uint8))
    with pytest.raises(TypeError, match=r"RNG state must be a torch\.ByteTensor"):
        g.set_state(torch.zeros(16))
    with pytest.raises(RuntimeError, match="CPU Generator does not use offset"):
        torch.Generator().get_offset()


def test_made_without_a_seed_it_starts_as_pytorch_starts_it():
    g = torch.Generator(device="cuda")
    assert (g.initial_seed(), g.get_offset(), str(g.device)) == (67280421310721, 0, "cuda:0")


# -- what draws take ------------------------------------------------------------------------------

TAKES = {
    "rand": (lambda g: torch.rand(10, generator=g), 4),
    "rand double": (lambda g: torch.rand(10, dtype=torch.float64, generator=g), 4),
    "nothing": (lambda g: torch.rand(0, generator=g), 0),
    "bernoulli of each": (lambda g: torch.bernoulli(torch.full((9,), 0.5), generator=g), 12),
    "randperm": (lambda g: torch.randperm(10, generator=g), 4 + 12),
    "multinomial": (lambda g: torch.multinomial(torch.ones(3, 5), 2, generator=g), 4),
    "multinomial again": (lambda g: torch.multinomial(torch.ones(3, 5), 9, True, generator=g), 4),
    "poisson": (lambda g: torch.poisson(torch.ones(3), generator=g), 20),
    "gamma": (lambda g: torch._standard_gamma(torch.ones(3), generator=g), 12),
    "rrelu": (lambda g: torch.rrelu(torch.ones(3), training=True, generator=g), 4),
}


@pytest.mark.parametrize("name", TAKES)
def test_draws_move_the_offset(name):
    call, taken = TAKES[name]
    g = on(1)
    call(g)
    assert g.get_offset() == taken


# -- eager and in programs -------------------------------------------------------------------------

DRAWS = {
    "rand complex": lambda g: torch.rand(5, generator=g, dtype=torch.complex64),
    "randn double": lambda g: torch.randn(5, generator=g, dtype=torch.float64),
    "random_ to 2**40": lambda g: torch.empty(5, dtype=torch.int64).random_(0, 2**40, generator=g),
    "bernoulli": lambda g: torch.bernoulli(torch.full((5,), 0.3), generator=g),
    "transposed": lambda g: torch.empty(2, 3).t().exponential_(2.0, generator=g),
    "multinomial again": lambda g: torch.multinomial(torch.ones(5), 7, True, generator=g),
    "randperm": lambda g: torch.randperm(5, generator=g),
    "poisson": lambda g: torch.poisson(torch.tensor([0.5, 20.0, 300.0, 5000.0]), generator=g),
}


def test_rates_of_poisson_are_checked():
    g = on(5)
    for rate in (-1.0, float("nan")):
        with pytest.raises(RuntimeError, match="expected rate to be non-negative"):
            torch.poisson(torch.tensor([rate]), generator=g)
    assert g.get_offset() == 0
    compiled = torch.compile(lambda rate: torch.poisson(rate, generator=g))
    with pytest.raises(RuntimeError, match="expected rate to be non-negative"):
        compiled(torch.tensor([1.0, float("nan"), float("inf"), -1.0])).tolist()
    with pytest.raises(NotImplementedError, match="\"poisson_cuda\" not implemented for 'Long'"):
        torch.poisson(torch.ones(2, dtype=torch.int64), generator=g)


def test_programs_draw_as_eager_code_does():
    """All in one program, called three times and compiled once."""
    g = on(5)
    compiled = torch.compile(lambda: [draw(g) for draw in DRAWS.values()])
    found = [compiled() for _ in range(3)]
    moved = g.get_offset()
    g.manual_seed(5)
    for results in found:
        for name, draw, result in zip(DRAWS, DRAWS.values(), results, strict=True):
            torch.testing.assert_close(result, draw(g), rtol=1e-5, atol=1e-6, msg=name)
    assert g.get_offset() == moved


def test_a_program_is_given_a_key_and_no_numbers():
    """Of a draw a program takes 16 bytes, and computes the numbers by arithmetic."""
    g = on(5)
    step = torch.jit(lambda x: torch.rand(1000, generator=g) * x)
    step(torch.ones(1000))
    (program,) = step.programs()
    given = [(a.shape, a.dtype.name) for a in program.jaxpr().in_avals]
    assert sorted(given) == [((4,), "uint32"), ((1000,), "float32")]
    lowered = jax.jit(program.function).trace(*program.avals).lower(lowering_platforms=("cuda",))
    assert "custom_call" not in lowered.as_text()


def test_a_program_of_jax_draws_at_each_run():
    g = on(5)

    @jax.jit
    def step(x):
        drawn = torch.rand(2, generator=g), torch.randperm(4, generator=g)
        return x, [t.jax() for t in drawn]

    found = [step(jnp.ones(1))[1] for _ in range(2)]
    assert g.get_offset() == 2 * 12
    g.manual_seed(5)
    for rand, order in found:
        np.testing.assert_array_equal(rand, torch.rand(2, generator=g).numpy())
        np.testing.assert_array_equal(order, torch.randperm(4, generator=g).numpy())


def test_examples_of_a_vmap_draw_together():
    found = torch.func.vmap(lambda x: x + torch.rand(2, generator=g), randomness="different")
    g = on(5)
    together = found(torch.zeros(3, 2))
    assert torch.equal(together, torch.rand(3, 2, generator=on(5)))


# -- distributions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_moments(dtype):
    """Of 40,000 numbers each, within five deviations of the estimate; the seed is fixed."""
    g, x = on(2024), torch.empty(40_000, dtype=dtype)
    made = {
        "uniform": (x.uniform_(-1, 3, generator=g).clone(), 1, 4 / 12**0.5),
        "normal": (x.normal_(2, 3, generator=g).clone(), 2, 3),
        "exponential": (x.exponential_(2, generator=g).clone(), 0.5, 0.5),
        "geometric": (x.geometric_(0.25, generator=g).clone(), 4, 12**0.5),
        "bernoulli": (x.bernoulli_(0.2, generator=g).clone(), 0.2, 0.4),
    }
    _check_moments(made)


@pytest.mark.parametrize(
    "dtype", [torch.float32, pytest.param(torch.float64, marks=pytest.mark.full)]
)
def test_moments_of_what_is_drawn_until_accepted(dtype):
    n, g = 40_000, on(2024)
    full = functools.partial(torch.full, (n,), dtype=dtype)
    made = {
        "poisson": (torch.poisson(full(7.0), generator=g), 7, 7**0.5),
        "middle poisson": (torch.poisson(full(90.0), generator=g), 90, 90**0.5),
        "large poisson": (torch.poisson(full(1e4), generator=g), 1e4, 100),
        "gamma": (torch._standard_gamma(full(3.0), generator=g), 3, 3**0.5),
        "small gamma": (torch._standard_gamma(full(0.3), generator=g), 0.3, 0.3**0.5),
    }
    _check_moments(made)


@pytest.mark.full
def test_moments_of_binomial():
    count, prob = torch.full((40_000,), 20.0), torch.full((40_000,), 0.3)
    _check_moments({"binomial": (torch.binomial(count, prob, generator=on(2024)), 6, 4.2**0.5)})


def _check_moments(made):
    for name, (values, mean, deviation) in made.items():
        values = values.double().numpy()
        assert abs(values.mean() - mean) < 5 * deviation / len(values) ** 0.5, name
        assert abs(values.std() / deviation - 1) < 0.05, name


def test_integers_and_choices_are_even():
    g = on(9)
    for made in (
        torch.randint(0, 7, (70_000,), generator=g),
        torch.multinomial(torch.ones(7), 70_000, True, generator=g),
        torch.multinomial(torch.ones(70_000, 7), 1, generator=g).flatten(),
    ):
        counts = np.bincount(made.numpy(), minlength=7)
        assert ((counts - 10_000) ** 2 / 10_000).sum() < 30  # chi square, 6 degrees: p = 4e-5


def test_equal_keys_of_a_permutation_are_shuffled():
    keys = np.array([3, 1, 3, 3, 0], np.int32)
    key = philox.key_of(4, 0)
    shuffled = jax.jit(lambda key: permutation.by_keys(jnp.asarray(keys), 10, key))
    orders = {tuple(shuffled(philox.key_of(s, 0)).tolist()) for s in range(40)}
    assert {order[:2] for order in orders} == {(4, 1)}
    assert {order[2:] for order in orders} == {
        (0, 2, 3),
        (0, 3, 2),
        (2, 0, 3),
        (2, 3, 0),
        (3, 0, 2),
        (3, 2, 0),
    }
    assert sorted(permutation.by_keys(jnp.asarray(keys), 32, key).tolist()) == list(range(5))


def test_an_engine_is_marked_and_goes_back():
    engine = PhiloxEngine(3)
    mark = engine.mark()
    engine.take(5)
    assert engine.offset == 8
    assert not engine.is_at(mark)
    engine.go_back(mark)
    assert engine.is_at(mark)
    assert engine.copy().is_at(mark)
