"""Arithmetic in half precision, and slow lowerings that were met."""

import numpy as np

import torchlike as torch


def test_a_number_to_interpolate_by_is_not_rounded(run):
    x, end = torch.tensor([4.15625]).bfloat16(), torch.tensor([-6.25]).bfloat16()
    found = run(lambda x, end: torch.lerp(x, end, 0.4), x, end)
    assert found.item() == torch.tensor(4.15625 + 0.4 * -10.40625).bfloat16().item()


def test_reciprocal_roots_are_those_of_numpy(run):
    x = np.random.default_rng(0).random(1000, np.float32) + 0.5
    found = run(torch.rsqrt, torch.tensor(x)).numpy()
    np.testing.assert_allclose(found, 1 / np.sqrt(x.astype(np.float64)), rtol=2e-7)
    special = torch.tensor([0.0, float("inf"), -1.0])
    assert run(torch.rsqrt, special).tolist()[:2] == [float("inf"), 0]
    assert run(torch.rsqrt, special)[2].isnan()
