"""Kernels that JAX has without a public name."""

from __future__ import annotations

from torchlike._runtime.jax_private.names import declare

CUDNN = declare(
    "jax._src.cudnn.fused_attention_stablehlo.check_cudnn_version",
    "whether the library of cuDNN is here, which its attention is compiled with",
    "attention is computed by another kernel",
)


def check_cudnn() -> None:
    """Raise an error where cuDNN's library cannot be used."""
    CUDNN.require()()
