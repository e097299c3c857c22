"""What torchlike's functions change in the process that calls them."""

from __future__ import annotations

from torchlike._runtime.patches.registry import DeclaredPatch

_SEEN = "0.10.2, 0.12.0"
_CAPTURE = "while a compiled function is captured (its first call, and each that guards send there)"

SYMBOLIC_SIZES = DeclaredPatch(
    "symbolic-sizes",
    "`__eq__` and `__bool__` of `jax._src.export.shape_poly._DimExpr`, and `_geq_decision` there: "
    "within a trace of torchlike's, comparisons of symbolic sizes are decided by the sizes at "
    "hand; everywhere else they answer as before",
    when="at the first program that is traced with symbols for sizes",
    why="JAX raises where a comparison is not decided for all sizes; here the decision becomes a "
    "guard of the program",
    files=("_runtime/first_calls/symbolic_sizes.py",),
    seen=_SEEN,
)
PRINT = DeclaredPatch(
    "print",
    "`builtins.print`: in the thread that captures, what is printed is recorded",
    when=_CAPTURE,
    why="a compiled function prints at each call what its Python code would",
    files=("_jit/capture/effects.py",),
)
PROFILE = DeclaredPatch(
    "setprofile",
    "`sys.setprofile` of the thread that captures. A profiler that is on is called as well; "
    "`cProfile` is paused. Python's garbage collector is off meanwhile",
    when=_CAPTURE,
    why="guards are made of what the function's Python code reads",
    files=("_jit/capture/frame_observer.py",),
    permanent="it ends with the capture",
)
USERS_CODE = DeclaredPatch(
    "users-code",
    "`__code__` of your functions that branch or loop on a tensor's value",
    when=_CAPTURE,
    why="such a branch becomes one of the program. Another thread that calls the function "
    "meanwhile runs the same rewritten code, which does the same outside of a capture",
    files=("_jit/trace/rewriting.py",),
    permanent="it ends with the capture",
)
CAPTURED_STATE = DeclaredPatch(
    "captured-state",
    "Attributes, lists and dictionaries, environment variables, `gc.set_threshold`, "
    "`sys.setrecursionlimit`, `locale.setlocale`, counters of chex: what the captured function set "
    "is put back if the capture is given up, and set again at each compiled call",
    when="when a capture is given up, and at compiled calls of functions that set such things",
    why="the function does what its Python code would",
    files=(
        "_jit/capture/effects.py",
        "_jit/capture/library_calls.py",
        "_jit/guards/containers.py",
        "_jit/guards/guard.py",
        "_jit/guards/objects.py",
        "_jit/guards/weak.py",
    ),
    permanent="it is your program's own doing",
)
UNFREEZE = DeclaredPatch(
    "gc-unfreeze",
    "`gc.unfreeze()`",
    when="when a capture has to know who refers to a tensor, and something called `gc.freeze()`",
    why="`gc.get_referrers` does not see what is frozen",
    files=("_runtime/collector.py",),
    permanent="call `gc.freeze()` again",
)
PROCESSES_OF_JAX = DeclaredPatch(
    "jax-distributed",
    "`jax._src.distributed.global_state` (client, process number, number of processes, address); "
    "the options `jax_cuda_visible_devices` and `jax_rocm_visible_devices`; a function of "
    "`atexit`, which ends the process with `os._exit(1)` where a collective waits in vain",
    when="when `init_process_group` joins several processes",
    why="`jax.distributed.initialize` ends a process when another has failed, and takes SIGTERM "
    "away from Python",
    files=("_runtime/rendezvous/coordination.py",),
    permanent="`destroy_process_group` and the end of the process leave the others",
    seen=_SEEN,
)
XLA_LOGS = DeclaredPatch(
    "xla-logs",
    "`TF_CPP_MIN_LOG_LEVEL=2` in the environment, unless it is set; file descriptor 2 is another "
    "for a moment",
    when="when this process serves the store that others meet at",
    why="XLA writes a line for each step of the service",
    files=("_runtime/rendezvous/service.py",),
)
FX = DeclaredPatch(
    "fx-trace",
    "Functions in the globals of your modules, and methods of `Module`, that `torch.fx` records",
    when="within `torch.fx.symbolic_trace`",
    why="as PyTorch's does",
    files=("fx/_patches.py",),
    permanent="it ends with the trace",
)
LINECACHE = DeclaredPatch(
    "linecache",
    "Entries of `linecache.cache` under names of their own",
    when="when a `GraphModule` is made, and by the strategies of `torchlike.testing`",
    why="tracebacks show generated code",
    files=("fx/graph_module.py", "testing/strategies/programs.py"),
    permanent="the entries belong to code that may still run",
)
ASKING = DeclaredPatch(
    "overrides",
    "`__code__`, `__defaults__` and `__wrapped__` of torchlike's own public functions",
    when="once a class with `__torch_function__`, or a mode, appears",
    why="functions that nobody overrides take no time to ask",
    files=("_extensions/overrides/code_exchange.py",),
    permanent="a class may have methods that count on it",
)
HUB = DeclaredPatch(
    "hub-path",
    "`sys.path` begins with the repository's folder",
    when="within `torch.hub.load`",
    why="as PyTorch's does: `hubconf.py` imports its neighbours",
    files=("hub.py",),
    permanent="it ends with the call",
)
TRACER_WARNINGS = DeclaredPatch(
    "tracer-warnings",
    "A filter of `warnings`",
    when="`torch.jit.TracerWarning.ignore_lib_warnings()`",
    why="you asked for it",
    files=("jit/_trace.py",),
    permanent="`warnings.resetwarnings()` removes it",
)
ALLOCATOR = DeclaredPatch(
    "allocator",
    "`gc.freeze()`; `mallopt` of glibc, by `ctypes`; a listener of `jax.monitoring`",
    when="`torchlike.porting.tune_allocator()`, which `torchlike run` calls",
    why="freed memory of large tensors is kept for the next ones. `TORCHLIKE_ALLOCATOR=system` "
    "leaves all as it is",
    files=("porting/allocator.py",),
    permanent="neither glibc nor JAX has a function for it",
    seen=_SEEN,
)
MULTIPROCESSING = DeclaredPatch(
    "multiprocessing",
    "Reductions of `multiprocessing.reduction.ForkingPickler` for tensors; functions of "
    "`multiprocessing.util.register_after_fork`; contexts of our own with `_Popen` of our own",
    when="`import torch.multiprocessing`",
    why="tensors go to other processes by shared memory",
    files=(
        "multiprocessing/reductions.py",
        "multiprocessing/contexts.py",
        "multiprocessing/spawn.py",
    ),
    permanent="queues may hold such tensors",
)
DATA_LOADER = DeclaredPatch(
    "data-loader",
    "Classes of `__main__` that are sent to workers stand in modules made in `sys.modules` there",
    when="a `DataLoader` with workers, in the process with the loop and in its workers",
    why="workers are forked from a server that has not run your script",
    files=("utils/data/processes/by_value.py", "utils/data/processes/worker_pool.py"),
    permanent="the workers end with the loader",
)
