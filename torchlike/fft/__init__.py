"""torch.fft: discrete Fourier transforms."""

from torchlike import _ops as _ops
from torchlike._core.dispatch.registry import NAMESPACES as _NAMESPACES

globals().update(_NAMESPACES["fft"], __all__=[*_NAMESPACES["fft"]])
