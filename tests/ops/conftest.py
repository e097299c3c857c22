"""Each test of a compute path runs eager and as a compiled program."""

from collections.abc import Callable
from typing import Any

import pytest

import torchlike


@pytest.fixture(params=["eager", "jit"])
def run(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """``run(function, *tensors)``: call it directly, or captured by ``torchlike.jit``."""

    def call(function: Callable[..., Any], *tensors: Any) -> Any:
        return (torchlike.jit(function) if request.param == "jit" else function)(*tensors)

    return call
