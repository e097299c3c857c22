"""Backward passes inside a function that JAX traces leave nothing of the trace behind."""

import jax
import jax.numpy as jnp

import torchlike as torch
from torchlike.autograd import engine


def test_the_first_backward_of_a_process(monkeypatch):
    monkeypatch.setattr(engine, "_ones", {})

    @jax.jit
    def gradient(x):
        t = torch.from_jax(x).requires_grad_()
        (t * t).sum().backward()
        return t.grad._read()

    assert gradient(jnp.ones(3, jnp.float32)).tolist() == [2, 2, 2]
    # What a scalar's backward starts from, where it is no value on the host.
    assert engine.ones((), torch.float32.numpy).item() == 1
