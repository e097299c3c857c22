"""Programs whose body changes the structure of modules, hooks or optimizers, or asks for it.

Each takes the library (ours or real PyTorch) and what compiles a function (or leaves it as it is),
and gives what a script sees: results, and what objects hold afterwards.
"""

from __future__ import annotations

from structure_cases import (
    between_calls,
    buffers,
    children,
    hooks,
    identity,
    mutators,
    optimizers,
    parameters,
    whole_modules,
)
from structure_cases.common import CASES

#: What torchlike.jit does not compile and says so.
REFUSED = {
    "two_tensors_exchanged": "swap_tensors",
    "a_schedule_made_inside": "scheduler.step",
    "a_module_converted_inside": "tensor.data = value",
    "a_module_pruned_inside": "tensor.data = value",
}
