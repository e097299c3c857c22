"""The hundred ops that public PyTorch code calls most, and how each is called.

The order is that of the number of files that call an op, as a function or as a method, among 54
scripts and 25 libraries. Left out are accessors (``size``, ``dim``), what leaves the library
(``item``, ``numpy``, ``cpu``), and second names of one op (``type_as``, ``int``, ``as_tensor``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.workloads.micro import Case, Step, Transform

FRAMEWORKS = ("torchlike", "torch", "jnp")
SIZES = ("small", "large")
#: n of the small size; arrays are mostly n×n.
SMALL = 64

#: One letter for each kind of input, made from (generator, n).
INPUTS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "x": lambda rng, n: rng.standard_normal((n, n), dtype=np.float32),
    "p": lambda rng, n: rng.random((n, n), dtype=np.float32) + 0.5,
    "b": lambda rng, n: rng.random((n, n)) < 0.5,
    "i": lambda rng, n: rng.integers(0, n, (n, n)),
    "v": lambda rng, n: rng.integers(0, n, n),
    # A batch of matrices and a batch of images.
    "q": lambda rng, n: rng.standard_normal((8, n // 4, n // 4), dtype=np.float32),
    "m": lambda rng, n: rng.standard_normal((4, 16, n // 8, n // 8), dtype=np.float32),
}


@dataclass(frozen=True)
class Op:
    """How an op is called.

    Attributes:
        inputs: a letter of INPUTS for each input.
        in_torch: ``(torch, *tensors) -> result``.
        in_jax: ``(jax, *arrays) -> result``: what a JAX user writes for it.
        large: n of the large size.
        view: PyTorch's result shares memory, so that there is nothing to wait for.
    """

    inputs: str
    in_torch: Callable[..., Any]
    in_jax: Callable[..., Any]
    large: int = 2048
    view: bool = False


def _key(jax: Any) -> Any:
    return jax.random.key(0)


def _dropout_in_jax(jax: Any, x: Any) -> Any:
    return jax.numpy.where(jax.random.bernoulli(_key(jax), 0.5, x.shape), x * 2, 0)


def _masked_scatter_in_jax(jax: Any, x: Any, b: Any, y: Any) -> Any:
    jnp = jax.numpy
    place = (jnp.cumsum(b.ravel()) - 1).clip(0)
    return jnp.where(b, y.ravel()[place].reshape(x.shape), x)


def _scatter_in_jax(jax: Any, x: Any, i: Any, y: Any) -> Any:
    rows = jax.numpy.arange(x.shape[0])[:, None]
    return x.at[rows, i].set(y)


def _normalize_in_jax(jax: Any, x: Any) -> Any:
    return x / jax.numpy.maximum(jax.numpy.linalg.norm(x, axis=1, keepdims=True), 1e-12)


def _max_in_jax(jax: Any, x: Any) -> Any:
    return jax.numpy.max(x, 1), jax.numpy.argmax(x, 1)


def _min_in_jax(jax: Any, x: Any) -> Any:
    return jax.numpy.min(x, 1), jax.numpy.argmin(x, 1)


def _sort_in_jax(jax: Any, x: Any) -> Any:
    """Sort values and indices at once, as PyTorch gives them."""
    places = jax.lax.broadcasted_iota(np.int32, x.shape, 1)
    return jax.lax.sort((x, places), dimension=1, num_keys=1)


def _enlarge_in_jax(jax: Any, m: Any) -> Any:
    return jax.numpy.repeat(jax.numpy.repeat(m, 2, axis=2), 2, axis=3)


# fmt: off
OPS: dict[str, Op] = {
    "to": Op("x", lambda t, x: x.to(t.bfloat16), lambda j, x: x.astype(j.numpy.bfloat16)),
    "cat": Op("xx", lambda t, x, y: t.cat([x, y]), lambda j, x, y: j.numpy.concatenate([x, y])),
    "view": Op("x", lambda t, x: x.view(-1), lambda j, x: x.reshape(-1), view=True),
    "unsqueeze": Op("x", lambda t, x: x.unsqueeze(1), lambda j, x: x[:, None], view=True),
    "sum": Op("x", lambda t, x: x.sum(1), lambda j, x: x.sum(1)),
    "tensor": Op("x", lambda t, x: t.tensor([0.5] * len(x)),
                 lambda j, x: j.numpy.array([0.5] * len(x))),
    "reshape": Op("x", lambda t, x: x.reshape(-1, 2), lambda j, x: x.reshape(-1, 2), view=True),
    "zeros": Op("x", lambda t, x: t.zeros(x.shape), lambda j, x: j.numpy.zeros(x.shape)),
    "arange": Op("x", lambda t, x: t.arange(x.numel()),
                 lambda j, x: j.numpy.arange(x.size)),
    "transpose": Op("x", lambda t, x: x.transpose(0, 1), lambda j, x: x.T, view=True),
    "float": Op("i", lambda t, i: i.float(), lambda j, i: i.astype(np.float32)),
    "mean": Op("x", lambda t, x: x.mean(1), lambda j, x: x.mean(1)),
    "expand": Op("x", lambda t, x: x[:1].expand(x.shape),
                 lambda j, x: j.numpy.broadcast_to(x[:1], x.shape), view=True),
    "contiguous": Op("x", lambda t, x: x.t().contiguous(), lambda j, x: x.T.copy()),
    "permute": Op("q", lambda t, q: q.permute(2, 0, 1),
                  lambda j, q: q.transpose(2, 0, 1), view=True),
    "stack": Op("xx", lambda t, x, y: t.stack([x, y]), lambda j, x, y: j.numpy.stack([x, y])),
    "squeeze": Op("x", lambda t, x: x[:1].squeeze(0), lambda j, x: x[:1].squeeze(0), view=True),
    "ones": Op("x", lambda t, x: t.ones(x.shape), lambda j, x: j.numpy.ones(x.shape)),
    "clamp": Op("x", lambda t, x: x.clamp(-1, 1), lambda j, x: j.numpy.clip(x, -1, 1)),
    "softmax": Op("x", lambda t, x: x.softmax(-1), lambda j, x: j.nn.softmax(x, -1)),
    "clone": Op("x", lambda t, x: x.clone(), lambda j, x: x.copy()),
    "max": Op("x", lambda t, x: x.max(1), _max_in_jax),
    "flatten": Op("q", lambda t, q: q.flatten(1),
                  lambda j, q: q.reshape(q.shape[0], -1), view=True),
    "zeros_like": Op("x", lambda t, x: t.zeros_like(x), lambda j, x: j.numpy.zeros_like(x)),
    "repeat": Op("x", lambda t, x: x.repeat(2, 1), lambda j, x: j.numpy.tile(x, (2, 1))),
    "matmul": Op("xx", lambda t, x, y: x @ y, lambda j, x, y: x @ y, large=1024),
    "where": Op("bxx", lambda t, b, x, y: t.where(b, x, y),
                lambda j, b, x, y: j.numpy.where(b, x, y)),
    "exp": Op("x", lambda t, x: x.exp(), lambda j, x: j.numpy.exp(x)),
    "sin": Op("x", lambda t, x: x.sin(), lambda j, x: j.numpy.sin(x)),
    "cos": Op("x", lambda t, x: x.cos(), lambda j, x: j.numpy.cos(x)),
    "chunk": Op("x", lambda t, x: x.chunk(4), lambda j, x: j.numpy.split(x, 4), view=True),
    "pow": Op("p", lambda t, p: p.pow(2.5), lambda j, p: p**2.5),
    "empty": Op("x", lambda t, x: t.empty(x.shape), lambda j, x: j.numpy.empty(x.shape)),
    "copy_": Op("xx", lambda t, x, y: x.copy_(y), lambda j, x, y: y.copy()),
    "pad": Op("x", lambda t, x: t.nn.functional.pad(x, (1, 1, 1, 1)),
              lambda j, x: j.numpy.pad(x, 1)),
    "split": Op("x", lambda t, x: x.split(16),
                lambda j, x: j.numpy.split(x, len(x) // 16), view=True),
    "all": Op("b", lambda t, b: b.all(1), lambda j, b: b.all(1)),
    "randn": Op("x", lambda t, x: t.randn(x.shape), lambda j, x: j.random.normal(_key(j), x.shape)),
    "long": Op("x", lambda t, x: x.long(), lambda j, x: x.astype(np.int32)),
    "sqrt": Op("p", lambda t, p: p.sqrt(), lambda j, p: j.numpy.sqrt(p)),
    "full": Op("x", lambda t, x: t.full(x.shape, 0.5), lambda j, x: j.numpy.full(x.shape, 0.5)),
    "repeat_interleave": Op("x", lambda t, x: x.repeat_interleave(2, 0),
                            lambda j, x: j.numpy.repeat(x, 2, 0)),
    "dropout": Op("x", lambda t, x: t.nn.functional.dropout(x, 0.5), _dropout_in_jax),
    "sigmoid": Op("x", lambda t, x: x.sigmoid(), lambda j, x: j.nn.sigmoid(x)),
    "interpolate": Op("m", lambda t, m: t.nn.functional.interpolate(m, scale_factor=2),
                      _enlarge_in_jax),
    "log": Op("p", lambda t, p: p.log(), lambda j, p: j.numpy.log(p)),
    "abs": Op("x", lambda t, x: x.abs(), lambda j, x: j.numpy.abs(x)),
    "argmax": Op("x", lambda t, x: x.argmax(1), lambda j, x: x.argmax(1)),
    "any": Op("b", lambda t, b: b.any(1), lambda j, b: b.any(1)),
    "new_zeros": Op("x", lambda t, x: x.new_zeros(x.shape),
                    lambda j, x: j.numpy.zeros(x.shape, x.dtype)),
    "gather": Op("xi", lambda t, x, i: x.gather(1, i),
                 lambda j, x, i: j.numpy.take_along_axis(x, i, 1)),
    "ones_like": Op("x", lambda t, x: t.ones_like(x), lambda j, x: j.numpy.ones_like(x)),
    "min": Op("x", lambda t, x: x.min(1), _min_in_jax),
    "masked_fill": Op("xb", lambda t, x, b: x.masked_fill(b, 0.5),
                      lambda j, x, b: j.numpy.where(b, 0.5, x)),
    "topk": Op("x", lambda t, x: x.topk(8), lambda j, x: j.lax.top_k(x, 8)),
    "normal_": Op("x", lambda t, x: x.normal_(), lambda j, x: j.random.normal(_key(j), x.shape)),
    "bool": Op("x", lambda t, x: x.bool(), lambda j, x: x.astype(bool)),
    "nonzero": Op("b", lambda t, b: b.nonzero(), lambda j, b: j.numpy.argwhere(b), large=1024),
    "cumsum": Op("x", lambda t, x: x.cumsum(1), lambda j, x: x.cumsum(1)),
    "rand": Op("x", lambda t, x: t.rand(x.shape), lambda j, x: j.random.uniform(_key(j), x.shape)),
    "einsum": Op("qq", lambda t, q, r: t.einsum("bij,bkj->bik", q, r),
                 lambda j, q, r: j.numpy.einsum("bij,bkj->bik", q, r)),
    "linspace": Op("x", lambda t, x: t.linspace(0, 1, x.numel()),
                   lambda j, x: j.numpy.linspace(0, 1, x.size)),
    "norm": Op("x", lambda t, x: x.norm(), lambda j, x: j.numpy.linalg.norm(x)),
    "rsqrt": Op("p", lambda t, p: p.rsqrt(), lambda j, p: j.lax.rsqrt(p)),
    "unbind": Op("q", lambda t, q: q.unbind(0), lambda j, q: j.numpy.unstack(q), view=True),
    "t": Op("x", lambda t, x: x.t(), lambda j, x: x.T, view=True),
    "div": Op("xp", lambda t, x, p: x / p, lambda j, x, p: x / p),
    "relu": Op("x", lambda t, x: x.relu(), lambda j, x: j.nn.relu(x)),
    "tanh": Op("x", lambda t, x: x.tanh(), lambda j, x: j.numpy.tanh(x)),
    "meshgrid": Op("v", lambda t, v: t.meshgrid(v, v, indexing="ij"),
                   lambda j, v: j.numpy.meshgrid(v, v, indexing="ij"), view=True),
    "equal": Op("x", lambda t, x: t.equal(x, x.t()),
                lambda j, x: bool(j.numpy.array_equal(x, x.T))),
    "eye": Op("x", lambda t, x: t.eye(len(x)), lambda j, x: j.numpy.eye(len(x))),
    "linear": Op("xx", lambda t, x, w: t.nn.functional.linear(x, w),
                 lambda j, x, w: x @ w.T, large=1024),
    "flip": Op("x", lambda t, x: x.flip(1), lambda j, x: j.numpy.flip(x, 1)),
    "index_select": Op("xv", lambda t, x, v: x.index_select(0, v), lambda j, x, v: x[v]),
    "add_": Op("xx", lambda t, x, y: x.add_(y), lambda j, x, y: x + y),
    "uniform_": Op("x", lambda t, x: x.uniform_(), lambda j, x: j.random.uniform(_key(j), x.shape)),
    "masked_fill_": Op("xb", lambda t, x, b: x.masked_fill_(b, 0.5),
                       lambda j, x, b: j.numpy.where(b, 0.5, x)),
    "mul_": Op("x", lambda t, x: x.mul_(1.0), lambda j, x: x * 1.0),
    "fill_": Op("x", lambda t, x: x.fill_(0.5), lambda j, x: j.numpy.full_like(x, 0.5)),
    "masked_scatter": Op("xbx", lambda t, x, b, y: x.masked_scatter(b, y), _masked_scatter_in_jax),
    "randint": Op("x", lambda t, x: t.randint(10, x.shape),
                  lambda j, x: j.random.randint(_key(j), x.shape, 0, 10)),
    "unique": Op("i", lambda t, i: i.unique(), lambda j, i: j.numpy.unique(i), large=1024),
    "mul": Op("xx", lambda t, x, y: x * y, lambda j, x, y: x * y),
    "full_like": Op("x", lambda t, x: t.full_like(x, 0.5), lambda j, x: j.numpy.full_like(x, 0.5)),
    "std": Op("x", lambda t, x: x.std(1), lambda j, x: x.std(1, ddof=1)),
    "floor": Op("x", lambda t, x: x.floor(), lambda j, x: j.numpy.floor(x)),
    "new_ones": Op("x", lambda t, x: x.new_ones(x.shape),
                   lambda j, x: j.numpy.ones(x.shape, x.dtype)),
    "normalize": Op("x", lambda t, x: t.nn.functional.normalize(x), _normalize_in_jax),
    "log_softmax": Op("x", lambda t, x: x.log_softmax(-1), lambda j, x: j.nn.log_softmax(x, -1)),
    "one_hot": Op("v", lambda t, v: t.nn.functional.one_hot(v, len(v)),
                  lambda j, v: j.nn.one_hot(v, len(v), dtype=np.int32)),
    "argsort": Op("x", lambda t, x: x.argsort(1), lambda j, x: x.argsort(1), large=1024),
    "zero_": Op("x", lambda t, x: x.zero_(), lambda j, x: j.numpy.zeros_like(x)),
    "bmm": Op("qq", lambda t, q, r: t.bmm(q, r), lambda j, q, r: q @ r),
    "silu": Op("x", lambda t, x: t.nn.functional.silu(x), lambda j, x: j.nn.silu(x)),
    "isfinite": Op("x", lambda t, x: x.isfinite(), lambda j, x: j.numpy.isfinite(x)),
    "scatter_": Op("xix", lambda t, x, i, y: x.scatter_(1, i, y), _scatter_in_jax, large=1024),
    "sort": Op("x", lambda t, x: x.sort(1), _sort_in_jax, large=1024),
    "round": Op("x", lambda t, x: x.round(), lambda j, x: j.numpy.round(x)),
    "clamp_": Op("x", lambda t, x: x.clamp_(-1, 1), lambda j, x: j.numpy.clip(x, -1, 1)),
}
# fmt: on


def _in_torch(call: Callable[..., Any]) -> Callable[..., Step]:
    def make(torch: Any, transform: Transform, *tensors: Any) -> Step:
        return lambda: call(torch, *tensors)

    return make


def _in_jax(call: Callable[..., Any]) -> Callable[..., Step]:
    def make(transform: Transform, *arrays: Any) -> Step:
        import jax

        return lambda: call(jax, *arrays)

    return make


def arrays_of(op: Op, n: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    return tuple(INPUTS[letter](rng, n) for letter in op.inputs)


def case(name: str, size: str) -> Case:
    """Return the workload ``name/size``."""
    op = OPS[name]
    n = SMALL if size == "small" else op.large
    return Case(
        title=f"{name}, n = {n}",
        group=size,
        arrays=lambda: arrays_of(op, n),
        in_torch=_in_torch(op.in_torch),
        in_jax=_in_jax(op.in_jax),
        frameworks=FRAMEWORKS,
        # Waiting would be most of a call of microseconds; a large one must be over before the next.
        wait_each=size == "large",
        view=op.view,
    )


#: "exp/small" and so on, in the table's order.
COMMON: dict[str, Case] = {f"{name}/{size}": case(name, size) for name in OPS for size in SIZES}
