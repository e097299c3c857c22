"""Runs a script on torchlike and records it: the child process of `torchlike compare`.

``python -m torchlike.porting.record_torchlike RESULT [-m] SCRIPT ...``; the environment variable
``TORCHLIKE_COMPILE`` says what is compiled.
"""

from __future__ import annotations

import sys
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

import torchlike
from torchlike import nn, optim
from torchlike.porting import compiled, torch_alias
from torchlike.porting.allocator import tune_allocator
from torchlike.porting.recorder import Framework
from torchlike.porting.recording import record
from torchlike.porting.version import own_version


def main(argv: list[str]) -> None:
    tune_allocator()
    torch_alias.install()
    left_eager = compiled.apply(compiled.mode_from_environment())
    framework = Framework(
        tensor=torchlike.Tensor,
        module=nn.Module,
        optimizer=optim.Optimizer,
        compilers=((torchlike, "compile"), (torchlike.jit, "jit")),
        keep=_keep,
        read=lambda array: float(np.asarray(array)),
    )
    record(framework, lambda: _about(left_eager), argv)


def _keep(loss: torchlike.Tensor) -> jax.Array | None:
    array = loss.detach().jax()
    return None if isinstance(array, Tracer) else array


def _about(left_eager: dict[str, str]) -> dict[str, Any]:
    return {
        "framework": "torchlike",
        "version": own_version(),
        "device": jax.default_backend(),
        "left_eager": left_eager,
    }


if __name__ == "__main__":
    main(sys.argv[1:])
