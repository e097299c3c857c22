"""``torch.ao.nn.quantized``."""
