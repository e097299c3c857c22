"""flex_attention and BlockMask against PyTorch's reference, eager and compiled, with gradients."""

import math

import numpy as np
import oracle
import pytest

import torchlike
import torchlike.nn.attention.flex_attention as mine
from torchlike.nn.attention import block_mask, blocks

torch = pytest.importorskip("torch")
import torch.nn.attention.flex_attention as theirs  # noqa: E402
from torch._higher_order_ops.flex_attention import math_attention  # noqa: E402

RNG = np.random.default_rng(0)
BIAS = RNG.standard_normal(4).astype(np.float32)
TABLE = RNG.standard_normal((7, 9)).astype(np.float32)
DOCUMENT = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2])


def alibi(t, leaves):
    return lambda s, b, h, q, k: s + leaves[0][h] * (k - q)


def relative(t, leaves):
    return lambda s, b, h, q, k: s + leaves[1][q, k]


def soft_cap(t, leaves):
    return lambda s, b, h, q, k: 3 * t.tanh(s / 3)


def doubled_in_half(t, leaves):
    return lambda s, b, h, q, k: t.where(b == 0, s * 2, s) + h


def causal_by_score(t, leaves):
    return lambda s, b, h, q, k: t.where(q >= k, s, -float("inf"))


def causal(t, data):
    return lambda b, h, q, k: q >= k


def window(t, data):
    return lambda b, h, q, k: (q - k).abs() <= 2


def documents(t, data):
    return lambda b, h, q, k: data[q] == data[k]


def some_rows_empty(t, data):
    return lambda b, h, q, k: (q % 3 != 1) & (q >= k)


def by_batch_and_head(t, data):
    return lambda b, h, q, k: (k <= q + h) & (k >= b)


SCORES = [None, alibi, relative, soft_cap, doubled_in_half, causal_by_score]
MASKS = [None, causal, window, documents, some_rows_empty, by_batch_and_head]


def given(dtype, heads=4, shared=4, batch=2, kv_batch=2):
    rng = np.random.default_rng(1)
    shapes = (batch, heads, 7, 8), (kv_batch, shared, 9, 8), (kv_batch, shared, 9, 5)
    return [rng.standard_normal(s).astype(dtype) for s in shapes]


def leaves_of(t, arrays):
    return [t.tensor(a, requires_grad=True) for a in arrays]


def run(t, arrays, score, mask, how, scale=None, gqa=False, weight=None):
    """Output, lse, and the gradients of the operands and of what the functions read."""
    q, k, v = leaves_of(t, arrays)
    read = leaves_of(t, [BIAS, TABLE])
    document = t.tensor(DOCUMENT)
    score_mod = None if score is None else score(t, read)
    place = t.nn.attention.flex_attention
    block_mask = None
    if mask is not None:
        block_mask = place.create_block_mask(mask(t, document), 2, 4, 7, 9, "cpu", BLOCK_SIZE=4)
    out, lse = how(q, k, v, score_mod, block_mask, scale, gqa)
    total = (out * t.tensor(weight)).sum() + lse.masked_fill(lse.isneginf(), 0).sum()
    total.backward()
    return [out, lse], [x.grad for x in (q, k, v, *read)]


def reference(q, k, v, score_mod, block_mask, scale, gqa):
    block_mask = block_mask or theirs._create_empty_block_mask(q, k)
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    out, lse, _ = math_attention(
        q, k, v, score_mod or theirs._identity, block_mask.as_tuple(), scale, {}
    )
    return out, lse * math.log(2)


def ours(q, k, v, score_mod, block_mask, scale, gqa):
    out, aux = mine.flex_attention(
        q, k, v, score_mod, block_mask, scale, gqa, return_aux=mine.AuxRequest(lse=True)
    )
    return out, aux.lse


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize(
    ("score", "mask"),
    [*((score, documents) for score in SCORES), *((alibi, mask) for mask in MASKS), (None, None)],
)
def test_values_and_gradients(score, mask):
    arrays, weight = given(np.float32), RNG.standard_normal((2, 4, 7, 5)).astype(np.float32)
    wanted = run(torch, arrays, score, mask, reference, weight=weight)
    compiled = torchlike.jit(ours)
    for how in (ours, compiled):
        same(run(torchlike, arrays, score, mask, how, weight=weight), wanted)


def same(found, wanted):
    for a, b in zip(found[0] + found[1], wanted[0] + wanted[1], strict=True):
        if b is None and a is not None:  # a leaf the functions do not read
            assert not a.any()
        else:
            oracle.same(a, b, rtol=1e-5, atol=1e-5)


@pytest.fixture
def in_blocks(monkeypatch):
    """As long sequences are computed: 7 rows and 9 columns in blocks of 4."""
    monkeypatch.setattr(blocks, "_LONG_ON_CPU", 0)
    monkeypatch.setattr(blocks, "BLOCK", 4)


#: A table and whole rows; a bias and hidden blocks; what differs by batch and head.
QUICK = [(relative, None), (alibi, some_rows_empty), (doubled_in_half, by_batch_and_head)]


@pytest.mark.parametrize(
    ("score", "mask"),
    [
        pytest.param(s, m, marks=() if (s, m) in QUICK else pytest.mark.full)
        for s in SCORES
        for m in MASKS
    ],
)
@pytest.mark.sampled(every=3, of=lambda p: (p["score"], p["mask"]) in QUICK)
def test_in_blocks(score, mask, in_blocks):
    arrays, weight = given(np.float32), RNG.standard_normal((2, 4, 7, 5)).astype(np.float32)
    wanted = run(torch, arrays, score, mask, reference, weight=weight)
    for how in (ours, torchlike.jit(ours)):
        same(run(torchlike, arrays, score, mask, how, weight=weight), wanted)


@pytest.mark.exhaustive
@pytest.mark.parametrize("batches", [pytest.param((2, 2), marks=pytest.mark.full), (2, 1)])
def test_groups_of_heads_in_blocks(batches, in_blocks):
    arrays = given(np.float32, 4, 2, *batches)
    weight = np.ones((2, 4, 7, 5), np.float32)
    repeated = [arrays[0], *(np.repeat(a, 2, 1) for a in arrays[1:])]
    repeated = [repeated[0], *(np.broadcast_to(a, (2, *a.shape[1:])) for a in repeated[1:])]
    wanted = run(torch, repeated, alibi, causal, reference, weight=weight)
    found = run(torchlike, arrays, alibi, causal, ours, gqa=True, weight=weight)
    for a, b in zip(found[0], wanted[0], strict=True):
        oracle.same(a, b, rtol=1e-5, atol=1e-5)
    for a, b, like in zip(found[1][1:3], wanted[1][1:3], arrays[1:], strict=True):
        total = b.reshape(2, 2, 2, *b.shape[2:]).sum(2)
        oracle.same(
            a, total if like.shape[0] == 2 else total.sum(0, keepdim=True), rtol=1e-5, atol=1e-5
        )
    oracle.same(found[1][0], wanted[1][0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("shared", "kv_batch", "scale"), [(1, 2, None), (2, 2, 0.3), (4, 1, 1.0)])
def test_shared_heads_and_batches(shared, kv_batch, scale):
    arrays = given(np.float32, shared=shared, kv_batch=kv_batch)
    weight = RNG.standard_normal((2, 4, 7, 5)).astype(np.float32)
    wanted = run(torch, arrays, alibi, causal, reference, scale, weight=weight)
    found = run(torchlike, arrays, alibi, causal, ours, scale, True, weight=weight)
    for a, b in zip(found[0] + found[1][:4], wanted[0] + wanted[1][:4], strict=True):
        oracle.same(a, b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_working_precision(dtype):
    def made(t):
        return [t.tensor(a).to(getattr(t, dtype)) for a in given(np.float32)]

    def capped(s, b, h, q, k):
        return s * 0.5 + h

    found, aux = mine.flex_attention(*made(torchlike), capped, return_aux=mine.AuxRequest(lse=True))
    wanted, lse = reference(*made(torch), capped, None, None, False)
    tolerance = {"float16": 1e-3, "bfloat16": 8e-3, "float64": 1e-12}[dtype]  # one last bit
    oracle.same(found.double(), wanted.double(), rtol=tolerance, atol=tolerance)
    assert str(found.dtype) == str(wanted.dtype)
    near = 1e-12 if dtype == "float64" else 1e-5
    oracle.same(aux.lse, lse, rtol=near, atol=near)


def test_max_scores_are_those_of_the_reference():
    arrays = given(np.float32)
    block_mask = theirs.create_block_mask(causal(torch, None), 2, 4, 7, 9, "cpu")
    *_, greatest = math_attention(
        *map(torch.tensor, arrays), theirs._identity, block_mask.as_tuple(), 1 / math.sqrt(8), {}
    )
    block_mask = mine.create_block_mask(causal(torchlike, None), 2, 4, 7, 9, "cpu")
    _, aux = mine.flex_attention(
        *map(torchlike.tensor, arrays),
        block_mask=block_mask,
        return_aux=mine.AuxRequest(max_scores=True),
    )
    assert aux.lse is None
    oracle.same(aux.max_scores, greatest * math.log(2), rtol=1e-5, atol=1e-5)


def described(t, place, mask, sizes, **options):
    block_mask = place.create_block_mask(mask(t, t.tensor(DOCUMENT)), *sizes, "cpu", **options)
    return block_mask, [
        x.tolist() if isinstance(x, t.Tensor) else x for x in block_mask.as_tuple()[:-1]
    ]


@pytest.mark.parametrize("mask", MASKS[1:])
@pytest.mark.parametrize(
    "options",
    [
        {"BLOCK_SIZE": 2},
        {"BLOCK_SIZE": (4, 2)},
        {"BLOCK_SIZE": 4, "separate_full_blocks": False},
        {},
    ],
)
def test_block_masks(mask, options):
    sizes = (2, 3, 7, 9)
    a, tuple_a = described(torchlike, mine, mask, sizes, **options)
    b, tuple_b = described(torch, theirs, mask, sizes, **options)
    assert tuple_a == tuple_b
    assert (a.shape, a.numel(), a.sparsity()) == (tuple(b.shape), b.numel(), b.sparsity())
    assert a.to_dense().tolist() == b.to_dense().tolist()
    assert (str(a), repr(a)) == (str(b), repr(b))
    for grid in (2, -1, (3, 2)):
        assert a.to_string(grid, limit=2) == b.to_string(grid, limit=2)
    for index in (0, -1, (1, 2), (slice(0, 1), slice(1, 3)), (0, 1, slice(0, 1)), (0, 0, 0)):
        part, other = a[index], b[index]
        assert part.shape == tuple(other.shape)
        assert part.kv_indices.tolist() == other.kv_indices.tolist()
        assert part.kv_num_blocks.tolist() == other.kv_num_blocks.tolist()
        assert part.q_indices.tolist() == other.q_indices.tolist()
    picked = [
        m[:, :, t.tensor([1])] for t, m in ((torchlike, a), (torch, b)) if m.kv_indices.shape[2] > 1
    ]
    if picked:
        assert picked[0].kv_indices.tolist() == picked[1].kv_indices.tolist()


@pytest.mark.parametrize("length", [7, 8])
def test_block_masks_are_made_in_bands(length, monkeypatch):
    rows_asked = []
    over_scores = block_mask.over_scores

    def noting(function, takes_score):
        asked = over_scores(function, takes_score)
        return lambda *indices: (rows_asked.append(indices[2].shape[0]), asked(*indices))[1]

    monkeypatch.setattr(block_mask, "over_scores", noting)
    monkeypatch.setattr(block_mask, "_BAND", 2 * 3 * 4 * 9)  # two rows of blocks
    sizes = (2, 3, length, 9)
    a, tuple_a = described(torchlike, mine, MASKS[1], sizes, BLOCK_SIZE=2)
    b, tuple_b = described(torch, theirs, MASKS[1], sizes, BLOCK_SIZE=2)
    assert tuple_a == tuple_b
    assert a.to_dense().tolist() == b.to_dense().tolist()
    assert rows_asked == [4, length - 4]


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("compute_q_blocks", [False, True])
def test_from_kv_blocks(full, compute_q_blocks):
    def made(t, place):
        count, at = t.tensor([[[2, 1]]], dtype=t.int32), t.tensor([[[[2, 0, 1], [1, 0, 2]]]]).int()
        whole = (t.tensor([[[0, 1]]], dtype=t.int32), at.flip(-1)) if full else ()
        m = place.BlockMask.from_kv_blocks(
            count, at, *whole, BLOCK_SIZE=(2, 4), compute_q_blocks=compute_q_blocks
        )
        return [x.tolist() if isinstance(x, t.Tensor) else x for x in m.as_tuple(False)[:-1]], str(
            m
        )

    assert made(torchlike, mine) == made(torch, theirs)


@pytest.mark.parametrize("join", ["and_masks", "or_masks"])
def test_joined_masks(join):
    def made(t, place):
        mods = [m(t, t.tensor(DOCUMENT)) for m in (causal, documents, window)]
        return [
            place.create_mask(getattr(place, join)(*mods[:n]), None, 2, 7, 9, "cpu").tolist()
            for n in range(4)
        ]

    assert made(torchlike, mine) == made(torch, theirs)


def test_a_mask_from_a_function_of_scores():
    masks = [
        p.create_mask(causal_by_score(t, None), None, None, 4, 5, "cpu")
        for t, p in ((torchlike, mine), (torch, theirs))
    ]
    assert masks[0].tolist() == masks[1].tolist()


def calls(t, place):
    q = t.ones(1, 2, 4, 8)
    bm = place.create_block_mask(causal(t, None), 2, None, 30, 40, "cpu", BLOCK_SIZE=16)

    def attend(*shapes, **options):
        tensors = [x if isinstance(x, t.Tensor) else t.ones(x) for x in shapes]
        return place.flex_attention(*tensors, **options)

    long = (2, 2, 30, 4), (2, 2, 40, 4), (2, 2, 40, 4)
    return {
        "3 dimensions": lambda: attend(q[0], q[0], q[0]),
        "1 dimension": lambda: attend((8,), q, q),
        "embedding": lambda: attend(q, q[..., :4], q),
        "heads": lambda: attend(q, q[:, :1], q[:, :1]),
        "groups": lambda: attend((1, 3, 4, 8), q, q, enable_gqa=True),
        "batch": lambda: attend(q, (2, 2, 4, 8), (2, 2, 4, 8)),
        "batch of the mask": lambda: attend((1, 2, 30, 4), *long[1:], block_mask=bm),
        "devices": lambda: attend(q.to("meta"), q, q),
        "sequences": lambda: attend(q, q, (1, 2, 3, 8)),
        "backend": lambda: attend(q, q, q, kernel_options={"BACKEND": "x"}),
        "sliced": lambda: attend(*long, block_mask=bm[:1]),
        "too long": lambda: attend((2, 2, 31, 4), *long[1:], block_mask=bm),
        "too short": lambda: attend((2, 2, 29, 4), *long[1:], block_mask=bm),
        "twice": lambda: attend(q, q, q, return_lse=True, return_aux=place.AuxRequest()),
        "no function": lambda: place.or_masks(3),
        "arguments": lambda: place.create_mask(lambda a, b, c: a, 1, 1, 4, 4, "cpu"),
        "dtype": lambda: place.create_block_mask(lambda b, h, q, k: q - k, 1, 1, 4, 4, "cpu"),
        "1-dim blocks": lambda: place.BlockMask.from_kv_blocks(t.ones(1), t.ones(1)),
    }


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", calls(torchlike, mine))
def test_errors(name, monkeypatch):
    monkeypatch.setattr(theirs, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)
    said = []
    for t, place in ((torchlike, mine), (torch, theirs)):
        call = calls(t, place)[name]
        with pytest.raises(Exception) as caught:
            call()
        said.append((caught.type, str(caught.value)))
    assert said[0] == said[1]
