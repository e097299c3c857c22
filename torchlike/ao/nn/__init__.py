"""``torch.ao.nn``."""

from torchlike.ao.nn import quantized as quantized
