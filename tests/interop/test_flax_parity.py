"""Modules of Flax in torchlike, and torchlike's in Flax: results, statistics and gradients are
those of the module where it came from, eager and compiled."""

import functools

import comparing
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen, nnx

import torchlike as torch
from torchlike.interop.flax import from_linen, from_nnx, to_nnx

_rng = np.random.default_rng(0)


def floats(*shape):
    return _rng.standard_normal(shape).astype(np.float32)


def ints(*shape):
    return _rng.integers(0, 5, shape).astype(np.int32)


def r():
    return nnx.Rngs(0, dropout=1)


X, IMAGE, SEQUENCE = floats(4, 6), floats(2, 8, 8, 4), floats(2, 5, 6)
NNX = {
    "Linear": (lambda: nnx.Linear(6, 3, rngs=r()), X),
    "LinearGeneral": (lambda: nnx.LinearGeneral((5, 6), (2, 3), axis=(-2, -1), rngs=r()), SEQUENCE),
    "Einsum": (lambda: nnx.Einsum("abc,cd->abd", (6, 3), (3,), rngs=r()), SEQUENCE),
    "Conv": (lambda: nnx.Conv(4, 3, (3, 3), strides=2, rngs=r()), IMAGE),
    "ConvTranspose": (lambda: nnx.ConvTranspose(4, 3, (3, 3), strides=2, rngs=r()), IMAGE),
    "Embed": (lambda: nnx.Embed(5, 3, rngs=r()), ints(2, 3)),
    "BatchNorm": (lambda: nnx.BatchNorm(6, rngs=r()), X),
    "LayerNorm": (lambda: nnx.LayerNorm(6, rngs=r()), X),
    "GroupNorm": (lambda: nnx.GroupNorm(4, num_groups=2, rngs=r()), IMAGE),
    "InstanceNorm": (lambda: nnx.InstanceNorm(4, rngs=r()), IMAGE),
    "RMSNorm": (lambda: nnx.RMSNorm(6, rngs=r()), X),
    "SpectralNorm": (lambda: nnx.SpectralNorm(nnx.Linear(6, 3, rngs=r()), rngs=r()), X),
    "WeightNorm": (lambda: nnx.WeightNorm(nnx.Linear(6, 3, rngs=r()), rngs=r()), X),
    "Dropout": (lambda: nnx.Dropout(0.5, rngs=r()), X),
    "MultiHeadAttention": (
        lambda: nnx.MultiHeadAttention(2, 6, decode=False, dropout_rate=0.1, rngs=r()),
        SEQUENCE,
    ),
    "RNN(LSTMCell)": (lambda: nnx.RNN(nnx.LSTMCell(6, 3, rngs=r()), rngs=r()), SEQUENCE),
    "RNN(OptimizedLSTMCell)": (
        lambda: nnx.RNN(nnx.OptimizedLSTMCell(6, 3, rngs=r()), rngs=r()),
        SEQUENCE,
    ),
    "RNN(GRUCell)": (lambda: nnx.RNN(nnx.GRUCell(6, 3, rngs=r()), rngs=r()), SEQUENCE),
    "RNN(SimpleCell)": (lambda: nnx.RNN(nnx.SimpleCell(6, 3, rngs=r()), rngs=r()), SEQUENCE),
    "Bidirectional": (
        lambda: nnx.Bidirectional(
            nnx.RNN(nnx.GRUCell(6, 3, rngs=r()), rngs=r()),
            nnx.RNN(nnx.GRUCell(6, 3, rngs=r()), rngs=r()),
            rngs=r(),
        ),
        SEQUENCE,
    ),
    "LoRA": (lambda: nnx.LoRALinear(6, 3, lora_rank=2, rngs=r()), X),
    "PReLU": (lambda: nnx.PReLU(0.1), X),
    "Sequential": (
        lambda: nnx.Sequential(
            nnx.Linear(6, 3, rngs=r()),
            nnx.BatchNorm(3, rngs=r()),
            nnx.relu,
            nnx.Dropout(0.2, rngs=r()),
            nnx.Linear(3, 2, rngs=r()),
        ),
        X,
    ),
}
LINEN = {
    "Dense": (lambda: linen.Dense(3), X),
    "DenseGeneral": (lambda: linen.DenseGeneral((2, 3), axis=(-2, -1)), SEQUENCE),
    "Conv": (lambda: linen.Conv(3, (3, 3), strides=2), IMAGE),
    "ConvTranspose": (lambda: linen.ConvTranspose(3, (3, 3), strides=(2, 2)), IMAGE),
    "Embed": (lambda: linen.Embed(5, 3), ints(2, 3)),
    "BatchNorm": (lambda: linen.BatchNorm(), X),
    "LayerNorm": (lambda: linen.LayerNorm(), X),
    "GroupNorm": (lambda: linen.GroupNorm(2), IMAGE),
    "InstanceNorm": (lambda: linen.InstanceNorm(), IMAGE),
    "RMSNorm": (lambda: linen.RMSNorm(), X),
    "WeightNorm": (lambda: linen.WeightNorm(linen.Dense(3)), X),
    "Dropout": (lambda: linen.Dropout(0.5), X),
    "MultiHeadDotProductAttention": (
        lambda: linen.MultiHeadDotProductAttention(2, dropout_rate=0.1),
        SEQUENCE,
    ),
    "RNN(LSTMCell)": (lambda: linen.RNN(linen.LSTMCell(3)), SEQUENCE),
    "RNN(OptimizedLSTMCell)": (lambda: linen.RNN(linen.OptimizedLSTMCell(3)), SEQUENCE),
    "RNN(GRUCell)": (lambda: linen.RNN(linen.GRUCell(3)), SEQUENCE),
    "RNN(MGUCell)": (lambda: linen.RNN(linen.MGUCell(3)), SEQUENCE),
    "Bidirectional": (
        lambda: linen.Bidirectional(linen.RNN(linen.GRUCell(3)), linen.RNN(linen.GRUCell(3))),
        SEQUENCE,
    ),
    "PReLU": (lambda: linen.PReLU(), X),
    "Sequential": (lambda: linen.Sequential([linen.Dense(3), linen.relu, linen.Dense(2)]), X),
}
N = torch.nn
TORCH = {
    "Linear": (lambda: N.Linear(6, 3), X),
    "Bilinear": (lambda: Twice(N.Bilinear(6, 6, 2)), X),
    "Conv1d": (lambda: N.Conv1d(5, 3, 3), SEQUENCE),
    "Conv2d": (lambda: N.Conv2d(8, 3, 3, padding=1), IMAGE),
    "ConvTranspose2d": (lambda: N.ConvTranspose2d(8, 3, 3, stride=2), IMAGE),
    "Embedding": (lambda: N.Embedding(5, 3), ints(2, 3)),
    "EmbeddingBag": (lambda: N.EmbeddingBag(5, 3), ints(2, 3)),
    "BatchNorm1d": (lambda: N.BatchNorm1d(6), X),
    "BatchNorm2d": (lambda: N.BatchNorm2d(8), IMAGE),
    "LayerNorm": (lambda: N.LayerNorm(6), X),
    "GroupNorm": (lambda: N.GroupNorm(2, 8), IMAGE),
    "InstanceNorm2d": (lambda: N.InstanceNorm2d(8, affine=True, track_running_stats=True), IMAGE),
    "RMSNorm": (lambda: N.RMSNorm(6), X),
    "Dropout": (lambda: N.Dropout(0.5), X),
    "MultiheadAttention": (lambda: Own(N.MultiheadAttention(6, 2, batch_first=True)), SEQUENCE),
    "TransformerEncoderLayer": (
        lambda: N.TransformerEncoderLayer(6, 2, 8, batch_first=True),
        SEQUENCE,
    ),
    "LSTM": (lambda: First(N.LSTM(6, 3, batch_first=True)), SEQUENCE),
    "GRU": (lambda: First(N.GRU(6, 3, 2, bidirectional=True, batch_first=True)), SEQUENCE),
    "LSTMCell": (lambda: First(N.LSTMCell(6, 3)), X),
    "GRUCell": (lambda: N.GRUCell(6, 3), X),
    "PReLU": (lambda: N.PReLU(), X),
    "weight_norm": (lambda: N.utils.parametrizations.weight_norm(N.Linear(6, 3)), X),
    "tied": (lambda: Tied(), X),
    "Sequential": (
        lambda: N.Sequential(N.Linear(6, 3), N.BatchNorm1d(3), N.GELU(), N.Linear(3, 2)),
        X,
    ),
}
QUICK = {("NNX", "BatchNorm"), ("NNX", "Dropout"), ("LINEN", "BatchNorm"), ("TORCH", "BatchNorm1d")}


def names(table, of):
    return [n if (of, n) in QUICK else pytest.param(n, marks=pytest.mark.full) for n in table]


class Twice(N.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x, x)


class First(Twice):
    def forward(self, x):
        return self.inner(x)[0]


class Own(Twice):
    def forward(self, x):
        return self.inner(x, x, x)[0]


class Tied(N.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = N.Linear(6, 6), N.Linear(6, 6)
        self.b.weight = self.a.weight

    def forward(self, x):
        return self.b(self.a(x).relu())


#: Sums of squares: rounded in another order where programs are cut differently.
close = functools.partial(comparing.close, atol=2e-5)


def twice(module, x, training, compiled):
    """Two calls: their results, and the gradients of the second one's sum of squares."""
    module.train(training)

    def step(x):
        module.zero_grad()
        first = module(x).detach()
        out = module(x)
        if out.requires_grad:
            out.square().sum().backward()
        return first, out.detach()

    first, out = (torch.jit(step) if compiled else step)(torch.from_numpy(x))
    return first, out, {n: p.grad for n, p in module.named_parameters()}


def buffers_of(state):
    return {
        ".".join(map(str, path)): v
        for path, v in nnx.to_flat_state(state)
        if not jnp.issubdtype(v[...].dtype, jax.dtypes.prng_key)
    }


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", names(NNX, "NNX"))
def test_from_nnx(name, training, compiled):
    make, x = NNX[name]
    reference = make()
    found = from_nnx(reference)
    first, out, gradients = twice(found, x, training, compiled)
    reference.train() if training else reference.eval()
    close(first, reference(jnp.asarray(x)))

    @nnx.grad(has_aux=True)
    def gradient(module):
        out = module(jnp.asarray(x))
        return jnp.sum(out**2), out

    expected, value = gradient(reference)
    close(out, value)
    flat = {".".join(map(str, p)): v[...] for p, v in nnx.to_flat_state(expected)}
    assert set(gradients) == set(flat)
    for k, g in flat.items():
        if gradients[k] is None:
            assert not np.asarray(g).any()
        else:
            close(gradients[k], g, k)
    own = dict(found.named_buffers())
    for k, v in buffers_of(nnx.state(reference, nnx.Not(nnx.Param))).items():
        close(own[k], v[...], k)
    close(found.to_flax()(jnp.asarray(x)), reference(jnp.asarray(x)))


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", names(LINEN, "LINEN"))
def test_from_linen(name, training, compiled):
    make, x = LINEN[name]
    module = make()
    keys = {"params": jax.random.key(0), "dropout": jax.random.key(1)}
    modes = {
        "BatchNorm": {"use_running_average": not training},
        "Dropout": {"deterministic": not training},
        "MultiHeadDotProductAttention": {"deterministic": not training},
    }.get(name, {})
    variables = module.init(keys, jnp.asarray(x), **modes)
    found = from_linen(module, variables, rngs={"dropout": keys["dropout"]})
    first, out, gradients = twice(found, x, training, compiled)
    for i, result in enumerate((first, out)):
        count = i if training else 0
        rngs = {"dropout": jax.random.fold_in(keys["dropout"], count)}

        others = {k: v for k, v in variables.items() if k != "params"}

        def loss(params, rngs=rngs, others=others):
            collections = {"params": params, **others}
            value, written = module.apply(
                collections, jnp.asarray(x), rngs=rngs, mutable=["batch_stats"], **modes
            )
            return jnp.sum(value**2), (value, written)

        expected, (value, written) = jax.grad(loss, has_aux=True)(variables.get("params", {}))
        close(result, value)
        if training:
            variables = {**variables, **written}
    flat, _ = jax.tree_util.tree_flatten_with_path(expected)
    flat = {".".join(k.key for k in path): g for path, g in flat}
    assert set(gradients) == set(flat)
    for k, g in flat.items():
        close(gradients[k], g, k)
    for a, b in zip(
        jax.tree.leaves(found.to_flax()), jax.tree.leaves({"params": {}, **variables}), strict=True
    ):
        close(a, b)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", names(TORCH, "TORCH"))
def test_to_nnx(name, training, compiled):
    make, x = TORCH[name]
    torch.manual_seed(0)
    module = make().train(training)
    converted = to_nnx(module)
    torch.manual_seed(1)
    first, out, gradients = twice(module, x, training, False)
    torch.manual_seed(1)
    x = jnp.asarray(x)

    def forward(m):
        out = m(x)
        return jnp.sum(out**2), out

    call = nnx.jit(lambda m: m(x)) if compiled else lambda m: m(x)
    gradient = nnx.grad(forward, has_aux=True)
    close(call(converted), first)
    expected, value = (nnx.jit(gradient) if compiled else gradient)(converted)
    close(value, out)
    assert set(expected.get("parameters", {})) == set(gradients)
    for k, g in gradients.items():
        close(expected["parameters"][k][...], g, k)
    for k, b in module.named_buffers():
        close(converted.buffers[k][...], b, k)
    for a, b in zip(converted.to_torchlike().parameters(), module.parameters(), strict=True):
        close(a.detach(), b.detach())
