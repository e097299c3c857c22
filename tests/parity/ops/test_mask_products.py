"""NaN and infinity times False are NaN, and -1 times False is -0.0: products with masks stay
products, eagerly and compiled, against PyTorch."""

import math

import pytest

import torchlike

torch = pytest.importorskip("torch")

CASES = {
    "mask": lambda t, x: x * (x > 1),
    "mask first": lambda t, x: (x > 1) * x,
    "as float": lambda t, x: (x > 1).float() * x,
    "as its dtype": lambda t, x: x * (x > 1).to(x.dtype),
    "one less": lambda t, x: x * (1 - (x > 1).to(x.dtype)),
    "by type_as": lambda t, x: (x > 1).type_as(x).mul(x),
    "in place": lambda t, x: x.clone().mul_(x > 1),
    "0-dim": lambda t, x: x * t.tensor(False),
    "number": lambda t, x: x * False,
    "addcmul": lambda t, x: t.addcmul(t.ones_like(x), x, (x > 1).to(x.dtype)),
    "mean of some": lambda t, x: (x * (x > 1)).sum() / (x > 1).sum(),
    "broadcast": lambda t, x: x[None] * (x > 1)[:, None],
}


def as_text(x):
    """With the sign of zero, which == does not see; NaN is one value."""
    flat = x.double().reshape(-1).tolist()
    return ["nan" if math.isnan(v) else str(v) for v in flat]


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("name", CASES)
def test_products_with_masks(name, dtype, jit):
    found = []
    for t in (torchlike, torch):
        x = t.tensor([math.nan, math.inf, -1.0, -math.inf, 2.0], dtype=getattr(t, dtype))

        def run(x, t=t):
            return CASES[name](t, x)

        run = t.jit(run) if jit and t is torchlike else run
        found.append(as_text(run(x)))
    assert found[0] == found[1]
