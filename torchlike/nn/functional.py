"""``torch.nn.functional``: every function that the op families registered for it."""

from torchlike import ops as _ops  # noqa: F401 - registers the ops
from torchlike.dispatch import registry as _registry

globals().update(_registry.NAMESPACES["nn.functional"])
