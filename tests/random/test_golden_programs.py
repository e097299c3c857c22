"""The golden programs themselves, run with torchlike in the place of torch: bit for bit."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import numpy as np
import pytest

import torchlike
import torchlike.utils.data
from torchlike.nn import functional

GOLDEN = np.load(Path(__file__).with_name("golden.npz"))
CASES = {case["key"]: case for case in json.loads(str(GOLDEN["__cases__"]))}

#: Programs whose numbers pass through sums that XLA orders in its own way: a few ulp.
INEXACT = {"dropout/sdpa", "init/orthogonal_", "init/orthogonal_wide"}


def names() -> dict[str, object]:
    """What the programs expect to be imported."""
    return {
        "torch": torchlike,
        "F": functional,
        "nn": torchlike.nn,
        "np": np,
        "zlib": zlib,
        **{
            n: getattr(torchlike.utils.data, n)
            for n in (
                "DataLoader",
                "TensorDataset",
                "RandomSampler",
                "SubsetRandomSampler",
                "WeightedRandomSampler",
                "random_split",
            )
        },
    }


def check(key: str, got: object, exact: bool) -> None:
    if isinstance(got, dict):
        for name, value in got.items():
            check(f"{key}:{name}", value, exact)
        return
    if isinstance(got, list):
        assert got == GOLDEN[key].tolist()
        return
    if isinstance(got, torchlike.Tensor):
        t = got.detach()
        if t.dtype is torchlike.bfloat16:
            key, t = f"{key}#bf16", t.view(torchlike.int16)
        got = t.numpy()
    expected = GOLDEN[key]
    array = np.asarray(got).view(expected.dtype) if key.endswith("#bf16") else np.asarray(got)
    assert array.dtype == expected.dtype
    assert array.shape == expected.shape
    if exact:
        assert np.ascontiguousarray(array).tobytes() == np.ascontiguousarray(expected).tobytes()
    else:
        np.testing.assert_allclose(array, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.sampled(every=3)
@pytest.mark.filterwarnings("ignore:.*out of bounds")
@pytest.mark.parametrize("key", sorted(CASES))
def test_golden_program(key: str) -> None:
    case = CASES[key]
    torchlike.manual_seed(case["seed"])
    scope = names()
    exec(case["code"], scope)
    check(key, scope["out"], key not in INEXACT)
