"""The engine: seed rule, word order, state bytes, errors, copies, threads."""

from __future__ import annotations

import pickle
import threading

import numpy as np
import pytest

from torchlike.random import fills
from torchlike.random.engine import DEFAULT_SEED, Engine, unsigned_seed

F32 = np.dtype("float32")


def reference_words(seed: int, n: int) -> list[int]:
    """mt19937 written out: seeding, twist and tempering (Matsumoto & Nishimura, 1998)."""
    state = [seed & 0xFFFFFFFF]
    for j in range(1, 624):
        state.append((1812433253 * (state[-1] ^ (state[-1] >> 30)) + j) & 0xFFFFFFFF)
    words = []
    while len(words) < n:
        for i in range(624):
            y = (state[i] & 0x80000000) | (state[(i + 1) % 624] & 0x7FFFFFFF)
            state[i] = state[(i + 397) % 624] ^ (y >> 1) ^ (0x9908B0DF if y & 1 else 0)
        for y in state:
            y ^= y >> 11
            y ^= (y << 7) & 0x9D2C5680
            y ^= (y << 15) & 0xEFC60000
            words.append(y ^ (y >> 18))
    return words[:n]


@pytest.mark.parametrize("seed", [0, 1, 42, -1, 2**32 + 7, 2**64 - 1])
def test_words(seed):
    assert Engine(seed).words32(1500).tolist() == reference_words(seed, 1500)


def test_words_do_not_depend_on_how_they_are_asked_for():
    # 4096 is where another way of drawing takes over.
    whole = Engine(3).words32(20000)
    pieces = Engine(3)
    parts = [pieces.words32(n) for n in (0, 1, 4095, 4096, 1000, 10808)]
    assert np.concatenate(parts).tolist() == whole.tolist()


@pytest.mark.parametrize("n", [0, 1, 7, 4095, 4096, 9000])
def test_first_word_is_the_high_half(n):
    pairs = Engine(3).words32(2 * n).astype(object).reshape(-1, 2)
    assert Engine(3).words64(n).tolist() == [high << 32 | low for high, low in pairs]


def test_scalar_double_is_the_low_53_bits():
    engine, other = Engine(9), Engine(9)
    doubles = [engine.double() for _ in range(50)]
    assert doubles == [(w % 2**53) * 2.0**-53 for w in other.words64(50).tolist()]


def test_only_the_low_32_bits_start_the_stream():
    for seed in (2**32, 2**63, -(2**63), 5 * 2**40):
        assert Engine(seed).words32(5).tolist() == Engine(0).words32(5).tolist()
        assert Engine(seed).initial_seed() == seed % 2**64
    assert Engine().initial_seed() == DEFAULT_SEED == 67280421310721


@pytest.mark.parametrize("seed", [2**64, -(2**63) - 1])
def test_seed_out_of_range(seed):
    with pytest.raises(ValueError, match=r"^Overflow when unpacking long long$"):
        Engine().seed(seed)
    with pytest.raises(ValueError, match=r"^Overflow when unpacking long long$"):
        unsigned_seed(seed)


@pytest.mark.parametrize("seed", [1.5, "a", None, True])
def test_seed_of_another_type(seed):
    name = type(seed).__name__
    with pytest.raises(RuntimeError, match=f"^manual_seed expected a long, but got {name}$"):
        Engine().seed(seed)


def test_entropy_gives_other_seeds():
    engine = Engine()
    seeds = {engine.seed_from_entropy() for _ in range(8)}
    assert len(seeds) == 8
    assert engine.initial_seed() in seeds
    assert max(seeds).bit_length() > 32


def test_a_refused_seed_changes_nothing():
    engine = Engine(5)
    before = engine.get_state()
    with pytest.raises(ValueError):
        engine.seed(2**64)
    assert engine.get_state().tobytes() == before.tobytes()


@pytest.mark.parametrize("drawn", [0, 1, 3, 623, 624, 625, 1248, 5000])
@pytest.mark.parametrize("cached", [False, True])
def test_state_round_trip(drawn, cached):
    engine = Engine(77)
    engine.words32(drawn)
    if cached:
        fills.normal(engine, (3,), F32)
    state = engine.get_state()
    assert state.dtype == np.uint8
    assert state.shape == (5056,)
    other = Engine(1)
    other.set_state(state)
    assert other.get_state().tobytes() == state.tobytes()
    assert other.initial_seed() == 77
    assert other.cached_normal == engine.cached_normal
    assert other.words32(700).tolist() == engine.words32(700).tolist()


def test_copies_and_pickles_go_their_own_way():
    engine = Engine(8)
    fills.normal(engine, (3,), F32)
    twins = [engine.copy(), pickle.loads(pickle.dumps(engine))]
    expected = fills.normal(engine, (5,), F32).tobytes()
    for twin in twins:
        assert fills.normal(twin, (5,), F32).tobytes() == expected


def broken(**changes):
    """State bytes with some 32-bit fields replaced: left at 8, seeded at 12, next at 16."""
    offsets = {"left": 8, "seeded": 12, "next": 16}
    engine = Engine()
    engine.words32(10)
    state = engine.get_state()
    for name, value in changes.items():
        offset = offsets[name]
        state[offset : offset + 4] = np.array([value], "<i4").view(np.uint8)
    return state


@pytest.mark.parametrize(
    ("state", "error", "words"),
    [
        ([1, 2], TypeError, "expected a torch.ByteTensor, but got list"),
        (np.zeros(5056, np.float32), TypeError, "RNG state must be a torch.ByteTensor"),
        (
            np.zeros(10, np.uint8),
            RuntimeError,
            "Expected a CPUGeneratorImplState of size 5056 but found the input RNG state size "
            "to be 10",
        ),
        (np.zeros(5056, np.uint8), RuntimeError, "Invalid mt19937 state"),
        (broken(left=0), RuntimeError, "Invalid mt19937 state"),
        (broken(left=625), RuntimeError, "Invalid mt19937 state"),
        (broken(next=625), RuntimeError, "Invalid mt19937 state"),
        (broken(seeded=0), RuntimeError, "Invalid mt19937 state"),
        (broken(next=11), RuntimeError, "Invalid mt19937 state"),
    ],
)
def test_states_refused(state, error, words):
    engine = Engine(4)
    before = engine.get_state().tobytes()
    with pytest.raises(error, match=f"^{words}$"):
        engine.set_state(state)
    assert engine.get_state().tobytes() == before


def test_scalar_normals_come_in_pairs():
    engine, by_fill = Engine(6), Engine(6)
    one_by_one = [engine.normal() for _ in range(7)]
    assert one_by_one == fills.normal(by_fill, (7,), np.dtype("float64")).tolist()
    assert engine.cached_normal is not None
    assert engine.get_state().tobytes() == by_fill.get_state().tobytes()


def test_threads_share_an_engine_fill_by_fill():
    """Each fill is one piece of the sequence, whichever thread gets it."""
    shared, n, fills_each = Engine(12), 30_001, 6
    got: list[bytes] = []

    def draw():
        for _ in range(fills_each):
            got.append(fills.uniform(shared, (n,), F32).tobytes())

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone = Engine(12)
    expected = [fills.uniform(alone, (n,), F32).tobytes() for _ in range(4 * fills_each)]
    assert sorted(got) == sorted(expected)
