"""``torch.backends.cuda``: accepted flags without effect."""

from torchlike import cuda as _cuda


class _Flags:
    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True


matmul = _Flags()


def is_built() -> bool:
    """Whether JAX has a GPU backend."""
    return _cuda.is_available()
