"""Grouped matrix products against PyTorch's, eager and compiled, with gradients."""

import numpy as np
import pytest
from oracle import refused

import torchlike

torch = pytest.importorskip("torch")

BOTH = (torchlike, torch)


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize(
    ("a", "b"),
    [((8, 16), (3, 16, 24)), ((3, 8, 16), (3, 16, 24)), ((3, 16, 24), (24, 8)), ((16, 8), (8, 24))],
)
def test_grouped_mm(a, b, dtype):
    rng = np.random.default_rng(0)
    arrays = rng.standard_normal(a), rng.standard_normal(b)
    offsets = None if len(a) == len(b) == 3 else [2, 2, 8]
    found = []
    for t in BOTH:
        x, y = (t.tensor(v).to(getattr(t, dtype)) for v in arrays)
        offs = offsets and t.tensor(offsets, dtype=t.int32)
        functions = [t.nn.functional.grouped_mm]
        functions += [t.jit(functions[0])] if t is torchlike else []
        found += [f(x, y, offs=offs).double().numpy() for f in functions]
    tolerance = {"float32": 1e-5, "bfloat16": 8e-3, "float16": 1e-3}[dtype]  # one last bit
    for other in found[1:]:
        np.testing.assert_allclose(found[0], other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("a", "b"), [((8, 6), (3, 6, 4)), ((3, 5, 6), (6, 8)), ((5, 8), (8, 7))])
def test_gradients_of_grouped_mm(a, b):
    torchlike.manual_seed(0)
    x, y = (torchlike.randn(*s, requires_grad=True) for s in (a, b))
    offs = torchlike.tensor([2, 2, 7], dtype=torchlike.int32)
    torchlike.nn.functional.grouped_mm(x, y, offs=offs).square().sum().backward()
    u, v = (torch.tensor(t.detach().numpy(), requires_grad=True) for t in (x, y))
    groups = [(0, 2), (2, 2), (2, 7)]
    if len(a) == 2 and len(b) == 3:
        parts = [u[i:j] @ v[g] for g, (i, j) in enumerate(groups)]
    elif len(a) == 3:
        parts = [u[g] @ v[:, i:j] for g, (i, j) in enumerate(groups)]
    else:
        parts = [u[:, i:j] @ v[i:j] for i, j in groups]
    sum(p.square().sum() for p in parts).backward()
    np.testing.assert_allclose(x.grad.numpy(), u.grad.numpy(), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(y.grad.numpy(), v.grad.numpy(), rtol=1e-5, atol=1e-5)


def grouped(t, a, b, offs=None, **options):
    offs = None if offs is None else t.tensor(offs, dtype=options.pop("offsets", t.int32))
    return t.nn.functional.grouped_mm(t.ones(*a), t.ones(*b), offs=offs, **options)


REFUSED = {
    "no offsets": lambda t: grouped(t, (8, 16), (3, 16, 8)),
    "offsets": lambda t: grouped(t, (3, 8, 16), (3, 16, 8), [1, 2, 3]),
    "inner": lambda t: grouped(t, (3, 8, 16), (3, 8, 8)),
    "groups": lambda t: grouped(t, (8, 16), (2, 16, 8), [2, 5, 8]),
    "batches": lambda t: grouped(t, (2, 8, 16), (3, 16, 8)),
    "int64": lambda t: grouped(t, (8, 16), (3, 16, 8), [2, 5, 8], offsets=t.int64),
    "1-D": lambda t: grouped(t, (8,), (3, 16, 8), [2, 5, 8]),
    "bias": lambda t: grouped(t, (3, 8, 16), (3, 16, 8), bias=t.ones(8)),
    "out dtype": lambda t: grouped(t, (3, 8, 16), (3, 16, 8), out_dtype=t.float64),
    "double": lambda t: t.nn.functional.grouped_mm(*[t.ones(1, 8, 8).double()] * 2),
}


@pytest.mark.parametrize("name", REFUSED)
def test_grouped_mm_refuses(name):
    refused(REFUSED[name])
