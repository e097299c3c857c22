"""The profile "torchlike" of hypothesis, which fits code that is compiled at its first call."""

from __future__ import annotations

import os

from torchlike.testing.strategies.hypothesis_package import HealthCheck, settings


def register_profile() -> None:
    """Register it; ``settings.load_profile("torchlike")`` or ``--hypothesis-profile=torchlike``
    puts it to use."""
    settings.register_profile(
        "torchlike",
        deadline=None,  # the first call of a shape takes a hundred times what the next do
        derandomize=bool(os.environ.get("CI")),
        suppress_health_check=[HealthCheck.too_slow],
        print_blob=True,
    )
