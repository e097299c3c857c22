"""``torch.nn.attention.varlen``: attention of packed sequences of different lengths."""

from __future__ import annotations

from typing import Any, NamedTuple

from torchlike._core import modes
from torchlike._ops.nn.attention.varlen import varlen_attention
from torchlike.tensor import Tensor

__all__ = ["AuxRequest", "varlen_attn", "varlen_attn_out"]


class AuxRequest(NamedTuple):
    """What else `varlen_attn` is to give."""

    #: The logarithms of the sums.
    lse: bool = False


def _check_heads(query: Tensor, key: Tensor, enable_gqa: bool) -> None:
    heads, shared = query.size(1), key.size(1)
    if not enable_gqa and heads != shared:
        raise ValueError(
            f"Expect query and key/value to have the same number of heads but got Hq={heads} and "
            f"Hkv={shared}. Try setting enable_gqa=True for GQA."
        )
    if enable_gqa and heads % shared != 0:
        raise ValueError(
            "Expect number of query heads to be a multiple of kv heads for GQA but got "
            f"Hq={heads} and Hkv={shared}."
        )


def _check_positions(name: str, positions: Any, total: int) -> None:
    """Raise RuntimeError unless the positions ascend within the rows. The check reads their
    values."""
    if positions.dim() != 1 or not positions.shape[0]:
        raise RuntimeError(
            f"{name} must be a vector of one number more than there are sequences, "
            f"got shape {list(positions.shape)}"
        )
    if modes.is_capturing():
        return
    known = positions._value("varlen_attn").astype("int64")
    if known[0] < 0 or known[-1] > total or (known[1:] < known[:-1]).any():
        raise RuntimeError(f"{name} must ascend within 0 and {total}, the number of rows")


def varlen_attn(
    query: Any,
    key: Any,
    value: Any,
    cu_seq_q: Any,
    cu_seq_k: Any,
    max_q: int,
    max_k: int,
    *,
    return_aux: AuxRequest | None = None,
    scale: float | None = None,
    window_size: Any = (-1, -1),
    enable_gqa: bool = False,
    seqused_k: Any = None,
    block_table: Any = None,
    num_splits: int | None = None,
) -> Any:
    """Compute the attention of each sequence. query (T, heads, E), key (S, shared heads, E), value
    (S, shared heads, V), of which the sequence i is the rows from ``cu_seq_q[i]`` to ``cu_seq_q[i +
    1]`` (``cu_seq_k``): (T, heads, V), with ``return_aux`` also the logarithms of the sums (T,
    heads).

    ``window_size`` (left, right): how far a query sees, -1 for all; its place is counted from the
    end of the keys. ``seqused_k`` (n,): how many keys of each sequence count. With ``enable_gqa``
    groups of query heads share a head. Nothing is padded, so ``max_q``, ``max_k`` and
    ``num_splits`` change nothing.

    ValueError for heads that do not fit, RuntimeError for positions that do not (checked eagerly).

    Differs from PyTorch: it runs on the CPU too and in float32, with gradients, also of what
    ``return_aux`` gives; the value may have features of its own number; ``block_table`` is
    NotImplementedError.
    """
    if block_table is not None:
        raise NotImplementedError(
            "varlen_attn(block_table=): keys in pages are not there; gather them first"
        )
    _check_heads(query, key, enable_gqa)
    left, right = _window(window_size)
    positions = cu_seq_q if cu_seq_k is None else cu_seq_k
    _check_positions("cu_seq_q", cu_seq_q, query.shape[0])
    _check_positions("cu_seq_k", positions, key.shape[0])
    if positions.shape != cu_seq_q.shape:
        raise RuntimeError(
            f"cu_seq_q and cu_seq_k must say the same number of sequences, but their shapes are "
            f"{list(cu_seq_q.shape)} and {list(positions.shape)}"
        )
    lengths = positions.diff() if seqused_k is None else seqused_k
    out, logs = varlen_attention(
        query,
        key,
        value,
        cu_seq_q[:-1],
        cu_seq_q.diff(),
        positions[:-1],
        lengths,
        None,
        0.0,
        scale,
        left,
        right,
        True,
    )
    return (out, logs) if return_aux is not None and return_aux.lse else out


def _window(window_size: Any) -> tuple[int | None, int | None]:
    if len(window_size) != 2:
        raise ValueError(f"window_size must have length 2, got {len(window_size)}")
    left, right = (None if n < 0 else int(n) for n in window_size)
    return left, right


def varlen_attn_out(out: Tensor, *args: Any, **kwargs: Any) -> Any:
    """Write the result of `varlen_attn` into ``out``."""
    found = varlen_attn(*args, **kwargs)
    whole: Any = out
    whole.copy_(found[0] if isinstance(found, tuple) else found)
    return (out, found[1]) if isinstance(found, tuple) else out
