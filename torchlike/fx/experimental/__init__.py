"""``torch.fx.experimental``: graphs of operators, and questions about shapes, which are plain
numbers here."""

from torchlike._runtime.lazy import submodules as _submodules
from torchlike.fx.experimental import symbolic_shapes as symbolic_shapes

__getattr__ = _submodules(__name__, "proxy_tensor")
