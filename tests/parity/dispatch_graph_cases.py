"""Functions whose ``make_fx`` graphs are compared with PyTorch's: each an expression of ``torch``,
``F`` and tensors ``x`` (4, 6), ``y`` (4, 6), ``w`` (5, 6), ``b`` (5), ``v`` (6), ``s`` (2, 3, 4),
``img`` (2, 4, 8, 8), ``k`` (6, 4, 3, 3) and ``i`` (4, int64), floats as leaves that
require grad. ``grads(loss)`` are the gradients of all leaves that it used."""

from __future__ import annotations

FORWARD = """
x + y * 2; torch.relu(x).sum(); F.linear(x, w, b); F.softmax(x, dim=1); x @ w.t()
(x - x.mean()) / x.std(); F.layer_norm(x, (6,), v, v); F.conv2d(img, k); F.max_pool2d(img, 2)
F.gelu(x); x[1:3, 0]; x.view(2, 12).t(); F.cross_entropy(x, i); F.mse_loss(x, y)
torch.cat([x, y]).chunk(2); x.max(1)[0]; torch.where(x > 0, x, y); F.embedding(i, w)
x.clone().add_(1).mul_(y); F.dropout(x, 0.5); torch.zeros(3) + x.new_ones(3)
F.scaled_dot_product_attention(img, img, img); x.to(torch.float64).sum()
torch.einsum("ij,kj->ik", x, w)
"""

BACKWARD = """
grads((x * y).sum()); grads((x + y).sum()); grads((x - y).mean()); grads((x / y).sum())
grads((-x).sum()); grads(torch.exp(x).sum()); grads(torch.log(x).sum()); grads(torch.sin(x).sum())
grads(torch.cos(x).sum()); grads(torch.tanh(x).sum()); grads(torch.sigmoid(x).sum())
grads(torch.relu(x).sum()); grads(x.sqrt().sum()); grads((x ** 2).sum()); grads((x ** 3).mean())
grads(F.linear(x, w, b).sum()); grads((x @ w.t()).sum()); grads(F.softmax(x, dim=1).sum())
grads(F.log_softmax(x, dim=1).sum()); grads(F.gelu(x).sum()); grads(F.silu(x).sum())
grads(F.mse_loss(x, y)); grads(F.cross_entropy(x, i)); grads(x.view(24).sum()); grads(x.t().sum())
grads(x.permute(1, 0).sum()); grads(x[0].sum()); grads(x[1:3].sum())
grads(torch.cat([x, y]).sum()); grads(torch.stack([x, y]).sum()); grads(x.unsqueeze(0).sum())
grads(v.expand(4, 6).sum()); grads((x * v).sum()); grads(x.sum(0).sum()); grads(x.mean(1).sum())
grads(F.leaky_relu(x).sum()); grads(F.elu(x).sum()); grads(F.embedding(i, w).sum())
grads(x.abs().sum()); grads(F.layer_norm(x, (6,), v, v).sum()); grads(F.conv2d(img, k).sum())
grads(x.max(1)[0].sum()); grads(F.linear(F.relu(F.linear(x, w, b)), w.t()).sum())
grads(torch.bmm(s, s.transpose(1, 2)).sum()); grads(x.clamp(0.2, 0.8).sum())
grads(torch.where(x > y, x, y).sum()); grads(x.cumsum(1).sum()); grads(x.logsumexp(1).sum())
grads(torch.rsqrt(x).sum()); grads(x.amax(1).sum()); grads(x.chunk(2)[0].sum())
grads(F.max_pool2d(img, 2).sum()); grads(x.masked_fill(x > 0.5, 0.0).sum())
grads(x.mul(2).add(1).sum())
"""


def expressions(text: str) -> list[str]:
    """The expressions of a table."""
    return [e.strip() for line in text.strip().splitlines() for e in line.split(";") if e.strip()]


CASES = [*expressions(FORWARD), *expressions(BACKWARD)]
NAMES = ("x", "y", "w", "b", "v", "s", "img", "k", "i")
SIZES = {"x": (4, 6), "y": (4, 6), "w": (5, 6), "b": (5,), "v": (6,), "s": (2, 3, 4),
         "img": (2, 4, 8, 8), "k": (6, 4, 3, 3)}  # fmt: skip
