"""``torch.fx.experimental.meta_tracer``: what torchlike refuses of it."""

from torchlike._compat.unsupported import functions as _functions

globals().update(_functions("fx.experimental.meta_tracer"))
