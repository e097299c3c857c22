"""``torch._dynamo.eval_frame``: where PyTorch keeps what ``torch.compile(module)`` gives."""

from torchlike.compiler.optimized_module import OptimizedModule

__all__ = ["OptimizedModule"]
