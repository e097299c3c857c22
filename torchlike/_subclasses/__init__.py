"""``torch._subclasses``: fake tensors, which have a size, a dtype and a device, and no values.

Imports `ops`, `utils` and below. Begin with ``fake_tensor.py``; what an operator gives for fakes is
in ``symbolic_results.py`` and ``symbolic_rules.py``.
"""

from torchlike._subclasses import fake_tensor
from torchlike._subclasses.fake_tensor import (
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    UnsupportedFakeTensorException,
)

CrossRefFakeMode = FakeTensorMode

__all__ = [
    "CrossRefFakeMode",
    "DynamicOutputShapeException",
    "FakeTensor",
    "FakeTensorMode",
    "UnsupportedFakeTensorException",
    "fake_tensor",
]
