"""What PyTorch's page on torch.nested and its jagged functions list, beside test_jagged."""

from __future__ import annotations

import pytest

from tests.parity import oracle
from tests.parity.nested.described import run
from tests.parity.nested.test_jagged import scope as jagged_scope


def scope(t):
    names = jagged_scope(t)

    def put():
        found = names["nt"].clone()
        found[t.tensor([0, 1]), t.tensor([1, 3])] = t.tensor([[1.0, 2, 3], [4, 5, 6]])
        return found

    return {
        **names,
        "put": put,
        "square": t.nested.nested_tensor_from_jagged(t.randn(6, 3, 3), names["offsets"]),
        "dict": dict,
    }


MAKING = [
    "nt.new_zeros(2)",
    "nt.new_ones((2, 3))",
    "nt.new_empty(4).shape",
    "nt.new_zeros(nt.shape)",
    "nt.new_ones(2, dtype=t.int64)",
    "nt.new_full((2,), 3.0)",
    "nt.new_tensor([1.0])",
    "t.randn_like(nt).shape",
    "t.rand_like(nt).shape",
    "t.randint_like(nt, 5).shape",
    "t.randint_like(nt, 2, 5).shape",
    "t.empty_like(nt, dtype=t.float64).dtype",
    "t.zeros_like(nt, dtype=t.int64)",
    "nt.is_pinned()",
    "nt.to(t.float64, copy=True)",
    "nt.type(t.float64)",
    "nt.type_as(words)",
    "nt.bool()",
    "nt.data",
    "nt.requires_grad_()",
    "nt.is_leaf",
    "nt.grad_fn",
    "nt.is_inference()",
    "nt.is_complex()",
    "nt.itemsize",
    "nt.nbytes",
    "nt.is_shared()",
    "nt.is_cuda",
    "nt.get_device()",
    "nt.names",
    "nt.is_quantized",
    "nt.has_names()",
    "hash(nt) == hash(nt)",
    "nt.cpu()",
    "nt.layout == jagged",
    "nt.untyped_storage().nbytes()",
    "nt.storage_offset()",
    "nt.element_size()",
]
PUTTING = [
    "put()",
    "nt.index_put((i(0, 1), i(0, 2)), x(2, 3))",
    "nt.index_put_((i(0, 1), i(0, 2)), x(2, 3))",
    "nt.index_put((i(0, 1), i(0, 2), i(0, 1)), x(2))",
    "nt.index_put((i(1, 1), i(0, 0)), x(2, 3), accumulate=True)",
    "nt.index_put((i(0, 1),), x(2, 3))",
    "nt.index_put((i(0, 1), i(3, 0)), x(2, 3))",
    "nt.index_put((i(-1), i(-1)), x(1, 3))",
    "nt.index_select(0, i(0))",
    "nt.index_select(2, i(0, 1))",
    "nt.gather(2, i(0))",
    "nt[i(0)]",
    "nt[i(0, 1), i(0, 1)]",
    "nt[nt > 0]",
    "nt.masked_scatter(nt > 0, x(18))",
    "nt.take(i(0))",
    "nt.nonzero()",
    "t.where(nt > 0, nt, 0.0)",
    "t.where(nt > 0, 1.0, nt)",
    "nt.fill_diagonal_(0)",
    "nt.index_fill(2, i(0), 1.0)",
    "nt.index_add(2, i(0), x(1))",
]
_OF_ONE = """
    acos acosh angle arccos asin asinh atan atanh ceil conj_physical cos cosh deg2rad digamma
    erf erfc erfinv exp2 expm1 frac lgamma log log10 log1p log2 logit nan_to_num neg positive
    rad2deg rsqrt sgn signbit sinc sinh tan trunc isfinite isinf isneginf isposinf isreal i0
    frexp"""
_OF_TWO = """
    atan2 copysign div eq float_power floor_divide fmax fmin fmod ge gt heaviside hypot le
    logaddexp logaddexp2 logical_and logical_or logical_xor lt maximum minimum mul ne
    nextafter pow remainder rsub sub true_divide xlogy dist isclose cross complex"""
_ACTIVATIONS = """
    celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu6
    selu silu softplus softshrink softsign tanhshrink threshold rrelu glu tanh sigmoid"""
POINTWISE = [
    *(f"nt.{name}()" for name in _OF_ONE.split()),
    *(f"t.{name}(nt, other)" for name in _OF_TWO.split()),
    *(f"F.{name}(nt)" for name in _ACTIVATIONS.split()),
    "t.addcmul(nt, other, other)",
    "t.addcdiv(nt, other, other + 5)",
    "t.lerp(nt, other, 0.5)",
    "t.special.expit(nt)",
    "t.bitwise_and(words, words)",
    "words << 1",
    "~words",
    "nt.clip(0, 1)",
    "nt.clamp_min(0)",
    "nt.clamp_max(0.5)",
    "F.prelu(nt, t.tensor([0.1]))",
    "t.polar(nt, other)",
    "F.threshold(nt, 0.1, 2.0)",
    "t.frexp(nt)",
    "nt.isin(x(2))",
    "t.polygamma(1, nt)",
    "nt.sub_(other)",
    "nt.div_(2)",
    "nt.double().float_power_(2)",
    "nt.long().bitwise_and_(6)",
    "nt.pow_(2)",
    "nt.relu_()",
    "nt.sigmoid_()",
    "nt.clamp_(0, 1)",
    "nt.masked_fill_(nt > 0, 1.0)",
    "nt.exp_()",
    "nt.neg_()",
    "nt.copy_(nt)",
]
SHAPES = [
    "t.broadcast_tensors(nt, nt)",
    "t.broadcast_tensors(nt, x(1, 1, 3))",
    "t.broadcast_tensors(nt, x(3))",
    "nt.mT",
    "nt.T",
    "nt.t()",
    "nt.movedim(1, 2)",
    "nt.adjoint()",
    "nt.repeat(1, 1, 2)",
    "nt.tile(2)",
    "nt.roll(1, 2)",
    "nt.flip(2)",
    "nt.diff(dim=2)",
    "nt.unfold(2, 2, 1)",
    "nt.tril()",
    "nt.diagonal()",
    "F.pad(nt, (1, 1))",
    "nt.narrow(2, 1, 1)",
    "nt[:, :, 0:2]",
    "nt[..., None]",
    "nt[0:1]",
    "nt[:, 0:1]",
    "nt.slice_scatter(x(1), 2, 0, 1)",
    "t.hstack([nt, nt])",
    "t.dstack([nt, nt])",
    "t.hsplit(nt, 3)",
    "t.dsplit(nt, 3)",
    "t.tensor_split(nt, 3, 2)",
    "nt.unsafe_chunk(3, 2)",
    "nt.unsafe_split(2, 2)",
    "nt.squeeze()",
    "nt.squeeze(1)",
    "nt.swapaxes(1, 2)",
    "nt.swapdims(1, 2)",
    "nt.expand_as(nt)",
    "nt.ravel()",
    "nt.resize_(2)",
    "nt.as_strided((2,), (1,))",
    "square.diagonal(0, 2, 3)",
    "square.mT",
    "square.flatten(2)",
    "square.permute(0, 1, 3, 2)",
    "nt.view_as(nt)",
    "nt.unbind(0)",
    "nt.unbind(2)",
    "nt.detach()",
    "nt.contiguous()",
    "nt.view(t.int32)",
    "t.atleast_2d(nt)",
]
REDUCTIONS = [
    "nt.var(-1)",
    "nt.std(-1)",
    "nt.var(1)",
    "nt.norm()",
    "nt.norm(dim=-1)",
    "nt.cumsum(-1)",
    "nt.cumprod(2)",
    "nt.logsumexp(-1)",
    "nt.topk(2, -1)",
    "nt.sort(-1)",
    "nt.argsort(-1)",
    "nt.median(-1)",
    "nt.mode(-1)",
    "nt.nansum()",
    "nt.nanmean(-1)",
    "nt.aminmax(dim=-1)",
    "nt.count_nonzero()",
    "nt.unique()",
    "nt.quantile(0.5)",
    "nt.var_mean(-1)",
    "nt.cummax(-1)",
    "nt.all()",
    "nt.any(1, keepdim=True)",
    "nt.all((1, 2))",
    "nt.any((0, 1))",
    "nt.amax((1, 2))",
    "nt.amin((0, 1))",
    "nt.max(1, keepdim=True)",
    "nt.argmin(-1)",
    "nt.argmax()",
    "nt.prod(-1)",
    "nt.prod(1, keepdim=True)",
    "nt.mean((1, 2), keepdim=True)",
    "nt.sum(1, dtype=t.float64)",
    "t.equal(nt, nt)",
    "t.equal(nt, other)",
    "t.allclose(nt, nt)",
    "t.linalg.vector_norm(nt)",
    "nt.mean(dtype=t.float64)",
    "nt.sum(-2)",
    "four.sum(-1, keepdim=True)",
    "four.amax((1, 2))",
]
LAYERS = [
    "F.embedding_bag(words, x(5, 3))",
    "F.group_norm(nt, 1)",
    "F.batch_norm(nt, x(3), x(3).abs())",
    "F.instance_norm(nt)",
    "F.normalize(nt, dim=-1)",
    "F.cosine_similarity(nt, other, -1)",
    "F.mse_loss(nt, other)",
    "F.l1_loss(nt, other)",
    "F.cross_entropy(nt, words)",
    "F.nll_loss(nt, words)",
    "F.smooth_l1_loss(nt, other)",
    "F.kl_div(nt, other)",
    "F.binary_cross_entropy_with_logits(nt, other)",
    "F.huber_loss(nt, other)",
    "F.mse_loss(nt, other, reduction='none')",
    "F.mse_loss(nt, other, reduction='sum')",
    "F.avg_pool1d(nt, 1)",
    "F.max_pool1d(nt, 1)",
    "F.interpolate(nt, 2)",
    "F.one_hot(words, 5)",
    "F.bilinear(nt, nt, x(2, 3, 3))",
    "F.gumbel_softmax(nt)",
    "F.softmin(nt, -1)",
    "t.einsum('bij,jk->bik', nt, m)",
    "t.tensordot(nt, m, 1)",
    "t.mm(nt, m)",
    "t.baddbmm(nt, nt, nt)",
    "nt.matmul(m)",
    "square @ square",
    "t.nn.Linear(3, 2)(nt).shape",
    "t.nn.LayerNorm(3)(nt)",
    "t.nn.RMSNorm(3)(nt)",
    "t.nn.Embedding(5, 2)(words).shape",
    "t.nn.Dropout(0.0)(nt)",
    "t.nn.Softmax(-1)(nt)",
    "t.nn.GELU()(nt)",
    "t.nn.Sequential(t.nn.Linear(3, 3), t.nn.ReLU())(nt).shape",
    "t.nn.Flatten(2)(four)",
    "t.native_layer_norm(nt, (3,), None, None, 1e-5)[0]",
    "t.native_dropout(nt, 0.0, True)[0]",
    "F.dropout1d(nt, 0.0)",
    "F.alpha_dropout(nt, 0.0)",
    "F.scaled_dot_product_attention(nt, nt, nt)",
    "F.scaled_dot_product_attention(four.transpose(1, 2), four.transpose(1, 2), "
    "four.transpose(1, 2))",
    "F.scaled_dot_product_attention(four.transpose(1, 2), four.transpose(1, 2), "
    "four.transpose(1, 2), scale=0.3)",
    "t.nn.Bilinear(3, 3, 1)(nt, nt).shape",
    "F.linear(nt, w).sum()",
    "t.cdist(nt, nt)",
    "F.local_response_norm(nt, 2)",
]
CASES = [*MAKING, *PUTTING, *POINTWISE, *SHAPES, *REDUCTIONS, *LAYERS]


#: What PyTorch gives and this refuses.
MISSING = {
    "t.dstack([nt, nt])",
    "t.native_layer_norm(nt, (3,), None, None, 1e-5)[0]",
    "t.native_dropout(nt, 0.0, True)[0]",
    "F.dropout1d(nt, 0.0)",
}


@pytest.mark.sampled(every=25, rest="full")
@pytest.mark.parametrize("text", CASES)
def test_as_pytorch(text):
    """Where PyTorch refuses, this refuses or computes each element as of a dense tensor."""
    theirs, ours = (oracle.outcome(run(text, scope), library) for library in oracle.LIBRARIES)
    if text in MISSING:
        assert isinstance(ours, oracle.Raised)
        assert ours.type == "NotImplementedError"
    elif not isinstance(theirs, oracle.Raised):
        oracle.same(ours, theirs)
    elif isinstance(ours, oracle.Raised):
        assert ours.words
