"""Attention of sequences cut over the ranks: what plain attention gives of the whole, in values and
gradients. Under torchrun PyTorch computes the whole on each rank, for its own context parallelism
does not run on CPUs."""

import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh

OWN = "torchlike" in sys.modules


def operands(kv_heads=4, length=16):
    torch.manual_seed(0)
    q = torch.randn(2, 4, length, 8)
    k, v = torch.randn(2, kv_heads, length, 8), torch.randn(2, kv_heads, length, 8)
    return [q, k, v]


def attended(way=lambda f: f, balance=True, no_restore=False, **options):
    """The result, and the gradients of the operands, whole and flat."""
    whole = operands(options.pop("kv_heads", 4))

    def attention(q, k, v):
        out = F.scaled_dot_product_attention(q, k, v, **options)
        return out, torch.autograd.grad((out * out).sum(), (q, k, v))

    if not OWN:
        out, gradients = attention(*[t.requires_grad_() for t in whole])
        return [t.double().flatten().tolist()[::37] for t in (out, *gradients)]
    from torch.distributed.tensor.experimental import context_parallel
    from torch.distributed.tensor.experimental._attention import (
        _cp_options,
        context_parallel_unshard,
    )

    n = dist.get_world_size()
    mesh = init_device_mesh("cpu", (n,))
    given = [t.clone() for t in whole]
    _cp_options.enable_load_balance = balance
    try:
        with context_parallel(
            mesh,
            buffers=given,
            buffer_seq_dims=[2] * 3,
            no_restore_buffers={given[0]} if no_restore else None,
        ):
            assert given[0].shape == (2, 4, 16 // n, 8)
            out, gradients = way(attention)(*[t.clone().requires_grad_() for t in given])
        found = context_parallel_unshard(mesh, [out.detach(), *gradients], [2] * 4)
    finally:
        _cp_options.enable_load_balance = True
    for t, b in zip(whole[1:], given[1:], strict=True):
        assert b.equal(t)
    assert given[0].equal(whole[0]) != no_restore
    return [t.double().flatten().tolist()[::37] for t in found]


def case_whole():
    return attended()


def case_causal():
    return attended(is_causal=True)


def case_causal_without_balance():
    return attended(is_causal=True, balance=False)


def case_some_buffers_are_left():
    return attended(is_causal=True, no_restore=True)


def case_shared_heads_and_a_scale():
    return attended(is_causal=True, kv_heads=2, enable_gqa=True, scale=0.2)


def case_compiled():
    if OWN:
        import torchlike

        return attended(torchlike.jit, is_causal=True)
    return attended(is_causal=True)


def case_compiled_before():
    """A program that was made outside is not for calls inside."""
    step = one = torch.ones(1, 1, 4, 2)
    if not OWN:
        return
    from torch.distributed.tensor.experimental import context_parallel

    import torchlike

    step = torchlike.jit(lambda q: F.scaled_dot_product_attention(q, q, q))
    one = torch.arange(8.0).reshape(1, 1, 4, 2) / 8 + dist.get_rank()
    outside = step(one)
    with context_parallel(init_device_mesh("cpu", (dist.get_world_size(),))):
        inside = step(one)
    assert not inside.allclose(outside)
    assert step(one).equal(outside)
    return


def case_multihead_attention():
    torch.manual_seed(1)
    m = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    x = torch.randn(2, 8, 8)
    if not OWN:
        return m(x, x, x, need_weights=False)[0].detach().double().flatten().tolist()
    from torch.distributed.tensor.experimental import context_parallel
    from torch.distributed.tensor.experimental._attention import context_parallel_unshard

    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    with context_parallel(mesh, buffers=[x], buffer_seq_dims=[1]):
        out = m(x, x, x, need_weights=False)[0].detach()
    (found,) = context_parallel_unshard(mesh, [out], [1])
    return found.double().flatten().tolist()


def case_refused():
    if not OWN:
        return ["NotImplementedError"] * 2 + ["ValueError"] * 2 + ["AssertionError"]
    from torch.distributed.tensor.experimental import context_parallel

    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    q = torch.randn(1, 1, 4, 2)

    def inside(**options):
        with context_parallel(mesh):
            F.scaled_dot_product_attention(q, q, q, **options)

    def entered(**options):
        with context_parallel(mesh, **options):
            pass

    found = []
    for attempt in (
        lambda: inside(attn_mask=torch.ones(4, 4, dtype=torch.bool)),
        lambda: inside(dropout_p=0.5),
        lambda: entered(buffers=[q], buffer_seq_dims=[]),
        lambda: entered(buffers=[q], buffer_seq_dims=[2], no_restore_buffers={q.clone()}),
        lambda: entered(buffers=[torch.ones(1, 1, 5, 2)], buffer_seq_dims=[2]),
    ):
        try:
            attempt()
            found.append("")
        except (NotImplementedError, ValueError, AssertionError) as error:
            found.append(type(error).__name__)
    return found
