"""``torch.ao``: quantization of modules, as far as it is here (see ``ao.quantization``)."""
