"""How much of a script is compiled: nothing, the regions it marks, or every module it calls.

``TORCHLIKE_COMPILE`` in the environment chooses:

- ``off``: ``torch.compile`` and ``torchlike.jit`` give back what they were given;
- ``regions`` (the default): they compile;
- ``modules``: they do, and so is every module that is not called by another module.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable

import numpy as np

import torchlike
from torchlike import nn
from torchlike._core import modes, tape
from torchlike._jit.call.fallback import replayable
from torchlike._jit.call.function import JitFunction
from torchlike._jit.guards.keys import NoKey
from torchlike._runtime.environment_variables import COMPILE
from torchlike.porting.module_compiler import ModuleCompiler


def mode_from_environment() -> str:
    """Return the value of ``TORCHLIKE_COMPILE``.

    Raises:
        ValueError: it is none of the three modes.
    """
    return "".join(COMPILE.get()) or "regions"


def apply(mode: str) -> ModuleCompiler | None:
    """Set the process to ``mode``, one of ``off``, ``regions`` and ``modules``.

    Returns:
        What compiles modules, and knows those that could not be compiled; None in other modes.
    """
    torchlike.jit.set_mode("off" if mode == "off" else "on")
    if mode != "modules":
        return None
    compiler = ModuleCompiler(
        module_class=nn.Module,
        compile=functools.partial(_compiled, torchlike.jit.jit),
        errors=(torchlike.jit.JitCaptureError, NoKey),
        save_random_state=_save_random_state,
        call=replayable,
        runs_eagerly=_in_backward_or_checkpoint,
    )
    compiler.install()
    return compiler


def _compiled(jit: Callable[[nn.Module], JitFunction], module: nn.Module) -> JitFunction:
    """Compile a module by ``jit``, as it was before anybody watched what a script marks."""
    function = jit(module)
    function.without_key = NoKey  # told from a TypeError of the module's
    function.stand_alone()
    return function


def _in_backward_or_checkpoint() -> bool:
    """Return whether a backward pass runs, or a checkpoint may compare what two runs of a module
    save."""
    return bool(tape.saving.hooks) or modes.current.backward_pass is not None


def _save_random_state() -> Callable[[], None]:
    """Save the random state of Python and NumPy, and return a function that restores it.
    torchlike's own generators are not moved by a capture that fails."""
    python, numpy = random.getstate(), np.random.get_state()

    def restore() -> None:
        random.setstate(python)
        np.random.set_state(numpy)

    return restore
