"""``torch_xla.debug.metrics``, usually ``met``."""

from __future__ import annotations

from torchlike.porting.torch_xla._absent import absent

__getattr__ = absent("torch_xla.debug.metrics")


def metrics_report() -> str:
    """Return a text that says where torchlike tells of compilations."""
    return "torchlike keeps no counters of torch_xla's: TORCHLIKE_LOGS=recompiles,first_calls\n"


def short_metrics_report() -> str:
    """Return `metrics_report`."""
    return metrics_report()


def clear_all() -> None:
    """Do nothing: nothing is counted."""
