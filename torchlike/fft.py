"""torch.fft: discrete Fourier transforms."""

from torchlike import ops as _ops  # noqa: F401 - registers the functions
from torchlike.dispatch.registry import NAMESPACES as _NAMESPACES

globals().update(_NAMESPACES["fft"])
