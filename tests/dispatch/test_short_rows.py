"""Ops that are one instruction, on arrays of short rows: one long row, with the same results."""

import jax
import numpy as np
import pytest

import torchlike as torch
from torchlike._core.dispatch.registry import OPS

NAMES = sorted(name for name, spec in OPS.items() if spec.one_instruction)


def test_they_are_the_ones_measured():
    assert NAMES == ["exp", "expm1", "log", "log1p", "sigmoid", "sqrt", "tanh"]


@pytest.mark.sampled(every=12, rest="full")
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int32", "complex64"])
@pytest.mark.parametrize("name", NAMES)
def test_values_and_gradients(name, dtype):
    dtype = getattr(torch, dtype)
    row = (torch.arange(4200) % 97 + 1).to(dtype) / (1 if dtype == torch.int32 else 97)
    function = getattr(torch, name)
    for shape in ((4200,), (42, 100), (30, 20, 7), (6, 100, 7, 1)):
        x = row.reshape(shape).to(dtype).clone()
        tolerance = 1e-6 if dtype in (torch.float32, torch.complex64, torch.int32) else 1e-12
        found, expected = function(x), function(row.to(dtype))
        assert found.shape == shape
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(
            found.reshape(-1).to(torch.complex128).numpy(),
            expected.to(torch.complex128).numpy(),
            rtol=tolerance,
        )
        jitted = torch.jit(function)(x)
        torch.testing.assert_close(jitted, found, rtol=tolerance, atol=0)
        if dtype.is_floating_point:
            x.requires_grad_()
            (gradient,) = torch.autograd.grad(function(x).sum(), x)
            flat = row.to(dtype).clone().requires_grad_()
            (expected,) = torch.autograd.grad(function(flat).sum(), flat)
            torch.testing.assert_close(gradient.reshape(-1), expected, rtol=1e-5, atol=1e-6)


def compiled_exp():
    exe = OPS["exp"].executable(0, (), (), 1)
    exe.forward(torch.ones(1).jax())  # made at the first call
    return exe.forward


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="a matter of XLA's CPU backend")
def test_which_arrays_are_computed_so(monkeypatch):
    forward = compiled_exp()
    real, seen = forward._flat, []

    def counted(x):
        seen.append(x.shape)
        return real(x)

    monkeypatch.setattr(forward, "_flat", counted)
    for shape in ((64, 64), (64, 8, 8), (40, 127), (16, 256), (63, 64), (4096,), (40, 128)):
        forward(torch.ones(shape).jax())
    assert seen == [(64, 64), (64, 8, 8), (40, 127)]
    seen.clear()
    forward(torch.ones(64, 64).bfloat16().jax())
    forward(torch.ones(64, 64).long().jax())
    torch.jit(torch.exp)(torch.ones(128, 32))
    jax.jit(forward)(torch.ones(128, 32).jax())
    assert not seen
    # Within a trace of JAX's own an array may still be one, and the op is as any other.
    held = torch.ones(128, 32).jax()
    np.testing.assert_allclose(jax.jit(lambda: forward(held))(), np.e, rtol=1e-6)


def test_the_compiled_loop_is_over_one_row():
    """So that one notices where XLA's passes get other names."""
    forward = compiled_exp()
    text = forward._flat.lower(torch.ones(64, 16, 10, 10).jax()).compile().as_text()
    entry = text[text.index("ENTRY") :]
    assert "f32[102400]{0} fusion(" in entry
    assert "f32[64,16,10,10]{3,2,1,0} fusion(" not in entry


@pytest.mark.parametrize("name", NAMES)
def test_views_transforms_and_the_meta_device(name):
    function = getattr(torch, name)
    x = torch.arange(1.0, 8193.0).reshape(64, 32, 4) / 8192
    torch.testing.assert_close(function(x.transpose(0, 2)), function(x).transpose(0, 2))
    torch.testing.assert_close(torch.func.vmap(function)(x), function(x))
    torch.testing.assert_close(
        torch.func.jvp(function, (x,), (x,))[1],
        torch.autograd.functional.jvp(function, x, x)[1],
    )
    assert function(torch.empty(64, 32, 4, device="meta")).shape == (64, 32, 4)
    y = x.clone()
    getattr(y, name + "_")()
    torch.testing.assert_close(y, function(x))


def test_sizes_may_be_symbols():
    """A graph exported with a dimension that may be any number."""
    exported = torch.export.export(
        torch.nn.Tanh(), (torch.ones(4, 6),), dynamic_shapes=({0: torch.export.Dim("n")},)
    )
    x = torch.linspace(-1.0, 1.0, 6000).reshape(1000, 6)
    torch.testing.assert_close(exported.module()(x), x.tanh())
