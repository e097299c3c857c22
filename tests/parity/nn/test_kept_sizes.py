"""``interpolate`` by a factor that leaves the size as it is, or doubles it: PyTorch then copies,
here forward, there backward alone."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tests.parity.oracle import compare  # noqa: E402

LINES, IMAGES, VOLUMES = (1, 2, 3), (1, 2, 2, 3), (1, 2, 2, 3, 2)
MODES = [
    ("nearest", LINES),
    ("nearest-exact", LINES),
    ("linear", LINES),
    ("nearest", IMAGES),
    ("nearest-exact", IMAGES),
    ("bilinear", IMAGES),
    ("bicubic", IMAGES),
    ("nearest", VOLUMES),
    ("nearest-exact", VOLUMES),
    ("trilinear", VOLUMES),
    ("nearest", (1, 3, 60, 70)),
    ("nearest-exact", (1, 3, 60, 70)),
    ("nearest", (1, 4, 60, 70)),
    ("nearest", (1, 4, 2, 3, 2)),
]


def _input(t: Any, shape: tuple[int, ...], last: bool) -> Any:
    x = (t.arange(float(t.Size(shape).numel()), dtype=t.float64) * 37 % 101).reshape(shape)
    if last and len(shape) > 3:
        x = x.to(memory_format=t.channels_last if len(shape) == 4 else t.channels_last_3d)
    return x.requires_grad_()


def _both_directions(t: Any, resized: Any, x: Any) -> Any:
    y = resized(x)
    weights = (t.arange(float(y.numel()), dtype=t.float64) % 7).reshape(y.shape)
    return y, t.autograd.grad(y, x, weights)[0]


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("factor", [1.0, 1.01, 1.3, 2.0, 2.01, 2.3])
@pytest.mark.parametrize(("mode", "shape"), MODES, ids=str)
def test_a_factor(mode: str, shape: tuple[int, ...], factor: float, last: bool) -> None:
    def f(t: Any) -> Any:
        def resized(x: Any) -> Any:
            return t.nn.functional.interpolate(x, scale_factor=factor, mode=mode)

        return _both_directions(t, resized, _input(t, shape, last))

    compare(f)


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize(
    "options",
    [
        {"recompute_scale_factor": True},
        {"align_corners": True},
        {"antialias": True},
        {"antialias": True, "align_corners": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("factor", [1.2, (1.4, 1.5), (1.7, 1.2)])
def test_options(mode: str, factor: Any, options: dict[str, Any]) -> None:
    def f(t: Any) -> Any:
        def resized(x: Any) -> Any:
            return t.nn.functional.interpolate(x, scale_factor=factor, mode=mode, **options)

        return _both_directions(t, resized, _input(t, IMAGES, False))

    compare(f)


def test_under_other_names() -> None:
    def f(t: Any) -> Any:
        x = _input(t, IMAGES, False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            older = t.nn.functional.upsample(x, scale_factor=1.3)
        return (
            older,
            t.nn.Upsample(scale_factor=2.3)(x),
            t.nn.UpsamplingNearest2d(scale_factor=1.3)(x),
        )

    compare(f)


def test_forward_mode_and_the_second_derivative() -> None:
    """Forward mode follows the kernel's places, and the second derivative goes forward again."""

    def f(t: Any) -> Any:
        def resized(x: Any) -> Any:
            return t.nn.functional.interpolate(x, scale_factor=1.3)

        x = _input(t, LINES, False)
        start = t.ones(1, 2, 3, dtype=t.float64, requires_grad=True)
        (first,) = t.autograd.grad(resized(x), x, start, create_graph=True)
        (second,) = t.autograd.grad(first, start, x.detach())
        _, along = t.func.jvp(resized, (x.detach(),), (x.detach(),))
        return first, second, along

    compare(f)


def test_the_numbers() -> None:
    def f(t: Any) -> Any:
        return (
            t.nn.functional.interpolate(
                t.arange(3.0).reshape(1, 1, 3), scale_factor=1.3, mode="linear"
            )
            .flatten()
            .tolist()
        )

    compare(f)
    assert f(torch) == [0.0, 1.0, 2.0]
