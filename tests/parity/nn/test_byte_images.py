"""Images of bytes resampled as PyTorch does it, to the last unit."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import torchlike  # noqa: E402


@pytest.mark.parametrize("channels", [3, 7])
@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize(
    "options",
    [
        {"size": (4, 7)},
        {"size": (14, 23)},
        {"size": (10, 5)},
        {"size": (1, 31)},
        {"scale_factor": 1.7},
        {"scale_factor": 0.45},
        {"size": (6, 15), "align_corners": True},
    ],
)
def test_to_the_last_unit(channels, antialias, mode, options):
    def run(m):
        x = (m.arange(2 * channels * 120) * 37 % 251).reshape(2, channels, 10, 12).to(m.uint8)
        f = m.nn.functional.interpolate
        return f(x, mode=mode, antialias=antialias, **options).tolist()

    assert run(torchlike) == run(torch)
