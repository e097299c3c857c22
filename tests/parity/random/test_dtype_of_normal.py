"""``torch.normal`` with parameters of two dtypes: that of the means, and its roundings."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from tests.parity.oracle import compare  # noqa: E402


@pytest.mark.parametrize("of_means", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("of_deviations", ["float16", "bfloat16", "float32", "float64"])
def test_two_tensors(of_means: str, of_deviations: str) -> None:
    def drawn(t):
        t.manual_seed(0)
        means = t.linspace(0.3, 2.3, 20, dtype=t.float64).to(getattr(t, of_means))
        deviations = t.linspace(0.7, 1.9, 20, dtype=t.float64).to(getattr(t, of_deviations))
        return t.normal(means, deviations)

    compare(drawn)


def test_a_mean_and_a_number() -> None:
    def drawn(t):
        t.manual_seed(0)
        return t.normal(t.ones(3, dtype=t.float16), 2.0), t.normal(1.0, t.ones(3, dtype=t.float16))

    compare(drawn)
