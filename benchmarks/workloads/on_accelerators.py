"""Ten nets and three scripts of the kinds that accelerators are for, in PyTorch's API alone.

Each is a function of the library and of a size ("whole" or "tiny", which a CPU runs in a second)
that gives a training step, on the default device of the library; `generation` gives a call.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from benchmarks.workloads import cnn, gpt2, lstm, mlp, models
from benchmarks.workloads.contract import TorchTraining


def _autocast(torch: Any, x: Any) -> Any:
    return torch.autocast(x.device.type, dtype=torch.bfloat16)


def _classified(torch: Any, model: Any, x: Any, classes: int, *, half: bool = False) -> Any:
    """Return the training of a classifier by AdamW, under autocast to bfloat16 with ``half``."""
    y = torch.arange(x.shape[0]) % classes

    def loss(x: Any, y: Any) -> Any:
        if not half:
            return torch.nn.functional.cross_entropy(model(x), y)
        with _autocast(torch, x):
            out = model(x)
        return torch.nn.functional.cross_entropy(out.float(), y)

    return TorchTraining(model, torch.optim.AdamW(model.parameters(), lr=1e-3), loss, x, y)


def _shared(module: Any) -> Callable[[Any, bool], TorchTraining]:
    """Return a net that other benchmarks have too, which is small as it is."""
    return lambda torch, tiny: module.in_torch(torch, module.problem())


def gpt2_124m(torch: Any, tiny: bool) -> TorchTraining:
    """Return GPT-2, of two narrow layers where it is tiny."""
    sizes = {"LAYERS": 2, "HEADS": 2, "WIDTH": 32, "BATCH": 2, "CONTEXT": 16, "VOCABULARY": 64}
    for name, value in sizes.items() if tiny else ():
        setattr(gpt2, name, value)  # of this process, which runs one net
    return gpt2.in_torch(torch, gpt2.problem())


def resnet50(torch: Any, tiny: bool) -> TorchTraining:
    """Return ResNet-50 under autocast to bfloat16."""
    model = models.resnet50(torch, 8, (1, 1)) if tiny else models.resnet50(torch)
    x = torch.randn(2, 3, 32, 32) if tiny else torch.randn(64, 3, 224, 224)
    return _classified(torch, model, x, 10, half=True)


def vit(torch: Any, tiny: bool) -> TorchTraining:
    """Return a vision transformer (ViT-S/16) under autocast to bfloat16."""
    nn = torch.nn
    width, heads, depth, image, batch = (32, 2, 1, 32, 2) if tiny else (384, 6, 12, 224, 64)

    class ViT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.patches = nn.Conv2d(3, width, 16, 16)
            self.place = nn.Parameter(torch.zeros(1, (image // 16) ** 2, width))
            layer = nn.TransformerEncoderLayer(
                width, heads, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True
            )
            self.body = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
            self.head = nn.Linear(width, 10)

        def forward(self, x: Any) -> Any:
            x = self.patches(x).flatten(2).transpose(1, 2) + self.place
            return self.head(self.body(x).mean(1))

    return _classified(torch, ViT(), torch.randn(batch, 3, image, image), 10, half=True)


def unet(torch: Any, tiny: bool) -> TorchTraining:
    """Return the denoiser of a diffusion model: noise is drawn in each step."""
    nn, F = torch.nn, torch.nn.functional
    width, image, batch = (8, 8, 2) if tiny else (128, 32, 64)

    class Block(nn.Module):
        def __init__(self, before: int, after: int) -> None:
            super().__init__()
            self.norm, self.conv = nn.GroupNorm(4, before), nn.Conv2d(before, after, 3, 1, 1)
            self.time, self.again = nn.Linear(width, after), nn.Conv2d(after, after, 3, 1, 1)
            self.short = nn.Conv2d(before, after, 1)

        def forward(self, x: Any, t: Any) -> Any:
            h = self.conv(F.silu(self.norm(x))) + self.time(t)[:, :, None, None]
            return self.short(x) + self.again(F.silu(h))

    class UNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.enter, self.leave = nn.Conv2d(4, width, 3, 1, 1), nn.Conv2d(width, 4, 3, 1, 1)
            self.down, self.middle = Block(width, 2 * width), Block(2 * width, 2 * width)
            self.up = Block(4 * width, width)

        def forward(self, x: Any, t: Any) -> Any:
            steps = torch.exp(torch.arange(width // 2, device=x.device) * (-9.2 / width))
            angles = t[:, None] * steps
            t = torch.cat([angles.sin(), angles.cos()], 1)
            high = self.down(self.enter(x), t)
            low = F.interpolate(self.middle(F.avg_pool2d(high, 2), t), scale_factor=2)
            return self.leave(self.up(torch.cat([high, low], 1), t))

    model = UNet()

    def loss(x: Any, y: Any) -> Any:
        t, noise = torch.rand(x.shape[0], device=x.device), torch.randn_like(x)
        part = t[:, None, None, None]
        return F.mse_loss(model((1 - part).sqrt() * x + part.sqrt() * noise, 1000 * t), noise)

    x = torch.randn(batch, 4, image, image)
    return TorchTraining(model, torch.optim.AdamW(model.parameters(), lr=1e-4), loss, x, x)


def pinn(torch: Any, tiny: bool) -> TorchTraining:
    """Return a net that satisfies u'' = -sin(x), by second derivatives of the net."""
    nn = torch.nn
    width, points = (8, 16) if tiny else (128, 4096)
    layers = [nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh()]
    model = nn.Sequential(*layers, nn.Linear(width, 1))

    def loss(x: Any, y: Any) -> Any:
        x = x.detach().requires_grad_()
        u = model(x)
        (first,) = torch.autograd.grad(u.sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
        return (second + torch.sin(x)).square().mean() + u[:1].square().mean()

    x = torch.linspace(0, math.pi, points).unsqueeze(1)
    return TorchTraining(model, torch.optim.Adam(model.parameters(), lr=1e-3), loss, x, x)


def gnn(torch: Any, tiny: bool) -> TorchTraining:
    """Return two layers of message passing over random edges, by index_add."""
    nn = torch.nn
    nodes, edges, width = (16, 64, 8) if tiny else (10_000, 100_000, 128)
    start, end = torch.randint(nodes, (2, edges))

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.own, self.others = nn.Linear(width, width), nn.Linear(width, width)

        def forward(self, x: Any) -> Any:
            arrived = torch.zeros_like(x).index_add(0, end, self.others(x)[start])
            return torch.relu(self.own(x) + arrived)

    model = nn.Sequential(Layer(), Layer(), nn.Linear(width, 10))
    return _classified(torch, model, torch.randn(nodes, width), 10)


def vae(torch: Any, tiny: bool) -> TorchTraining:
    """Return a variational autoencoder of 28×28 images: a sample is drawn in each step."""
    nn, F = torch.nn, torch.nn.functional
    width, batch = (16, 4) if tiny else (400, 128)

    class VAE(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.enter, self.mean, self.spread = (
                nn.Linear(784, width),
                nn.Linear(width, 20),
                nn.Linear(width, 20),
            )
            self.decode = nn.Sequential(nn.Linear(20, width), nn.ReLU(), nn.Linear(width, 784))

        def forward(self, x: Any) -> Any:
            h = torch.relu(self.enter(x))
            mean, spread = self.mean(h), self.spread(h)
            z = mean + torch.randn_like(mean) * torch.exp(0.5 * spread)
            return self.decode(z), mean, spread

    model = VAE()

    def loss(x: Any, y: Any) -> Any:
        out, mean, spread = model(x)
        apart = -0.5 * (1 + spread - mean.square() - spread.exp()).sum()
        return F.binary_cross_entropy_with_logits(out, y, reduction="sum") + apart

    x = torch.rand(batch, 784)
    return TorchTraining(model, torch.optim.Adam(model.parameters(), lr=1e-3), loss, x, x)


def words(torch: Any, tiny: bool) -> TorchTraining:
    """Return a language model of words by an LSTM with dropout, its gradients clipped."""
    nn = torch.nn
    vocabulary, width, length, batch = (50, 8, 5, 2) if tiny else (10_000, 200, 35, 20)

    class Words(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.drop = nn.Embedding(vocabulary, width), nn.Dropout(0.2)
            self.lstm = nn.LSTM(width, width, 2, dropout=0.2)
            self.head = nn.Linear(width, vocabulary)

        def forward(self, x: Any) -> Any:
            out, _ = self.lstm(self.drop(self.embed(x)))
            return self.head(self.drop(out)).flatten(0, 1)

    text = torch.randint(vocabulary, (length + 1, batch))
    model = Words()

    def loss(x: Any, y: Any) -> Any:
        return nn.functional.cross_entropy(model(x), y.flatten())

    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    return TorchTraining(model, optimizer, loss, text[:-1], text[1:])


def adder(torch: Any, tiny: bool) -> TorchTraining:
    """Return a small GPT that learns to add, digit by digit, from numbers drawn in each step."""
    nn = torch.nn
    width, batch = (16, 4) if tiny else (192, 64)

    class Adder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.place = nn.Embedding(10, width), nn.Parameter(torch.zeros(7, width))
            layer = nn.TransformerEncoderLayer(width, 2, 4 * width, 0.1, batch_first=True)
            self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.head = nn.Linear(width, 10)

        def forward(self, x: Any) -> Any:
            hidden = torch.full((7, 7), -math.inf, device=x.device).triu(1)
            return self.head(self.body(self.embed(x) + self.place, hidden))

    model = Adder()

    def loss(x: Any, y: Any) -> Any:
        a, b = torch.randint(100, (2, batch), device=x.device)
        parts = [a // 10, a % 10, b // 10, b % 10]
        parts += [(a + b) % 10, (a + b) // 10 % 10, (a + b) // 100]
        digits = torch.stack([*parts, torch.zeros_like(a)], 1)
        out = model(digits[:, :7])[:, 3:6]
        return nn.functional.cross_entropy(out.flatten(0, 1), digits[:, 4:7].flatten())

    x = torch.zeros(1)
    return TorchTraining(model, torch.optim.AdamW(model.parameters(), lr=5e-4), loss, x, x)


def generation(torch: Any, tiny: bool) -> tuple[Callable[..., Any], tuple[Any, ...], int]:
    """Return one token's step of a GPT with caches of keys and values of a fixed length, its first
    arguments (token, place, caches), and the number of tokens: what it gives are the next ones."""
    nn, F = torch.nn, torch.nn.functional
    width, heads, depth, length, batch = (16, 2, 1, 8, 1) if tiny else (768, 12, 12, 256, 8)
    embed, head = nn.Embedding(1000, width), nn.Linear(width, 1000)
    layers = nn.ModuleList(
        nn.ModuleList([nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)])
        for _ in range(depth)
    )

    def step(token: Any, at: Any, caches: Any) -> Any:
        with torch.no_grad():
            x, kept = embed(token), []
            seen = torch.arange(length, device=x.device) <= at
            for (norm, qkv, out), (keys, values) in zip(layers, caches, strict=True):
                q, k, v = qkv(norm(x)).view(batch, 3, heads, 1, -1).unbind(1)
                here = (torch.arange(length, device=x.device) == at)[:, None]
                keys, values = torch.where(here, k, keys), torch.where(here, v, values)
                y = F.scaled_dot_product_attention(
                    q, keys, values, attn_mask=seen[None, None, None]
                )
                x = x + out(y.reshape(batch, width))
                kept.append((keys, values))
            return head(x).argmax(-1), at + 1, kept

    empty = torch.zeros(batch, heads, length, width // heads)
    token, at = torch.zeros(batch, dtype=torch.int64), torch.zeros((), dtype=torch.int64)
    return step, (token, at, [(empty, empty) for _ in range(depth)]), length


#: In the order in which they are run: what has least to compile comes first.
NETS: dict[str, Callable[[Any, bool], Any]] = {
    "mlp": _shared(mlp),
    "pinn": pinn,
    "gnn": gnn,
    "cnn": _shared(cnn),
    "lstm": _shared(lstm),
    "vit": vit,
    "generation": generation,
    "unet": unet,
    "gpt2": gpt2_124m,
    "resnet50": resnet50,
    # What had not compiled its operations in 45 seconds on the last GPU, eagerly.
    "vae": vae,
    "words": words,
    "adder": adder,
}
