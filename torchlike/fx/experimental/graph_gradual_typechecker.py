"""``torch.fx.experimental.graph_gradual_typechecker``: what torchlike refuses of it."""

from torchlike._compat.unsupported import functions as _functions

globals().update(_functions("fx.experimental.graph_gradual_typechecker"))
