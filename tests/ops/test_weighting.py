"""Attention and its derivatives against the definition in float64, at
sizes that are computed whole and in blocks."""

import numpy as np
import pytest

import torchlike as torch
import torchlike.nn.functional as F

#: L, S, E, V: small ones, one block, two uneven blocks, four, keys beyond the last row, fewer keys.
SIZES = [
    (3, 2, 1, 2),
    (17, 40, 16, 16),
    (131, 131, 16, 8),
    (520, 520, 16, 16),
    (130, 150, 8, 8),
    (140, 20, 16, 16),
]
MASKS = ["none", "causal", "bool", "float"]


def problem(sizes, kind, dtype):
    rows, columns, width, values = sizes
    rng = np.random.default_rng(rows)
    shapes = (2, rows, width), (2, columns, width), (2, columns, values), (2, rows, values)
    q, k, v, c = (torch.tensor(rng.standard_normal(s), dtype=dtype) for s in shapes)
    mask = None
    if kind == "bool":
        mask = torch.tensor(rng.random((rows, columns)) < 0.7)
        mask[0] = False
    elif kind == "float":
        mask = torch.tensor(rng.standard_normal((rows, columns)), dtype=dtype)
    leaves = [t.requires_grad_() for t in (q, k, v)]
    if kind == "float":
        leaves.append(mask.requires_grad_())
    return leaves, mask, c


def by_definition(q, k, v, mask, is_causal):
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if is_causal:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    if mask is not None and mask.dtype is torch.bool:
        weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
        weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
    else:
        weights = (scores if mask is None else scores + mask).softmax(-1)
    return weights @ v


@pytest.mark.sampled(every=15, rest="full")
@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("sizes", SIZES)
def test_values_and_gradients_are_those_of_the_definition(sizes, kind, run):
    leaves, mask, c = problem(sizes, kind, torch.float32)

    def with_gradients(c):
        out = F.scaled_dot_product_attention(*leaves[:3], mask, is_causal=kind == "causal")
        return out, *torch.autograd.grad((out * c).sum(), leaves)

    found = run(with_gradients, c)
    wide, mask, c = problem(sizes, kind, torch.float64)
    out = by_definition(*wide[:3], mask, kind == "causal")
    for a, b in zip(found, (out, *torch.autograd.grad((out * c).sum(), wide)), strict=True):
        b = b.detach().numpy()
        # Gradients are sums over rows or columns, of either sign.
        np.testing.assert_allclose(a.detach().numpy(), b, rtol=1e-5, atol=3e-6 * np.abs(b).max())


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("kind", MASKS)
def test_derivatives_of_every_order(kind):
    leaves, mask, _ = problem((4, 5, 2, 3), kind, torch.float64)
    if kind == "bool":
        mask[0] = True  # numerical differences see nothing of a row that is 0

    def attend(q, k, v, *bias):
        given = bias[0] if bias else mask
        return F.scaled_dot_product_attention(q, k, v, given, is_causal=kind == "causal")

    assert torch.autograd.gradcheck(attend, leaves)
    assert torch.autograd.gradgradcheck(attend, leaves)
    tangents = [torch.randn_like(t) for t in leaves]
    _, forward = torch.func.jvp(attend, tuple(t.detach() for t in leaves), tuple(tangents))
    cotangent = torch.randn_like(forward)
    backward = torch.autograd.grad(attend(*leaves), leaves, cotangent)
    products = [(t * g).sum() for t, g in zip(tangents, backward, strict=True)]
    torch.testing.assert_close((forward * cotangent).sum(), sum(products))


@pytest.mark.sampled(every=25, rest="full")
@pytest.mark.parametrize("rows", [1, 2, 16])
@pytest.mark.parametrize("columns", [1, 2, 32, 33])
@pytest.mark.parametrize("width", [1, 2, 16])
def test_heads_of_any_size_compile_between_projections(rows, columns, width):
    """Where layouts are free, XLA's compiler aborts the process on some products of few rows."""
    heads, batch = 3, 2
    size = heads * width
    x, y = torch.randn(batch, rows, size), torch.randn(batch, columns, size)
    weights = [(torch.randn(size, size) / size).requires_grad_() for _ in range(3)]

    def step(x, y):
        q, k, v = (
            (t @ w).view(batch, -1, heads, width).transpose(1, 2)
            for t, w in zip((x, y, y), weights, strict=True)
        )
        out = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(x.shape)
        return torch.autograd.grad(out.pow(2).sum(), weights)

    for a, b in zip(step(x, y), torch.jit(step)(x, y), strict=True):
        # Sums over rows, of either sign.
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5 * float(a.abs().max() + 1e-6))


def test_a_nan_among_the_keys_reaches_every_row_that_sees_it(run):
    q, k, v = torch.randn(3, 1, 140, 16).unbind(0)
    k[:, 100] = torch.nan
    out = run(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True))
    assert out[:, 100:].isnan().all()
    assert not out[:, :70].isnan().any()  # the first block has not read it


def one_key_a_row(dtype, as_bias=False):
    leaves, _, c = problem((4, 3, 2, 2), "bool", torch.float64)
    mask = torch.tensor(
        [[True, False, False], [False, False, False], [False, True, False], [True, True, True]]
    )
    leaves = [t.detach().to(dtype).requires_grad_() for t in leaves]
    if as_bias:
        mask = torch.zeros(mask.shape, dtype=dtype).masked_fill(~mask, -torch.inf)
    return leaves, mask, c.to(dtype)


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("dropped", [False, True])
@pytest.mark.parametrize("as_bias", [False, True])
def test_a_row_that_attends_to_one_key_has_no_gradient_of_its_scores(dtype, dropped, as_bias, run):
    """Its sum of powers is 1, the least that a row has: a bound there would halve the gradient."""
    (q, k, v), mask, c = one_key_a_row(dtype, as_bias)

    def gradients(c):
        # A dropout of nothing that matters takes the weights' own path.
        out = F.scaled_dot_product_attention(q, k, v, mask, dropout_p=1e-12 if dropped else 0.0)
        return torch.autograd.grad((out * c).sum(), [q, k, v])

    of_query, *_ = found = run(gradients, c)
    assert of_query[:, :3].abs().max().item() == 0.0
    mask = one_key_a_row(dtype)[1]
    wide = [t.detach().to(torch.float64).requires_grad_() for t in (q, k, v)]
    wanted = torch.autograd.grad(
        (by_definition(*wide, mask, False) * c.to(torch.float64)).sum(), wide
    )
    tolerance = {torch.float16: 2e-3, torch.bfloat16: 2e-2, torch.float32: 1e-6}[dtype]
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a.double().numpy(), b.numpy(), atol=tolerance, rtol=tolerance)


def test_the_second_derivative_of_a_row_that_attends_to_one_key():
    def second(attention, dtype):
        (q, k, v), mask, c = one_key_a_row(dtype)
        (g,) = torch.autograd.grad((attention(q, k, v, mask).sin() * c).sum(), q, create_graph=True)
        return torch.autograd.grad(g.pow(2).sum(), [q, k, v])

    wanted = second(lambda *a: by_definition(*a, False), torch.float64)
    for a, b in zip(second(F.scaled_dot_product_attention, torch.float64), wanted, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), atol=1e-12)


@pytest.mark.parametrize("is_causal", [False, True])
def test_without_keys_attention_is_zero(is_causal):
    q, k, v = (torch.ones(2, n, 4, requires_grad=True) for n in (3, 0, 0))
    out = F.scaled_dot_product_attention(q, k, v, is_causal=is_causal)
    out.sum().backward()
    assert out.tolist() == torch.zeros(2, 3, 4).tolist() == q.grad.tolist()
    assert k.grad.shape == v.grad.shape == (2, 0, 4)
