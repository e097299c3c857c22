"""``torch._inductor``: settings of PyTorch's code generator, which XLA takes the place of."""

from torchlike.compiler.inductor import config

__all__ = ["config"]
