"""Random tensors of no dimensions, against PyTorch: the shape stays, the numbers are the same."""

import pytest
from oracle import compare, source

torch = pytest.importorskip("torch")

LINES = """
t.bernoulli(p)
t.bernoulli(p.double())
t.bernoulli(p, 0.5)
t.bernoulli(p, out=t.zeros(()))
p.clone().bernoulli_(p)
t.distributions.Bernoulli(p).sample()
t.distributions.Bernoulli(0.3).sample((2, 3))
t.distributions.Geometric(p).sample()
t.poisson(p * 9)
t.binomial(p * 30, p)
t.normal(p, p)
t._standard_gamma(p)
t.nn.functional.dropout(p)
t.randint_like(p, 9)
p.clone().exponential_()
""".strip().splitlines()


@pytest.mark.parametrize("line", LINES)
def test_no_dimensions(line):
    compare(source("p = t.tensor(0.3); " + line))
