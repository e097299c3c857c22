"""Ops without complex numbers refuse them as PyTorch does, in its words."""

import pytest

import torchlike

torch = pytest.importorskip("torch")

#: How an op is called: ``(module, x) -> result`` with a complex matrix x.
CALLS = {
    "lt": lambda m, x: x < 1,
    "lt of a real and a complex number": lambda m, x: x.real < 1j,
    "le": lambda m, x: x <= x,
    "gt": lambda m, x: x > x.real,
    "ge": lambda m, x: x >= 0,
    **{
        name: lambda m, x, name=name: getattr(m, name)(x, x)
        for name in (
            "maximum",
            "minimum",
            "fmax",
            "fmin",
            "atan2",
            "hypot",
            "logaddexp2",
            "copysign",
            "nextafter",
            "heaviside",
            "gcd",
            "lcm",
            "xlogy",
            "remainder",
            "fmod",
            "floor_divide",
            "polar",
            "complex",
            "igamma",
            "igammac",
        )
    },
    "max of two": lambda m, x: m.max(x, x),
    "div trunc": lambda m, x: m.div(x, x, rounding_mode="trunc"),
    "div floor": lambda m, x: m.div(x, x, rounding_mode="floor"),
    "clamp": lambda m, x: x.clamp(0, 1),
    **{
        name: lambda m, x, name=name: getattr(x, name)()
        for name in (
            "erf",
            "erfc",
            "erfinv",
            "lgamma",
            "digamma",
            "i0",
            "deg2rad",
            "rad2deg",
            "logit",
            "sign",
            "signbit",
            "floor",
            "ceil",
            "trunc",
            "round",
            "frac",
            "isposinf",
            "isneginf",
            "max",
            "min",
            "amax",
            "amin",
            "aminmax",
            "argmax",
            "argmin",
            "median",
            "nanmedian",
            "mode",
            "nansum",
            "nanmean",
        )
    },
    **{
        f"{name} along": lambda m, x, name=name: getattr(x, name)(0)
        for name in ("max", "min", "amax", "argmin", "median", "nanmedian", "cummax", "cummin")
    },
    "kthvalue": lambda m, x: x.kthvalue(1),
    "polygamma": lambda m, x: m.polygamma(2, x),
    "searchsorted": lambda m, x: m.searchsorted(x[0], x),
    "bucketize": lambda m, x: m.bucketize(x, x[0]),
    **{
        f"special.{name}": lambda m, x, name=name: getattr(m.special, name)(x)
        for name in ("i0e", "i1", "i1e", "ndtr", "ndtri", "log_ndtr", "entr", "erfcx")
    },
    "special.zeta": lambda m, x: m.special.zeta(x, x),
    "special.xlog1py": lambda m, x: m.special.xlog1py(x, x),
    "relu": lambda m, x: m.nn.functional.relu(x),
    "relu6": lambda m, x: m.nn.functional.relu6(x),
    "hardtanh": lambda m, x: m.nn.functional.hardtanh(x),
    "threshold": lambda m, x: m.nn.functional.threshold(x, 0.0, 1.0),
    "kl_div": lambda m, x: m.nn.functional.kl_div(x, x, reduction="sum"),
}


@pytest.mark.parametrize("name", CALLS)
def test_complex_numbers_are_refused(name):
    with pytest.raises(Exception) as theirs:
        CALLS[name](torch, torch.ones(2, 3, dtype=torch.complex64))
    with pytest.raises(type(theirs.value)) as ours:
        CALLS[name](torchlike, torchlike.ones(2, 3, dtype=torchlike.complex64))
    assert type(ours.value) is type(theirs.value)
    assert str(ours.value) == str(theirs.value)
