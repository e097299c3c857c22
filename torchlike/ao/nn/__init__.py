"""``torch.ao.nn``."""

from torchlike.ao.nn import qat as qat
from torchlike.ao.nn import quantized as quantized
