"""flex_attention: the blocks, parts of a mask, compiled code, kernel options."""

import pytest

import torchlike as torch
from torchlike.nn.attention.flex_attention import (
    AuxRequest,
    BlockMask,
    and_masks,
    create_block_mask,
    flex_attention,
    noop_mask,
)
from torchlike.nn.functional import scaled_dot_product_attention
from torchlike.testing import assert_close


def causal(b, h, q_idx, kv_idx):
    return q_idx >= kv_idx


def tensors(n=6, m=6, **options):
    torch.manual_seed(0)
    return [torch.randn(2, 3, length, 4, **options) for length in (n, m, m)]


def test_it_is_attention_without_functions():
    q, k, v = tensors()
    assert_close(flex_attention(q, k, v), scaled_dot_product_attention(q, k, v))
    masked = flex_attention(q, k, v, block_mask=create_block_mask(causal, None, None, 6, 6))
    assert_close(masked, scaled_dot_product_attention(q, k, v, is_causal=True))


def test_blocks_count_without_a_mask_function():
    q, k, v = tensors()
    count = torch.tensor([[[1, 2, 0]]]).int()
    at = torch.tensor([[[[1, 0, 2], [0, 2, 1], [0, 1, 2]]]]).int()
    out, aux = flex_attention(
        q,
        k,
        v,
        block_mask=BlockMask.from_kv_blocks(count, at, BLOCK_SIZE=2),
        return_aux=AuxRequest(lse=True, max_scores=True),
    )
    kept = torch.tensor([[0, 1, 0], [1, 0, 1], [0, 0, 0]]).bool()
    mask = kept.repeat_interleave(2, 0).repeat_interleave(2, 1)
    assert_close(out, scaled_dot_product_attention(q, k, v, mask))
    assert (out[:, :, 4:] == 0).all()
    assert aux.lse[:, :, 4:].isneginf().all()
    assert aux.max_scores[:, :, 4:].isneginf().all()
    assert aux.lse[:, :, :4].isfinite().all()


def test_full_blocks_are_not_asked():
    q, k, v = tensors()
    one = torch.ones(1, 1, 1).int()
    first = torch.zeros(1, 1, 1, 2).int()
    nothing = BlockMask.from_kv_blocks(
        one, first, one, 1 - first, BLOCK_SIZE=(6, 3), mask_mod=lambda b, h, q, k: k < 0
    )
    mask = torch.arange(6) >= 3
    found = flex_attention(q, k, v, block_mask=nothing)
    assert_close(found, scaled_dot_product_attention(q, k, v, mask.expand(6, 6)))


def test_decoding_with_a_part_of_a_mask():
    q, k, v = tensors(8, 8)
    whole = create_block_mask(causal, None, None, 8, 8, BLOCK_SIZE=2)
    wanted = flex_attention(q, k, v, block_mask=whole)
    for i in (0, 3, 7):
        part = whole[:, :, i // 2]
        with pytest.raises(RuntimeError, match="sliced BlockMask"):
            flex_attention(q[:, :, i : i + 1], k, v, block_mask=part)
        part.mask_mod = lambda b, h, q_idx, kv_idx, i=i: causal(b, h, q_idx + i, kv_idx)
        part.seq_lengths = (1, 8)
        assert_close(
            flex_attention(q[:, :, i : i + 1], k, v, block_mask=part), wanted[:, :, i : i + 1]
        )


@pytest.mark.parametrize(("rows", "columns"), [(6, 6), (5, 3), (2, 6)])
def test_a_shorter_mask(rows, columns):
    whole = create_block_mask(causal, 1, 2, 6, 6, BLOCK_SIZE=2)
    short = whole._adjust(rows, columns)
    made = create_block_mask(causal, 1, 2, rows, columns, BLOCK_SIZE=2)
    assert short.shape == made.shape
    assert short.to_dense().tolist() == made.to_dense().tolist()


@pytest.mark.exhaustive
def test_one_compilation_for_changing_captured_values():
    document = torch.tensor([0, 0, 1, 1, 2, 2])
    slopes = torch.ones(3, requires_grad=True)
    compilations = []

    def same(b, h, q, k):
        return document[q] == document[k]

    @torch.jit
    def step(q, k, v):
        compilations.append(1)
        mask = create_block_mask(and_masks(same, causal), 1, 1, 6, 6, BLOCK_SIZE=3)
        return flex_attention(q, k, v, lambda s, b, h, q, k: s - slopes[h] * (q - k), mask).sum()

    for ids in ([0, 0, 1, 1, 2, 2], [0, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0]):
        document.copy_(torch.tensor(ids))
        q, k, v = tensors(requires_grad=True)
        gradients = []
        for fn in (step, step._fn):
            slopes.grad = q.grad = None
            fn(q, k, v).backward()
            gradients.append((slopes.grad, q.grad))
        for compiled, eager in zip(*gradients, strict=True):
            assert_close(compiled, eager)
    assert len(compilations) == 1 + 3  # eager runs count too


def test_masks_move_with_their_tensors():
    mask = create_block_mask(causal, 1, 1, 6, 6, BLOCK_SIZE=2).to("meta")
    assert mask.kv_indices.device.type == mask.full_q_indices.device.type == "meta"
    out = flex_attention(*(t.to("meta") for t in tensors()), block_mask=mask)
    assert out.shape == (2, 3, 6, 4)


def test_kernel_options_have_no_effect():
    q, k, v = tensors()
    options = {"BLOCK_M": 32, "BACKEND": "TRITON"}
    assert_close(flex_attention(q, k, v, kernel_options=options), flex_attention(q, k, v))


def test_autocast_casts_the_operands():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert flex_attention(*tensors()).dtype is torch.bfloat16


def test_what_is_refused():
    with pytest.raises(NotImplementedError, match="compute_dq_write_order=False"):
        create_block_mask(noop_mask, 1, 1, 4, 4, compute_dq_write_order=True)
    with pytest.raises(NotImplementedError, match="scaled_dot_product_attention"):
        torch.nn.attention.activate_flash_attention_impl("FA3")
    assert torch.nn.attention.list_flash_attention_impls() == []
    assert torch.nn.attention.current_flash_attention_impl() is None
