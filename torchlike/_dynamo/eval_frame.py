"""``torch._dynamo.eval_frame``: where PyTorch keeps what ``torch.compile(module)`` gives."""

from torchlike.jit._optimized_module import OptimizedModule

__all__ = ["OptimizedModule", "is_dynamo_supported"]


def is_dynamo_supported() -> bool:
    """Return whether ``torch.compile`` works on this system: it does wherever JAX does."""
    return True
