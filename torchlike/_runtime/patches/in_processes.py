"""What commands change in their process, and what processes that the package starts change in
theirs. `import torchlike` by itself does none of it."""

from __future__ import annotations

from torchlike._runtime.patches.registry import DeclaredPatch

ALIAS = DeclaredPatch(
    "torch-alias",
    "Finders in `sys.meta_path`, and modules named `torch....` in `sys.modules`: they are "
    "torchlike's. `importlib.metadata` knows a distribution `torch`. Classes and functions "
    "say that they come from `torch...`",
    when="`import torchlike.as_torch`, `torchlike run`, the shim",
    why="programs that `import torch` run unchanged",
    files=(
        "porting/aliases.py",
        "porting/torch_alias.py",
        "porting/metadata.py",
        "porting/late.py",
        "porting/shown_names.py",
        "porting/at_start/on_demand.py",
        "porting/at_start/sitecustomize.py",
        "porting/shim/stand_in.py",
    ),
)
PARTIAL_ALIAS = DeclaredPatch(
    "partial-alias",
    "`builtins.__import__` and `importlib.import_module`: they look which module asks for `torch`",
    when="`install_alias(only=…)` and `install_alias(except_=…)`",
    why="one package runs on torchlike, and others on PyTorch beside it",
    files=("porting/partial_alias.py",),
)
CHILDREN = DeclaredPatch(
    "children",
    "`PYTHONPATH` and `TORCHLIKE_CHILDREN` in the environment; `subprocess.Popen.__init__` and "
    "`multiprocessing.process.BaseProcess.start` are wrapped and warn",
    when="where `torch` is an alias",
    why="processes that your program starts know the alias too; a warning tells of those that "
    "cannot",
    files=("porting/children.py",),
)
SCRIPT = DeclaredPatch(
    "script",
    "`sys.argv`, `sys.path`, `sys.modules['__main__']`; a function of `atexit`; SIGINT by default "
    "once the script has ended by it",
    when="`torchlike run` and `torchlike launch`",
    why="the script finds what `python script.py` would give it",
    files=("porting/script.py", "torchlike_command/__init__.py", "distributed/launch.py"),
    permanent="the command runs nothing else",
)
DEVICE_MAP = DeclaredPatch(
    "device-map",
    "`TORCHLIKE_DEVICE_MAP` in the environment",
    when="`torchlike run --device-map`",
    why="devices that your program names, and those that they stand for, in its processes too",
    files=("porting/device_map.py",),
    permanent="the command runs nothing else",
)
STAND_IN = DeclaredPatch(
    "stand-in",
    "JAX's options `jax_platforms` is `cpu` and `jax_num_cpu_devices` is 2",
    when="`torchlike run --device-map cuda=cpu --card A100`",
    why="the first device of the CPU's stands for the GPU, so that what is drawn there is known",
    files=("_runtime/platforms.py",),
    seen="0.10.2",
    permanent="the command runs nothing else",
)
SIGNALS = DeclaredPatch(
    "launcher-signals",
    "Handlers of SIGINT, SIGTERM and others",
    when="`torchlike launch` and `torchlike compare`",
    why="the processes that were started end with the command",
    files=("_runtime/launching/agent.py", "porting/compare.py"),
    permanent="they end with the command",
)
RECORDERS = DeclaredPatch(
    "recorders",
    "Methods of PyTorch's and torchlike's classes and of your modules; a listed number of "
    "environment variables and file descriptor 2 for a moment; modules as they are imported",
    when="`torchlike compare`, `torchlike plan`, `torchlike bench`",
    why="what a program computes is recorded without a change to it",
    files=(
        "porting/record_torch.py",
        "porting/record_torchlike.py",
        "porting/recorder.py",
        "porting/whole_step.py",
        "porting/divergence/programs.py",
        "porting/divergence/tracer.py",
        "porting/divergence/watch.py",
        "porting/plan/loops.py",
        "porting/plan/modules.py",
        "porting/plan/topologies.py",
        "porting/bench/on_torch.py",
        "porting/bench/targets.py",
        "porting/bench/workbench.py",
    ),
    permanent="they end with the command",
)
PARENTS = DeclaredPatch(
    "parents",
    "`prctl(PR_SET_PDEATHSIG)`, by `ctypes`",
    when="in processes that the package starts, on Linux",
    why="they end with the process that started them",
    files=("_runtime/parents.py",),
    permanent="it is the process' own",
)
WORKERS = DeclaredPatch(
    "workers",
    "Signal handlers, `os.environ`, `sys.path`, `sys.argv`, `sys.modules['__main__']`, file "
    "descriptor 0, `gc.freeze()`, JAX's option `jax_platforms`",
    when="in the workers of a `DataLoader` and the server that they are forked from",
    why="a worker is to find what the process with the loop has, and no accelerator",
    files=("utils/data/processes/server.py", "utils/data/processes/worker.py"),
    permanent="it is the process' own",
    seen="0.10.2, 0.12.0",
)
PARSER = DeclaredPatch(
    "parser",
    "`sys.path`; limits of time and memory",
    when="in the process that tries StableHLO of a file from strangers",
    why="what crashes MLIR crashes that process alone",
    files=("serialization/stablehlo/parsing.py",),
    permanent="it is the process' own",
)
XLA_PROFILER = DeclaredPatch(
    "xla-profiler",
    "A function of `atexit`",
    when="`torch_xla.debug.profiler.trace_detached`",
    why="a trace that is under way is written at the end",
    files=("porting/torch_xla/debug/profiler.py",),
    permanent="it is called once",
)
