"""Attention on accelerators: which kernel is chosen; each gives the plain one's numbers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.pallas import tpu as pltpu

import torchlike as torch
from torchlike._ops.nn.attention import chunked, kernels
from torchlike._ops.nn.attention.attention import dropped_attention_op
from torchlike._runtime import targets
from torchlike.nn.attention import SDPBackend, sdpa_kernel

RNG = np.random.default_rng(0)


def normal(*shape):
    return jnp.asarray(RNG.normal(size=shape), jnp.float32)


def plain(query, key, value, mask, settings):
    scores = jnp.einsum("...le,...se->...ls", query, key) * settings.scale
    rows, columns = scores.shape[-2:]
    if settings.is_causal:
        scores = jnp.where(jnp.arange(columns) <= jnp.arange(rows)[:, None], scores, -jnp.inf)
    if mask is not None:
        scores = jnp.where(mask, scores, -jnp.inf) if mask.dtype == bool else scores + mask
    empty = jnp.isneginf(scores).all(-1, keepdims=True)
    weights = jax.nn.softmax(jnp.where(empty, 0, scores), -1)
    return jnp.where(empty, 0, weights) @ value


def masks(kind, rows, columns):
    return {
        None: lambda: None,
        "bool": lambda: jnp.asarray(RNG.random((2, 1, rows, columns)) > 0.3).at[0, 0, 3].set(False),
        "padding": lambda: jnp.asarray(RNG.random((2, 1, 1, columns)) > 0.3),
        "bias": lambda: normal(3, rows, columns),
        "bias of columns": lambda: normal(2, 1, 1, columns),
        "one dimension": lambda: normal(columns),
    }[kind]()


CASES = [
    (70, 70, True, None),
    (64, 64, False, None),
    (90, 33, True, None),
    (33, 90, False, "bool"),
    (40, 50, False, "padding"),
    (40, 50, False, "bias"),
    (40, 50, False, "bias of columns"),
    (20, 50, False, "one dimension"),
    (5, 3, True, None),
]


@pytest.mark.sampled(every=9)
@pytest.mark.parametrize(("rows", "columns", "causal", "kind"), CASES)
def test_blocks_give_what_whole_rows_give(rows, columns, causal, kind):
    query, key, value = normal(2, 3, rows, 8), normal(2, 3, columns, 8), normal(2, 3, columns, 6)
    mask = masks(kind, rows, columns)
    settings = chunked.ChunkedAttentionSettings(causal, 0.3, block=16)
    slopes = normal(2, 3, rows, 6)
    wanted = (0, 1, 2) if mask is None or mask.dtype == bool else (0, 1, 2, 3)

    def blocks(*given):
        return chunked.attend(*given, None, settings)

    def whole(*given):
        return plain(*given, settings)

    def with_gradients(attend):
        def loss(*given):
            out = attend(*given)
            return jnp.sum(out * slopes), out

        # As one program, which is how ops run: hundreds of small ones take longer to compile.
        run = jax.jit(jax.value_and_grad(loss, wanted, has_aux=True))
        (_, out), gradients = run(query, key, value, mask)
        return out, gradients

    (out, found), (whole_out, expected) = map(with_gradients, (blocks, whole))
    np.testing.assert_allclose(out, whole_out, rtol=1e-5, atol=1e-6)
    for a, b in zip(found, expected, strict=True):
        # Sums of up to 90 terms in another order.
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


@pytest.mark.exhaustive
def test_groups_of_heads_share_a_key():
    query, key = normal(2, 6, 40, 8), normal(2, 2, 40, 8)
    case = kernels.Case(query, key, key, None, True, False)
    found = jax.jit(lambda: kernels.run("chunked", case, 0.3))()
    whole = jnp.repeat(key, 3, 1)
    expected = plain(query, whole, whole, None, chunked.ChunkedAttentionSettings(True, 0.3))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.exhaustive
def test_dropout_drops_the_same_weights_in_backward():
    query, key, value = normal(1, 1, 32, 4), normal(1, 1, 32, 4), jnp.eye(32)[None, None]
    settings = chunked.ChunkedAttentionSettings(False, 0.5, dropout=0.5, block=8)
    seed = jnp.uint32(7)
    attend = jax.jit(lambda q: chunked.attend(q, key, value, None, seed, settings))
    weights = attend(query)[0, 0]
    whole = plain(query, key, value, None, settings)[0, 0]
    kept = weights != 0
    assert 0.4 < kept.mean() < 0.6
    np.testing.assert_allclose(weights, np.where(kept, 2 * whole, 0), rtol=1e-5, atol=1e-7)
    slopes = normal(1, 1, 32, 32)

    def dropped(q):
        return jnp.sum(attend(q) * slopes)

    def by_hand(q):
        return jnp.sum(jnp.where(kept, 2 * plain(q, key, value, None, settings), 0) * slopes)

    np.testing.assert_allclose(
        jax.jit(jax.grad(dropped))(query), jax.jit(jax.grad(by_hand))(query), rtol=1e-4, atol=1e-5
    )  # sums of 32 that cancel


@pytest.mark.exhaustive
def test_gradients_of_gradients():
    query, key = normal(1, 1, 12, 4), normal(1, 1, 12, 4)
    settings = chunked.ChunkedAttentionSettings(True, 0.5, block=8)

    def curvature(attend):
        def slope(q):
            return jnp.sum(jax.grad(lambda q: jnp.sum(jnp.sin(attend(q))))(q) ** 2)

        return jax.jit(jax.grad(slope))(query)

    np.testing.assert_allclose(
        curvature(lambda q: chunked.attend(q, key, key, None, None, settings)),
        curvature(lambda q: plain(q, key, key, None, settings)),
        rtol=1e-4,
        atol=1e-6,
    )  # derivatives of derivatives, two softmaxes apart


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("causal", [True, False])
def test_the_pallas_kernel_gives_what_whole_rows_give(causal):
    query, key, value = (normal(1, 2, 256, 128) for _ in range(3))
    settings = chunked.ChunkedAttentionSettings(causal, 0.1)
    with pltpu.force_tpu_interpret_mode():
        found = kernels._flash(query, key, value, causal, 0.1)
    expected = plain(query, key, value, None, settings)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)  # sums of 256


def long(n=1024, dtype=jnp.bfloat16, heads=2, **rest):
    x = jax.ShapeDtypeStruct((1, heads, n, 64), dtype)
    case = {"mask": None, "is_causal": True, "has_dropout": False} | rest
    return kernels.Case(x, x, x, **case)


BOOL = jax.ShapeDtypeStruct((1, 1, 1, 1024), np.bool_)


@pytest.mark.parametrize(
    ("platform", "partitions", "case", "kernel"),
    [
        ("cpu", 1, long(), "plain"),
        ("tpu", 1, long(), "flash"),
        ("tpu", 4, long(), "chunked"),
        ("tpu", 1, long(mask=BOOL), "chunked"),
        ("tpu", 1, long(has_dropout=True), "chunked"),
        ("tpu", 1, long(1000), "chunked"),
        ("tpu", 1, long(128), "plain"),
        ("cuda", 1, long(dtype=jnp.float32), "chunked"),
        ("cuda", 1, long(128, dtype=jnp.float32), "plain"),
    ],
)
def test_one_place_chooses(platform, partitions, case, kernel):
    with targets.platform(platform, partitions):
        assert kernels.choose(case) == kernel


def test_cudnn_is_chosen_where_it_is(monkeypatch):
    monkeypatch.setattr(kernels, "_cudnn_is_missing", lambda: None)
    with targets.platform("cuda"):
        assert kernels.choose(long()) == "cudnn"
        assert kernels.choose(long(mask=BOOL)) == "cudnn"
        assert kernels.choose(long(has_dropout=True)) == "chunked"
        with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):
            assert kernels.choose(long()) == "chunked"


def test_switches_are_respected():
    with targets.platform("tpu", 1):
        with sdpa_kernel(SDPBackend.MATH):
            assert kernels.choose(long()) == "plain"
            assert kernels.switch_state() == "math"
        with sdpa_kernel([SDPBackend.EFFICIENT_ATTENTION]):
            assert kernels.choose(long()) == "chunked"
        with (
            sdpa_kernel(SDPBackend.CUDNN_ATTENTION),
            pytest.raises(RuntimeError, match=r"No available kernel.*cudnn: the target is no GPU"),
        ):
            kernels.choose(long())
        torch.backends.cuda.enable_flash_sdp(False)
        try:
            assert kernels.choose(long()) == "chunked"
        finally:
            torch.backends.cuda.enable_flash_sdp(True)
        assert kernels.choose(long()) == "flash"
    assert kernels.switch_state() == ""


@pytest.mark.parametrize("platform", ["tpu", "cuda"])
@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_programs_for_accelerators_hold_no_whole_rows(platform, dropout):
    n = 2048

    def gradient(x):
        q = torch.from_jax(x).requires_grad_()
        if dropout:  # a seed that is given: a program for another machine cannot ask for one
            out = dropped_attention_op(
                q, q[:, :2], q[:, :2], None, torch.tensor([3]), dropout, True, None, True
            )
        else:
            out = torch.nn.functional.scaled_dot_product_attention(
                q, q[:, :2], q[:, :2], is_causal=True, enable_gqa=True
            )
        out.sum().backward()
        return q.grad._read()

    aval = jax.ShapeDtypeStruct((1, 4, n, 8), np.float32)
    with targets.platform(platform, 8):
        text = jax.jit(gradient).trace(aval).lower(lowering_platforms=(platform,)).as_text()
    assert f"x{n}x{n}x" not in text
    assert f"x512x{n}x" not in text
    assert "512x512x" in text


@pytest.mark.parametrize("is_causal", [False, True])
def test_the_shortest_sequence_in_blocks_has_more_than_one(is_causal):
    """XLA takes apart a loop of one turn, and would keep forward's scores for backward."""
    settings = chunked.ChunkedAttentionSettings(is_causal, 1.0)
    assert len(chunked.Blocks.of(512, 512, settings).pairs()) == (3 if is_causal else 4)
    assert chunked.Blocks.of(1024, 512, settings).size == (512, 512)
