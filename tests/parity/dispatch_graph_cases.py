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
torch.unique(x).sum(); torch.unique(x, dim=0, return_counts=True)[1]; x[[0, 2]]; x[:, [1, 2]] + 1
torch.meshgrid(v, b, indexing="xy"); x.clone().swapaxes_(0, 1); F.alpha_dropout(x, 0.3, True)
F.dropout1d(s); F.feature_alpha_dropout(s, 0.3, True)
torch.nn.init.zeros_(y.detach()); torch.nn.init.constant_(y.detach(), 3.0)
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

#: Of sizes that are symbols.
SIZED = """
x.view(x.shape[0] * 2, -1); x.view(-1); x.flatten(); x.reshape(x.shape[1], x.shape[0])
torch.zeros(x.shape[0], 3) + 1; x.new_ones(x.shape); x[: x.shape[0] // 2]; x.sum() / x.shape[0]
x * x.shape[1] ** -0.5; x.expand(3, *x.shape); torch.arange(x.shape[1]) + v
torch.cat([x, y]).shape[0] + x; s.transpose(1, 2).reshape(s.shape[0], -1); v + x.numel()
x.unsqueeze(0).repeat(x.shape[0], 1, 1); F.pad(x, (1, 2)); x[-1]; x.chunk(2)[0]
s.view(s.shape[0], -1).sum(1); x.t().contiguous().view(-1); torch.full((x.shape[0],), 2.0)
x.mean(0, keepdim=True).expand_as(x); x.narrow(0, 1, x.shape[0] - 1); x.shape[0] * x.shape[1]
torch.ones(x.shape[0], x.shape[1]).tril() * x; (x @ w.t()).view(x.size(0) * w.size(0))
torch.rand_like(x) * 0 + x; x.view(x.size(0), 2, x.size(1) // 2).permute(1, 0, 2).sum(2)
F.interpolate(img, scale_factor=2); F.avg_pool2d(img, 2); F.adaptive_avg_pool2d(img, 1)
F.batch_norm(img, None, None, training=True); F.group_norm(img, 2); x.softmax(-1).argmax(1)
x.sort(1)[0]; x.gather(1, i.view(-1, 1)); x.index_select(0, i); x.cumsum(0).flip(0)
torch.bmm(s, s.transpose(1, 2)) * s.shape[2] ** -0.5; x.split(2)[1]; x.clone().fill_(x.shape[0])
"""


def expressions(text: str) -> list[str]:
    """The expressions of a table."""
    return [e.strip() for line in text.strip().splitlines() for e in line.split(";") if e.strip()]


CASES = [*expressions(FORWARD), *expressions(BACKWARD)]
SYMBOLIC = expressions(SIZED)
NAMES = ("x", "y", "w", "b", "v", "s", "img", "k", "i")
SIZES = {
    "x": (4, 6),
    "y": (4, 6),
    "w": (5, 6),
    "b": (5,),
    "v": (6,),
    "s": (2, 3, 4),
    "img": (2, 4, 8, 8),
    "k": (6, 4, 3, 3),
}


def function(library, expression, used):
    """An expression as a function of the tensors that it names."""

    def f(*args):
        names = dict(zip(used, args, strict=True))
        if "grads" in expression:
            names = {k: v if k == "i" else v.detach().requires_grad_() for k, v in names.items()}
        leaves = [v for k, v in names.items() if k != "i"]

        def grads(loss):
            return library.autograd.grad(loss, leaves, allow_unused=True)

        return eval(
            expression, {"torch": library, "F": library.nn.functional, "grads": grads, **names}
        )

    return f
