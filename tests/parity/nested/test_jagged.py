"""Ragged tensors (layout=torch.jagged) against PyTorch's: making, computing, shapes, errors."""

from __future__ import annotations

import pytest

from tests.parity import oracle
from tests.parity.nested.described import run
from tests.parity.sampling import sampled


def scope(t):
    t.manual_seed(1)
    a, b = t.randn(2, 3), t.randn(4, 3)
    values, offsets = t.randn(6, 3), t.tensor([0, 2, 6])
    nested = t.nested
    nt = nested.nested_tensor_from_jagged(values, offsets)
    four = nested.nested_tensor_from_jagged(t.randn(6, 2, 3), offsets)
    known = nested.nested_tensor([a, b], layout=t.jagged)
    words = nested.nested_tensor_from_jagged(t.tensor([0, 3, 1, 2, 4, 4]), offsets)
    base = t.randn(3, 5, 2)
    holes = nested.narrow(base, 1, t.tensor([0, 1, 2]), t.tensor([3, 2, 1]), layout=t.jagged)
    return {
        "t": t, "F": t.nn.functional, "nested": nested, "a": a, "b": b, "values": values,
        "offsets": offsets, "nt": nt, "four": four, "known": known, "words": words, "base": base,
        "holes": holes, "other": nested.nested_tensor_from_jagged(t.randn(6, 3), offsets),
        "unlike": nested.nested_tensor_from_jagged(t.randn(6, 3), t.tensor([0, 2, 6])),
        "w": t.randn(5, 3), "bias": t.randn(5), "m": t.randn(3, 4), "each": t.randn(2, 3, 4),
        "i": lambda *x: t.tensor(x), "x": t.randn, "jagged": t.jagged, "slice": slice,
        "flat": nested.nested_tensor_from_jagged(t.randn(6), offsets), "len": len, "list": list,
        "float": float, "repr": repr, "type": type, "str": str, "isinstance": isinstance,
        "int": int, "tuple": tuple,
    }  # fmt: skip


MAKING = [
    "nt", "known", "four", "words", "flat", "holes",
    "nested.as_nested_tensor([a, b], layout=jagged)",
    "nested.as_nested_tensor(base, layout=jagged)",
    "nested.as_nested_tensor(nt, layout=jagged) is nt",
    "nested.nested_tensor([[1, 2], [3]], layout=jagged)",
    "nested.nested_tensor([[1.0, 2], [3]], layout=jagged, dtype=t.float64)",
    "nested.nested_tensor([a, b], layout=jagged, requires_grad=True)",
    "nested.nested_tensor([a, b], layout=jagged, requires_grad=True).is_leaf",
    "nested.nested_tensor([x(3, 2), x(3, 4)], layout=jagged)",
    "nested.nested_tensor([x(3, 2), x(3, 2)], layout=jagged)",
    "nested.nested_tensor([x(3, 2, 2), x(3, 2, 5)], layout=jagged)",
    "nested.nested_tensor_from_jagged(values, lengths=i(1, 5))",
    "nested.nested_tensor_from_jagged(values, offsets, i(1, 3))",
    "nested.nested_tensor_from_jagged(x(3, 6), offsets, jagged_dim=2)",
    "nested.narrow(base, 1, 1, 3, layout=jagged)",
    "nested.narrow(base, 1, 0, i(5, 5, 5), layout=jagged)",
    "nested.narrow(base, 1, 0, 5, layout=jagged)",
    "nested.narrow(base, 1, i(0, 0, 0), i(5, 4, 2), layout=jagged)",
    "nested.masked_select(values, values > 0)", "nested.masked_select(x(3, 2), i(True, False))",
    "nested.to_padded_tensor(known, 1.0)", "known.to_padded_tensor(0.0)",
    "nt.to_padded_tensor(0.0)", "known.to_padded_tensor(2.0, output_size=(2, 5, 3))",
    "known.transpose(1, 2).to_padded_tensor(0.0)", "four.to_padded_tensor(1.5, (2, 4, 2, 3))",
    "flat.to_padded_tensor(0.0)", "words.to_padded_tensor(9)",
    "(known > 0).to_padded_tensor(False)", "nt.unbind()", "holes.unbind()", "list(nt)", "len(nt)",
    "known.transpose(1, 2).unbind()", "nt.values()", "nt.offsets()", "nt.lengths()",
    "holes.lengths()", "nt.size()", "nt.size(1)", "nt.size(-1)", "nt.shape", "nt.dim()",
    "nt.ndim", "nt.numel()", "nt.dtype", "str(nt.layout)", "nt.is_nested", "nt.stride(0)",
    "nt.is_contiguous()", "holes.is_contiguous()", "holes.contiguous()", "nt.contiguous() is nt",
    "nt.clone()", "nt.detach()", "nt.device.type", "nt.to(t.float64)", "nt.double()", "nt.half()",
    "words.float()", "nt.to('cpu')", "nt.is_sparse", "nt.element_size()",
    "nt.is_floating_point()", "t.is_tensor(nt)", "isinstance(nt, t.Tensor)", "t.zeros_like(nt)",
    "t.ones_like(nt, dtype=t.int64)", "t.full_like(nt, 3.0)", "t.empty_like(nt).shape",
    "type(nt).__name__", "holes.numel()", "nt._get_max_seqlen()", "nt._get_min_seqlen()",
    "nt.is_same_size(other)", "nt.is_same_size(unlike)",
]  # fmt: skip
SIZES = [
    "nt.shape == other.shape", "nt.shape == unlike.shape", "nt.size(1) == other.size(1)",
    "nt.size(1) == unlike.size(1)", "nt.size(1) == 3", "nt.size(1) != 3", "nt.size(1) >= 2",
    "nt.size(1) > 1", "nt.size(1) < 1", "nt.size(1) * 2", "2 * nt.size(1)", "nt.size(1) <= 1",
    "(nt.size(1) * 2) > nt.size(1)", "nt.size(1) < nt.size(1)", "isinstance(nt.size(1), int)",
    "isinstance(nt.size(1), t.SymInt)", "nt.size(1) > 5", "nt.size(1) <= unlike.size(1)",
    "nt.size(1) < 2", "t.Size((2, nt.size(1), 3)) == nt.shape", "nt.shape[2:]", "nt.shape[:2]",
]  # fmt: skip
POINTWISE = [
    "nt + 1", "1 - nt", "nt * other", "nt / 2", "2 / nt", "-nt", "nt ** 2", "2.0 ** nt", "nt > 0",
    "nt == other", "nt + other", "nt - nt", "nt.sin()", "t.exp(nt)", "nt.abs()", "nt.relu()",
    "F.relu(nt)", "F.gelu(nt)", "F.silu(nt)", "t.sigmoid(nt)", "nt.tanh()",
    "F.leaky_relu(nt, 0.2)", "nt.clamp(-0.5, 0.5)", "nt.clamp(min=0)",
    "t.where(nt > 0, nt, other)", "nt.masked_fill(nt > 0, 0.0)", "nt.logical_not()",
    "(nt > 0) & (other > 0)", "nt.isnan()", "nt.floor()", "nt.sqrt().isnan()",
    "t.maximum(nt, other)", "t.multiply(nt, 3)", "t.pow(nt, 2)", "nt.square()",
    "t.add(nt, other, alpha=2)", "nt + x(3)", "nt + x(1, 1, 3)", "nt + x(2, 1, 3)",
    "x(2, 1, 3) * nt", "nt + x(2, 1, 1)", "x(3) / nt", "four + x(2, 3)", "four * x(2, 1, 2, 3)",
    "four + x(2, 1, 1, 3)", "nt + t.tensor(2.0)", "words + 1", "words % 2", "holes + 1",
    "holes * holes", "holes.sin()", "nt.transpose(1, 2) + 1",
    "nt.transpose(1, 2) * nt.transpose(1, 2)", "nt.exp()", "nt.add_(1)", "nt.mul_(other)",
    "nt.zero_()", "nt.fill_(2.0)", "nt.copy_(other)", "F.relu(nt, inplace=True)",
    "F.dropout(nt, 0.0)", "F.dropout(nt, 0.5, training=False)", "F.softplus(nt)", "F.elu(nt)",
    "nt.round()", "nt.sign()", "nt.reciprocal()", "t.atan2(nt, other)", "nt + unlike",
    "nt * x(3, 1, 3)", "nt + x(1, 2, 1, 3)", "nt.add(nt.size(1))", "nt + four",
]  # fmt: skip
REDUCTIONS = [
    "nt.sum()", "nt.mean()", "nt.prod()", "(nt > 5).any()", "(nt < 9).all()", "nt.max()",
    "nt.min()", "nt.sum(1)", "nt.sum(1, keepdim=True)", "nt.sum(-1)", "nt.sum(-1, keepdim=True)",
    "nt.sum((0, 1))", "nt.sum((0, 1), keepdim=True)", "nt.sum((0, 1, 2))", "nt.mean(1)",
    "nt.mean(1, keepdim=True)", "nt.mean(-1)", "nt.mean((0, 1))", "four.sum((2, 3))",
    "four.sum(2)", "four.mean(1)", "four.mean((-2, -1))", "nt.amax(1)", "nt.amax(-1)",
    "nt.amin(1)", "nt.max(1)", "nt.max(-1)", "nt.min(-1)", "nt.argmax(-1)", "nt.argmax(1)",
    "nt.argmin(1)", "nt.prod(1)", "(nt > 0).any(1)", "(nt > 0).all(-1)", "words.sum(1)",
    "nt.sum(-1, dtype=t.float64)", "nt.sum(1, dtype=t.float64)", "flat.sum(1)", "flat.mean(1)",
    "nt.transpose(1, 2).sum(1)", "known.transpose(1, 2).sum(2)", "holes.sum(-1)", "holes.sum(1)",
    "holes.mean(1)", "nt.sum(0)", "nt.mean(0)", "nt.sum((1, 2))", "nt.mean((1, 2))",
    "nt.amax((0, 2))", "nt.sum(5)", "nt.sum(dim=1)", "t.sum(nt, dim=(2,))",
    "t.mean(nt, -1, keepdim=True)", "nt.any()",
]  # fmt: skip
SHAPES = [
    "nt[0]", "nt[-1]", "nt[0, 1]", "nt[1, :, 2]", "nt[..., 1]", "nt[5]", "nt.select(2, 1)",
    "nt.select(1, 0)", "nt.select(0, 1)", "nt.narrow(2, 0, 2)", "nt.narrow(1, 0, 1)",
    "nt.split(2, -1)", "nt.split([1, 2], 2)", "nt.split(1, 1)", "nt.chunk(3, -1)",
    "nt.chunk(2, 0)", "nt.chunk(2, 1)", "nt.transpose(1, 2)", "four.transpose(2, 3)",
    "four.transpose(1, 2)", "four.transpose(1, 3)", "nt.transpose(0, 1)",
    "nt.transpose(1, 2).transpose(1, 2)", "four.permute(0, 2, 1, 3)", "four.permute(0, 3, 2, 1)",
    "four.permute(1, 0, 2, 3)", "four.permute(0, 1, 2)", "four.permute(0, 1, 1, 2)",
    "nt.unsqueeze(-1)", "nt.unsqueeze(2)", "nt.unsqueeze(1)", "nt.unsqueeze(0)", "nt.squeeze(2)",
    "four.view(2, four.size(1), 6)", "nt.view(2, nt.size(1), 3, 1)", "nt.reshape(2, -1, 3)",
    "four.reshape(2, four.size(1), -1)", "four.flatten(2)", "four.flatten(1)",
    "nt.unflatten(-1, (3, 1))", "nt.view(6, 3)", "nt.view(-1)", "nt.view(2, 3, 3)",
    "four.reshape(-1, 2, 3)", "nt.reshape(3, -1, 2)", "nt.expand(2, nt.size(1), 3)",
    "four[..., :1].expand(four.shape)", "nt.expand(2, 5, 3)", "t.cat([nt, other], -1)",
    "t.cat([nt, other], 2)", "t.cat([nt, nt], 0)", "t.cat([nt, nt], 1)",
    "t.cat([nt, nt, nt], dim=-1)", "t.stack([nt, other], -1)", "t.stack([nt, other], 2)",
    "t.stack([nt, other], 0)", "t.stack([nt, unlike], 2)", "t.stack([nt, four], 2)",
    "nt.unbind(1)", "nt.flip(0)", "nt.cumsum(0)", "nt.sort()", "holes.transpose(1, 2)",
    "holes.unsqueeze(-1)", "holes.select(2, 0)", "nt.view_as(other)", "nt.tolist()", "nt.numpy()",
    "nt.item()", "nested.to_padded_tensor(holes, 0.0)", "flat.masked_select(flat > 0)",
    "nt.masked_select(nt > 0)",
]  # fmt: skip
LAYERS = [
    "F.linear(nt, w)", "F.linear(nt, w, bias)", "F.linear(four, w)",
    "F.linear(nt.transpose(1, 2), w)", "F.linear(holes, x(4, 2))", "nt @ m", "t.matmul(four, m)",
    "nt @ each", "nt.bmm(each)", "nt.transpose(1, 2) @ nt", "x(4, 3) @ nt.transpose(1, 2)",
    "x(2, 4, 3) @ nt.transpose(1, 2)", "four @ four.transpose(2, 3)", "nt @ nt", "nt @ x(2)",
    "nt.bmm(m)", "F.softmax(nt, -1)", "nt.softmax(2)", "F.softmax(nt, 1)", "F.softmax(four, 1)",
    "F.softmax(nt, 0)", "F.log_softmax(nt, -1)", "F.log_softmax(nt, 1)", "nt.softmax(5)",
    "F.softmax(holes, 1)", "F.softmax(nt.transpose(1, 2), 2)", "F.layer_norm(nt, (3,))",
    "F.layer_norm(nt, (3,), x(3), x(3))", "F.layer_norm(four, (2, 3))",
    "F.layer_norm(four, (3,))", "F.layer_norm(nt, (nt.size(1), 3))", "F.layer_norm(flat, (2,))",
    "F.layer_norm(nt, (2, nt.size(1), 3))", "F.rms_norm(nt, (3,))", "F.rms_norm(nt, (3,), x(3))",
    "F.rms_norm(nt, (2, 3))", "F.embedding(words, x(5, 3))",
    "F.embedding(words, x(5, 3), padding_idx=0)", "F.conv1d(four, x(4, 2, 2))",
    "F.layer_norm(holes, (2,))",
]  # fmt: skip
ERRORS = [
    "nested.nested_tensor([], layout=jagged)",
    "nested.nested_tensor([a, x(2, 4)[:1]], layout=jagged)",
    "nested.nested_tensor([a, x(2)], layout=jagged)",
    "nested.nested_tensor([i(1), a], layout=jagged)",
    "nested.nested_tensor([t.tensor(1.0)], layout=jagged)",
    "nested.nested_tensor([a], layout=t.sparse_coo)", "nested.nested_tensor_from_jagged(values)",
    "nested.as_nested_tensor(3)", "nested.as_nested_tensor(x(3))", "nested.as_nested_tensor(nt)",
    "nested.narrow(base, 2, 0, 1, layout=jagged)",
    "nested.narrow(base, 1, 0.5, 1, layout=jagged)",
    "nested.narrow(base, 1, i(0, 1), 1, layout=jagged)", "nested.narrow(base, 1, i(0, 1, 1), 1)",
    "nested.narrow(base, 1, 0, 1, layout=t.sparse_coo)", "nested.masked_select(nt, i(True))",
]  # fmt: skip
#: Where PyTorch names an overload of its own, or an error has no words that help.
UNWORDED = {
    "F.linear(nt.transpose(1, 2), w)", "F.linear(holes, x(4, 2))", "nt.select(1, 0)",
    "nt.flip(0)", "nt.cumsum(0)", "nt.sort()", "words // 2",
}  # fmt: skip


CASES = [*MAKING, *SIZES, *POINTWISE, *REDUCTIONS, *SHAPES, *LAYERS, *ERRORS]


@pytest.mark.parametrize("text", sampled(CASES, 20))
def test_as_pytorch(text):
    oracle.compare(run(text, scope), words=0 if text in UNWORDED else None)
