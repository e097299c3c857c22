"""What two runs' gradients are judged by: the largest of their pass."""

import numpy as np
import pytest

from torchlike.porting.divergence.comparing import Comparison
from torchlike.porting.divergence.digests import digest

TOLERANCE = 1e-4


def run(small):
    whole = np.full(100, 10.0)
    gradients = {
        name: {"shape": [100], "dtype": "torch.float32", **digest(values)}
        for name, values in {"Net:a.weight": whole, "Net:b.weight": small}.items()
    }
    event = {
        "kind": "backward",
        "step": 1,
        "line": "",
        "before": {},
        "loss": [],
        "after": gradients,
    }
    return {"events": [event], "steps": 1, "structure": {"Net": []}}


SMALL = np.full(100, 1e-2)


@pytest.mark.parametrize(("factor", "is_fault"), [(1 + 5e-4, False), (1.05, True), (0.0, True)])
def test_a_small_gradient_may_have_the_roundings_of_large_terms(factor, is_fault):
    found = Comparison(run(SMALL), run(SMALL * factor), TOLERANCE).first()
    assert (found is not None) == is_fault
    assert found is None or (found.kind, found.module) == ("backward", "b")
