"""``torch.utils.benchmark``: times of statements, with the devices waited for."""

from torchlike.utils.benchmark.compare import Colorize, Compare
from torchlike.utils.benchmark.timer import Measurement, TaskSpec, Timer
from torchlike.utils.benchmark.units import (
    ordered_unique,
    select_unit,
    trim_sigfig,
    unit_to_english,
)

__all__ = [
    "Colorize",
    "Compare",
    "Measurement",
    "TaskSpec",
    "Timer",
    "ordered_unique",
    "select_unit",
    "trim_sigfig",
    "unit_to_english",
]
