"""``lgamma`` in float32 where it is near 0, against PyTorch."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torchlike  # noqa: E402


@pytest.mark.parametrize("wrap", [lambda f: f, torchlike.jit], ids=["eager", "jit"])
def test_values_around_one_and_two(wrap):
    offsets = np.array([0, 1e-7, 1e-5, 1e-3, 0.1, 0.4999, 0.5001])
    values = np.concatenate([a + b * offsets for a in (1, 2) for b in (-1, 1)]).astype(np.float32)
    expected = torch.tensor(values).lgamma().numpy()
    found = wrap(lambda x: x.lgamma())(torchlike.tensor(values)).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert (found == 0).tolist() == (expected == 0).tolist()


def test_the_density_of_an_exponential_distribution_as_a_gamma_distribution():
    for t in (torch, torchlike):
        assert t.distributions.Gamma(1.0, 1.0).log_prob(t.tensor(0.0)).item() == 0
