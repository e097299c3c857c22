"""Strided nested tensors against PyTorch's: what scripts do with them."""

from __future__ import annotations

import pytest

from tests.parity import oracle
from tests.parity.nested.described import run


def scope(t):
    t.manual_seed(1)
    a, b = t.randn(2, 3), t.randn(4, 3)
    nested = t.nested
    return {
        "t": t,
        "F": t.nn.functional,
        "nested": nested,
        "a": a,
        "b": b,
        "repr": repr,
        "list": list,
        "n": nested.nested_tensor([a, b]),
        "m": nested.nested_tensor([b[:2], a[[0, 1, 0, 1]]]),
        "odd": nested.nested_tensor([t.randn(2, 5), t.randn(3, 1)]),
        "x": t.randn,
        "len": len,
        "w": t.randn(4, 3),
        "g": t.ones(3),
        "jagged": t.jagged,
        "i": lambda *x: t.tensor(x),
        "heads": nested.nested_tensor([t.randn(2, 3, 8), t.randn(2, 5, 8)]),
    }


CASES = [
    "n",
    "odd",
    "n + 1",
    "n * m",
    "n - m",
    "n / 2",
    "-n",
    "n.relu()",
    "F.gelu(n)",
    "n.abs()",
    "n.cos()",
    "n.tanh()",
    "n.eq(1)",
    "n.softmax(-1)",
    "F.softmax(n, -1)",
    "n.sum(-1, keepdim=True)",
    "n.unbind()",
    "n[0]",
    "n[1]",
    "n[0, 1]",
    "n.size(0)",
    "n.size(2)",
    "n.size(-1)",
    "n.dim()",
    "n.numel()",
    "n.is_nested",
    "n.dtype",
    "nested.to_padded_tensor(n, 0.0)",
    "nested.to_padded_tensor(odd, -1.0)",
    "n.to_padded_tensor(0.0, (2, 5, 3))",
    "n._nested_tensor_size()",
    "n.values()",
    "n.transpose(1, 2)",
    "n.chunk(3, -1)",
    "F.linear(n, w)",
    "F.layer_norm(n, (3,), g, g)",
    "F.dropout(n, 0.0)",
    "n.clone()",
    "n.detach()",
    "n.contiguous()",
    "n.to(t.float64)",
    "n.half()",
    "n.masked_fill(n.abs() > 1, 0)",
    "n.view(2, -1, 3)",
    "n.reshape(2, -1, 3, 1)",
    "n.select(1, 0)",
    "n.is_contiguous()",
    "repr(n)",
    "repr(odd)",
    "n @ m.transpose(1, 2)",
    "t.cat([n, m])",
    "list(n)",
    "nested.as_nested_tensor([a, b])",
    "nested.as_nested_tensor(x(2, 3))",
    "nested.as_nested_tensor(x(3, 2, 2))",
    "nested.nested_tensor([[1, 2], [3]])",
    "nested.nested_tensor([a, b], dtype=t.float64)",
    "nested.nested_tensor([a, b], requires_grad=True).requires_grad",
    "nested.narrow(x(3, 4), 0, 1, 2)",
    "F.scaled_dot_product_attention(heads, heads, heads)",
    "n.add_(1)",
    "n.mul_(m)",
    "F.silu(n)",
    "n.sgn()",
    "n.size(1)",
    "n.size()",
    "n.shape",
    "n.stride()",
    "len(n)",
    "n + odd",
    "n @ w.t()",
    "nested.to_padded_tensor(n, 0.0, (2, 2, 3))",
    "nested.to_padded_tensor(n, 0.0, (2, 3))",
    "nested.nested_tensor([a, x(2)])",
    "nested.as_nested_tensor(n, layout=jagged)",
    "n.narrow(1, 0, 1)",
    "n.unsqueeze(1)",
    "n.unsqueeze(-1)",
    "n.unsqueeze(-1).squeeze(-1)",
    "n.squeeze(-1)",
    "t.split(n, [1, 2], -1)",
    "n.split_with_sizes([1, 2], -1)",
    "n.reshape_as(n)",
    "n[..., 0]",
    "F.embedding(nested.nested_tensor([i(1, 0), i(2)]), w)",
    "n.is_pinned()",
    "n.mT",
    "n.is_same_size(m)",
    "n.is_same_size(odd)",
    "t.cat([n, m], -1)",
    "n[5]",
    "n.select(0, -3)",
    "n._nested_tensor_strides()",
    "n._nested_tensor_storage_offsets()",
    "n * x(2, 1, 3)",
    "n.transpose(0, 1)",
]
#: What PyTorch says in words of its backends.
UNWORDED = {"nested.nested_tensor([a, x(2)])", "nested.to_padded_tensor(n, 0.0, (2, 3))"}


@pytest.mark.sampled(every=10, rest="full")
@pytest.mark.parametrize("text", CASES)
def test_as_pytorch(text):
    oracle.compare(run(text, scope), words=0 if text in UNWORDED else None)


def test_gradients():
    def function(t):
        t.manual_seed(0)
        a, b = t.randn(2, 3, requires_grad=True), t.randn(4, 3, requires_grad=True)
        w = t.randn(4, 3, requires_grad=True)
        n = t.nested.as_nested_tensor([a, b])
        out = t.nn.functional.linear(n, w).relu().softmax(-1) * 2
        t.nested.to_padded_tensor(out, 0.0).sin().sum().backward()
        return a.grad, b.grad, w.grad

    oracle.compare(function)
