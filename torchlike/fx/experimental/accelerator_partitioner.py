"""``torch.fx.experimental.accelerator_partitioner``: what torchlike refuses of it."""

from torchlike._compat.unsupported import functions as _functions

globals().update(_functions("fx.experimental.accelerator_partitioner"))
