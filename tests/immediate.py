"""Tests that look at what deferral changes by design: they run at once under TORCHLIKE_EAGER, too.

By file, or file and test, and why.
"""

_WHO_COMPUTES = "asks which results NumPy computed, or what was compiled for one operation"
_ROUNDED = "rounds numbers of bfloat16, of which compiled programs have another last digit"
_WHEN_FREED = "asks when an array goes, which a chain that is not run yet still needs"

IMMEDIATE = {
    "autograd/test_engine.py::test_backward_frees_what_nodes_saved": _WHEN_FREED,
    "autograd/test_function.py::test_graphs_with_functions_hold_no_cycles": _WHEN_FREED,
    "dispatch/test_host_values.py": _WHO_COMPUTES,
    "dispatch/test_recycling.py": _WHEN_FREED,
    "first_calls/": _WHO_COMPUTES,
    "jit/test_compiled_meanwhile.py::test_calls_meanwhile_compile_no_operation": _WHO_COMPUTES,
    "jit/test_compiled_meanwhile.py::test_the_call_that_is_traced_runs": _WHO_COMPUTES,
    "jit/test_host_results.py": _WHO_COMPUTES,
    "parity/semantics/test_semantics.py::test_behaviour[modules and optimizers: muon_": _ROUNDED,
    "utils/test_benchmark.py::test_what_is_timed_is_compiled": _WHO_COMPUTES,
    "utils/test_checkpoint.py::test_what_is_inside_is_not_kept": _WHEN_FREED,
    "utils/test_checkpoint.py::test_arguments_are_freed_as_backward_walks": _WHEN_FREED,
}


def reason(nodeid: str) -> str:
    """Return why a test, by its id below tests/, runs at once; "" for others."""
    return next((why for name, why in IMMEDIATE.items() if nodeid.startswith(name)), "")
