"""``torch.profiler``: regions in a profile, and schedules; profiles are JAX's.

Imports `_runtime` alone. Begin with ``profile.py``; ``recorded.py`` reads what JAX wrote, and
``events.py`` shows it.
"""

import sys

from torchlike.profiler import itt
from torchlike.profiler.profile import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    record_function,
    schedule,
    tensorboard_trace_handler,
)

#: PyTorch's name for the module of profiles, whose own name in this package is the class.
profiler = sys.modules["torchlike.profiler.profile"]

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "itt",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "tensorboard_trace_handler",
]


def kineto_available() -> bool:
    """Return False: profiles are JAX's."""
    return False
