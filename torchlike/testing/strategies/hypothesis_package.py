"""hypothesis, or an ImportError that says how to get it."""

from __future__ import annotations

from typing import Any

try:
    import hypothesis
    from hypothesis import strategies
    from hypothesis.extra import numpy as extra_numpy
    from hypothesis.vendor import pretty
except ImportError as error:
    raise ImportError(
        "torchlike.testing.strategies needs hypothesis, which is not installed: "
        "pip install 'torchlike[testing]'",
        name="hypothesis",
    ) from error

settings: Any = hypothesis.settings
HealthCheck: Any = hypothesis.HealthCheck
st: Any = strategies
arrays: Any = extra_numpy.arrays
for_type_by_name: Any = pretty.for_type_by_name
