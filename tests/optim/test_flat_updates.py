"""Updates of large kernels, computed flat, are those of the same numbers in one dimension."""

import numpy as np
import pytest

import torchlike as torch

SHAPE = (64, 64, 3, 3)
OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=True),
    "plain SGD": lambda p: torch.optim.SGD(p, lr=0.1),
    "Adam": lambda p: torch.optim.Adam(p, amsgrad=True),
    "AdamW": lambda p: torch.optim.AdamW(p, maximize=True),
    "NAdam": lambda p: torch.optim.NAdam(p),
    "RAdam": lambda p: torch.optim.RAdam(p),
    "Adamax": lambda p: torch.optim.Adamax(p),
    "Adadelta": lambda p: torch.optim.Adadelta(p),
    "Adagrad": lambda p: torch.optim.Adagrad(p),
    "RMSprop": lambda p: torch.optim.RMSprop(p, momentum=0.9, centered=True),
    "Rprop": lambda p: torch.optim.Rprop(p),
    "ASGD": lambda p: torch.optim.ASGD(p),
}


def _after_steps(make, shape, dtype):
    rng = np.random.default_rng(0)
    start, *gradients = (rng.standard_normal(SHAPE).astype("float32") for _ in range(4))
    p = torch.nn.Parameter(torch.from_numpy(start.reshape(shape).copy()).to(dtype))
    optimizer = make([p])
    for g in gradients:
        p.grad = torch.from_numpy(g.reshape(shape).copy()).to(dtype)
        optimizer.step()
    states = [s for s in optimizer.state[p].values() if torch.is_tensor(s)]
    return [x.detach().float().reshape(-1).numpy() for x in (p, *states)]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_kernel_is_updated_as_a_vector(name, dtype):
    dtype = getattr(torch, dtype)
    kernel = _after_steps(OPTIMIZERS[name], SHAPE, dtype)
    vector = _after_steps(OPTIMIZERS[name], (int(np.prod(SHAPE)),), dtype)
    for a, b in zip(kernel, vector, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)


def test_factored_moments_keep_their_rows():
    """Adafactor's states have other shapes than the kernel, which therefore stays as it is."""
    rng = np.random.default_rng(0)
    p = torch.nn.Parameter(torch.from_numpy(rng.standard_normal(SHAPE).astype("float32")))
    optimizer = torch.optim.Adafactor([p], lr=0.1)
    before = p.detach().clone()
    p.grad = torch.ones(SHAPE)
    optimizer.step()
    assert p.shape == SHAPE
    assert optimizer.state[p]["row_var"].shape == (64, 64, 3, 1)
    assert ((p.detach() - before) < 0).all()
