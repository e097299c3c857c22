"""``torch._C._cpu``: instruction sets by which programs choose kernels. XLA chooses here, so the
answer is always the plain one."""

from __future__ import annotations


def _is_vnni_supported() -> bool:
    """Return False: no kernel is written for one instruction set."""
    return False


_is_amx_tile_supported = _is_amx_fp16_supported = _is_vnni_supported
_is_avx2_supported = _is_avx512_supported = _is_vnni_supported
_is_avx512_vnni_supported = _is_avx512_bf16_supported = _is_vnni_supported
