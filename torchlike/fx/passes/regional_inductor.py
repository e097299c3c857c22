"""``torch.fx.passes.regional_inductor``: what torchlike refuses of it."""

from torchlike._compat.unsupported import functions as _functions

globals().update(_functions("fx.passes.regional_inductor"))
