"""``torch._C._linalg``: the functions of ``torch.linalg``, as graphs name them."""

from torchlike._dispatch.registry import NAMESPACES as _NAMESPACES

globals().update({f"linalg_{name}": f for name, f in _NAMESPACES["linalg"].items()})
