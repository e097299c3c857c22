"""Calls of the public API, whose aten calls are compared with PyTorch's: one a line.

Each is an expression of ``torch``, ``F`` (torch.nn.functional) and tensors: ``x`` (4, 6) and ``y``
(4, 6), ``w`` (5, 6), ``b`` (5), ``v`` (6), ``s`` (2, 3, 4), ``i`` (4, int64), ``img`` (2, 4, 8, 8),
``k`` (6, 4, 3, 3), ``m`` (4, 6, bool), ``sq`` (4, 4), ``e`` (10, 6).
"""

from __future__ import annotations

POINTWISE = """
x + y; x + 1; 1 + x; x - y; x - 2; 1 - x; x * y; x * 2.5; 2 * x; x / y; x / 2; 1 / x; x // 2
x % 2; x ** 2; x ** y; 2 ** x; -x; abs(x); x == y; x == 1; x != 1; x < y; x < 1; x <= 1; x > y
x > 0; x >= 1; m & m; m | m; m ^ m; ~m; torch.add(x, y, alpha=2); torch.sub(x, y, alpha=3)
torch.mul(x, y); torch.div(x, y, rounding_mode="floor"); torch.true_divide(x, y)
torch.multiply(x, y); torch.subtract(x, y); torch.negative(x); torch.absolute(x); torch.exp(x)
torch.exp2(x); torch.expm1(x); torch.log(x); torch.log1p(x); torch.log2(x); torch.log10(x)
torch.sqrt(x); torch.rsqrt(x); torch.sin(x); torch.cos(x); torch.tan(x); torch.asin(x)
torch.acos(x); torch.atan(x); torch.sinh(x); torch.cosh(x); torch.tanh(x); torch.asinh(x)
torch.acosh(x); torch.atanh(x); torch.sigmoid(x); torch.erf(x); torch.erfc(x); torch.erfinv(x)
torch.floor(x); torch.ceil(x); torch.round(x); torch.round(x, decimals=2); torch.trunc(x)
torch.frac(x); torch.sign(x); torch.sgn(x); torch.reciprocal(x); torch.square(x); torch.neg(x)
torch.lgamma(x); torch.digamma(x); torch.isnan(x); torch.isinf(x); torch.isfinite(x)
torch.clamp(x, 0, 1); torch.clamp(x, min=0); torch.clamp_min(x, 0.5); torch.clamp_max(x, 0.5)
torch.clip(x, -1, 1); torch.maximum(x, y); torch.minimum(x, y); torch.max(x, y); torch.min(x, y)
torch.fmax(x, y); torch.fmin(x, y); torch.fmod(x, y); torch.remainder(x, y); torch.pow(x, 3)
torch.atan2(x, y); torch.hypot(x, y); torch.lerp(x, y, 0.5); torch.lerp(x, y, y)
torch.addcmul(x, x, y, value=2); torch.addcdiv(x, x, y); torch.where(m, x, y)
torch.where(m, x, 0.0); torch.logical_and(m, m); torch.logical_or(m, m); torch.logical_not(m)
torch.logical_xor(m, m); torch.nan_to_num(x); torch.heaviside(x, y); torch.copysign(x, y)
torch.logaddexp(x, y); torch.logit(x, eps=0.1); torch.sinc(x); torch.deg2rad(x); torch.rad2deg(x)
torch.xlogy(x, y); torch.masked_fill(x, m, 0.0); x.masked_fill(m, 1); torch.floor_divide(x, y)
torch.isclose(x, y); torch.special.expit(x); torch.special.entr(x); torch.positive(x)
torch.signbit(x); torch.gcd(i, i); torch.rsub(x, y); torch.float_power(x, 2)
torch.bitwise_and(i, 3); torch.bitwise_or(i, i)
"""

REDUCTIONS = """
x.sum(); x.sum(0); x.sum(0, keepdim=True); x.sum((0, 1)); torch.sum(x, dim=1); x.mean(); x.mean(1)
x.mean((0, 1), True); x.prod(); x.prod(1); x.max(); x.min(); x.max(1); x.min(0, keepdim=True)
x.amax(1); x.amin((0, 1)); x.argmax(); x.argmax(1); x.argmin(1, True); x.all(); x.any(1); m.any()
m.all(0); x.std(); x.std(1); x.var(); x.var(1, unbiased=False); torch.var_mean(x, 1)
torch.std_mean(x, 1); x.norm(); x.norm(2, 1); torch.linalg.vector_norm(x, dim=1)
torch.linalg.norm(x); x.cumsum(1); x.cumprod(0); torch.cummax(x, 1); torch.logcumsumexp(x, 1)
torch.logsumexp(x, 1); x.median(); x.median(1); x.kthvalue(2, 1); x.topk(2); x.sort()
x.sort(0, True); x.argsort(1); x.nansum(); torch.aminmax(x); torch.count_nonzero(x); x.softmax(1)
x.log_softmax(-1); torch.trace(sq); torch.unique(i); torch.diff(x); torch.dist(x, y)
"""

SHAPES = """
x.view(24); x.view(2, 12); x.view(-1); x.reshape(8, 3); x.t().reshape(24); x.t(); x.T; x.mT
x.transpose(0, 1); s.permute(2, 0, 1); s.transpose(1, 2).contiguous(); x.contiguous(); x.clone()
x.detach(); x.unsqueeze(0); x.unsqueeze(-1); x.unsqueeze(0).squeeze(0); s[:1].squeeze()
x.flatten(); s.flatten(1); s.unflatten(2, (2, 2)); v.expand(4, 6); v.expand_as(x); v.repeat(2, 1)
x.select(0, 1); x.narrow(1, 0, 2); x[0]; x[:, 1]; x[1:3]; x[..., 0]; x[None]; x[:, ::2]; x[0, 1]
x[i]; x[m]; x[:, i]; x.chunk(2); x.split(2); x.split([1, 3]); x.unbind(); torch.cat([x, y])
torch.cat([x, y], dim=1); torch.stack([x, y]); torch.hstack([x, y]); torch.vstack([x, y])
x.flip(0); x.roll(1, 0); x.tril(); x.triu(1); x.diagonal(); sq.diag(); torch.diag_embed(v)
x.gather(1, i[:, None]); x.index_select(0, i); x.take(i); torch.scatter(x, 1, i[:, None], 1.0)
x.scatter(1, i[:, None], y); x.scatter_add(1, i[:, None], y); x.index_add(0, i, y)
x.index_fill(0, i, 1.0); x.masked_select(m); x.nonzero(); x.to(torch.float64); x.double()
x.long(); x.to("cpu"); x.type(torch.float64); x.type_as(i); x.unfold(1, 2, 2)
x.as_strided((2, 2), (1, 2)); x.expand(2, 4, 6); x.movedim(0, 1); x.swapaxes(0, 1)
torch.broadcast_to(v, (4, 6)); torch.meshgrid(v, v, indexing="ij"); x.ravel(); torch.tile(v, (2,))
v.repeat_interleave(2); x.squeeze(0); x.view_as(y); x.reshape_as(y); x.item() if 0 else x
F.pad(x, (1, 1)); F.one_hot(i, 10); torch.atleast_2d(v); x.index_put((i,), v); x.view(torch.int32)
F.pad(img, (1, 1, 1, 1), mode="reflect"); torch.block_diag(x, y); torch.tensor_split(x, 2)
"""

LINEAR = """
F.linear(x, w, b); F.linear(x, w); F.linear(s, w[:3, :4]); F.linear(s, w[:, :4], b); x @ y.t()
x @ v; v @ v; torch.mm(x, y.t()); torch.mv(x, v); torch.dot(v, v); torch.bmm(s, s.transpose(1, 2))
s @ s.mT; torch.matmul(s, w[:4, :4]); torch.addmm(b, x, w.t()); torch.addmv(x[:, 0], x, v)
torch.outer(v, v); torch.baddbmm(s @ s.mT, s, s.mT); torch.einsum("ij,kj->ik", x, w)
torch.einsum("bij,bkj->bik", s, s); torch.tensordot(x, y, 2); torch.kron(v, v)
torch.linalg.inv(sq); torch.linalg.det(sq); torch.linalg.solve(sq, sq); torch.cdist(x, y)
torch.cross(x[:, :3], y[:, :3], dim=1); torch.chain_matmul(x, y.t()); torch.inner(x, y)
torch.ger(v, v); torch.vdot(v, v); torch.addr(sq, v[:4], v[:4])
torch.linalg.cholesky(sq @ sq.T + 9 * torch.eye(4))
"""

LAYERS = """
F.relu(x); torch.relu(x); F.relu6(x); F.gelu(x); F.gelu(x, approximate="tanh"); F.silu(x)
F.mish(x); F.elu(x); F.selu(x); F.celu(x); F.leaky_relu(x, 0.2); F.softplus(x); F.softsign(x)
F.hardtanh(x); F.hardswish(x); F.hardsigmoid(x); F.logsigmoid(x); F.tanhshrink(x); F.softshrink(x)
F.hardshrink(x); F.glu(x); F.prelu(x, v[:1]); F.threshold(x, 0.0, 1.0); F.softmax(x, dim=1)
F.log_softmax(x, dim=1); F.softmin(x, dim=1); F.sigmoid(x); F.tanh(x); F.normalize(x)
F.dropout(x, 0.5, False); F.layer_norm(x, (6,), v, v); F.layer_norm(x, (6,)); F.group_norm(img, 2)
F.rms_norm(x, (6,), v); F.batch_norm(img, v[:4], v[:4].abs(), training=False)
F.instance_norm(img); F.embedding(i, e); F.conv2d(img, k); F.conv2d(img, k, padding=1, stride=2)
F.conv1d(s, s); F.conv_transpose2d(img, k.transpose(0, 1)); F.max_pool2d(img, 2)
F.avg_pool2d(img, 2); F.adaptive_avg_pool2d(img, 1); F.adaptive_avg_pool2d(img, 3)
F.max_pool1d(s, 2); F.avg_pool1d(s, 2); F.interpolate(img, scale_factor=2.0)
F.interpolate(img, size=(4, 4), mode="bilinear"); F.unfold(img, 3); F.pixel_shuffle(img, 2)
F.cosine_similarity(x, y); F.pairwise_distance(x, y); F.mse_loss(x, y); F.l1_loss(x, y)
F.smooth_l1_loss(x, y); F.huber_loss(x, y); F.cross_entropy(x, i)
F.cross_entropy(x, i, label_smoothing=0.1); F.nll_loss(x, i); F.kl_div(x, y)
F.cross_entropy(x, y); F.binary_cross_entropy_with_logits(x, y)
F.binary_cross_entropy(torch.sigmoid(x), torch.sigmoid(y))
F.scaled_dot_product_attention(img, img, img); F.local_response_norm(img, 2)
F.bilinear(x, x, sq.new_ones(2, 6, 6)); F.soft_margin_loss(x, y); F.hinge_embedding_loss(x, y)
F.poisson_nll_loss(x, y); F.margin_ranking_loss(v, v, v)
F.cosine_embedding_loss(x, y, x[:, 0].sign()); F.triplet_margin_loss(x, y, x)
F.adaptive_max_pool2d(img, 2)
"""

CREATION = """
torch.zeros(2, 3); torch.ones(3); torch.full((2,), 3.0); torch.empty(2); torch.arange(5)
torch.eye(3); torch.arange(1, 5, 2); torch.linspace(0, 1, 5); torch.zeros_like(x)
torch.ones_like(x); torch.full_like(x, 2.0); torch.empty_like(x); x.new_zeros(3)
x.new_ones((2, 2)); x.new_full((2,), 1.0); x.new_empty(2); torch.rand(3); torch.randn(2, 2)
torch.rand_like(x); torch.randn_like(x); torch.randint(0, 5, (3,)); torch.randperm(4)
torch.zeros(2, dtype=torch.float64); torch.bernoulli(m.float()); torch.tril_indices(3, 3)
torch.complex(x, y); torch.scalar_tensor(1.0); torch.logspace(0, 1, 3)
"""

IN_PLACE = """
x.clone().add_(y); x.clone().mul_(2); x.clone().sub_(1); x.clone().div_(y); x.clone().zero_()
x.clone().fill_(1); x.clone().copy_(y); x.clone().relu_(); x.clone().clamp_(0, 1)
x.clone().exp_(); x.clone().sqrt_(); F.relu(x.clone(), inplace=True)
x.clone().masked_fill_(m, 0.0); x.clone().addcmul_(x, y); x.clone().index_add_(0, i, y)
x.clone().scatter_(1, i[:, None], 1.0); x.clone().neg_(); x.clone().pow_(2); x.clone().t_()
x.clone().unsqueeze_(0); torch.add(x, y, out=torch.empty(4, 6)); x.clone().lerp_(y, 0.5)
x.clone().__setitem__(0, 1.0); x.clone().__setitem__((slice(None), 1), y[:, 0])
x.clone().__setitem__(m, 0.0); x.clone().index_copy_(0, i, y); x.clone().addcdiv_(x, y, value=2)
x.clone().bernoulli_(0.5); x.clone().normal_(); x.clone().uniform_()
torch.mm(x, y.t(), out=torch.empty(4, 4)); x.clone().tril_(); x.clone().sigmoid_()
"""


def expressions(text: str) -> list[str]:
    """The expressions of a table."""
    return [e.strip() for line in text.strip().splitlines() for e in line.split(";") if e.strip()]


TABLES = {
    "pointwise": POINTWISE,
    "reductions": REDUCTIONS,
    "shapes": SHAPES,
    "linear": LINEAR,
    "layers": LAYERS,
    "creation": CREATION,
    "in place": IN_PLACE,
}
