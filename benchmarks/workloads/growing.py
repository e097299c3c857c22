"""Programs whose sizes grow or change from call to call, for `benchmarks/cold.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.workloads import models

TOKENS, LENGTHS, EPISODES, POINTS = 100, 50, 30, 12
_WIDTH, _HEADS, _LAYERS = 64, 4, 4


def tokens(torch: Any) -> Callable[[], Any]:
    """Return a function that makes a hundred tokens by a transformer whose cache of keys and values
    grows by one each."""
    nn = torch.nn
    torch.manual_seed(0)
    embedding, head = nn.Embedding(100, _WIDTH), nn.Linear(_WIDTH, 100)
    blocks = [models.block(torch, _WIDTH, _HEADS) for _ in range(_LAYERS)]

    def generate() -> Any:
        with torch.no_grad():
            token, caches = torch.tensor([[1]]), [None] * _LAYERS
            for _ in range(TOKENS):
                x = embedding(token)
                for i, block in enumerate(blocks):
                    x, caches[i] = block.step(x, caches[i])
                token = head(x[:, -1]).argmax(-1, keepdim=True)
            return token.item()

    return generate


def lengths(torch: Any) -> Callable[[], Any]:
    """Return a function that runs an encoder over fifty lengths, forward and backward."""
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    encoder = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    optimizer = torch.optim.SGD(encoder.parameters(), lr=1e-3)

    def train() -> Any:
        for n in range(10, 10 + LENGTHS):
            loss = encoder(torch.randn(2, n, 32)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return loss.item()

    return train


def episodes(torch: Any) -> Callable[[], Any]:
    """Return a function that trains by REINFORCE: episodes of random length, log-probabilities
    stacked, Adam."""
    torch.manual_seed(0)
    policy = torch.nn.Sequential(
        torch.nn.Linear(4, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2), torch.nn.Softmax(-1)
    )
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)

    def train() -> Any:
        generator = torch.Generator().manual_seed(1)
        for _ in range(EPISODES):
            steps = int(torch.randint(5, 60, (1,), generator=generator))
            logs, rewards = [], []
            for _ in range(steps):
                chances = torch.distributions.Categorical(policy(torch.randn(1, 4)))
                action = chances.sample()
                logs.append(chances.log_prob(action))
                rewards.append(float(action.item()))
            returns, total = [], 0.0
            for reward in reversed(rewards):
                total = reward + 0.99 * total
                returns.insert(0, total)
            wanted = torch.tensor(returns)
            wanted = (wanted - wanted.mean()) / (wanted.std() + 1e-6)
            loss = -(torch.cat(logs) * wanted).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return loss.item()

    return train


def processes(torch: Any) -> Callable[[], Any]:
    """Return a function that takes a step of a Gaussian process at each of twelve numbers of
    points: a Cholesky factor, two solves, a determinant, and their gradients."""
    torch.manual_seed(0)
    scale, noise = torch.zeros((), requires_grad=True), torch.zeros((), requires_grad=True)
    optimizer = torch.optim.Adam([scale, noise], lr=0.1)

    def train() -> Any:
        for n in range(40, 40 + POINTS):
            x = torch.linspace(0, 1, n)
            y = torch.sin(6 * x)
            near = torch.exp(-((x[:, None] - x) ** 2) / scale.exp())
            factor = torch.linalg.cholesky(near + noise.exp() * torch.eye(n))
            solved = torch.cholesky_solve(y[:, None], factor)[:, 0]
            loss = y @ solved + 2 * factor.diagonal().log().sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return loss.item()

    return train


def scripted(torch: Any) -> Callable[[], Any]:
    """Return a function that calls a scripted one, a sum in the Poincaré ball, with fifty lengths,
    forward and backward."""
    torch.manual_seed(0)

    def moved(x, y):  # type: ignore[no-untyped-def] - to TorchScript these are tensors
        both = (x * y).sum(-1, keepdim=True)
        first, second = (x * x).sum(-1, keepdim=True), (y * y).sum(-1, keepdim=True)
        above = (1 + 2 * both + second) * x + (1 - first) * y
        return above / (1 + 2 * both + first * second).clamp_min(1e-15)

    add = torch.jit.script(moved)

    def train() -> Any:
        for n in range(10, 10 + LENGTHS):
            x = (0.1 * torch.randn(n, 4)).requires_grad_()
            add(x, 0.1 * torch.randn(n, 4)).square().sum().backward()
        return x.grad.sum().item()

    return train


GROWING = {
    "tokens": tokens,
    "lengths": lengths,
    "episodes": episodes,
    "processes": processes,
    "scripted": scripted,
}
