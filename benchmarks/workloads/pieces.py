"""Functions that chains are made of, a line each: what they take, and how they are written in
PyTorch's API and, where that is easy, in JAX.

A piece takes an input ``x`` of a kind (`KINDS`) and perhaps a parameter ``p`` (`PARAMETERS`), and
gives a result that the next of a chain takes: of the same kind, unless it can only be the last.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

#: The shapes of an input: small, middle.
KINDS: Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "rows": ((32, 64), (256, 256)),
    "signal": ((4, 8, 64), (8, 8, 1024)),
    "image": ((2, 8, 16, 16), (4, 8, 64, 64)),
    "volume": ((2, 4, 8, 8, 8), (2, 4, 24, 24, 24)),
    "sequence": ((4, 16, 64), (8, 128, 256)),
    "matrices": ((8, 8, 8), (16, 48, 48)),
}
#: What a column of kinds may say for several.
_SEVERAL = {"any": tuple(KINDS), "channels": ("signal", "image", "volume")}

#: What a piece may ask for besides its input, by the input's shape.
PARAMETERS: Mapping[str, Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]] = {
    "scale": lambda rng, s: _normal(rng, s[1], 1.0),
    "width": lambda rng, s: _normal(rng, s[-1], 1.0),
    "square": lambda rng, s: _normal(rng, (s[-1], s[-1]), s[-1] ** -0.5),
    "kernel": lambda rng, s: _normal(rng, (s[1], s[1], *(3 for _ in s[2:])), 0.1),
    "point": lambda rng, s: _normal(rng, (s[1], s[1], *(1 for _ in s[2:])), 0.3),
    "deep": lambda rng, s: _normal(rng, (s[1], 1, *(3 for _ in s[2:])), 0.3),
    "grid": lambda rng, s: rng.uniform(-1, 1, (s[0], *s[2:], 2)).astype(np.float32),
    "order": lambda rng, s: rng.permutation(s[0]),
    "bags": lambda rng, s: rng.integers(0, s[0], (s[0], 8)),
    "index": lambda rng, s: rng.integers(0, s[1], s),
    "mask": lambda rng, s: rng.random(s) < 0.5,
}


def _normal(rng: np.random.Generator, shape: Any, scale: float) -> np.ndarray:
    return (rng.standard_normal(shape) * scale).astype(np.float32)


def _definite(x: Any, matrix_transpose: Any, identity: Any) -> Any:
    return x @ matrix_transpose + 4 * identity


#: The columns: name, kinds, parameters, PyTorch's API (t is the library, F its nn.functional), JAX.
#: Conv, MaxPool and AvgPool are those of the input's number of dimensions.
TABLE = """
exp             | any             |        | (-x * x).exp()                    | jnp.exp(-x * x)
tanh            | any             |        | x.tanh()                          | jnp.tanh(x)
sigmoid         | any             |        | x.sigmoid()                       | nn.sigmoid(x)
gelu            | any             |        | F.gelu(x)                         | nn.gelu(x, False)
silu            | any             |        | F.silu(x)                         | nn.silu(x)
relu            | any             |        | x.relu()                          | nn.relu(x)
softplus        | any             |        | F.softplus(x)                     | nn.softplus(x)
sine            | any             |        | (3 * x).sin()                     | jnp.sin(3 * x)
polynomial      | any             |        | (x * x + 1) * x - 2               | (x * x + 1) * x - 2
divide          | any             |        | x / (x * x + 1)                   | x / (x * x + 1)
power           | any             |        | (x.abs() + 1) ** 1.5              | (jnp.abs(x) + 1) ** 1.5
clamp           | any             |        | x.clamp(-1, 1)                    | jnp.clip(x, -1, 1)
where           | any             | mask   | t.where(p, x, -x)                 | jnp.where(p, x, -x)
softmax         | any             |        | x.softmax(-1)                     | nn.softmax(x, -1)
log_softmax     | any             |        | x.log_softmax(-1)                 | nn.log_softmax(x, -1)
channel_softmax | channels        |        | x.softmax(1)                      | nn.softmax(x, 1)
standardize     | any             |        | (x - x.mean(-1, True)) / (x.std(-1, keepdim=True) + 1) | (x - mean(x, -1)) / (x.std(-1, ddof=1, keepdims=True) + 1)
normalize       | any             |        | F.normalize(x, dim=-1)            | x / jnp.maximum(norm(x), 1e-12)
max_scaled      | any             |        | x / (x.amax(-1, True) + 3)        | x / (x.max(-1, keepdims=True) + 3)
layer_norm      | rows sequence   | width  | F.layer_norm(x, x.shape[-1:], p)  | normal(x, -1) * p
rms_norm        | rows sequence   | width  | F.rms_norm(x, x.shape[-1:], p)    | x / jnp.sqrt(mean(x * x, -1) + 1e-6) * p
batch_norm      | rows channels   | scale  | F.batch_norm(x, None, None, p, training=True) | normal(x, (0, *range(2, x.ndim))) * along(p, x)
group_norm      | channels        | scale  | F.group_norm(x, 2, p)             | normal(x.reshape(len(x), 2, -1), 2).reshape(x.shape) * along(p, x)
instance_norm   | channels        |        | F.instance_norm(x)                | normal(x, tuple(range(2, x.ndim)))
logsumexp       | any             |        | x.logsumexp(-1)                   | nn.logsumexp(x, -1)
sum             | any             |        | x.sum(-1)                         | x.sum(-1)
var             | any             |        | x.var(-1)                         | x.var(-1, ddof=1)
norm            | rows sequence   |        | x.norm(dim=-1)                    | norm(x)[..., 0]
mse             | any             |        | F.mse_loss(x, 0.5 * x.detach())   | ((x - 0.5 * lax.stop_gradient(x)) ** 2).mean()
cumsum          | rows signal sequence |   | x.cumsum(-1)                      | jnp.cumsum(x, -1)
cumsum_down     | rows sequence   |        | x.cumsum(0)                       | jnp.cumsum(x, 0)
cumprod         | rows sequence   |        | x.cos().cumprod(-1)               | jnp.cumprod(jnp.cos(x), -1)
cummax          | rows sequence   |        | x.cummax(-1).values               | lax.cummax(x, x.ndim - 1)
logcumsumexp    | rows sequence   |        | x.logcumsumexp(-1)                | lax.cumlogsumexp(x, x.ndim - 1)
diff            | rows signal sequence |   | x.diff(dim=-1, prepend=x[..., :1]) | jnp.diff(x, axis=-1, prepend=x[..., :1])
neighbours      | rows signal sequence |   | x.roll(1, -1) + x.roll(-1, -1) - 2 * x | jnp.roll(x, 1, -1) + jnp.roll(x, -1, -1) - 2 * x
sort            | rows sequence   |        | x.sort(-1).values                 | jnp.sort(x, -1)
topk            | rows sequence   |        | x.topk(8, -1).values              | lax.top_k(x, 8)[0]
median          | rows            |        | x.median(-1).values               | jnp.sort(x, -1)[:, (x.shape[-1] - 1) // 2]
fft             | rows signal     |        | t.fft.irfft(t.fft.rfft(x) * 0.5)  | jnp.fft.irfft(jnp.fft.rfft(x) * 0.5)
flip            | rows image      |        | x.flip(-1)                        | jnp.flip(x, -1)
halves          | any             |        | t.cat(x.chunk(2, -1)[::-1], -1)   | jnp.concatenate(jnp.split(x, 2, -1)[::-1], -1)
transpose       | matrices        |        | x.mT.contiguous()                 | x.mT
index_select    | rows sequence   | order  | x[p]                              | x[p]
gather          | rows            | index  | x.gather(1, p)                    | jnp.take_along_axis(x, p, 1)
scatter_add     | rows            | index  | x.scatter_add(1, p, x)            |
bag_mean        | rows            | bags   | F.embedding(p, x).mean(1)         | x[p].mean(1)
embedding_bag   | rows            | bags   | F.embedding_bag(p, x)             | x[p].mean(1)
linear          | rows sequence   | square | F.linear(x, p)                    | x @ p.T
matmul          | rows sequence matrices | square | x @ p                      | x @ p
attention       | sequence        |        | F.scaled_dot_product_attention(x, x, x) | nn.softmax(x @ x.mT * x.shape[-1] ** -0.5, -1) @ x
einsum          | sequence        |        | t.einsum("btd,bsd->bts", x, x).softmax(-1) @ x | nn.softmax(jnp.einsum("btd,bsd->bts", x, x), -1) @ x
cdist           | rows            |        | t.cdist(x, x)                     |
cholesky        | matrices        |        | t.linalg.cholesky(definite(x, x.mT, t.eye(x.shape[-1]))) | jnp.linalg.cholesky(definite(x, x.mT, jnp.eye(x.shape[-1])))
inv             | matrices        |        | t.linalg.inv(definite(x, x.mT, t.eye(x.shape[-1])))      | jnp.linalg.inv(definite(x, x.mT, jnp.eye(x.shape[-1])))
solve           | matrices        |        | t.linalg.solve(definite(x, x.mT, t.eye(x.shape[-1])), x) | jnp.linalg.solve(definite(x, x.mT, jnp.eye(x.shape[-1])), x)
det             | matrices        |        | t.linalg.det(x * 0.3)             | jnp.linalg.det(x * 0.3)
eigvalsh        | matrices        |        | t.linalg.eigvalsh(x + x.mT)       | jnp.linalg.eigvalsh(x + x.mT)
svdvals         | matrices        |        | t.linalg.svdvals(x)               | jnp.linalg.svd(x, compute_uv=False)
conv            | channels        | kernel | Conv(x, p, padding=1)             | conv(x, p, 1)
pointwise       | channels        | point  | Conv(x, p)                        | conv(x, p, 1)
depthwise       | channels        | deep   | Conv(x, p, padding=1, groups=x.shape[1]) | conv(x, p, x.shape[1])
conv_transpose  | image           | kernel | F.conv_transpose2d(x, p, padding=1) |
max_pool        | channels        |        | MaxPool(x, 2)                     | pool(x, lax.max, -np.inf, 2, 2, "VALID")
max_pool3       | channels        |        | MaxPool(x, 3, 1, 1)               | pool(x, lax.max, -np.inf, 3, 1, "SAME")
avg_pool        | channels        |        | AvgPool(x, 2)                     | pool(x, lax.add, 0.0, 2, 2, "VALID") / 2 ** (x.ndim - 2)
avg_pool3       | channels        |        | AvgPool(x, 3, 1, 1)               | pool(x, lax.add, 0.0, 3, 1, "SAME") / 3 ** (x.ndim - 2)
lp_pool         | image           |        | F.lp_pool2d(x, 2, 3, 1)           |
adaptive_pool   | image           |        | F.adaptive_avg_pool2d(x, 5)       |
local_response  | image           |        | F.local_response_norm(x, 3)       |
unfold          | image           |        | F.unfold(x, 3)                    |
windows         | rows signal     |        | x.unfold(-1, 8, 1).mean(-1)       |
bilinear        | image           |        | F.interpolate(x, scale_factor=2, mode="bilinear")    |
bicubic         | image           |        | F.interpolate(x, scale_factor=1.5, mode="bicubic")   |
nearest         | image           |        | F.interpolate(x, scale_factor=2)  | x.repeat(2, 2).repeat(2, 3)
trilinear       | volume          |        | F.interpolate(x, scale_factor=1.5, mode="trilinear") |
linear_resize   | signal          |        | F.interpolate(x, scale_factor=2, mode="linear")      |
grid_sample     | image           | grid   | F.grid_sample(x, p, align_corners=False)             |
bicubic_sample  | image           | grid   | F.grid_sample(x, p, "bicubic", align_corners=False)  |
reflect         | image           |        | F.pad(x, (1, 1, 1, 1), mode="reflect") | jnp.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)], mode="reflect")
pixel_shuffle   | image           |        | F.pixel_shuffle(x, 2)             |
"""  # noqa: E501
#: Those whose result no other piece takes.
LAST = frozenset(
    (
        *("logsumexp", "sum", "var", "norm", "mse", "median", "topk", "det", "eigvalsh", "svdvals"),
        *("unfold", "adaptive_pool", "cdist", "pixel_shuffle", "bag_mean", "embedding_bag"),
        *("windows",),
    )
)


class Piece(NamedTuple):
    """One line of the table: the kinds that it takes, its parameters, its source."""

    kinds: tuple[str, ...]
    parameters: tuple[str, ...]
    torch: str
    jax: str


def _parsed(line: str) -> tuple[str, Piece]:
    name, kinds, parameters, torch, jax = (column.strip() for column in line.split("|"))
    named = [kind for word in kinds.split() for kind in _SEVERAL.get(word, (word,))]
    return name, Piece(tuple(named), tuple(parameters.split()), torch, jax)


PIECES = dict(map(_parsed, filter(None, TABLE.splitlines())))


def in_torch(torch: Any, piece: Piece, kind: str) -> Callable[..., Any]:
    """Return a piece as a function of its input and parameters, in PyTorch's API."""
    f = torch.nn.functional
    names: dict[str, Any] = {"t": torch, "F": f, "definite": _definite}
    n = len(KINDS[kind][0]) - 2
    if kind in _SEVERAL["channels"]:
        names["Conv"] = getattr(f, f"conv{n}d")
        names["MaxPool"], names["AvgPool"] = (
            getattr(f, f"{word}_pool{n}d") for word in ("max", "avg")
        )
    return _function(piece.torch, names)


def in_jax(jax: Any, piece: Piece) -> Callable[..., Any] | None:
    """Return a piece as it is written by hand in JAX; None where it is not."""
    if not piece.jax:
        return None
    jnp = jax.numpy
    names = vars(_Jax(jax)) | {"jnp": jnp, "lax": jax.lax, "nn": jax.nn, "np": np}
    return _function(piece.jax, {**names, "definite": _definite})


def _function(source: str, names: Mapping[str, Any]) -> Callable[..., Any]:
    return eval(f"lambda x, p=None: {source}", dict(names))


class _Jax(types.SimpleNamespace):
    """What the column of JAX uses besides JAX."""

    def __init__(self, jax: Any) -> None:
        lax, jnp = jax.lax, jax.numpy

        def normal(x: Any, over: Any) -> Any:
            return (x - mean(x, over)) * lax.rsqrt(x.var(over, keepdims=True) + 1e-5)

        def mean(x: Any, over: Any) -> Any:
            return x.mean(over, keepdims=True)

        def conv(x: Any, w: Any, groups: int) -> Any:
            space = "DHW"[5 - x.ndim :]
            named = f"NC{space}", f"OI{space}", f"NC{space}"
            strides = (1,) * len(space)
            return lax.conv_general_dilated(
                x, w, strides, "SAME", dimension_numbers=named, feature_group_count=groups
            )

        def pool(x: Any, fold: Any, start: Any, size: int, stride: int, padding: str) -> Any:
            n = x.ndim - 2
            shape, steps = (1, 1, *(size,) * n), (1, 1, *(stride,) * n)
            return lax.reduce_window(x, start, fold, shape, steps, padding)

        super().__init__(
            normal=normal,
            mean=mean,
            conv=conv,
            pool=pool,
            norm=lambda x: jnp.sqrt((x * x).sum(-1, keepdims=True)),
            along=lambda p, x: p.reshape(-1, *(1,) * (x.ndim - 2)),
        )


class Chain(NamedTuple):
    """Pieces one behind the other, on an input of a kind."""

    kind: str
    names: tuple[str, ...]

    def arrays(self, size: int) -> list[np.ndarray]:
        """Make the input and all parameters, ``size`` 0 or 1 of the kind's shapes."""
        rng = np.random.default_rng(0)
        shape = KINDS[self.kind][size]
        made = [rng.standard_normal(shape).astype(np.float32)]
        return made + [PARAMETERS[p](rng, shape) for n in self.names for p in PIECES[n].parameters]

    def torch(self, torch: Any) -> Callable[..., Any]:
        """Return the chain as a function ``(x, *parameters)`` in PyTorch's API."""
        parts = [(in_torch(torch, PIECES[n], self.kind), PIECES[n].parameters) for n in self.names]
        return functools.partial(_chained, parts)

    def jax(self, jax: Any) -> Callable[..., Any] | None:
        """Return the chain as it is written by hand in JAX; None where a part is not."""
        parts = [(in_jax(jax, PIECES[n]), PIECES[n].parameters) for n in self.names]
        if any(function is None for function, _ in parts):
            return None
        return functools.partial(_chained, parts)


def _chained(parts: Any, x: Any, *given: Any) -> Any:
    at = 0
    for function, parameters in parts:
        x = function(x, *given[at : at + len(parameters)])
        at += len(parameters)
    return x
