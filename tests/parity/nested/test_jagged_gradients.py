"""Gradients through ragged tensors, attention and modules against PyTorch's."""

from __future__ import annotations

import warnings

import pytest
import torch

from tests.parity import oracle
from tests.parity.nested.described import described

#: Expressions of a ragged leaf (2, j, 3), of its values and of dense tensors.
LOSSES = [
    "(nt.sin() * other).sum()",
    "(nt * x(2, 1, 3)).mean()",
    "(nt @ m).square().sum()",
    "F.linear(nt, w, bias).tanh().sum()",
    "F.layer_norm(nt, (3,), g, h).square().sum()",
    "(F.softmax(nt, -1) * other).sum()",
    "nt.amax(1).sum()",
    "nt.unbind()[1].square().sum()",
    "nt[0].sum()",
    "nt.values().square().sum()",
    "nt.to_padded_tensor(0.0).square().sum()",
    "nt.transpose(1, 2).square().sum()",
    "t.cat([nt, nt], -1).square().sum()",
    "nt.chunk(3, -1)[1].square().sum()",
    "(nt + leaf).square().sum()",
    "(nt @ each).square().sum()",
    "(nt.transpose(1, 2) @ nt).sum()",
    "nt.unsqueeze(-1).square().sum()",
    "t.where(nt > 0, nt, other).square().sum()",
]


def gradients(text):
    def function(t):
        t.manual_seed(3)
        F, nested = t.nn.functional, t.nested
        values, offsets = t.randn(6, 3, requires_grad=True), t.tensor([0, 2, 6])
        own = nested.nested_tensor(
            [t.randn(2, 3), t.randn(4, 3)], layout=t.jagged, requires_grad=True
        )
        leaves = {
            n: t.randn(*s, requires_grad=True)
            for n, s in (
                ("m", (3, 4)),
                ("w", (5, 3)),
                ("bias", (5,)),
                ("g", (3,)),
                ("h", (3,)),
                ("leaf", (3,)),
                ("each", (2, 3, 4)),
            )
        }
        found = []
        for nt in (nested.nested_tensor_from_jagged(values, offsets), own):
            other = nested.nested_tensor_from_jagged(t.arange(18.0).view(6, 3) / 9, nt.offsets())
            scope = {"t": t, "F": F, "nt": nt, "other": other, "x": t.ones, **leaves}
            loss = eval(text, {}, scope)
            loss.backward()
            found.append(loss.detach())
        every = [values.grad, own.grad, *(leaf.grad for leaf in leaves.values())]
        return [found, described(every)]

    return function


@pytest.mark.sampled(every=8, rest="full")
@pytest.mark.parametrize("text", LOSSES)
def test_gradients(text):
    oracle.compare(gradients(text))


#: What PyTorch has no gradients for, and the same of the list of parts.
BY_PARTS = [
    ("nt.sum(1).square().sum()", "sum(p.sum(0).square().sum() for p in parts)"),
    ("nt.mean(1).square().sum()", "sum(p.mean(0).square().sum() for p in parts)"),
    ("nt.sum(-1).square().sum()", "sum(p.sum(-1).square().sum() for p in parts)"),
    ("nt.amin(1).square().sum()", "sum(p.amin(0).square().sum() for p in parts)"),
    (
        "(F.softmax(nt, 1) * nt.detach()).square().sum()",
        "sum((F.softmax(p, 0) * p.detach()).square().sum() for p in parts)",
    ),
    (
        "(F.layer_norm(nt, (nt.size(1), 3)) ** 3).sum()",
        "sum((F.layer_norm(p, p.shape) ** 3).sum() for p in parts)",
    ),
    ("(nt.sum() + nt.prod(1).sum())", "sum(p.sum() + p.prod(0).sum() for p in parts)"),
    ("nt.square().mean((0, 1)).sum()", "torch.cat(parts).square().mean(0).sum()"),
]


@pytest.mark.sampled(every=4, rest="full")
@pytest.mark.parametrize(("text", "by_parts"), BY_PARTS)
def test_gradients_by_parts(text, by_parts):
    def run(t):
        t.manual_seed(3)
        values = t.randn(6, 3, requires_grad=True)
        if t is torch:
            given = {"parts": list(values.split([2, 4])), "torch": t}
        else:
            given = {"nt": t.nested.nested_tensor_from_jagged(values, t.tensor([0, 2, 6]))}
        loss = eval(by_parts if t is torch else text, {"F": t.nn.functional, **given})
        loss.backward()
        return loss.detach(), values.grad

    oracle.compare(run, rtol=1e-4, atol=1e-5)  # sums of parts in another order, normalised


def attention(t, *, causal=False, scale=None, heads=2, features=8, gqa=False, three=False):
    t.manual_seed(0)
    q_lengths, k_lengths = [3, 70, 1, 130], [5, 66, 2, 129]
    if causal:
        k_lengths = q_lengths
    starts = [t.tensor([0, *n]).cumsum(0) for n in (q_lengths, k_lengths)]
    shared = heads // 2 if gqa else heads
    shape = (lambda n: (features,)) if three else (lambda n: (n, features))
    q = t.randn(sum(q_lengths), *shape(heads), requires_grad=True)
    k, v = (t.randn(sum(k_lengths), *shape(shared), requires_grad=True) for _ in range(2))
    options = {"is_causal": causal, "scale": scale, **({"enable_gqa": True} if gqa else {})}
    if t is torch and (causal or gqa or three):  # which its nested tensors have not on the CPU
        parts = zip(q.split(q_lengths), k.split(k_lengths), v.split(k_lengths), strict=True)
        turned = ([x if three else x.transpose(0, 1) for x in p] for p in parts)
        found = [t.nn.functional.scaled_dot_product_attention(*p, **options) for p in turned]
        out = t.cat([x if three else x.transpose(0, 1) for x in found])
        out.sin().sum().backward()
        return [out.detach(), q.grad, k.grad, v.grad]
    n = [t.nested.nested_tensor_from_jagged(x, starts[i]) for x, i in ((q, 0), (k, 1), (v, 1))]
    if not three:
        n = [x.transpose(1, 2) for x in n]
    out = t.nn.functional.scaled_dot_product_attention(*n, **options)
    out = out if three else out.transpose(1, 2)
    out.sin().sum().backward()
    return [out.values().detach(), q.grad, k.grad, v.grad]


ATTENTIONS = [{}, {"causal": True}, {"scale": 0.3}, {"three": True}, {"heads": 4, "gqa": True}]


@pytest.mark.sampled(every=5, rest="full")
@pytest.mark.parametrize("how", ATTENTIONS)
def test_attention(how):
    # PyTorch computes float32 attention with another order of sums.
    def run(t):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return attention(t, **how)

    oracle.compare(run, rtol=1e-4, atol=1e-5)


def second_derivatives(t, *, causal=False, gqa=False, dtype="float64"):
    """The gradients of a sum of squared gradients of ragged attention, and of the same part by
    part."""
    t.manual_seed(0)
    lengths = [3, 70, 1, 330]
    offsets = t.tensor([0, *lengths]).cumsum(0)
    q, k, v = (
        t.randn(sum(lengths), 1 if gqa and i else 2, 4, dtype=getattr(t, dtype), requires_grad=True)
        for i in range(3)
    )
    options = {"is_causal": causal, **({"enable_gqa": True} if gqa else {})}
    if t is torch:
        parts = zip(*(x.transpose(0, 1).split(lengths, 1) for x in (q, k, v)), strict=True)
        with t.nn.attention.sdpa_kernel(t.nn.attention.SDPBackend.MATH):
            found = [t.nn.functional.scaled_dot_product_attention(*p, **options) for p in parts]
        out = t.cat(found, 1).transpose(0, 1)
    else:
        n = [t.nested.nested_tensor_from_jagged(x, offsets).transpose(1, 2) for x in (q, k, v)]
        out = t.nn.functional.scaled_dot_product_attention(*n, **options).transpose(1, 2).values()
    first = t.autograd.grad(out.sin().sum(), (q, k, v), create_graph=True)
    second = t.autograd.grad(sum(g.square().sum() for g in first), (q, k, v))
    return [*(g.detach() for g in first), *second]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "how",
    [
        {"causal": True},
        *(
            pytest.param(h, marks=pytest.mark.full)
            for h in ({}, {"gqa": True}, {"causal": True, "gqa": True})
        ),
    ],
)
def test_second_derivatives_of_attention(how):
    oracle.compare(lambda t: second_derivatives(t, **how))


BAD_ATTENTION = [
    "sdpa(q, q.values(), q)",
    "sdpa(q, q.double(), q)",
    "sdpa(flat, flat, flat)",
    "sdpa(q, q.transpose(1, 2), q)",
    "sdpa(q, q, q, attn_mask=q)",
]


@pytest.mark.sampled(every=3, rest="full")
@pytest.mark.parametrize("text", BAD_ATTENTION)
def test_attention_refuses(text):
    def run(t):
        nt = t.nested.nested_tensor([t.ones(2, 2, 4), t.ones(3, 2, 4)], layout=t.jagged)
        flat = t.nested.nested_tensor([t.ones(2), t.ones(3)], layout=t.jagged)
        sdpa = t.nn.functional.scaled_dot_product_attention
        return eval(text, {"sdpa": sdpa, "q": nt.transpose(1, 2), "flat": flat})

    oracle.refused(run)


def modules(t):
    t.manual_seed(5)
    words = t.nested.nested_tensor([t.tensor([1, 2, 0]), t.tensor([3])], layout=t.jagged)
    model = t.nn.Sequential(
        t.nn.Embedding(5, 8),
        t.nn.LayerNorm(8),
        t.nn.Linear(8, 16),
        t.nn.GELU(),
        t.nn.Dropout(0.0),
        t.nn.RMSNorm(16),
        t.nn.Linear(16, 4),
        t.nn.Softmax(-1),
    )
    optimizer = t.optim.SGD(model.parameters(), 0.1)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = model(words).square().values().sum(-1).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return [losses, described(model(words)), *(p.grad for p in model.parameters())]


def test_a_model_learns():
    oracle.compare(modules, rtol=1e-4)  # three steps amplify roundings


class Block:
    """A transformer's block on ragged tensors, as PyTorch's tutorial on nested tensors has it."""

    def __init__(self, t):
        t.manual_seed(2)
        self.t = t
        self.pack, self.out, self.norm = (
            t.nn.Linear(16, 48),
            t.nn.Linear(16, 16),
            t.nn.LayerNorm(16),
        )

    def __call__(self, nt):
        query, key, value = self.pack(nt).chunk(3, dim=-1)
        heads = [x.unflatten(-1, [2, 8]).transpose(-3, -2) for x in (query, key, value)]
        attend = self.t.nn.functional.scaled_dot_product_attention
        out = attend(*heads).transpose(-3, -2).flatten(-2)
        return self.norm(nt + self.out(out))


@pytest.mark.full
def test_a_block():
    def run(t):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            block = Block(t)
            nt = t.nested.nested_tensor(
                [t.randn(3, 16), t.randn(5, 16)], layout=t.jagged, requires_grad=True
            )
            if t is torch:  # whose attention takes no views of packed projections on the CPU
                out = t.cat([block(part) for part in nt.unbind()])
            else:
                out = block(nt).values()
            out.sin().sum().backward()
            return [out.detach(), described(nt.grad), block.pack.weight.grad]

    oracle.compare(run, rtol=1e-4, atol=1e-5)  # the gradients pass a normalisation


def test_multihead_attention_is_refused():
    def run(t):
        nt = t.nested.nested_tensor([t.ones(3, 8), t.ones(5, 8)], layout=t.jagged)
        return t.nn.MultiheadAttention(8, 2, batch_first=True)(nt, nt, nt)

    oracle.refused(run, words=76)


AUTOGRAD = [
    "t.autograd.grad((nt * nt).sum(), nt)",
    "t.autograd.grad((nt * 2).sum(), nt.values())",
    "(nt * 2).backward(t.ones_like(nt)), nt.grad",
    "nt.register_hook(lambda g: g * 3), (nt * 2).sum().backward(), nt.grad",
    "(nt * 2).grad_fn is not None, nt.is_leaf, (nt * 2).is_leaf",
    "nt.requires_grad, nt.detach().requires_grad",
    "nt.values().is_leaf",
    "t.autograd.backward([(nt * nt).sum()]), nt.grad",
    "nt.backward()",
    "nt.grad",
    "t.autograd.grad(nt.sin(), nt, t.ones_like(nt))",
]


@pytest.mark.sampled(every=6, rest="full")
@pytest.mark.parametrize("text", AUTOGRAD)
def test_autograd(text):
    def run(t):
        nt = t.nested.nested_tensor(
            [t.arange(6.0).view(2, 3), t.ones(1, 3)], layout=t.jagged, requires_grad=True
        )
        found = eval(text, {"t": t, "nt": nt})
        return described(
            [f for f in found if not hasattr(f, "remove")] if isinstance(found, tuple) else found
        )

    oracle.compare(run)
