"""Calls of public functions, of which an exported graph has the operators.

Lines of ``x`` (a matrix) and ``torch``. What they call is one whole operator mostly, whatever it is
made of below autograd.
"""

from __future__ import annotations

METHODS = """
reshape(-1) | view(-1) | flatten() | flatten(1) | T | mT | t() | transpose(0, 1) | permute(1, 0)
contiguous() | clone() | detach() | to(torch.float64) | to(torch.float32) | to('cpu') | double()
long() | bool() | float() | cpu() | chunk(2) | chunk(2, 1) | split(2) | split([1, 3]) | ravel()
tensor_split(2) | unbind() | unsqueeze(0) | squeeze() | expand(2, 4, 4) | repeat(2, 1) | tile(2)
narrow(0, 0, 2) | select(0, 1) | diag() | diagonal() | tril() | triu(1) | flip(0) | roll(1, 0)
movedim(0, 1) | swapaxes(0, 1) | unflatten(0, (2, 2)) | new_zeros(2) | new_full((2,), 3.)
sum() | sum(0) | sum(-1, keepdim=True) | mean() | mean((0, 1)) | max() | max(0)[0]
argmax(1) | amax(0)
std() | var(0) | var(0, unbiased=False) | std(correction=0) | norm() | norm(dim=1) | logsumexp(0)
sort()[0] | topk(2)[1] | square() | clamp(0, 1) | clip(0, 1) | zero_() | add_(1)
copy_(torch.ones(4, 4))
masked_fill(x > 0, 1.) | fmod(2) | where(x > 0, torch.ones(4, 4)) | repeat_interleave(2)
type(torch.float64) | is_floating_point() | det() | inverse() | absolute() | greater(0) | divide(2)
softmax(0) | log_softmax(0) | isfinite() | eq(1) | quantile(.5) | msort() | diff()
adjoint() | H
"""
LINES = """
x + 1 | 1 - x | 2 / x | x // 2 | x ** 2 | 2 ** x | -x | x @ x | x > 0 | x == x | x[0] | x[:, 0]
x[..., None] | x[1:3] | x[::2] | x[torch.tensor([0, 1])] | x[0, 1]
torch.cat([x, x]) | torch.stack([x, x]) | torch.hstack([x, x]) | torch.concat([x, x], 1)
torch.einsum('ij,jk->ik', x, x) | torch.matmul(x, x) | torch.tensordot(x, x, 1)
torch.outer(x[0], x[0]) | torch.where(x > 0, x, 0.) | torch.zeros(2) | torch.arange(4)
torch.tensor([1., 2.]) | torch.meshgrid(x[0], x[0], indexing='ij') | torch.chunk(x, 2)
torch.broadcast_tensors(x, x[0]) | torch.norm(x) | torch.linalg.norm(x) | torch.linalg.inv(x)
torch.linalg.solve(x, x) | torch.std_mean(x) | torch.fft.fft(x) | torch.special.expit(x)
torch.max(x, x) | torch.as_tensor(x) | torch.atleast_2d(x) | torch.cartesian_prod(x[0], x[0])
F.relu(x) | F.relu6(x) | F.elu(x) | F.hardtanh(x) | F.logsigmoid(x) | F.softsign(x) | F.gelu(x)
F.selu(x) | F.relu(x, inplace=True) | F.threshold(x, .1, 2.) | F.softmax(x, -1) | F.softmin(x, 1)
F.log_softmax(x, -1, dtype=torch.float64) | F.normalize(x) | F.dropout(x, .5, False)
F.alpha_dropout(x, .5, True) | F.layer_norm(x, (4,)) | F.rms_norm(x, (4,)) | F.linear(x, x, x[0])
F.group_norm(x[None], 2) | F.batch_norm(x, x[0], x[1]) | F.instance_norm(x[None])
F.conv1d(x[None], x[None]) | F.conv2d(x[None, None], x[None, None], padding='same')
F.conv_transpose1d(x[None], x[:, None], stride=2) | F.max_pool1d(x, 2) | F.avg_pool1d(x, 2)
F.max_pool2d(x[None], 2, return_indices=True) | F.adaptive_avg_pool2d(x[None], (2, None))
F.adaptive_max_pool2d(x[None], 2) | F.embedding(torch.tensor([0, 1]), x, padding_idx=0)
F.embedding_bag(torch.tensor([[0, 1]]), x) | F.pad(x, (1, 1)) | F.pad(x[None], (1, 1), 'reflect')
F.interpolate(x[None, None], scale_factor=2) | F.unfold(x[None, None], 2)
F.interpolate(x[None, None], size=(2, 2), mode='bilinear') | F.fold(x[None], (3, 3), 2)
F.scaled_dot_product_attention(x, x, x) | F.cross_entropy(x, torch.tensor([0, 1, 2, 3]))
F.cross_entropy(x, x, label_smoothing=.1, reduction='sum')
F.nll_loss(x, torch.tensor([0, 1, 2, 3]))
F.binary_cross_entropy_with_logits(x, x) | F.kl_div(x, x, reduction='batchmean')
F.poisson_nll_loss(x, x) | F.cosine_embedding_loss(x, x, x[0]) | F.triplet_margin_loss(x, x, x)
F.multi_margin_loss(x, torch.tensor([0, 1, 2, 3])) | F.hinge_embedding_loss(x, x)
F.cosine_similarity(x, x) | F.pairwise_distance(x, x) | torch.cdist(x, x) | F.one_hot(x.long(), 3)
"""
ROWS = [
    *(f"x.{line.strip()}" for line in METHODS.replace("\n", "|").split("|") if line.strip()),
    *(line.strip() for line in LINES.replace("\n", "|").split("|") if line.strip()),
]
