"""``call_for_per_sample_grads``: PyTorch's gradients of each example."""

import importlib

import numpy as np
import pytest

import torchlike

torch = pytest.importorskip("torch")

LAYERS = {
    "linear": (lambda t: t.nn.Linear(3, 2), (4, 3)),
    "rows": (lambda t: t.nn.Linear(3, 2), (4, 5, 3)),
    "convolution": (lambda t: t.nn.Conv2d(2, 3, 2, padding=1), (4, 2, 5, 5)),
    "groups": (lambda t: t.nn.GroupNorm(2, 4), (4, 4, 3)),
    "layer norm": (lambda t: t.nn.LayerNorm(3), (4, 3)),
    "deep": (lambda t: t.nn.Sequential(t.nn.Linear(3, 5), t.nn.Tanh(), t.nn.Linear(5, 2)), (4, 3)),
}


def gradients(library, name, **how):
    make, size = LAYERS[name]
    module = make(library)
    rng = np.random.default_rng(0)
    with library.no_grad():
        for p in module.parameters():
            p.copy_(library.tensor(rng.random(tuple(p.shape), dtype=np.float32)))
    per_sample = importlib.import_module(f"{library.__name__}.nn.utils._per_sample_grad")
    x = library.tensor(rng.random(size, dtype=np.float32))
    out = per_sample.call_for_per_sample_grads(module, **how)(x)
    loss = (out**2).sum() if how.get("loss_reduction") != "mean" else (out**2).mean(0).sum()
    loss.backward()
    return out, [p.grad_sample for p in module.parameters()], [p.grad for p in module.parameters()]


@pytest.mark.parametrize("reduction", ["sum", "mean"])
@pytest.mark.parametrize("name", LAYERS)
def test_each_example_has_its_gradient(name, reduction):
    out, samples, grads = gradients(torchlike, name, loss_reduction=reduction)
    expected, theirs, _ = gradients(torch, name, loss_reduction=reduction)
    np.testing.assert_allclose(
        out.detach().numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6
    )
    assert all(g is None for g in grads)
    for a, b in zip(samples, theirs, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda t, f: f(3), "Module passed must be nn.Module"),
        (lambda t, f: f(t.nn.Linear(2, 2), batch_size=0), "Batch size must be positive"),
        (lambda t, f: f(t.nn.Linear(2, 2), batch_size="a"), "Batch size passed must be None or an"),
        (lambda t, f: f(t.nn.Linear(2, 2), loss_reduction="x"), "Expected loss_reduction argument"),
        (lambda t, f: f(t.nn.Linear(2, 2))(3), "Unable to find a tensor"),
        (
            lambda t, f: f(t.nn.Bilinear(2, 2, 2))(t.ones(3, 2), t.ones(4, 2)),
            "at least one input with",
        ),
    ],
)
def test_bad_arguments_are_refused_in_pytorchs_words(call, words):
    said = []
    for library in (torch, torchlike):
        module = importlib.import_module(f"{library.__name__}.nn.utils._per_sample_grad")
        with pytest.raises(RuntimeError, match=words) as caught:
            call(library, module.call_for_per_sample_grads)
        said.append(str(caught.value))
    assert said[0] == said[1]


def test_a_second_call_asks_for_cleared_gradients():
    module = torchlike.nn.Linear(2, 2)
    per_sample = importlib.import_module("torchlike.nn.utils._per_sample_grad")
    per_sample.call_for_per_sample_grads(module)(torchlike.ones(3, 2)).sum().backward()
    with pytest.raises(RuntimeError, match="Please clear out the grad_sample parameter"):
        per_sample.call_for_per_sample_grads(module)(torchlike.ones(3, 2))
