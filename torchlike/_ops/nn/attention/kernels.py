"""Which kernel computes an attention: the one choice point.

==========  ============================================================  =========================
kernel      what it is                                                    PyTorch's switch
==========  ============================================================  =========================
"plain"     the weights whole, O(rows x columns) (`weighting`)             math
"chunked"   blocks by an online softmax, O(rows) (`chunked`)               mem_efficient
"cudnn"     cuDNN's, by ``jax.nn.dot_product_attention``                   cudnn
"flash"     JAX's Pallas kernel for TPUs                                   flash
==========  ============================================================  =========================

The CPU always takes the plain one: whole rows are what XLA's CPU backend fuses best. Accelerators
take the first of cudnn, flash and chunked that is allowed and can do the case, and the plain one
for short sequences. ``torch.nn.attention.sdpa_kernel`` and ``torch.backends.cuda.enable_*_sdp``
allow. What was preferred and could not be is told once, by ``TORCHLIKE_LOGS=kernels``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from torchlike._core import modes
from torchlike._ops.nn.attention import chunked
from torchlike._runtime import logs, targets
from torchlike._runtime.jax_private.kernels import check_cudnn

log = logs.logger("kernels")

#: PyTorch's switches, by the names of its kernels.
allowed = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}
#: Those that are not allowed.
_restricted: list[str] = []
_SWITCH = {"plain": "math", "chunked": "mem_efficient", "cudnn": "cudnn", "flash": "flash"}
#: Scores of one head from which on whole rows are no longer made on accelerators.
_LONG = 512 * 512


def _switch(kernel: str) -> tuple[Callable[[], bool], Callable[[bool], None]]:
    """Return two functions, of which one asks whether a kernel of PyTorch's is allowed and the
    other sets it; compiled programs see it."""
    name = f"torch.backends.cuda.enable_{kernel}_sdp()"

    def current() -> bool:
        return allowed[kernel]

    def set_current(enabled: bool) -> None:
        if allowed[kernel] != enabled:
            allowed[kernel] = enabled
            _restricted[:] = [name for name, on in allowed.items() if not on]
            modes.epoch.advance()

    def get_allowed() -> bool:
        modes.setting_seen(name, current, set_current)
        return current()

    def set_allowed(enabled: bool) -> None:
        modes.setting_seen(name, current, set_current)
        set_current(enabled)

    return get_allowed, set_allowed


SWITCHES = {kernel: _switch(kernel) for kernel in allowed}


class Case(NamedTuple):
    """An attention, as kernels are chosen for it: shapes (…, L, E), and what is asked."""

    query: Any
    key: Any
    value: Any
    mask: Any
    is_causal: bool
    has_dropout: bool


def switch_state() -> str:
    """Return the state of the switches, for caches; "" where all kernels are allowed, and on the
    CPU."""
    if not _restricted or targets.is_cpu():
        return ""
    return ",".join(name for name, on in allowed.items() if on) or "none"


def choose(case: Case) -> str:
    """Return the kernel for a case. RuntimeError where no allowed kernel can compute it."""
    if targets.is_numpy() or targets.is_cpu():
        return "plain"
    refused = []
    for kernel, why_not in (
        ("cudnn", _not_cudnn),
        ("flash", _not_flash),
        ("chunked", _not_chunked),
    ):
        reason = "it is not allowed" if not allowed[_SWITCH[kernel]] else why_not(case)
        if reason is None:
            _log_choice(kernel, tuple(refused))
            return kernel
        refused.append(f"{kernel}: {reason}")
    if allowed["math"]:
        _log_choice("plain", tuple(refused))
        return "plain"
    if allowed["mem_efficient"]:  # short, where whole rows would do as well
        return "chunked"
    raise RuntimeError(f"No available kernel. Aborting execution. ({'; '.join(refused)})")


@functools.cache
def _log_choice(kernel: str, refused: tuple[str, ...]) -> None:
    if refused:
        log.info("attention by the %s kernel; %s", kernel, "; ".join(refused))


def _not_chunked(case: Case) -> str | None:
    if case.query.shape[-2] * case.key.shape[-2] < _LONG:
        return "the sequence is short"
    return None


def _not_cudnn(case: Case) -> str | None:
    """Return why cuDNN's kernel cannot be used, or None."""
    if targets.name() != "gpu":
        return "the target is no GPU"
    if case.has_dropout:
        return "dropout"
    if case.query.dtype not in (jnp.bfloat16, jnp.float16):
        return f"{case.query.dtype} instead of 16 bits"
    width = case.query.shape[-1]
    if case.query.ndim != 4 or width % 8 or width > 128 or case.value.shape[-1] != width:
        return "not four dimensions with heads of a multiple of 8, up to 128"
    if case.mask is not None and (case.mask.ndim != 4 or case.mask.dtype != np.bool_):
        return "a mask that is no bool of four dimensions"
    return _cudnn_is_missing()


@functools.cache
def _cudnn_is_missing() -> str | None:
    """Return why cuDNN's library cannot be used, or None: compiling for it needs the library, on
    machines without a GPU too."""
    try:
        check_cudnn()
    except Exception as error:
        return f"cuDNN is not here ({str(error).splitlines()[0]})"
    return None


def _not_flash(case: Case) -> str | None:
    """Return why the Pallas kernel cannot be used, or None."""
    if targets.name() != "tpu":
        return "the target is no TPU"
    if targets.partitions() > 1:
        return "XLA does not partition Pallas kernels over several devices"
    if case.has_dropout or case.mask is not None:
        return "a mask or dropout"
    rows, columns = case.query.shape[-2], case.key.shape[-2]
    if case.query.ndim != 4 or rows % 128 or columns % 128 or rows * columns < _LONG:
        return "not four dimensions, of long sequences that are multiples of 128"
    if case.is_causal and rows != columns:
        return "causal, of more rows than columns or fewer"
    if case.query.shape[-1] != case.value.shape[-1] or case.query.dtype == np.float64:
        return "heads of two widths, or float64"
    return None


def run(kernel: str, case: Case, scale: float, seed: Any = None, dropout: float = 0.0) -> jax.Array:
    """Compute attention by a kernel other than the plain one. query (B, H, L, E), key and value of
    H heads or of a divisor of it."""
    if kernel == "chunked":
        return _by_chunks(case, scale, seed, dropout)
    if kernel == "cudnn":
        return _by_cudnn(case, scale)
    return _by_flash(case, scale)


def _by_chunks(case: Case, scale: float, seed: Any, dropout: float) -> jax.Array:
    query, key, value, mask = case.query, case.key, case.value, case.mask
    settings = chunked.ChunkedAttentionSettings(
        case.is_causal, scale, dropout if seed is not None else 0.0
    )
    heads, shared = query.shape[-3] if query.ndim > 2 else 1, key.shape[-3] if key.ndim > 2 else 1
    if heads == shared or shared == 1 or heads == 1:
        return chunked.attend(query, key, value, mask, seed, settings)
    # Groups of heads share a key: a dimension of its own, instead of copies.
    groups = heads // shared
    grouped = query.reshape(*query.shape[:-3], shared, groups, *query.shape[-2:])
    if mask is not None and mask.ndim > 2:
        split = (shared, groups) if mask.shape[-3] == heads else (1, 1)
        mask = mask.reshape(*mask.shape[:-3], *split, *mask.shape[-2:])
    out: Any = chunked.attend(
        grouped, key[..., None, :, :], value[..., None, :, :], mask, seed, settings
    )
    return out.reshape(*query.shape[:-1], value.shape[-1])


def _by_cudnn(case: Case, scale: float) -> jax.Array:
    query, key, value = (jnp.swapaxes(x, 1, 2) for x in (case.query, case.key, case.value))
    out = jax.nn.dot_product_attention(
        query,
        key,
        value,
        mask=case.mask,
        scale=scale,
        is_causal=case.is_causal,
        implementation="cudnn",
    )
    return jnp.swapaxes(out, 1, 2)


def _by_flash(case: Case, scale: float) -> jax.Array:
    query, key, value = case.query, case.key, case.value
    groups = query.shape[1] // key.shape[1]
    if groups > 1:
        key, value = (jnp.repeat(x, groups, 1) for x in (key, value))
    return _flash(query, key, value, case.is_causal, scale)


@functools.partial(jax.custom_vjp, nondiff_argnums=(3, 4))
def _flash(query: Any, key: Any, value: Any, is_causal: bool, scale: float) -> jax.Array:
    return _flash_forward(query, key, value, is_causal, scale)[0]


def _flash_forward(
    query: Any, key: Any, value: Any, is_causal: bool, scale: float
) -> tuple[Any, Any]:
    """Run the Pallas kernel and return the result and its vjp, with indices of 32 bits in both."""
    from jax.experimental.pallas.ops.tpu import flash_attention as pallas  # noqa: PLC0415 - slow

    rows, columns = query.shape[2], key.shape[2]
    height, width = (next(b for b in (512, 256, 128) if n % b == 0) for n in (rows, columns))
    sizes = pallas.BlockSizes(
        block_q=height,
        block_k_major=width,
        block_k=width,
        block_b=1,
        block_q_major_dkv=height,
        block_k_major_dkv=width,
        block_k_dkv=width,
        block_q_dkv=height,
        block_k_major_dq=width,
        block_k_dq=width,
        block_q_dq=height,
    )

    def kernel(*given: Any) -> jax.Array:
        return pallas.flash_attention(*given, causal=is_causal, sm_scale=scale, block_sizes=sizes)

    with jax.enable_x64(False), _bits_of(query):
        return jax.vjp(kernel, query, key, value)


def _flash_backward(is_causal: bool, scale: float, vjp: Any, cotangent: Any) -> tuple[Any, ...]:
    with jax.enable_x64(False), _bits_of(cotangent):
        return vjp(cotangent)


def _bits_of(x: Any) -> AbstractContextManager[Any]:
    return jax.default_matmul_precision("default" if x.dtype.itemsize < 4 else "highest")


_flash.defvjp(_flash_forward, _flash_backward)
