"""``DataParallel`` without a second device passes through, against PyTorch."""

import numpy as np
import pytest

import torchlike

torch = pytest.importorskip("torch")


def test_data_parallel_passes_through():
    def run(t):
        t.manual_seed(0)
        model = t.nn.DataParallel(t.nn.Linear(3, 2))
        return list(model.state_dict()), repr(model), model(t.ones(1, 3)).detach().numpy()

    mine, theirs = run(torchlike), run(torch)
    assert mine[:2] == theirs[:2]
    np.testing.assert_allclose(mine[2], theirs[2], rtol=1e-6)
