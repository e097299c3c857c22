"""Every op of PyTorch's table inside vmap and jvp: mapped as in a loop, pushed forward as pulled
back."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torchlike  # noqa: E402
from tests.parity.op_db.columns import Entry, Pair, entries, seeded  # noqa: E402
from tests.parity.op_db.convert import NotConvertible  # noqa: E402
from torchlike.func import jvp, linearize, vmap  # noqa: E402

#: Ops that cannot be mapped or pushed forward, and why.
NOT_MAPPED = {
    "values decide the shape": (
        "argwhere",
        "bincount",
        "combinations",
        "masked_select",
        "nonzero",
        "nonzero_static",
        "unique",
        "unique_consecutive",
        "histc",
        "histogram",
        "histogramdd",
        "repeat_interleave",
        "tensor_split",
        "linspace",
        "logspace",
    ),
    "values decide the algorithm": ("allclose", "equal", "item", "is_set_to", "linalg.lstsq"),
    "random": (
        "bernoulli",
        "cauchy",
        "exponential",
        "geometric",
        "log_normal",
        "multinomial",
        "normal",
        "uniform",
        "rand_like",
        "randn_like",
        "randint_like",
        "randint",
        "randn",
        "rand",
        "nn.functional.dropout",
        "nn.functional.dropout2d",
        "nn.functional.dropout3d",
        "nn.functional.alpha_dropout",
        "nn.functional.feature_alpha_dropout.with_train",
        "nn.functional.rrelu",
        "nn.functional.fractional_max_pool2d",
        "nn.functional.fractional_max_pool3d",
        "svd_lowrank",
        "pca_lowrank",
        "empty_like",
        "new_empty",
        "new_empty_strided",
        "empty_permuted",
        "empty",
        "empty_strided",
    ),
    "writes statistics or weights given from outside": (
        "native_batch_norm",
        "_native_batch_norm_legit",
        "nn.functional.batch_norm",
        "nn.functional.instance_norm",
        "nn.functional.embedding",
    ),
    "no second derivative": ("igamma", "igammac", "special.zeta"),
    "changes its argument's size": ("resize_", "resize_as_"),
    "NumPy has no such type": ("bfloat16",),
}
_LEFT_OUT = {name for names in NOT_MAPPED.values() for name in names}

#: Ops of which nothing is compared, neither mapped nor pushed, and why.
NOT_COMPARED = {
    "sparse, or half precision only": (
        "sparse.sampled_addmm",
        "sparse.mm.reduce",
        "to_sparse",
        "chalf",
    ),
    "not in torchlike": (
        "nn.functional.linear_cross_entropy.chunked",
        "nn.functional.linear_cross_entropy.chunked_none",
        "_softmax_backward_data",
        "_batch_norm_with_update",
        "_upsample_bilinear2d_aa",
        "torch.ops.aten._safe_softmax.default",
        "slice",
        "jiterator_unary",
        "jiterator_binary",
        "jiterator_4inputs_with_extra_args",
        "jiterator_binary_return_by_ref",
        "jiterator_2inputs_2outputs",
        "native_dropout_backward",
    ),
}
#: Ops that have no derivative to push forward: their results are no floats.
NOT_PUSHED = (
    "eq",
    "ge",
    "gt",
    "isin",
    "le",
    "logical_not",
    "lt",
    "logical_and",
    "logical_or",
    "logical_xor",
    "isclose",
    "ne",
    "signbit",
    "isfinite",
    "isinf",
    "isposinf",
    "isneginf",
    "isreal",
    "isnan",
    "bool",
    "byte",
    "char",
    "int",
    "long",
    "short",
    "bucketize",
    "searchsorted",
    "all",
    "any",
    "argmax",
    "argmin",
    "argsort",
    "count_nonzero",
    "hash_tensor",
    "linalg.matrix_rank",
    "linalg.matrix_rank.hermitian",
)
_NOT_COMPARED = {name for names in NOT_COMPARED.values() for name in names}


def _tensors(value: Any) -> list[Any]:
    if isinstance(value, torchlike.Tensor):
        return [value]
    if isinstance(value, (tuple, list)):
        return [t for v in value for t in _tensors(v)]
    return []


def _call(entry: Entry, pair: Pair, x: Any) -> Any:
    return entry.function()(x, *pair.ours[1:], **pair.our_keywords)


def _samples(entry: Entry, limit: int) -> list[Pair]:
    found = []
    for sample in entry.samples(torch.float64, limit):
        try:
            pair = Pair(sample)
        except NotConvertible:
            continue
        first = pair.ours[0]
        if pair.our_keywords.get("sparse"):
            continue  # sparse gradients are refused
        if isinstance(first, torchlike.Tensor) and first.numel():
            found.append(pair)
    return found


def mapped(entry: Entry, limit: int) -> int:
    """How many samples agreed with a loop."""
    count = 0
    for pair in _samples(entry, limit):
        x = pair.ours[0].detach()
        rows = [x, x * 0.75]
        expected = [seeded(_call, entry, pair, row.clone()) for row in rows]
        if any(error is not None for _, error in expected) or not _tensors(expected[0][0]):
            continue
        found = vmap(lambda row, pair=pair: tuple(_tensors(_call(entry, pair, row))))(
            torchlike.stack(rows)
        )
        for i, (value, _) in enumerate(expected):
            for ours, theirs in zip(found, _tensors(value), strict=True):
                assert ours.dtype is theirs.dtype
                np.testing.assert_allclose(
                    ours[i].detach().numpy(), theirs.detach().numpy(), rtol=1e-9, atol=1e-9
                )
        count += 1
    return count


def pushed(entry: Entry, limit: int) -> int:
    """How many samples have the same derivative forward as by transposing twice."""
    count = 0
    for pair in _samples(entry, limit):
        x = pair.ours[0].detach()

        def f(x: Any, pair: Pair = pair) -> Any:
            found = _tensors(_call(entry, pair, x.clone()))
            return tuple(t for t in found if t.dtype.is_floating_point or t.dtype.is_complex)

        value, error = seeded(f, x)
        if error is not None or not value:
            continue
        tangent = torchlike.linspace(-1, 1, x.numel(), dtype=x.dtype).reshape(x.shape)
        _, forward = jvp(f, (x,), (tangent,))
        _, push = linearize(f, x)
        for ours, theirs in zip(forward, push(tangent), strict=True):
            np.testing.assert_allclose(
                ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-7, atol=1e-8
            )
        count += 1
    return count


def _in_scope() -> list[Entry]:
    return [
        e
        for e in entries()
        if torch.float64 in e.info.supported_dtypes("cpu")
        and _LEFT_OUT.isdisjoint((e.name, e.info.name))
    ]


ENTRIES = _in_scope()
#: The ordinary run looks at every eighteenth entry, all of them in a full run.
SOME = ENTRIES[::18]


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("entry", SOME, ids=lambda e: e.name)
@pytest.mark.parametrize("check", [mapped, pushed])
def test_some_ops(entry: Entry, check: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(entry, 1)


@pytest.mark.full
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)
@pytest.mark.parametrize("check", [mapped, pushed])
def test_every_op(entry: Entry, check: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        count = check(entry, 6)
    if not count and not _samples(entry, 6):
        pytest.skip("no sample whose first argument is a tensor with elements")
    compares = entry.name not in _NOT_COMPARED and (check is mapped or entry.name not in NOT_PUSHED)
    assert bool(count) is compares
