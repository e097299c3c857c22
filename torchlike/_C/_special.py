"""``torch._C._special``: the functions of ``torch.special``, as graphs name them."""

from torchlike._dispatch.registry import NAMESPACES as _NAMESPACES

globals().update({f"special_{name}": f for name, f in _NAMESPACES["special"].items()})
