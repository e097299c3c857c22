"""``torch.backends.cpu``: which vectors the processor has."""

from __future__ import annotations

from torchlike._compat.devices.cpu import get_capabilities

__all__ = ["get_cpu_capability"]

_AVX512 = ("avx512_f", "avx512_dq", "avx512_bw", "avx512_vl", "fma3")


def get_cpu_capability() -> str:
    """Return "AVX512", "AVX2" or "DEFAULT": what PyTorch's kernels would be compiled for. XLA
    compiles for the processor that it finds."""
    found = get_capabilities()
    if all(found.get(name) for name in _AVX512):
        return "AVX512"
    return "AVX2" if found.get("avx2") and found.get("fma3") else "DEFAULT"
