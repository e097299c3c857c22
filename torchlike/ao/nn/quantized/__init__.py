"""``torch.ao.nn.quantized``."""

from torchlike.ao.nn.quantized import dynamic as dynamic
