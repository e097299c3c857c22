"""Plans of GPT training steps beside the same steps written by hand in JAX, compiled the same way.

    python -m benchmarks.plans gpt2-124m v5e:4x4
    python -m benchmarks.plans 7b v5p:4x4x4 --fsdp

Both are compiled ahead of time for machines that are not here (the extra ``plan``); nothing runs.
"""

from __future__ import annotations

import argparse
import time

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec

import torchlike as torch
from benchmarks.workloads.models import gpt
from torchlike._ops.nn.attention.chunked import ChunkedAttentionSettings, attend
from torchlike.porting.plan.topologies import topology

#: Vocabulary, tokens, width, layers, heads.
MODELS = {
    "tiny": (512, 1024, 64, 2, 4),
    "gpt2-124m": (50304, 1024, 768, 12, 12),
    "1.3b": (50304, 2048, 2048, 24, 16),
    "7b": (32000, 2048, 4096, 32, 32),
}
nn = torch.nn


def step_of(sizes, batch):
    """Make a training step on the meta device, and its arguments."""
    with torch.device("meta"):
        model = gpt(torch, *sizes)
        tokens = torch.zeros(batch, sizes[1], dtype=torch.long)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step(tokens, following):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(tokens)
        logits = logits.float().view(-1, logits.shape[-1])
        loss = nn.functional.cross_entropy(logits, following.view(-1))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    return step, (tokens, tokens), model


# -- by hand ---------------------------------------------------------------------------------------
#
# What a careful user of JAX writes: parameters, norms, loss and update in float32, products in
# bfloat16, and of what is computed in float32 from bfloat16 only the operand kept for backward
# (jax.checkpoint).


def norm(p, x):
    x = x.astype(jnp.float32)
    mean = x.mean(-1, keepdims=True)
    variance = jnp.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * p["weight"] + p["bias"]


def linear(p, x):
    low = jnp.bfloat16
    return x.astype(low) @ p["weight"].astype(low).T + p["bias"].astype(low)


@jax.checkpoint
def gelu(x):
    return jax.nn.gelu(x.astype(jnp.float32)).astype(x.dtype)


def forward(p, tokens, layers, heads):
    x = p["wte"][tokens] + p["wpe"]
    batch, length, width = x.shape
    scale = (width // heads) ** -0.5
    for i in range(layers):
        layer = p[f"layers.{i}"]
        q, k, v = jnp.split(linear(layer["qkv"], norm(layer["ln1"], x)), 3, -1)
        q, k, v = (t.reshape(batch, length, heads, -1).swapaxes(1, 2) for t in (q, k, v))
        y = attend(q, k, v, None, None, ChunkedAttentionSettings(True, scale))
        x = x + linear(layer["out_proj"], y.swapaxes(1, 2).reshape(batch, length, width))
        x = x + linear(layer["fc2"], gelu(linear(layer["fc1"], norm(layer["ln2"], x))))
    return norm(p["ln"], x).astype(jnp.bfloat16) @ p["wte"].astype(jnp.bfloat16).T


@jax.checkpoint
def cross_entropy(logits, following):
    logits = logits.astype(jnp.float32).reshape(-1, logits.shape[-1])
    # A gather would want the logits in memory in float32; a comparison is fused into the sum.
    own = jax.lax.broadcasted_iota(jnp.int64, logits.shape, 1) == following.reshape(-1, 1)
    chosen = jnp.where(own, logits, 0).sum(-1)
    return (jax.nn.logsumexp(logits, -1) - chosen).mean()


def step_by_hand(sizes):
    _, _, _, layers, heads = sizes

    def loss_of(p, tokens, following):
        return cross_entropy(forward(p, tokens, layers, heads), following)

    def update(p, m, v, count, g):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        rate = 1e-3 / (1 - 0.9**count)
        return p * (1 - 1e-5) - rate * m / (jnp.sqrt(v / (1 - 0.999**count)) + 1e-8), m, v

    def step(p, m, v, count, tokens, following):
        loss, g = jax.value_and_grad(loss_of)(p, tokens, following)
        new = jax.tree.map(lambda *a: update(*a[:3], count + 1, a[3]), p, m, v, g)
        leaf = lambda x: isinstance(x, tuple)  # noqa: E731
        return *(jax.tree.map(lambda x, i=i: x[i], new, is_leaf=leaf) for i in range(3)), loss

    return step


def shapes_by_hand(sizes):
    vocabulary, tokens, width, layers, _ = sizes
    linear = lambda n, k: {"weight": (n, k), "bias": (n,)}  # noqa: E731
    ln = {"weight": (width,), "bias": (width,)}
    found = {"wte": (vocabulary, width), "wpe": (tokens, width), "ln": ln}
    for i in range(layers):
        found[f"layers.{i}"] = {
            "ln1": ln,
            "ln2": ln,
            "qkv": linear(3 * width, width),
            "out_proj": linear(width, width),
            "fc1": linear(4 * width, width),
            "fc2": linear(width, 4 * width),
        }
    return found


def compiled_by_hand(sizes, batch, mesh, fsdp, xla):
    def spec(shape):
        axes = [None] * len(shape)
        fits = [d for d, n in enumerate(shape) if n % mesh.shape["data"] == 0]
        if fsdp and fits:
            axes[max(fits, key=lambda d: shape[d])] = "data"
        return PartitionSpec(*axes)

    def aval(shape):
        sharding = NamedSharding(mesh, spec(shape))
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=sharding)

    p = jax.tree.map(aval, shapes_by_hand(sizes), is_leaf=lambda x: isinstance(x, tuple))
    whole = NamedSharding(mesh, PartitionSpec())
    count = jax.ShapeDtypeStruct((), jnp.float32, sharding=whole)
    rows = NamedSharding(mesh, PartitionSpec("data"))
    tokens = jax.ShapeDtypeStruct((batch, sizes[1]), jnp.int64, sharding=rows)
    same = jax.tree.map(lambda a: a.sharding, p)
    jitted = jax.jit(
        step_by_hand(sizes), donate_argnums=(0, 1, 2), out_shardings=(same, same, same, None)
    )
    return jitted.lower(p, p, p, count, tokens, tokens).compile(compiler_options=xla)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("topology")
    parser.add_argument("--batch", type=int, default=0)
    parser.add_argument("--fsdp", action="store_true")
    parser.add_argument("--layers", type=int, help="instead of the model's own number")
    parser.add_argument("--alone", action="store_true", help="without the step by hand")
    parser.add_argument("--scheduler", help="of XLA for TPUs, for both: list, post_order, …")
    options = parser.parse_args()
    xla = {"xla_memory_scheduler": options.scheduler} if options.scheduler else {}
    sizes, where = MODELS[options.model], topology(options.topology)
    if options.layers:
        sizes = (*sizes[:3], options.layers, sizes[4])
    batch = options.batch or len(where.devices)
    step, arguments, model = step_of(sizes, batch)
    n = sum(p.numel() for p in model.parameters())
    plan = torch.plan(
        step,
        *arguments,
        topology=options.topology,
        fsdp="data" if options.fsdp else None,
        compiler_options=xla,
    )
    tokens, width, layers = sizes[1:4]
    # 6 N D of the matrices (tied embeddings are the head's), and attention by blocks: forward 4,
    # backward 10 operations a score and feature, over half of them and the diagonal's blocks.
    matrices = n - tokens * width
    share = (1 + min(512, tokens) / tokens) / 2
    attention = 14 * layers * batch * tokens**2 * width * share
    expected = 6 * matrices * batch * tokens + attention
    print(f"{options.model} on {options.topology}, batch {batch}, {n / 1e6:.0f} M parameters")
    parts = plan.arguments, plan.results - plan.aliased, plan.temporary, plan.code
    print(
        f"plan     {_memory(*parts)}; {'fits' if plan.fits else 'does not fit'}, "
        f"captured in {plan.capture_seconds:.0f} s, "
        f"compiled in {plan.compile_seconds:.0f} s; bounds: compute "
        f"{plan.compute_seconds * 1e3:.1f}, memory {plan.memory_seconds * 1e3:.1f}, interconnect "
        f"{plan.interconnect_seconds * 1e3:.1f} ms",
        flush=True,
    )
    print(
        f"flops    {plan.flops:.4e}, 6ND and attention {expected:.4e}: {plan.flops / expected:.4f}",
        flush=True,
    )
    if options.alone:
        return
    started = time.perf_counter()
    by_hand = compiled_by_hand(sizes, batch, where.mesh(), options.fsdp, xla)
    m = by_hand.memory_analysis()
    parts = (
        m.argument_size_in_bytes,
        m.output_size_in_bytes - m.alias_size_in_bytes,
        m.temp_size_in_bytes,
        m.generated_code_size_in_bytes,
    )
    print(f"by hand  {_memory(*parts)}; compiled in {time.perf_counter() - started:.0f} s")
    print(
        f"memory   {plan.needed / sum(parts):.3f}, temporary "
        f"{plan.temporary / m.temp_size_in_bytes:.3f}"
    )


def _memory(*parts):
    names = "arguments", "results", "temporary", "code"
    found = ", ".join(f"{x / 1e9:.3f} {name}" for x, name in zip(parts, names, strict=True))
    return f"{sum(parts) / 1e9:8.3f} GB: {found}"


if __name__ == "__main__":
    main()
