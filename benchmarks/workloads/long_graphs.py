"""Six training steps whose graphs are long: widths are small, so that what is measured is how many
operations there are and not how large they are."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from benchmarks.workloads import models

#: A step in PyTorch's API, and its arguments.
Step = tuple[Callable[..., Any], tuple[Any, ...]]


def _training(torch: Any, model: Any, loss_of: Callable[..., Any]) -> Callable[..., Any]:
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def step(*batch: Any) -> Any:
        optimizer.zero_grad()
        loss = loss_of(*batch)
        loss.backward()
        optimizer.step()
        return loss

    return step


def gpt2(torch: Any, layers: int = 12, width: int = 64, heads: int = 4, length: int = 64) -> Step:
    """Return a step of GPT-2 in 12 layers."""
    F = torch.nn.functional
    model = models.gpt(torch, 256, length, width, layers, heads)
    ids = torch.randint(0, 256, (4, length))

    def loss_of(ids: Any) -> Any:
        logits = model(ids)[:, :-1]
        return F.cross_entropy(logits.reshape(-1, 256), ids[:, 1:].reshape(-1))

    return _training(torch, model, loss_of), (ids,)


def resnet50(torch: Any, width: int = 16) -> Step:
    """Return a step of ResNet-50: bottlenecks 3, 4, 6, 3."""
    F = torch.nn.functional
    model = models.resnet50(torch, width)
    batch = torch.randn(4, 3, 64, 64), torch.randint(0, 10, (4,))
    return _training(torch, model, lambda x, y: F.cross_entropy(model(x), y)), batch


def lstm(torch: Any, steps: int = 100, width: int = 32) -> Step:
    """Return a step of two LSTM cells over 100 steps, which Python's loop writes out."""
    nn, F = torch.nn, torch.nn.functional
    cells = nn.ModuleList([nn.LSTMCell(8, width), nn.LSTMCell(width, width)])
    model = nn.ModuleList([*cells, nn.Linear(width, 4)])

    def loss_of(x: Any, y: Any) -> Any:
        states = [(torch.zeros(len(x), width), torch.zeros(len(x), width)) for _ in cells]
        for t in range(steps):
            h = x[:, t]
            for i, cell in enumerate(cells):
                states[i] = cell(h, states[i])
                h = states[i][0]
        return F.cross_entropy(model[-1](h), y)

    batch = torch.randn(16, steps, 8), torch.randint(0, 4, (16,))
    return _training(torch, model, loss_of), batch


def xlstm(torch: Any, layers: int = 4, width: int = 32, steps: int = 32) -> Step:
    """Return a step of a net like xLSTM: cells with exponential gates over time in every second
    layer, and a matrix memory, computed for all times at once, in the others."""
    nn, F = torch.nn, torch.nn.functional

    class Scalar(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.LayerNorm(width)
            self.inputs, self.hidden = nn.Linear(width, 4 * width), nn.Linear(width, 4 * width)

        def forward(self, x: Any) -> Any:
            wx = self.inputs(self.norm(x))
            h = c = n = torch.zeros(x.shape[0], width)
            m, outputs = torch.zeros(x.shape[0], width), []
            for t in range(x.shape[1]):
                i, f, z, o = (wx[:, t] + self.hidden(h)).chunk(4, -1)
                f = F.logsigmoid(f)
                latest = torch.maximum(f + m, i)
                i, f, m = torch.exp(i - latest), torch.exp(f + m - latest), latest
                c, n = f * c + i * torch.tanh(z), f * n + i
                h = torch.sigmoid(o) * c / n.clamp(min=1e-6)
                outputs.append(h)
            return x + torch.stack(outputs, 1)

    class Matrix(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.LayerNorm(width)
            self.qkv, self.gates = nn.Linear(width, 3 * width), nn.Linear(width, 2)
            self.out = nn.Linear(width, width)

        def forward(self, x: Any) -> Any:
            y = self.norm(x)
            q, k, v = self.qkv(y).chunk(3, -1)
            i, f = self.gates(y).unbind(-1)
            total = F.logsigmoid(f).cumsum(1)
            decay = total[:, :, None] - total[:, None, :] + i[:, None, :]
            length = x.shape[1]
            mask = torch.ones(length, length, dtype=torch.bool).tril()
            decay = decay.masked_fill(~mask, float("-inf"))
            decay = torch.exp(decay - decay.amax(-1, keepdim=True))
            scores = (q @ k.transpose(1, 2)) * decay / width**0.5
            return x + self.out(scores @ v / scores.sum(-1, keepdim=True).abs().clamp(min=1.0))

    embedding, head = nn.Embedding(64, width), nn.Linear(width, 64)
    blocks = nn.ModuleList(Matrix() if i % 2 else Scalar() for i in range(layers))
    model = nn.ModuleList([embedding, head, blocks])

    def loss_of(ids: Any) -> Any:
        x = embedding(ids)
        for block in blocks:
            x = block(x)
        return F.cross_entropy(head(x)[:, :-1].reshape(-1, 64), ids[:, 1:].reshape(-1))

    return _training(torch, model, loss_of), (torch.randint(0, 64, (4, steps)),)


def mamba(torch: Any, layers: int = 4, width: int = 32, state: int = 8, steps: int = 32) -> Step:
    """Return a step of a net like Mamba: a selective scan over time, which Python's loop writes
    out."""
    nn, F = torch.nn, torch.nn.functional
    inner = 2 * width

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.inputs = nn.LayerNorm(width), nn.Linear(width, 2 * inner, bias=False)
            self.conv = nn.Conv1d(inner, inner, 4, groups=inner, padding=3)
            self.parts = nn.Linear(inner, 2 * state + 2, bias=False)
            self.dt = nn.Linear(2, inner)
            self.log_a = nn.Parameter(torch.log(torch.arange(1.0, state + 1)).repeat(inner, 1))
            self.d, self.out = nn.Parameter(torch.ones(inner)), nn.Linear(inner, width)

        def forward(self, x: Any) -> Any:
            u, gate = self.inputs(self.norm(x)).chunk(2, -1)
            length = x.shape[1]
            u = F.silu(self.conv(u.transpose(1, 2))[..., :length].transpose(1, 2))
            b, c, dt = self.parts(u).split([state, state, 2], -1)
            dt = F.softplus(self.dt(dt))
            decay = torch.exp(dt[..., None] * -torch.exp(self.log_a))
            given = (dt * u)[..., None] * b[:, :, None]
            h, outputs = torch.zeros(x.shape[0], inner, state), []
            for t in range(length):
                h = decay[:, t] * h + given[:, t]
                outputs.append((h * c[:, t, None]).sum(-1))
            y = torch.stack(outputs, 1) + u * self.d
            return x + self.out(y * F.silu(gate))

    embedding, head = nn.Embedding(64, width), nn.Linear(width, 64)
    blocks = nn.ModuleList(Block() for _ in range(layers))
    model = nn.ModuleList([embedding, head, blocks])

    def loss_of(ids: Any) -> Any:
        x = embedding(ids)
        for block in blocks:
            x = block(x)
        return F.cross_entropy(head(x)[:, :-1].reshape(-1, 64), ids[:, 1:].reshape(-1))

    return _training(torch, model, loss_of), (torch.randint(0, 64, (4, steps)),)


def pinn(torch: Any, width: int = 32, layers: int = 5) -> Step:
    """Return a step of a net that learns u_t + u u_x = ν u_xx: gradients of gradients inside."""
    nn = torch.nn
    sizes = [2, *[width] * layers]
    inner = [m for a, b in itertools.pairwise(sizes) for m in (nn.Linear(a, b), nn.Tanh())]
    model = nn.Sequential(*inner, nn.Linear(width, 1))

    def loss_of(x: Any, t: Any) -> Any:
        x, t = x.clone().requires_grad_(), t.clone().requires_grad_()
        u = model(torch.stack([x, t], -1))[:, 0]
        u_x, u_t = torch.autograd.grad(u.sum(), (x, t), create_graph=True)
        (u_xx,) = torch.autograd.grad(u_x.sum(), x, create_graph=True)
        start = model(torch.stack([x, torch.zeros_like(t)], -1))[:, 0]
        residual = u_t + u * u_x - 0.01 * u_xx
        return residual.square().mean() + (start + torch.sin(torch.pi * x)).square().mean()

    return _training(torch, model, loss_of), (torch.rand(128) * 2 - 1, torch.rand(128))


MODELS = {
    "GPT-2, 12 layers": gpt2,
    "ResNet-50": resnet50,
    "LSTM cells, 100 steps": lstm,
    "like xLSTM": xlstm,
    "like Mamba": mamba,
    "PINN, second derivatives": pinn,
}
