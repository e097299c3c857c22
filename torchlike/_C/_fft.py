"""``torch._C._fft``: the functions of ``torch.fft``, as graphs name them."""

from torchlike._dispatch.registry import NAMESPACES as _NAMESPACES

globals().update({f"fft_{name}": f for name, f in _NAMESPACES["fft"].items()})
