"""``torch.fx.experimental``: questions about shapes, which are plain numbers here."""

from torchlike.fx.experimental import proxy_tensor as proxy_tensor
from torchlike.fx.experimental import symbolic_shapes as symbolic_shapes
