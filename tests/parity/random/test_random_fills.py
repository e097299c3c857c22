"""The fills against real PyTorch: random shapes, dtypes, parameters and seeds, bit for bit.

Every comparison includes the state bytes afterwards, so the number of words drawn is compared too.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import ml_dtypes  # noqa: E402

from torchlike.random import fills  # noqa: E402
from torchlike.random.engine import Engine  # noqa: E402
from torchlike.random.topk_order import largest  # noqa: E402

NUMPY = {
    torch.float32: np.dtype("float32"),
    torch.float64: np.dtype("float64"),
    torch.float16: np.dtype("float16"),
    torch.bfloat16: np.dtype(ml_dtypes.bfloat16),
    torch.int64: np.dtype("int64"),
    torch.int32: np.dtype("int32"),
    torch.int16: np.dtype("int16"),
    torch.int8: np.dtype("int8"),
    torch.uint8: np.dtype("uint8"),
    torch.bool: np.dtype("bool"),
    torch.uint16: np.dtype("uint16"),
    torch.uint32: np.dtype("uint32"),
    torch.uint64: np.dtype("uint64"),
    torch.complex64: np.dtype("complex64"),
    torch.complex128: np.dtype("complex128"),
}
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
COMPLEX = (torch.complex64, torch.complex128)
INTS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
WIDE_UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)
ROUNDS = 25


def to_numpy(tensor):
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.uint16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


def bits(array):
    array = np.ascontiguousarray(array)
    if array.dtype.kind in "fcV":
        # NaNs of any payload are the same value.
        array = array.copy()
        array[array != array] = np.nan
    return array.tobytes()


class Pair:
    """A torch generator and an engine with the same seed, and a source of parameters."""

    def __init__(self, seed):
        self.choice = np.random.default_rng(seed)
        self.torch = torch.Generator().manual_seed(seed)
        self.engine = Engine(seed)
        # Start in the middle of things, sometimes with a cached normal.
        for _ in range(int(self.choice.integers(0, 3))):
            self.same(
                torch.empty(3).normal_(generator=self.torch),
                fills.normal(self.engine, (3,), NUMPY[torch.float32]),
            )

    def same(self, expected, got):
        expected = to_numpy(expected.detach().contiguous())
        assert got.dtype == expected.dtype
        assert got.shape == expected.shape
        assert bits(got) == bits(expected)
        assert bits(self.torch.get_state().numpy()) == bits(self.engine.get_state())

    def agree(self, of_torch, of_fills):
        """Both give the same, or both refuse in the same words."""
        refusal = None
        try:
            expected = of_torch()
        except RuntimeError as error:
            refusal = error
        if refusal is None:
            self.same(expected, of_fills())
        else:
            with pytest.raises(type(refusal)) as got:
                of_fills()
            assert str(refusal).startswith(str(got.value))

    def random(self, shape, dtype, low, high):
        self.agree(
            lambda: empty(shape, dtype).random_(low, high, generator=self.torch),
            lambda: fills.random(self.engine, shape, NUMPY[dtype], low, high),
        )

    def one_of(self, options):
        return options[int(self.choice.integers(len(options)))]

    def shape(self):
        dims = self.choice.integers(0, 4)
        sizes = (0, 1, 2, 3, 5, 7, 16, 17, 33)
        return tuple(self.one_of(sizes) for _ in range(dims))

    def real(self, low, high):
        return float(self.choice.uniform(low, high))


@pytest.fixture(params=range(ROUNDS))
def pair(request):
    return Pair(request.param)


def empty(shape, dtype):
    return torch.empty(shape, dtype=dtype)


def test_uniform(pair):
    for dtype in (*FLOATS, *COMPLEX):
        shape, ends = pair.shape(), sorted((pair.real(-5, 5), pair.real(-5, 5)))
        for from_, to in ((0.0, 1.0), ends, (0.0, ends[1] + 6), (-1e-3, 1e-3)):
            pair.same(
                empty(shape, dtype).uniform_(from_, to, generator=pair.torch),
                fills.uniform(pair.engine, shape, NUMPY[dtype], from_, to),
            )


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_uniform_extremes(dtype):
    pair = Pair(3)
    for from_, to in (
        (0, 5e-324),
        (0, 1e-45),
        (-1e-40, 3e-40),
        (1.0, 1.0),
        (-3e4, 3e4),
        (1e-30, 1.0),
        (1 - 1e-7, 1 + 1e-7),
    ):
        pair.same(
            empty((5000,), dtype).uniform_(from_, to, generator=pair.torch),
            fills.uniform(pair.engine, (5000,), NUMPY[dtype], from_, to),
        )


def test_normal(pair):
    for dtype in (*FLOATS, *COMPLEX):
        shape = pair.shape()
        for mean, std in ((0.0, 1.0), (pair.real(-3, 3), pair.real(0, 4)), (1.5, 0.0)):
            pair.same(
                empty(shape, dtype).normal_(mean, std, generator=pair.torch),
                fills.normal(pair.engine, shape, NUMPY[dtype], mean, std),
            )


def test_normal_of_strided_tensors(pair):
    for dtype in FLOATS:
        shape, mean, std = (7, 5), pair.real(-3, 3), pair.real(0, 4)
        pair.same(
            empty(shape, dtype).t().normal_(mean, std, generator=pair.torch).t(),
            fills.normal(pair.engine, shape, NUMPY[dtype], mean, std, False),
        )


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize(
    ("mean", "std"),
    [
        (0, 1e-40),
        (0, 1e30),
        (0, 1e300),
        (1e300, 1),
        (float("nan"), 1),
        (0, float("inf")),
        (1e-40, 1e-42),
    ],
)
def test_normal_extremes(dtype, mean, std):
    pair = Pair(3)
    for n in (5, 200):
        pair.same(
            empty((n,), dtype).normal_(mean, std, generator=pair.torch),
            fills.normal(pair.engine, (n,), NUMPY[dtype], mean, std),
        )


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_large_fills(dtype):
    pair = Pair(11)
    n = 100_003
    pair.same(
        empty((n,), dtype).normal_(0.1, 0.9, generator=pair.torch),
        fills.normal(pair.engine, (n,), NUMPY[dtype], 0.1, 0.9),
    )
    pair.same(
        empty((n,), dtype).uniform_(-0.1, 0.9, generator=pair.torch),
        fills.uniform(pair.engine, (n,), NUMPY[dtype], -0.1, 0.9),
    )
    for name, numbers in (
        ("exponential", (0.7,)),
        ("geometric", (0.01,)),
        ("geometric", (0.7,)),
        ("cauchy", (0.3, 1.5)),
        ("log_normal", (0.3, 0.5)),
    ):
        pair.same(
            getattr(empty((n,), dtype), f"{name}_")(*numbers, generator=pair.torch),
            getattr(fills, name)(pair.engine, (n,), NUMPY[dtype], *numbers),
        )


def test_random_without_bounds(pair):
    for dtype in (*FLOATS, *INTS, torch.bool):
        shape = pair.shape()
        pair.same(
            empty(shape, dtype).random_(generator=pair.torch),
            fills.random(pair.engine, shape, NUMPY[dtype]),
        )


def limits(dtype):
    if dtype == torch.bool:
        return 0, 1
    if dtype in FLOATS:
        return -(2**15), 2**15
    info = torch.iinfo(dtype)
    return info.min, min(info.max, 2**63 - 2)


@pytest.mark.filterwarnings("ignore:.*out of bounds")
def test_random_from_to(pair):
    for dtype in (*FLOATS, *INTS, *WIDE_UNSIGNED, torch.bool):
        first, last = limits(dtype)
        for _ in range(4):
            shape = pair.shape()
            span = int(2 ** pair.real(0, (last - first).bit_length() - 1))
            low = first + int(pair.real(0, 1) * (last - first - span))
            pair.random(shape, dtype, low, low + span)


@pytest.mark.filterwarnings("ignore:.*out of bounds")
def test_random_from(pair):
    for dtype in (*FLOATS, *INTS, torch.uint16, torch.uint32, torch.bool):
        first, last = limits(dtype)
        low = min(first + int(pair.real(0, 1) * (last - first)), 256)
        pair.random((9,), dtype, low, None)
    for dtype in (torch.int64, torch.float32, torch.float64, torch.bfloat16):
        pair.random((9,), dtype, -(2**63), None)


@pytest.mark.filterwarnings("ignore:.*out of bounds")
def test_random_wide_floats(pair):
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        low, high = sorted(int(2 ** pair.real(20, 62) * pair.one_of((-1, 1))) for _ in range(2))
        pair.random((50,), dtype, low, high + 1)


def test_randperm(pair):
    for dtype in (torch.int64, torch.int32, torch.float32, torch.bfloat16):
        n = int(2 ** pair.real(0, 12))
        pair.same(
            torch.randperm(n, dtype=dtype, generator=pair.torch),
            fills.randperm(pair.engine, n, NUMPY[dtype]),
        )


def test_bernoulli(pair):
    for dtype in (*FLOATS, *INTS, torch.bool):
        shape, p = pair.shape(), pair.one_of((0.0, 1.0, 0.5, pair.real(0, 1)))
        pair.same(
            empty(shape, dtype).bernoulli_(p, generator=pair.torch),
            fills.bernoulli(pair.engine, shape, NUMPY[dtype], p),
        )


def test_bernoulli_tensor(pair):
    for dtype in (*FLOATS, *INTS, torch.bool):
        for p_dtype in FLOATS:
            shape = (4, 3, int(pair.choice.integers(1, 6)))
            p = torch.tensor(pair.choice.random(pair.one_of((shape, shape[1:], (3, 1), ()))))
            p = p.to(p_dtype)
            pair.same(
                empty(shape, dtype).bernoulli_(p, generator=pair.torch),
                fills.bernoulli_tensor(pair.engine, shape, NUMPY[dtype], to_numpy(p)),
            )


def test_continuous(pair):
    for dtype in FLOATS:
        for name, numbers in (
            ("exponential", (pair.real(0.01, 9),)),
            ("exponential", (1.0,)),
            ("geometric", (pair.real(0.01, 0.99),)),
            ("cauchy", (pair.real(-3, 3), pair.real(0.01, 5))),
            ("cauchy", (0.0, 1.0)),
            ("log_normal", (pair.real(-3, 3), pair.real(0.01, 5))),
            ("log_normal", (1.0, 2.0)),
        ):
            shape = pair.shape()
            pair.same(
                getattr(empty(shape, dtype), f"{name}_")(*numbers, generator=pair.torch),
                getattr(fills, name)(pair.engine, shape, NUMPY[dtype], *numbers),
            )


def test_geometric_into_integers(pair):
    for dtype in INTS:
        for p in (pair.real(0.1, 0.9), 1e-3, 1e-12, 1e-30):
            pair.same(
                empty((20,), dtype).geometric_(p, generator=pair.torch),
                fills.geometric(pair.engine, (20,), NUMPY[dtype], p),
            )


def weights(pair, shape, dtype):
    p = torch.tensor(pair.choice.random(shape)) ** 2
    p[pair.choice.random(shape) < pair.one_of((0.0, 0.3, 0.6))] = 0.0
    p[..., 0] = 0.5
    return p.to(dtype)


def test_multinomial(pair):
    for dtype in FLOATS:
        categories = int(2 ** pair.real(0, 10))
        shape = pair.one_of(((categories,), (1, categories), (4, categories)))
        p = weights(pair, shape, dtype)
        for k, replacement in (
            (1, False),
            (1, True),
            (17, True),
            (categories, False),
            (int(pair.choice.integers(1, categories + 1)), False),
            (max(1, categories // 70), False),
        ):
            pair.same(
                torch.multinomial(p, k, replacement, generator=pair.torch),
                fills.multinomial(pair.engine, to_numpy(p), k, replacement),
            )


def test_order_of_ties(pair):
    for levels in (1, 2, 5, 40):
        n = int(2 ** pair.real(0, 11))
        values = pair.choice.integers(0, levels, n).astype(np.float32)
        if pair.choice.random() < 0.3:
            values[pair.choice.random(n) < 0.1] = np.nan
        for k in {1, n, max(1, n // 2), max(1, n // 64), max(1, n - 1)}:
            expected = torch.topk(torch.tensor(values), k).indices.numpy()
            assert largest(values, k).tolist() == expected.tolist()


def test_rejection_samplers(pair):
    for dtype in FLOATS:
        rate = (torch.tensor(pair.choice.random((3, 7))) ** 3 * 60).to(dtype)
        rate[0, 0] = 0
        pair.same(
            torch.poisson(rate, generator=pair.torch), fills.poisson(pair.engine, to_numpy(rate))
        )
    for dtype in (torch.float32, torch.float64):
        n = torch.tensor(pair.choice.integers(-1, 300, (5, 7))).to(dtype)
        p = torch.tensor(pair.choice.random(7)).to(dtype)
        p[:2] = torch.tensor([0.0, 1.0])
        pair.same(
            torch.binomial(n, p.expand(5, 7), generator=pair.torch),
            fills.binomial(pair.engine, n.numpy(), p.numpy()),
        )
        alpha = torch.tensor(pair.choice.random((5, 7)) ** 3 * 20).to(dtype)
        pair.same(
            torch._standard_gamma(alpha, generator=pair.torch),
            fills.standard_gamma(pair.engine, alpha.numpy()),
        )
    alpha = alpha.to(torch.float32)
    pair.same(
        torch._sample_dirichlet(alpha, generator=pair.torch),
        fills.dirichlet(pair.engine, alpha.numpy()),
    )
    alpha = alpha.to(torch.float64)
    np.testing.assert_allclose(
        fills.dirichlet(pair.engine, alpha.numpy()),
        torch._sample_dirichlet(alpha, generator=pair.torch).numpy(),
        rtol=4e-16 * 3,
    )


@pytest.mark.parametrize("alpha", [-1.0, 0.0, float("nan"), 1e-30, 1e30], ids=str)
def test_gamma_edges(alpha):
    pair = Pair(5)
    t = torch.tensor([alpha])
    pair.same(
        torch._standard_gamma(t, generator=pair.torch),
        fills.standard_gamma(pair.engine, t.numpy()),
    )


def test_poisson_beyond_int64():
    pair = Pair(5)
    rate = torch.tensor([float("inf"), 1e19, 1e300, 9e18], dtype=torch.float64)
    pair.same(torch.poisson(rate, generator=pair.torch), fills.poisson(pair.engine, rate.numpy()))


def test_dropout_family(pair):
    for dtype in FLOATS:
        shape, p = (3, 4, 2, 5), pair.one_of((0.0, 1.0, 0.5, pair.real(0, 1)))
        x = torch.tensor(pair.choice.standard_normal(shape)).to(dtype)
        array = to_numpy(x)
        torch.manual_seed(int(pair.choice.integers(1000)))
        seed = torch.initial_seed()
        drawn, engine = torch.rand(1).item(), Engine(seed)
        assert drawn == fills.uniform(engine, (1,), NUMPY[torch.float32])[0]
        pair.torch, pair.engine = torch.default_generator, engine
        small = fills.feature_noise_shape(shape)
        if dtype not in (torch.float16, torch.bfloat16) or p not in (0.0, 1.0):
            pair.same(
                torch.dropout(x, p, True),
                array * fills.dropout_noise(engine, shape, array.dtype, p),
            )
            pair.same(
                torch.feature_dropout(x, p, True),
                array * fills.dropout_noise(engine, small, array.dtype, p),
            )
        mask = fills.dropout_mask(engine.copy(), shape, p)
        noise = fills.dropout_noise(engine.copy(), shape, array.dtype, p)
        scale = np.array(fills.dropout_scale(array.dtype, p), array.dtype)
        assert bits(noise) == bits(mask.astype(array.dtype) * scale)
        if 0.0 < p < 1.0:
            for function, noise_shape in (
                (torch.alpha_dropout, shape),
                (torch.feature_alpha_dropout, small),
            ):
                expected = function(x, p, True)
                noise, shift = fills.alpha_dropout_noise(engine, noise_shape, array.dtype, p)
                pair.same(expected, array * noise + shift)
        expected, mask = torch.native_dropout(x, p, True)
        got = fills.bernoulli_mask(engine, shape, 1.0 - p)
        pair.same(mask, got)


def test_rrelu(pair):
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        x = torch.tensor(pair.choice.standard_normal((5, 9))).to(dtype)
        x[0, :3] = torch.tensor([float("nan"), -0.0, 0.0])
        lower, upper = sorted((pair.real(-1, 1), pair.real(-1, 1)))
        slopes = fills.rrelu_slopes(pair.engine, to_numpy(x), lower, upper)
        product = to_numpy(x).astype(slopes.dtype) * slopes
        pair.same(torch.rrelu(x, lower, upper, True, pair.torch), product.astype(NUMPY[dtype]))


def test_trunc_normal(pair):
    for dtype in FLOATS:
        mean, std = pair.real(-2, 2), pair.real(0.02, 3)
        a, b = sorted((pair.real(-4, 4), pair.real(-4, 4)))
        shape = pair.one_of(((6,), (8, 12), (33,)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = torch.nn.init.trunc_normal_(
                empty(shape, dtype), mean, std, a, b + 0.1, generator=pair.torch
            )
        got = fills.trunc_normal(pair.engine, shape, NUMPY[dtype], mean, std, a, b + 0.1)
        pair.same(expected, got)


def test_seeds_and_states_travel_both_ways():
    for seed in (0, 1, -1, -5, 2**31, 2**32, 2**63, 2**64 - 1, -(2**63)):
        pair = Pair(seed % 1000)
        pair.torch.manual_seed(seed)
        pair.engine.seed(seed)
        assert pair.torch.initial_seed() == pair.engine.initial_seed()
        for n in (0, 1, 3, 621, 2, 624, 1300):
            pair.same(
                empty((n,), torch.float32).normal_(generator=pair.torch),
                fills.normal(pair.engine, (n,), NUMPY[torch.float32]),
            )
            pair.torch.set_state(torch.tensor(pair.engine.get_state()))
            pair.engine.set_state(pair.torch.get_state().numpy())
