"""Convolutions of random geometry against PyTorch: every lowering of convolution.py is met."""

import random

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torchlike as tl  # noqa: E402


def geometry(seed: int, transposed: bool):
    """Sizes of input and weight, and keyword arguments, of one convolution."""
    rng = random.Random(seed)
    n = rng.choice((1, 1, 2, 2, 3))

    def each(low: int, high: int) -> list[int]:
        return [rng.randint(low, high) for _ in range(n)]

    groups = rng.choice((1, 1, 2, 4))
    inner, outer = groups * rng.choice((1, 1, 2)), groups * rng.choice((1, 3))
    sizes, kernel, stride = each(3, 7), each(1, 4), each(1, 3)
    dilation = [1] * n if rng.random() < 0.6 else each(1, 2)
    options = {"stride": stride, "dilation": dilation, "groups": groups, "padding": each(0, 3)}
    if transposed:
        options["output_padding"] = [
            rng.randint(0, max(s, d) - 1) for s, d in zip(stride, dilation, strict=True)
        ]
        weight = (inner, outer // groups, *kernel)
    else:
        weight = (outer, inner // groups, *kernel)
    return (2, inner, *sizes), weight, options


@pytest.mark.sampled(every=7, rest="full")
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("seed", range(25))
def test_random_geometry(seed, transposed):
    size, weight_size, options = geometry(seed, transposed)
    name = f"conv{'_transpose' if transposed else ''}{len(size) - 2}d"
    torch.manual_seed(seed)
    channels = weight_size[1] * options["groups"] if transposed else weight_size[0]
    x, w, b = (torch.randn(s, requires_grad=True) for s in (size, weight_size, (channels,)))
    try:
        theirs = getattr(torch.nn.functional, name)(x, w, b, **options)
    except RuntimeError:
        with pytest.raises(RuntimeError):
            getattr(tl.nn.functional, name)(*(tl.tensor(t.tolist()) for t in (x, w, b)), **options)
        return
    if not theirs.numel():
        return  # PyTorch gives an empty result or raises, by its backend
    cotangent = torch.randn_like(theirs)
    expected = (theirs, *torch.autograd.grad(theirs, (x, w, b), cotangent))

    def run(*operands):
        out = getattr(tl.nn.functional, name)(*operands, **options)
        return out, *tl.autograd.grad(out, operands, tl.tensor(cotangent.numpy()))

    ours = [tl.tensor(t.detach().numpy(), requires_grad=True) for t in (x, w, b)]
    for way in (run, tl.jit(run)):
        for got, want in zip(way(*ours), expected, strict=True):
            want = want.detach().numpy()
            # Sums of up to 2,000 products: 2e-6 of the largest.
            np.testing.assert_allclose(
                got.detach().numpy(), want, rtol=1e-5, atol=2e-6 * max(1, np.abs(want).max())
            )


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_by_the_name_of_all(n, transposed):
    def run(t, x, w, b):
        return t.convolution(
            x, w, b, [2] * n, [1] * n, [1] * n, transposed, [int(transposed)] * n, 2
        )

    torch.manual_seed(n)
    operands = [torch.randn(s) for s in ((2, 4, *[5] * n), (4, 2, *[3] * n), (4,))]
    want = run(torch, *operands)
    ours = [tl.tensor(t.numpy()) for t in operands]
    for way in (run, tl.jit(run, static_argnames="t")):
        np.testing.assert_allclose(way(tl, *ours).numpy(), want.numpy(), rtol=1e-5, atol=2e-6)
