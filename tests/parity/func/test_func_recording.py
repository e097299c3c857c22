"""Whether what ``torch.func`` gives requires grad, and gradients through it, against PyTorch."""

from __future__ import annotations

import pytest

import torchlike

torch = pytest.importorskip("torch")


def _vjp_rows(t, function, x, rows):
    return t.vmap(t.func.vjp(function, x)[1])(rows)[0]


def _sum(t):
    return lambda v: v.sin().sum()


CASES = {
    "jacrev": lambda t, x, y, w, e: t.func.jacrev(t.sin)(x),
    "vjp": lambda t, x, y, w, e: _vjp_rows(t, t.sin, x, t.eye(2)),
    "jacrev of jacrev": lambda t, x, y, w, e: t.func.jacrev(t.func.jacrev(t.sin))(x),
    "hessian": lambda t, x, y, w, e: t.func.hessian(_sum(t))(x),
    "vmap of grad": lambda t, x, y, w, e: t.vmap(t.func.grad(_sum(t)))(t.eye(2)),
    "vmap of jacrev": lambda t, x, y, w, e: t.vmap(t.func.jacrev(t.sin))(t.eye(2)),
    "grad of jacrev": lambda t, x, y, w, e: t.func.grad(lambda v: t.func.jacrev(t.sin)(v).sum())(x),
    "jacrev of grad": lambda t, x, y, w, e: t.func.jacrev(t.func.grad(_sum(t)))(x),
    "jacfwd of jacrev": lambda t, x, y, w, e: t.func.jacfwd(t.func.jacrev(t.sin))(x),
    "jacrev of jacfwd": lambda t, x, y, w, e: t.func.jacrev(t.func.jacfwd(t.sin))(x),
    "jvp of grad": lambda t, x, y, w, e: t.func.jvp(t.func.grad(_sum(t)), (x,), (x,))[1],
    "leaf": lambda t, x, y, w, e: t.func.jacrev(t.sin)(y),
    "leaf twice": lambda t, x, y, w, e: t.func.jacrev(t.func.jacrev(t.sin))(y),
    "leaf, hessian": lambda t, x, y, w, e: t.func.hessian(_sum(t))(y),
    "closure": lambda t, x, y, w, e: t.func.jacrev(lambda v: (v * w).sin())(x),
    "closure, vjp": lambda t, x, y, w, e: _vjp_rows(t, lambda v: (v * w).sin(), x, t.eye(2)),
    "closure, vmap": lambda t, x, y, w, e: t.vmap(t.func.jacrev(lambda v: (v * w).sin()))(t.eye(2)),
    "cotangents": lambda t, x, y, w, e: _vjp_rows(t, t.sin, x, e),
    "closure, hessian": lambda t, x, y, w, e: t.func.hessian(lambda v: (v * w).sin().sum())(x),
}


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
@pytest.mark.parametrize("name", CASES)
def test_what_requires_grad(name):
    found = []
    for t in (torch, torchlike):
        x = t.tensor([0.5, 1.5], dtype=t.float64)
        leaves = [
            t.tensor(v, dtype=t.float64, requires_grad=True)
            for v in ([0.3, 0.7], [2.0, 3.0], [[1.0, 2.0], [3.0, 4.0]])
        ]
        with t.no_grad():
            assert not CASES[name](t, x, *leaves).requires_grad
        t.set_default_dtype(t.float64)
        try:
            result = CASES[name](t, x, *leaves)
        finally:
            t.set_default_dtype(t.float32)
        gradients = [None] * 3
        if result.requires_grad:
            weights = t.arange(result.numel(), dtype=t.float64).reshape(result.shape)
            gradients = t.autograd.grad((result * weights).sum(), leaves, allow_unused=True)
        lists = [None if g is None else g.reshape(-1).tolist() for g in gradients]
        found.append((result.requires_grad, result.detach().reshape(-1).tolist(), lists))
    (wanted, values, gradients), mine = found
    assert mine[0] == wanted
    assert mine[1] == pytest.approx(values, rel=1e-12, abs=1e-14)
    for ours, theirs in zip(mine[2], gradients, strict=True):
        assert (ours is None) == (theirs is None)
        assert ours is None or ours == pytest.approx(theirs, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("compiled", [False, True])
def test_vjp_made_without_recording(compiled):
    found = []
    for t in (torch, torchlike):
        x = t.tensor([1.0, 2.0], dtype=t.float64, requires_grad=True)
        w = t.tensor([3.0, 5.0], dtype=t.float64, requires_grad=True)

        def run(x, w, t=t):
            with t.no_grad():
                out, pull = t.func.vjp(lambda v: v**3 * w, x)
                (inside,) = pull(t.ones_like(x))
            (later,) = pull(t.ones_like(x))
            return out, inside, later

        results = (t.jit(run) if compiled and t is torchlike else run)(x, w)
        results[2].sum().backward()
        found.append(
            [
                [r.requires_grad for r in results],
                [r.tolist() for r in results],
                x.grad.tolist(),
                w.grad.tolist(),
            ]
        )
    assert found[0] == found[1]
    assert found[0][0] == [False, False, True]
