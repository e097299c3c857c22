"""The functions of `benchmarks.never_slower`, a line each: chains, models, loops.

A chain is a kind of input and pieces of `pieces.py`, one behind the other; it is measured at two
sizes, forward and with the gradient of its input. So are models and loops, at one size, which are
written in PyTorch's API: ``t`` is the library, ``nn`` its modules, ``F`` its functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from benchmarks.workloads.models import grouped_block
from benchmarks.workloads.pieces import Chain

CHAINS = """
rows: exp tanh
rows: gelu softmax
rows: polynomial divide sigmoid
rows: softplus windows
rows: silu linear gelu
rows: layer_norm linear gelu
rows: rms_norm linear silu
rows: batch_norm relu linear
rows: linear softmax
rows: linear log_softmax mse
rows: softmax log_softmax
rows: standardize clamp sum
rows: normalize matmul logsumexp
rows: max_scaled exp sum
rows: where power var
rows: cumsum tanh
rows: cumsum cumsum
rows: exp cumsum_down
rows: cumprod divide
rows: cummax diff
rows: logcumsumexp exp
rows: diff relu sum
rows: neighbours tanh neighbours
rows: sort diff
rows: tanh topk
rows: relu median
rows: fft gelu
rows: flip halves exp
rows: index_select gelu
rows: gather softmax
rows: sigmoid scatter_add
rows: gelu bag_mean
rows: embedding_bag
rows: normalize cdist
signal: conv relu conv
signal: depthwise gelu pointwise
signal: conv batch_norm relu
signal: max_pool3 avg_pool3
signal: cumsum diff
signal: linear_resize sine
signal: softplus windows
signal: instance_norm sigmoid
image: conv conv
image: conv relu max_pool
image: conv batch_norm relu
image: conv group_norm silu
image: depthwise pointwise relu
image: depthwise depthwise
image: max_pool max_pool
image: avg_pool conv
image: max_pool3 max_pool3
image: gelu avg_pool3
image: tanh lp_pool
image: conv adaptive_pool
image: relu local_response
image: gelu unfold
image: bilinear conv
image: softplus bilinear
image: bicubic relu
image: nearest conv
image: gelu grid_sample
image: bicubic_sample
image: reflect conv
image: conv pixel_shuffle
image: conv_transpose relu
image: channel_softmax log_softmax
image: flip divide
volume: conv relu
volume: conv batch_norm relu
volume: depthwise instance_norm
volume: max_pool conv
volume: avg_pool3 tanh
volume: gelu trilinear
sequence: layer_norm attention
sequence: linear gelu linear
sequence: attention layer_norm
sequence: einsum rms_norm
sequence: softmax norm
sequence: cumsum sigmoid
sequence: sort softmax
matrices: matmul matmul
matrices: cholesky sum
matrices: inv matmul
matrices: solve tanh
matrices: transpose matmul softmax
matrices: det
matrices: eigvalsh
matrices: svdvals
"""

#: Name, shape of the input, the module; the loss is the mean square of what it gives.
MODELS = """
perceptron        | 64 100         | S(L(100, 256), R(), L(256, 10))
deep perceptron   | 64 64          | S(*(m for _ in range(8) for m in (L(64, 64), nn.Tanh())))
normed perceptron | 64 64          | S(L(64, 128), nn.LayerNorm(128), nn.GELU(), L(128, 64))
batch norm        | 64 64          | S(L(64, 128), nn.BatchNorm1d(128), R(), L(128, 10))
autoencoder       | 32 196         | S(L(196, 64), R(), L(64, 8), L(8, 64), R(), L(64, 196), nn.Sigmoid())
lenet             | 8 1 28 28      | S(C(1, 6, 5), R(), nn.MaxPool2d(2), C(6, 16, 5), R(), nn.MaxPool2d(2), nn.Flatten(), L(256, 10))
small vgg         | 4 3 32 32      | S(C(3, 16, 3, padding=1), R(), C(16, 16, 3, padding=1), R(), nn.MaxPool2d(2), nn.Flatten(), L(4096, 10))
conv norm         | 4 8 32 32      | S(C(8, 8, 3, padding=1), nn.BatchNorm2d(8), R(), C(8, 8, 3, padding=1), nn.BatchNorm2d(8))
separable         | 4 16 32 32     | S(C(16, 16, 3, padding=1, groups=16), C(16, 32, 1), nn.SiLU())
upsampler         | 4 8 16 16      | S(nn.Upsample(scale_factor=2, mode="bilinear"), C(8, 8, 3, padding=1), R())
generator         | 4 16 8 8       | S(nn.ConvTranspose2d(16, 8, 4, 2, 1), nn.BatchNorm2d(8), R(), nn.ConvTranspose2d(8, 3, 4, 2, 1), nn.Tanh())
volumes           | 2 2 12 12 12   | S(nn.Conv3d(2, 8, 3, padding=1), R(), nn.MaxPool3d(2), nn.Conv3d(8, 8, 3, padding=1))
signals           | 8 4 256        | S(nn.Conv1d(4, 16, 5, padding=2), R(), nn.Conv1d(16, 16, 5, padding=2), nn.AdaptiveAvgPool1d(1))
dilated           | 8 8 256        | S(*(nn.Conv1d(8, 8, 3, padding=d, dilation=d) for d in (1, 2, 4, 8)))
encoder layer     | 4 32 64        | nn.TransformerEncoderLayer(64, 4, 128, 0.0, batch_first=True)
two encoders      | 4 16 32        | nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 2, 64, 0.0, batch_first=True), 2)
like mistral      | 4 32 64        | S(*(grouped_block(t, 64, 4, 2, 8) for _ in range(2)))
gated             | 32 128         | S(L(128, 256), nn.GLU(), nn.LayerNorm(128), L(128, 10))
softplus net      | 64 32          | S(L(32, 64), nn.Softplus(), L(64, 64), nn.Softplus(), L(64, 1))
instance norm     | 4 8 32 32      | S(nn.ReflectionPad2d(1), C(8, 8, 3), nn.InstanceNorm2d(8), R())
shuffled          | 4 16 16 16     | S(C(16, 16, 3, padding=1), nn.PixelShuffle(2), C(4, 4, 3, padding=1))
"""  # noqa: E501

#: Name, shape of the input, statements that change ``x``.
LOOPS = """
euler             | 64 32          | for _ in range(30): x = x + 0.1 * (x.tanh() - x)
power iteration   | 32 32          | for _ in range(20): x = x @ x.mT; x = x / x.norm()
running mean      | 16 64          | for k in range(20): x = 0.9 * x + 0.1 * x.roll(1, -1)
newton            | 256 8          | for _ in range(10): x = x - (x ** 3 - 1) / (3 * x * x + 1)
stencil           | 8 64 64        | for _ in range(10): x = 0.6 * x + 0.2 * (x.roll(1, 1) + x.roll(-1, 1))
recurrence        | 16 64          | for k in range(16): x = (x + x[k]).tanh()
smoothing         | 4 8 32 32      | for _ in range(4): x = F.avg_pool2d(x, 3, 1, 1).sigmoid()
sinkhorn          | 8 32 32        | for _ in range(10): x = x.log_softmax(-1).log_softmax(-2)
"""  # noqa: E501


class Function(NamedTuple):
    """One line of the table: its name, its arrays, and how it is written.

    Attributes:
        torch: ``torch -> function of tensors``.
        jax: ``jax -> function of arrays``, or None where it is not written by hand.
        gradient: the result is the gradient of the mean square of what the function gives.
    """

    name: str
    arrays: Callable[[], list[np.ndarray]]
    torch: Callable[[Any], Callable[..., Any]]
    jax: Callable[[Any], Callable[..., Any] | None]
    gradient: bool


def functions() -> Iterator[Function]:
    """Yield all functions, chains first."""
    for line in filter(None, CHAINS.splitlines()):
        kind, _, names = line.partition(": ")
        chain = Chain(kind, tuple(names.split()))
        for size, word in enumerate(("small", "middle")):
            for gradient in (False, True):
                name = f"{kind} {word}: {' · '.join(chain.names)}{', gradient' * gradient}"
                yield Function(name, _arrays(chain, size), chain.torch, chain.jax, gradient)
    for table, make in ((MODELS, _model), (LOOPS, _loop)):
        for line in filter(None, table.splitlines()):
            name, shape, source = (column.strip() for column in line.split("|"))
            sizes = tuple(map(int, shape.split()))
            for gradient in (False, True):
                whole = f"{name}{', gradient' * gradient}"
                yield Function(whole, _normal(sizes), make(source), _nothing, gradient)


def _arrays(chain: Chain, size: int) -> Callable[[], list[np.ndarray]]:
    return lambda: chain.arrays(size)


def _normal(shape: tuple[int, ...]) -> Callable[[], list[np.ndarray]]:
    return lambda: [np.random.default_rng(0).standard_normal(shape).astype(np.float32)]


def _nothing(jax: Any) -> None:
    """Write nothing in JAX, of models and loops."""


def _model(source: str) -> Callable[[Any], Callable[..., Any]]:
    def make(torch: Any) -> Callable[..., Any]:
        nn = torch.nn
        short = {"S": nn.Sequential, "L": nn.Linear, "C": nn.Conv2d, "R": nn.ReLU}
        short["grouped_block"] = grouped_block
        torch.manual_seed(0)
        model = eval(source, {"nn": nn, "t": torch, **short})
        return lambda x: model(x)

    return make


def _loop(source: str) -> Callable[[Any], Callable[..., Any]]:
    def make(torch: Any) -> Callable[..., Any]:
        names = {"t": torch, "F": torch.nn.functional}
        exec(f"def function(x):\n    {source}\n    return x\n", names)
        return names["function"]

    return make
