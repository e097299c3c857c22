"""``torch.ao.nn.qat``: what torchlike refuses of it."""

from torchlike._compat.unsupported import functions as _functions

globals().update(_functions("ao.nn.qat"))
