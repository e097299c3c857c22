"""``torch._inductor``: settings of PyTorch's code generator, which XLA takes the place of."""

from torchlike.compiler import cudagraph_mark_step_begin
from torchlike.compiler.inductor import config

__all__ = ["config", "cudagraph_mark_step_begin"]
