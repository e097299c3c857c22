"""What `import torchlike` changes."""

from __future__ import annotations

from torchlike._runtime.patches.registry import DeclaredPatch

_WHEN = "at import"
_SEEN = "0.10.2, 0.12.0"

INTERRUPTS = DeclaredPatch(
    "unraisablehook",
    "`sys.unraisablehook` is wrapped: a Ctrl-C that Python drops comes again",
    when=_WHEN,
    why="an interruption that arrives within a callback of the garbage collector (JAX has one) or "
    "a `__del__` is lost otherwise, and the program runs on",
    files=("_runtime/interrupts.py",),
)
COLLECTOR = DeclaredPatch(
    "collector",
    "`gc.freeze()`: Python's collector of garbage leaves alone what exists when the import ends, "
    "and does not run during it",
    when=_WHEN,
    why="the import makes half a million objects, hardly one of them garbage. Looking through them "
    "took a quarter of the import, as much at the end of the process, and 0.1 s in each full "
    "collection between. Where a capture has to know who refers to a tensor, it is undone",
    files=("_runtime/collector.py",),
)
BLAS_THREADS = DeclaredPatch(
    "openblas-timeout",
    "`OPENBLAS_THREAD_TIMEOUT=4` in the environment, unless it is set or NumPy is imported already",
    when=_WHEN,
    why="threads of NumPy's matrix library spin for 20 ms after each product and take the cores "
    "from XLA. Child processes inherit it. OpenBLAS reads it once",
    files=("_runtime/blas_threads.py",),
)
EXCEPTHOOKS = DeclaredPatch(
    "excepthooks",
    "`sys.excepthook`, `threading.excepthook` and `showtraceback` of IPython's shell, where there "
    "is one, are wrapped: tracebacks without the frames of torchlike and JAX, and what was meant "
    "by a name that `torch` or a tensor does not have",
    when=_WHEN,
    why="the line of your program that an error is about is the last one shown. "
    "`TORCHLIKE_TRACEBACK=full` shows all",
    files=("_runtime/tracebacks.py",),
)
X64 = DeclaredPatch(
    "x64",
    "JAX's option `jax_enable_x64` is on",
    when=_WHEN,
    why="PyTorch's integers have 64 bits. JAX programs of yours get 64-bit defaults as well; `with "
    "jax.enable_x64(False):` is for those that want 32. Where JAX was in use before, a warning "
    "says so. Undone, tensors raise an error that says what is off",
    files=("_runtime/x64.py",),
    seen=_SEEN,
)
CACHE_OPTIONS = DeclaredPatch(
    "compilation-cache",
    "JAX's options `jax_compilation_cache_dir`, `jax_persistent_cache_min_compile_time_secs` and "
    "`jax_persistent_cache_min_entry_size_bytes`, unless `TORCHLIKE_CACHE_DIR` is empty or JAX has "
    "a folder already",
    when=_WHEN,
    why="the second run of a script starts warm. JAX programs of yours are kept there, too",
    files=("_runtime/compilation_cache.py",),
    seen=_SEEN,
)
CACHE_CLASS = DeclaredPatch(
    "cache-files",
    "`jax._src.compilation_cache.LRUCache` is a subclass of JAX's own",
    when="at import, where the cache is on",
    why="entries appear only once they are whole, are read only where nobody else may have written "
    "them, and fit the number of threads",
    files=("_runtime/compilation_cache.py",),
    seen=_SEEN,
)
MLIR_CONTEXTS = DeclaredPatch(
    "mlir-contexts",
    "`jax._src.interpreters.mlir.make_ir_context` gives each thread one context for 200 programs",
    when=_WHEN,
    why="JAX makes one for each program: 2.5 to 3 ms, as much as lowering a small operation",
    files=("_runtime/mlir_contexts.py",),
    seen=_SEEN,
)
KNOWN_NANS = DeclaredPatch(
    "known-nans",
    "`jax._src.interpreters.mlir.lower_jaxpr_to_module` is wrapped: programs for the CPU in which "
    "the exponential of a NaN can be known get a guard behind it, JAX programs of yours as well",
    when=_WHEN,
    why="XLA's CPU compiler computes such an exponential wrongly: the result is what memory held",
    files=("_runtime/known_nans.py",),
    seen=_SEEN,
)
PLATFORMS = DeclaredPatch(
    "jax-platforms",
    "JAX's option `jax_platforms` is `cpu`, where plugins for accelerators are installed, none has "
    "a device here, and `JAX_PLATFORMS` says nothing",
    when=_WHEN,
    why="JAX warns, or waits, for a device that is not there",
    files=("_runtime/platforms.py",),
    seen=_SEEN,
)
XLA = DeclaredPatch(
    "xla-flags",
    "`XLA_FLAGS` in the environment gets our flags behind yours; `PJRT_NPROC` where the CPU has "
    "several devices",
    when="at import, and by `torch.set_num_threads` before the first computation",
    why="measured with each version of jaxlib (see `torchlike/_runtime/xla_flags.py`). Child "
    "processes inherit it. `TORCHLIKE_XLA_FLAGS=system` leaves it alone. XLA reads it when it "
    "starts: undone later, only child processes see that",
    files=("_runtime/xla_flags.py",),
    seen=_SEEN,
)
PLACES = DeclaredPatch(
    "places",
    "A finder stands first in `sys.meta_path`. It answers for modules below `torchlike` alone",
    when=_WHEN,
    why="PyTorch has names at several places (`torch.xpu`, `torch._tensor`), which are lines of a "
    "table here",
    files=("_compat/places.py",),
    permanent="names that were not imported yet could not be found",
)
MODULES = DeclaredPatch(
    "own-modules",
    "Modules named `torchlike....` in `sys.modules` that are no files; some of our modules are of "
    "subclasses of `ModuleType`",
    when=_WHEN,
    why="places of PyTorch's that only refuse; attributes that are settings "
    "(`torch.backends.cudnn.benchmark = True`)",
    files=(
        "_compat/unsupported.py",
        "_compat/places.py",
        "_compat/reexports.py",
        "jit/__init__.py",
        "backends/opt_einsum.py",
        "backends/xnnpack.py",
        "backends/cudnn.py",
        "backends/mkldnn.py",
        "backends/quantized.py",
        "utils/deterministic.py",
        "utils/_config_module.py",
    ),
    permanent="they are the package's own",
)
PYTREES = DeclaredPatch(
    "pytrees",
    "`Tensor`, `torch.nn.Module`, and each subclass of them as it is made, are registered with "
    "`jax.tree_util.register_pytree_node`",
    when="at import, and as classes are made",
    why="they can be arguments and results of JAX's functions",
    files=("interop/pytrees.py", "interop/modules.py", "_core/dispatch/executable.py"),
    permanent="JAX has no function for it",
    seen=_SEEN,
)
PRIMITIVES = DeclaredPatch(
    "primitives",
    "Rules for three primitives of torchlike's own stand in JAX's tables",
    when=_WHEN,
    why="checks of values within programs, and values that pass from one process to another",
    files=("_runtime/value_check.py", "distributed/transfers.py"),
    permanent="no other primitive is concerned",
    seen=_SEEN,
)
LATE_CHECKS = DeclaredPatch(
    "late-checks",
    "A function of `atexit`: prints the error of a compiled call whose results nobody has read",
    when=_WHEN,
    why="checks of values in compiled programs are looked at late",
    files=("_runtime/late_checks.py",),
)
FORKS = DeclaredPatch(
    "forks",
    "Functions of `os.register_at_fork`, called in a forked child: they forget checks of values, "
    "locks, sockets and threads of the parent's. Before the fork deferred calls are run",
    when=_WHEN,
    why="the child would wait for something that only the parent has",
    files=(
        "_extensions/deferred/switch.py",
        "_runtime/background.py",
        "_runtime/late_checks.py",
        "random/block_transform.py",
        "utils/data/processes/channel.py",
    ),
    permanent="Python has no function for it",
)
