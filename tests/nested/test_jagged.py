"""Ragged tensors in compiled programs, in files, and what they refuse."""

from __future__ import annotations

import copy
import io
import pickle

import pytest

import torchlike as torch
import torchlike.nn.functional as F
from torchlike.nn.attention.varlen import AuxRequest, varlen_attn, varlen_attn_out

OFFSETS = ([0, 2, 64], [0, 60, 64], [0, 1, 63])


def ragged(values, offsets, **known):
    return torch.nested.nested_tensor_from_jagged(values, torch.tensor(offsets), **known)


def test_pointwise_compiles_once():
    f = torch.jit(lambda a, b: (a * b + 1).sin())
    for offsets in ([0, 2, 6], [0, 5, 6]):
        at = torch.tensor(offsets)
        x, y = (torch.nested.nested_tensor_from_jagged(torch.randn(6, 3), at) for _ in range(2))
        found = f(x, y)
        assert found.shape == x.shape
        assert found.offsets() is at
        torch.testing.assert_close(found.values(), (x * y + 1).sin().values())
    assert f.compiles == 1


def test_attention_compiles_once_for_all_lengths():
    def attend(q):
        return F.scaled_dot_product_attention(q, q, q).transpose(1, 2).flatten(-2)

    f = torch.jit(attend)
    for offsets in OFFSETS:
        q = ragged(torch.randn(64, 2, 8), offsets).transpose(1, 2)
        torch.testing.assert_close(f(q).values(), attend(q).values())
    assert f.compiles == 1


def test_parts_in_compiled_programs(caplog):
    """A program that takes a ragged tensor apart is for the lengths that it was compiled with."""

    def parts(n):
        return [part.sum(0) for part in n.unbind()], n[1] * 2, n.chunk(2)[0]

    f = torch.jit(parts)
    for offsets in ([0, 2, 6], [0, 5, 6], [0, 2, 6]):
        n = ragged(torch.randn(6, 3, requires_grad=True), offsets)
        with caplog.at_level("INFO", logger="torchlike.recompiles"):
            found, expected = f(n), parts(n)
        torch.testing.assert_close(found[:2], expected[:2])
        torch.testing.assert_close(found[2].values(), expected[2].values())
    assert f.compiles == 2
    assert "[0, 2, 6] → [0, 5, 6]" in caplog.text


def test_the_longest_part_in_compiled_programs():
    """A program that pads is for lengths with the same greatest one."""
    f = torch.jit(lambda n: F.softmax(n, 1).to_padded_tensor(0.0))
    for offsets in ([0, 2, 6], [0, 4, 6], [0, 1, 6]):
        n = ragged(torch.randn(6, 3), offsets)
        torch.testing.assert_close(f(n), F.softmax(n, 1).to_padded_tensor(0.0))
    assert f.compiles == 2


def test_parts_with_holes_in_compiled_programs():
    padded = torch.randn(2, 5, 3)
    f = torch.jit(lambda n: n.unbind())
    for starts, lengths in (([0, 1], [2, 3]), ([1, 0], [2, 3])):
        n = torch.nested.narrow(
            padded, 1, torch.tensor(starts), torch.tensor(lengths), layout=torch.jagged
        )
        torch.testing.assert_close(f(n), n.unbind())
    assert f.compiles == 2


def test_gradients_of_parts_in_compiled_programs():
    values = torch.randn(6, 3, requires_grad=True)
    f = torch.jit(lambda n: (n[0].square().sum(), n[1].sum()))
    a, b = f(ragged(values, [0, 2, 6]))
    (a + b).backward()
    torch.testing.assert_close(values.grad[:2], 2 * values.detach()[:2])
    assert torch.equal(values.grad[2:], torch.ones(4, 3))


@pytest.mark.exhaustive
def test_third_derivatives_of_attention_are_refused():
    x = torch.randn(5, 1, 2, requires_grad=True)
    q = ragged(x, [0, 2, 5]).transpose(1, 2)
    found = F.scaled_dot_product_attention(q, q, q).values().sin().sum()

    def third():
        loss = found
        for _ in range(3):
            (gradient,) = torch.autograd.grad(loss, x, create_graph=True)
            loss = gradient.square().sum()

    with pytest.raises(NotImplementedError, match="third derivatives"):
        third()


@pytest.mark.full
def test_bucketed_values():
    """Values padded to a bucket behind the last offset: nothing within the parts changes."""

    def compute(n):
        return F.softmax(F.scaled_dot_product_attention(n, n, n), -1).sum(1)

    f = torch.jit(compute)
    for total in (5, 7, 8):
        values = torch.randn(total, 4)
        padded = torch.jit.pad_to_bucket(values, 0)
        exact = f(ragged(padded, [0, 3, total]))
        torch.testing.assert_close(exact, compute(ragged(values, [0, 3, total])))
    assert f.compiles == 1


def test_gradients_through_jit():
    values = torch.randn(6, 3, requires_grad=True)
    f = torch.jit(lambda n: (n * n).sum())
    f(ragged(values, [0, 2, 6])).backward()
    torch.testing.assert_close(values.grad, 2 * values.detach())


WINDOWS = [(window, n) for window in ((-1, -1), (-1, 0), (3, 2), (70, -1)) for n in (1, 2)]


@pytest.mark.parametrize(
    ("window", "shared"),
    [((5, 0), 1), *(pytest.param(*case, marks=pytest.mark.full) for case in WINDOWS)],
)
def test_varlen_attention(window, shared):
    """Against masked attention of each sequence; both jitted and not."""
    q_at, k_at = torch.tensor([0, 3, 73, 80]), torch.tensor([0, 9, 79, 88])
    q = torch.randn(80, 2, 8, requires_grad=True)
    k, v = (torch.randn(88, shared, 8, requires_grad=True) for _ in range(2))

    def by_sequence():
        found = []
        for i in range(3):
            rows, keys = slice(q_at[i], q_at[i + 1]), slice(k_at[i], k_at[i + 1])
            n, m = int(q_at[i + 1] - q_at[i]), int(k_at[i + 1] - k_at[i])
            place = torch.arange(n)[:, None] + (m - n)
            column = torch.arange(m)
            left, right = window
            keep = torch.ones(n, m, dtype=torch.bool)
            if left >= 0:
                keep &= column >= place - left
            if right >= 0:
                keep &= column <= place + right
            parts = [x.transpose(0, 1) for x in (q[rows], k[keys], v[keys])]
            out = F.scaled_dot_product_attention(*parts, attn_mask=keep, enable_gqa=True)
            found.append(out.transpose(0, 1))
        return torch.cat(found)

    def packed(q, k, v):
        return varlen_attn(q, k, v, q_at, k_at, 70, 70, window_size=window, enable_gqa=True)

    expected = by_sequence()
    gradients = torch.autograd.grad(expected.sin().sum(), (q, k, v))
    for f in (packed, torch.jit(packed)):
        out = f(q, k, v)
        torch.testing.assert_close(out, expected)
        torch.testing.assert_close(torch.autograd.grad(out.sin().sum(), (q, k, v)), gradients)


def test_varlen_extras():
    q, at = torch.randn(10, 2, 4), torch.tensor([0, 4, 10])
    out, lse = varlen_attn(q, q, q, at, None, 6, 6, return_aux=AuxRequest(lse=True), scale=0.5)
    scores = torch.einsum("qhd,khd->qhk", q[:4], q[:4]) * 0.5
    torch.testing.assert_close(lse[:4], scores.logsumexp(-1))
    target = torch.empty(10, 2, 4)
    assert varlen_attn_out(target, q, q, q, at, at, 6, 6, scale=0.5) is target
    torch.testing.assert_close(target, out)
    used = varlen_attn(q, q, q, at, at, 6, 6, scale=0.5, seqused_k=torch.tensor([4, 2]))
    torch.testing.assert_close(used[:4], out[:4])
    weights = (torch.einsum("qhd,khd->qhk", q[4:], q[4:6]) * 0.5).softmax(-1)
    torch.testing.assert_close(used[4:], torch.einsum("qhk,khd->qhd", weights, q[4:6]))


@pytest.mark.exhaustive
def test_gradient_of_lse():
    q, at = torch.randn(70, 1, 4, requires_grad=True), torch.tensor([0, 70])
    lse = varlen_attn(q, q, q, at, at, 70, 70, return_aux=AuxRequest(lse=True))[1]
    scores = torch.einsum("qhd,khd->qhk", q, q) / 2
    expected = torch.autograd.grad(scores.logsumexp(-1).sum(), q)
    torch.testing.assert_close(torch.autograd.grad(lse.sum(), q), expected)


@pytest.mark.exhaustive
def test_dropout_drops_what_backward_drops():
    """With one value for all keys a row's result is the sum of the weights that are left."""
    q = ragged(torch.randn(100, 1, 4), [0, 90, 100]).transpose(1, 2)
    ones = torch.ones(100, 1, 4, requires_grad=True)
    v = torch.nested.nested_tensor_from_jagged(ones, q.offsets()).transpose(1, 2)
    out = F.scaled_dot_product_attention(q, q, v, dropout_p=0.5).values()
    assert 0.8 < out.mean() < 1.2
    assert out.std() > 0.01
    out.sum().backward()  # linear in the values: the same weights
    torch.testing.assert_close(ones.grad.sum(), out.sum())


@pytest.mark.exhaustive
def test_half_precision():
    q = ragged(torch.randn(70, 2, 8), [0, 66, 70]).transpose(1, 2)
    low = q.to(torch.bfloat16)
    found = F.scaled_dot_product_attention(low, low, low)
    assert found.dtype is torch.bfloat16
    expected = F.scaled_dot_product_attention(q, q, q)
    # Inputs and weights of eight bits of mantissa.
    torch.testing.assert_close(found.values().float(), expected.values(), rtol=0.05, atol=0.05)


@pytest.mark.parametrize("store", [pickle.dumps, None])
def test_files(store):
    n = torch.nested.nested_tensor([torch.ones(2, 3), torch.zeros(1, 3)], layout=torch.jagged)
    if store is None:
        file = io.BytesIO()
        torch.save([n, n.transpose(1, 2)], file)
        file.seek(0)
        found = torch.load(file)
    else:
        found = pickle.loads(store([n, n.transpose(1, 2)]))
    assert [f._ragged_idx for f in found] == [1, 2]
    assert torch.equal(found[0].values(), n.values())
    assert found[0].shape != n.shape
    copied = copy.deepcopy(n)
    assert torch.equal(copied.offsets(), n.offsets())


def test_printing():
    n = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)], layout=torch.jagged)
    name = n.size(1)
    assert (
        repr(n)
        == f"NestedTensor(size=(2, {name!r}, 3), offsets=tensor([0, 2, 3]), contiguous=True)"
    )
    assert str(n.shape) == f"torch.Size([2, {name!r}, 3])"
    n.requires_grad_()
    assert "requires_grad=True" in repr(n)
    assert "grad_fn=<MulBackward0" in repr(n * 2)


def test_whole_slices():
    n = ragged(torch.arange(12.0).view(6, 2), [0, 2, 6])
    torch.testing.assert_close(n[:, :, 1].values(), torch.arange(6.0) * 2 + 1)
    torch.testing.assert_close(n[:, :, :1].values(), n.values()[:, :1])


REFUSED = [
    ("ragged(torch.ones(3, 2), [0, 2, 5])", RuntimeError, "do not fit"),
    ("ragged(torch.ones(3, 2), [0, 3, 2])", RuntimeError, "ascending"),
    ("ragged(torch.ones(3, 2), [-1, 3])", RuntimeError, "ascending"),
    ("ragged(torch.ones(3, 2), [[0, 3]])", AssertionError, "1D"),
    ("ragged(torch.ones(3, 2), [0, 3], jagged_dim=3)", RuntimeError, "out of range"),
    ("ragged(torch.ones(3, 2), [0, 3], lengths=torch.tensor([1, 2]))", AssertionError, "match"),
    ("torch.fft.fft(x)", NotImplementedError, "values()"),
    ("torch.add(x, 1, out=x)", NotImplementedError, "out="),
    ("x.T", NotImplementedError, "to_padded_tensor"),
    ("torch.jit(lambda n: moved(n).unbind())(x)", torch.jit.JitCaptureError, "max_seqlen"),
    ("torch.jit(lambda n: F.softmax(moved(n), 1))(x)", torch.jit.JitCaptureError, "max_seqlen"),
    ("torch.ones(2).to_padded_tensor(0.0)", NotImplementedError, "dense"),
    ("varlen_attn(q, q, q, torch.tensor([0, 9]), None, 1, 1)", RuntimeError, "ascend"),
    ("varlen_attn(q, q, q, torch.tensor([0, 4]), torch.tensor([0]), 1, 1)", RuntimeError, "same"),
    ("varlen_attn(q, q[:, :1], q[:, :1], torch.tensor([0, 4]), None, 1, 1)", ValueError, "GQA"),
    ("varlen_attn(q, q, q, at, None, 4, 4, block_table=at)", NotImplementedError, "pages"),
    ("varlen_attn(q, q, q, at, None, 4, 4, window_size=(1,))", ValueError, "length 2"),
]


@pytest.mark.parametrize(("text", "error", "words"), REFUSED)
def test_refused(text, error, words):
    scope = {
        "torch": torch,
        "ragged": ragged,
        "F": F,
        "varlen_attn": varlen_attn,
        "moved": lambda n: torch.nested.nested_tensor_from_jagged(n.values(), n.offsets() + 0),
        "x": ragged(torch.ones(6, 3), [0, 2, 6]),
        "q": torch.ones(4, 2, 4),
        "at": torch.tensor([0, 4]),
    }
    with pytest.raises(error) as found:
        eval(text, scope)
    assert words in str(found.value)
