"""NaN, infinities and numbers out of range in distances, renorm, histc and threshold."""

import math

import pytest

torch = pytest.importorskip("torch")

import oracle  # noqa: E402

nan, inf = math.nan, math.inf
A = [[1.0, nan], [2.0, 3.0], [0.0, 1.0]]
B = [[0.0, 1.0], [nan, nan], [inf, 1.0], [0.0, 1.0]]
MANY = [[math.sin(i * 3 + j) for j in range(3)] for i in range(27)]
MANY[4][1], MANY[7][0] = nan, inf
ORDERS = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, inf]


def _with_gradients(t, distances, *values):
    leaves = [t.tensor(v, requires_grad=True) for v in values]
    found = distances(*leaves)
    (found * t.arange(1, found.numel() + 1).reshape(found.shape)).sum().backward()
    return [found, *(leaf.grad for leaf in leaves)]


@pytest.mark.parametrize("p", ORDERS)
@pytest.mark.parametrize(("a", "b"), [(A, B), (MANY, MANY[:26])], ids=["few", "many"])
def test_cdist(p, a, b):
    oracle.compare(lambda t: _with_gradients(t, lambda x, y: t.cdist(x, y, p), a, b))


@pytest.mark.parametrize("p", ORDERS)
def test_pdist(p):
    oracle.compare(lambda t: _with_gradients(t, lambda x: t.pdist(x, p), B))


@pytest.mark.parametrize("p", ORDERS[1:])
def test_renorm(p):
    values = [*A, *B, [0.1, 0.2]]
    oracle.compare(lambda t: _with_gradients(t, lambda x: t.renorm(x, p, 0, 1.0), values))


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.renorm(t.ones(2, 2), 2, 0, nan),
        lambda t: t.renorm(t.ones(2, 2), nan, 0, 1.0),
        lambda t: t.cdist(t.tensor(A), t.tensor(B), nan),
        lambda t: t.pdist(t.tensor(A), nan),
    ],
)
def test_nan_as_order_or_limit(call):
    oracle.compare(call)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize(
    "ends",
    [(1e39, 1e39), (-1e39, -1e39), (1e39, 1e38), (nan, nan), (inf, inf), (1e5, 1e5), (0, 1e39)],
)
def test_ends_of_histc(dtype, ends):
    values = [1.0, 2.0, 4.0]
    oracle.compare(lambda t: t.histc(t.tensor(values, dtype=getattr(t, dtype)), 5, *ends))


@pytest.mark.parametrize("limit", [-2.5, -2, 2.5, 1, -129, 70000])
@pytest.mark.parametrize("dtype", ["int64", "int32", "float32"])
def test_threshold_of_integers_is_an_integer(limit, dtype):
    oracle.compare(
        lambda t: t.nn.functional.threshold(
            t.tensor([-3, -2, 0, 3], dtype=getattr(t, dtype)), limit, 7
        )
    )


@pytest.mark.parametrize("name", ["lt_", "le_", "gt_", "ge_", "eq_", "ne_"])
def test_a_comparison_in_place_ends_the_history(name):
    def run(t, part):
        x = t.tensor([1.0, 2.0, 3.0], requires_grad=True)
        y, z = x * 1, t.zeros(3)
        getattr(y[:2] if part else y, name)(t.tensor(2.0))
        getattr(z, name)(x)
        (y * 3).sum().backward()
        return y, x.grad, z, z.requires_grad

    oracle.compare(lambda t: run(t, False))
    oracle.compare(lambda t: run(t, True))
