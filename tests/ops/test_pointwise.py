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


def test_integers_are_rounded_to_tens():
    x = torch.tensor([155, 145, 25, -25, -155, 4, 0])
    for fn in (torch.round, torch.jit(torch.round)):
        assert fn(x, decimals=-1).tolist() == [160, 140, 20, -20, -160, 0, 0]
        assert fn(x, decimals=-2).tolist() == [200, 100, 0, 0, -200, 0, 0]
        assert fn(x, decimals=1).tolist() == fn(x).tolist() == x.tolist()
    assert torch.round(torch.tensor([149, 7], dtype=torch.uint8), decimals=-1).tolist() == [150, 10]
