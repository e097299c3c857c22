"""``torch.utils.benchmark``: times of statements, with the devices waited for."""

from torchlike.utils.benchmark.timer import Measurement, Timer

__all__ = ["Measurement", "Timer"]
