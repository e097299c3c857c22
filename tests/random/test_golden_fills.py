"""Golden numbers of PyTorch 2.13, bit for bit, for everything that fills alone can reproduce.

`golden.npz` holds every case of the reference; its entry `__cases__` lists the code that made each.
Here a table says which fills stand for that code. Each entry takes a freshly seeded engine.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from torchlike.random import fills
from torchlike.random.engine import Engine

GOLDEN = np.load(Path(__file__).with_name("golden.npz"))
CODE = {case["key"]: case for case in json.loads(str(GOLDEN["__cases__"]))}

F32, F64 = np.dtype("float32"), np.dtype("float64")
I64, BOOL = np.dtype("int64"), np.dtype("bool")
FLOATS = {
    "float32": F32,
    "float64": F64,
    "float16": np.dtype("float16"),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
}

Case = Callable[[Engine], object]
CASES: dict[str, Case] = {}


def rand(e, *shape, dtype=F32):
    return fills.uniform(e, shape, dtype)


def randn(e, *shape, dtype=F32):
    return fills.normal(e, shape, dtype)


def then(*steps):
    """Run the steps in order; the last one's result counts."""
    return lambda e: [step(e) for step in steps][-1]


def named(**steps):
    """Run the steps in order; a dict of all results."""
    return lambda e: {name: step(e) for name, step in steps.items()}


def kept(x, p, e, shape=None):
    return x * fills.dropout_noise(e, shape or x.shape, x.dtype, p)


def alpha(x, p, e, shape=None):
    noise = fills.alpha_dropout_noise(e, shape or x.shape, x.dtype, p)
    return (x * noise.noise) + noise.shift


# -- seeds, generator, state -----------------------------------------------------------------------
for key in CODE:
    if key.startswith("seed/rand4"):
        CASES[key] = lambda e: rand(e, 4)
CASES |= {
    "seed/initial_seed": lambda e: [str(e.initial_seed())],
    "gen/default_seed": lambda e: (
        lambda g: {"rand": rand(g, 4), "seed": np.array(g.initial_seed()), "state": g.get_state()}
    )(Engine()),
    "gen/words": lambda e: fills.random(e, (1300,), np.dtype("int32")),
    "gen/words64": lambda e: fills.random(e, (40,), I64, -(2**63), None),
    "state/fresh": lambda e: e.get_state(),
    "state/after_rand1": then(lambda e: rand(e, 1), Engine.get_state),
    "state/after_rand624": then(lambda e: rand(e, 624), Engine.get_state),
    "state/after_rand625": then(lambda e: rand(e, 625), Engine.get_state),
    "state/after_randn3": then(lambda e: randn(e, 3), Engine.get_state),
    "state/after_randn4": then(lambda e: randn(e, 4), Engine.get_state),
    "state/roundtrip": then(
        lambda e: randn(e, 3),
        lambda e: (lambda state: {"a": randn(e, 5), "b": (e.set_state(state), randn(e, 5))[1]})(
            e.get_state()
        ),
    ),
    "state/fork": named(
        a=lambda e: rand(e, 2), b=lambda e: rand(e.copy(), 2), c=lambda e: rand(e, 2)
    ),
    "state/cache_dropped_by_seed": then(
        lambda e: randn(e, 3), lambda e: e.seed(3), lambda e: randn(e, 3)
    ),
    "state/cache_kept_by_rand": named(
        a=lambda e: randn(e, 3), b=lambda e: rand(e, 2), c=lambda e: randn(e, 2)
    ),
    "state/cache_kept_by_randn16": named(
        a=lambda e: randn(e, 3), b=lambda e: randn(e, 16), c=lambda e: randn(e, 2)
    ),
    "state/cache_shared_by_dtypes": named(
        a=lambda e: randn(e, 1, dtype=F64), b=lambda e: randn(e, 1)
    ),
}

# -- every floating dtype --------------------------------------------------------------------------
for name, T in FLOATS.items():
    for n in (1, 5, 17, 100, 2000):
        CASES[f"rand/{name}_{n}"] = lambda e, T=T, n=n: rand(e, n, dtype=T)
    for n in (1, 2, 5, 15, 16, 17, 31, 32, 33, 100, 3001):
        CASES[f"randn/{name}_{n}"] = lambda e, T=T, n=n: randn(e, n, dtype=T)
    for suffix, bounds in (("a", (-0.3, 0.45)), ("b", (5, 1000))):
        CASES[f"uniform_/{name}_{suffix}"] = lambda e, T=T, b=bounds: fills.uniform(
            e, (200,), T, *b
        )
    for n, moments in ((15, (0.3, 0.7)), (200, (0.3, 0.7)), (205, (-2, 3))):
        CASES[f"normal_/{name}_{n}"] = lambda e, T=T, n=n, m=moments: fills.normal(e, (n,), T, *m)
    CASES |= {
        f"exponential_/{name}": lambda e, T=T: fills.exponential(e, (100,), T, 1.7),
        f"geometric_/{name}": lambda e, T=T: fills.geometric(e, (100,), T, 0.3),
        f"cauchy_/{name}": lambda e, T=T: fills.cauchy(e, (100,), T, 0.3, 1.5),
        f"log_normal_/{name}": lambda e, T=T: fills.log_normal(e, (101,), T, 0.3, 0.5),
        f"bernoulli_p/{name}": lambda e, T=T: fills.bernoulli(e, (100,), T, 0.3),
        f"bernoulli_tensor/{name}": lambda e, T=T: fills.bernoulli_tensor(
            e, (100,), T, rand(e, 100, dtype=T)
        ),
        f"dropout/{name}": lambda e, T=T: kept(randn(e, 6, 20, dtype=T), 0.3, e),
        f"alpha_dropout/{name}": lambda e, T=T: alpha(randn(e, 6, 20, dtype=T), 0.3, e),
        f"random_/{name}": lambda e, T=T: fills.random(e, (50,), T),
        f"random_from_to/{name}": lambda e, T=T: fills.random(e, (50,), T, -5, 90),
    }
    if name in ("float32", "float64"):
        CASES |= {
            f"poisson/{name}": lambda e, T=T: fills.poisson(e, rand(e, 60, dtype=T) * 30),
            f"binomial/{name}": lambda e, T=T: fills.binomial(
                e, fills.randint(e, (60,), I64, 0, 100).astype(T), rand(e, 60, dtype=T)
            ),
            f"gamma/{name}": lambda e, T=T: fills.standard_gamma(e, rand(e, 60, dtype=T) * 5),
        }

# -- shapes, complex, layouts ----------------------------------------------------------------------
C64 = np.dtype("complex64")
CASES |= {
    "rand/shape": lambda e: rand(e, 3, 4, 5),
    "rand/complex64": lambda e: rand(e, 9, dtype=C64).view(F32).reshape(9, 2),
    "randn/complex64": lambda e: randn(e, 9, dtype=C64).view(F32).reshape(9, 2),
    "randn/complex64_20": lambda e: randn(e, 20, dtype=C64).view(F32).reshape(20, 2),
    "layout/uniform_t": lambda e: rand(e, 6, 9).T,
    "layout/normal_t": lambda e: fills.normal(e, (6, 9), F32, 0.0, 1.0, False).T,
    "layout/normal_channels_last": lambda e: fills.normal(
        e, (2, 4, 5, 3), F32, 0.0, 1.0, False
    ).transpose(0, 3, 1, 2),
    "layout/randn_like_t": lambda e: fills.normal(e, (6, 9), F32, 0.0, 1.0, False).T,
    "layout/bernoulli_slice": lambda e: fills.bernoulli(e, (10, 6), F32, 0.5),
    "layout/dropout_t": lambda e: fills.dropout_noise(e, (6, 9), F32, 0.5).T,
}

# -- normal with tensors ---------------------------------------------------------------------------
CASES |= {
    "normal/ffs": lambda e: fills.normal(e, (5, 7), F32, 1.5, 0.3),
    "normal/tf": lambda e: (lambda m: fills.normal(e, (5, 7), F32, 0.0, 0.3) + m)(randn(e, 5, 7)),
    "normal/ft": lambda e: (lambda s: randn(e, 5, 7) * s + F32.type(1.5))(rand(e, 5, 7)),
    "normal/tt": lambda e: (lambda m, s: randn(e, 5, 7) * s + m)(randn(e, 5, 7), rand(e, 5, 7)),
    "normal/tt_small": lambda e: (lambda m, s: randn(e, 5) * s + m)(randn(e, 5), rand(e, 5)),
}

# -- integers and permutations ---------------------------------------------------------------------
for name in ("int64", "int32", "int16", "int8", "uint8", "bool"):
    T = np.dtype(name)
    CASES[f"random_/{name}"] = lambda e, T=T: fills.random(e, (50,), T)
    if name != "bool":
        CASES[f"randint/{name}"] = lambda e, T=T: fills.randint(e, (50,), T, 0, 100)
for suffix, low, high in (
    ("small", -5, 90),
    ("below_2p28", 0, 268435455),
    ("at_2p28", 0, 268435456),
    ("2p31", -2147483648, 2147483647),
    ("2p32", 0, 4294967296),
    ("2p40", -7, 1099511627776),
    ("wide", -4611686018427387904, 4611686018427387904),
):
    CASES[f"randint/range_{suffix}"] = lambda e, b=(low, high): fills.randint(e, (30,), I64, *b)
for n in (0, 1, 2, 10, 100, 1000):
    CASES[f"randperm/{n}"] = lambda e, n=n: fills.randperm(e, n, I64)


def crc(values):
    return [str(zlib.crc32(values.tobytes()))]


CASES |= {
    "random_/int64_from_none": lambda e: fills.random(e, (30,), I64, 5, None),
    "random_/int64_to": lambda e: fills.random(e, (30,), I64, 0, 100),
    "randint/like": lambda e: fills.randint(e, (4, 5), F32, 3, 9),
    "randperm/generator": lambda e: fills.randperm(Engine(42), 30, I64),
    "randperm/70000_crc": lambda e: crc(fills.randperm(e, 70000, I64)),
    "rand/1e6_crc": lambda e: crc(rand(e, 1000000)),
    "randn/1e6_crc": lambda e: crc(randn(e, 1000003)),
    "uniform_/1e6_crc": lambda e: crc(fills.uniform(e, (1000000,), F32, -0.3, 0.45)),
}

# -- masks -----------------------------------------------------------------------------------------
ONES = np.ones
CASES |= {
    "bernoulli/x_p": lambda e: fills.bernoulli(e, (50,), F32, 0.3),
    "bernoulli/bool": lambda e: fills.bernoulli(e, (50,), BOOL, 0.3),
    "bernoulli/int64": lambda e: fills.bernoulli(e, (50,), I64, 0.3),
    "bernoulli/p64_into_f32": lambda e: fills.bernoulli_tensor(e, (50,), F32, np.full(50, 0.3)),
    "bernoulli/p_broadcast": lambda e: fills.bernoulli_tensor(e, (4, 5), F32, rand(e, 5)),
    "dropout/p0.1": lambda e: kept(ONES(200, F32), 0.1, e),
    "dropout/p0.5": lambda e: kept(ONES(200, F32), 0.5, e),
    "dropout/p0.9": lambda e: kept(ONES(200, F32), 0.9, e),
    "dropout/p0_then_rand": then(
        lambda e: fills.dropout_noise(e, (5,), F32, 0.0),
        lambda e: fills.dropout_noise(e, (5,), F32, 1.0),
        lambda e: rand(e, 3),
    ),
    "dropout/module_grad": lambda e: dict.fromkeys(
        ("y", "grad"), fills.dropout_noise(e, (3, 7), F32, 0.4)
    ),
    "dropout/d1": lambda e: kept(ONES((3, 4, 5), F32), 0.5, e, (3, 4, 1)),
    "dropout/d2": lambda e: kept(
        ONES((3, 4, 5, 2), F32), 0.5, e, fills.feature_noise_shape((3, 4, 5, 2))
    ),
    "dropout/d3": lambda e: kept(ONES((3, 4, 2, 2, 2), F32), 0.5, e, (3, 4, 1, 1, 1)),
    "dropout/feature_alpha": lambda e: alpha(randn(e, 3, 4, 5), 0.5, e, (3, 4, 1)),
    "rrelu/float32": lambda e: (lambda x: x * fills.rrelu_slopes(e, x, 1 / 8, 1 / 3))(randn(e, 60)),
    "rrelu/float64": lambda e: (lambda x: x * fills.rrelu_slopes(e, x, 0.1, 0.4))(
        randn(e, 60, dtype=F64)
    ),
}

# -- multinomial, Dirichlet, initialisers, distributions -------------------------------------------
PROBS = np.array([0.2, 0.3, 0.5], F32)
CASES |= {
    "multinomial/k1": lambda e: fills.multinomial(e, rand(e, 6, 20), 1),
    "multinomial/k1_repl": lambda e: fills.multinomial(e, rand(e, 6, 20), 1, True),
    "multinomial/k7": lambda e: fills.multinomial(e, rand(e, 6, 20), 7),
    "multinomial/k7_repl": lambda e: fills.multinomial(e, rand(e, 6, 20), 7, True),
    "multinomial/k7_repl_f64": lambda e: fills.multinomial(e, rand(e, 6, 20, dtype=F64), 7, True),
    "multinomial/perm": lambda e: fills.multinomial(e, np.arange(1, 31, dtype=F32), 30),
    "multinomial/zeros": lambda e: fills.multinomial(
        e, np.array([0, 1, 0, 2, 0, 3], F32), 40, True
    ),
    "dirichlet/float32": lambda e: fills.dirichlet(e, rand(e, 6, 10) * 5),
    "init/uniform_": lambda e: rand(e, 8, 12),
    "init/normal_": lambda e: randn(e, 8, 12),
    "init/trunc_normal_": lambda e: fills.trunc_normal(e, (8, 12), F32),
    "init/trunc_normal_02": lambda e: fills.trunc_normal(e, (8, 12), F32, 0.0, 0.02),
    "init/trunc_normal_tight": lambda e: fills.trunc_normal(e, (8, 12), F32, 0.1, 1.0, -0.2, 0.3),
    "init/trunc_normal_tail": lambda e: fills.trunc_normal(e, (8, 12), F32, 0.0, 1.0, 2.0, 3.0),
    "init/xavier_normal_": lambda e: fills.normal(
        e, (8, 12), F32, 0.0, 1.3 * math.sqrt(2.0 / (12 + 8))
    ),
    "dist/normal": lambda e: fills.normal(e, (40,), F32, 0.0, 1.0) * F32.type(2) + F32.type(1),
    "dist/categorical": lambda e: fills.multinomial(e, PROBS[None], 40, True)[0],
    "dist/uniform": lambda e: rand(e, 40) * F32.type(2) + F32.type(1),
    "dist/bernoulli": lambda e: fills.bernoulli_tensor(e, (40,), F32, np.full(40, 0.3, F32)),
    "dist/beta": lambda e: fills.dirichlet(e, np.tile(np.array([2, 3], F32), (20, 1)))[:, 0],
    "dist/gamma": lambda e: fills.standard_gamma(e, np.full(20, 2, F32)) / F32.type(3),
    "data/subset": lambda e: 100 + fills.randperm(e, 20, I64),
    "data/weighted": lambda e: fills.multinomial(
        e, np.array([0.1, 0.9, 0.4, 0.7, 3.0, 0.6]), 20, True
    ),
    "data/weighted_norepl": lambda e: fills.multinomial(
        e, np.array([0.1, 0.9, 0.4, 0.7, 3.0, 0.6]), 5
    ),
    "mix/all": named(
        a=lambda e: rand(e, 3),
        b=lambda e: randn(e, 5),
        c=lambda e: fills.randint(e, (4,), I64, 0, 10),
        d=lambda e: randn(e, 20),
        e=lambda e: fills.bernoulli(e, (3,), F32, 0.5),
        f=lambda e: fills.randperm(e, 6, I64),
        g=lambda e: randn(e, 2),
        h=lambda e: rand(e, 2, dtype=F64),
        i=lambda e: randn(e, 18, dtype=FLOATS["bfloat16"]),
        j=lambda e: fills.multinomial(e, ONES(5, F32), 2),
        k=lambda e: randn(e, 1),
        state=Engine.get_state,
    ),
}
CASES = {key: fill for key, fill in CASES.items() if key in CODE}


def check(key, got):
    """``got`` has the bits, dtype and shape of the golden array ``key``."""
    if isinstance(got, list):
        assert got == GOLDEN[key].tolist()
        return
    if got.dtype == FLOATS["bfloat16"]:
        key, got = f"{key}#bf16", np.ascontiguousarray(got).view(np.uint16)
    expected = GOLDEN[key]
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    assert np.ascontiguousarray(got).tobytes() == np.ascontiguousarray(expected).tobytes()


@pytest.mark.parametrize("key", sorted(CASES))
def test_golden(key):
    got = CASES[key](Engine(CODE[key]["seed"]))
    if isinstance(got, dict):
        for name, value in got.items():
            check(f"{key}:{name}", value)
    else:
        check(key, got)


def test_table_reaches_every_case_that_needs_only_fills():
    """What is left over needs tensors, modules, initialisers or data loaders."""
    left = {key.split("/")[0] for key in CODE} - {key.split("/")[0] for key in CASES}
    assert left <= {"module"}
    assert len(CASES) >= 220
