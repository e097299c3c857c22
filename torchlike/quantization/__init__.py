"""``torch.quantization``: the older name of ``torch.ao.quantization``."""

from torchlike.ao import quantization as _quantization

globals().update({name: getattr(_quantization, name) for name in _quantization.__all__})
