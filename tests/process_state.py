"""What of a process a test must leave as it found it: modes, settings, tables, threads, files.

``before = Snapshot()`` and ``before.left()`` say in a line each what has changed since then. The
fixture in conftest.py fails the test that left something.
"""

import gc
import multiprocessing.process
import operator
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

import torchlike as torch
from torchlike._core import modes, overrides, tape
from torchlike._extensions import boxes
from torchlike._extensions.deferred import policy, switch
from torchlike._jit.call import entry
from torchlike._runtime import printing, recycling
from torchlike._runtime.first_calls.settings import settings as first_calls
from torchlike.amp import autocast_mode
from torchlike.nn import hooks as module_hooks
from torchlike.optim import optimizer
from torchlike.porting import allocator
from torchlike.utils.data.processes import worker_pool

#: Threads by these beginnings of their names serve the process as long as it lives.
_SERVING = (
    "torchlike",
    "ThreadPoolExecutor",
    "asyncio_",
    "pymain",
    "Dummy",
    "tensorstore",
    "execnet",
    "QueueFeederThread",
    "tqdm",
    "metadata_store",
    "checkpoint",
    "Thread-auto",
    "pytest_timeout",
)
#: Open files that serve the process: pipes and sockets of such threads and of child processes that
#: serve, memory without a name, devices.
_SERVING_FILES = ("pipe:", "socket:", "anon_inode:", "/memfd:", "/dev/", "/proc/")
#: Fonts that matplotlib has opened.
_FONTS = "/mpl-data/fonts/"
#: Children that serve the process as long as it lives.
_SERVING_CHILDREN = (
    "resource_tracker",
    "forkserver",
    "semaphore_tracker",
    "import os, sys; sys.path[:]",  # forks DataLoader's workers (torchlike.utils.data.processes)
)
#: What the environment is allowed to gain: libraries write notes to themselves there.
_OWN_VARIABLES = frozenset(
    {
        b"PYTEST_CURRENT_TEST",
        b"KMP_INIT_AT_FORK",
        b"KMP_DUPLICATE_LIB_OK",
        b"MOSAIC_GPU_CUDA_ROOT",
        b"TORCHINDUCTOR_CACHE_DIR",
    }
)
_SIGNALS = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGCHLD,
    signal.SIGALRM,
    signal.SIGHUP,
    signal.SIGUSR1,
    signal.SIGUSR2,
)


def _modes() -> dict[str, Any]:
    """Return what is switched in this thread."""
    found = {}
    for state in (modes.current, tape.saving, overrides.state, boxes.reverse):
        for name, value in {**_defaults(state), **vars(state)}.items():
            found[f"{type(state).__name__}.{name}"] = (
                tuple(value) if isinstance(value, list) else value
            )
    # Set for good once something was looked for; ``what_a_test_leaves`` puts it back to sleep.
    found.pop("_Saving.make", None)
    queue, watcher = modes.current.queue, modes.current.watcher
    by_default = queue is None or queue.policy in (policy.current, policy.ON_ACCELERATORS)
    if by_default and switch._thread.said is None:
        found["_Modes.queue"] = "as by default"  # which is another from an accelerator's call on
    if watcher is (None if queue is None else queue.watcher):
        found["_Modes.watcher"] = "the queue's"  # which records or listens, as it decides
    return found


def _defaults(state: Any) -> dict[str, Any]:
    """Return the values that a thread has where nothing was switched in it."""
    kept = (int, tuple, str, type(None))
    return {n: v for n, v in vars(type(state)).items() if n[0] != "_" and isinstance(v, kept)}


def _settings() -> dict[str, Any]:
    """Return what is set for the process by functions of PyTorch's."""
    return {
        "default dtype": torch.get_default_dtype(),
        "default device": torch.get_default_device(),
        "deterministic algorithms": torch.get_deterministic_debug_mode(),
        "float32 matmul precision": torch.get_float32_matmul_precision(),
        "warn always": torch.is_warn_always_enabled(),
        "print options": tuple(printing.get_printoptions().items()),
        "first calls": first_calls.mode,
        "warmup of compiled functions": entry._warmup,
        "autocast": (
            torch.is_autocast_enabled("cpu"),
            torch.get_autocast_dtype("cpu"),
            torch.is_autocast_cache_enabled(),
            autocast_mode._settings.nesting,
        ),
        "64-bit types of JAX": jax.config.jax_enable_x64,
        "NumPy's errors": tuple(np.geterr().items()),
        # Each compilation starts a thread then, which lives half a second.
        "allocator tuned": (recycling._enabled, allocator._compiling is not None),
    }


def _hooks() -> dict[str, Any]:
    """Return the hooks that all modules and optimizers have."""
    everywhere = vars(module_hooks.everywhere)
    found = {
        f"module hooks {name}": tuple(table.values())
        for name, table in everywhere.items()
        if isinstance(table, dict)
    }
    for name, table in optimizer._everywhere.items():
        found[f"optimizer hooks {name}"] = tuple(table.values())
    return found


def _names() -> dict[str, Any]:
    """Return what public names stand for: something else where one is patched or replaced."""
    found = {owner: _Table(table) for owner, table in _TABLES.items()}
    return found | {name: getattr(owner, attribute) for name, owner, attribute in _PATCHABLE}


class _Table:
    """The objects of a namespace, equal to those of another time if each name kept its object.

    Names that are new are no difference: modules and methods are loaded when first asked for.
    """

    def __init__(self, table: Any) -> None:
        self._objects = dict(table)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Table) and not self._replaced(other)

    def _replaced(self, now: "_Table") -> list[str]:
        before, objects = self._objects, now._objects
        if len(before) == len(objects) and all(
            map(operator.is_, before.values(), objects.values())
        ):
            return []
        return [name for name, value in before.items() if objects.get(name, before) is not value]

    def __repr__(self) -> str:
        return f"<{len(self._objects)} names>"

    __hash__ = None  # type: ignore[assignment]


_TABLES = {"torch": vars(torch), "torch.Tensor": vars(torch.Tensor)}
_PATCHABLE = [
    (f"{owner.__name__}.{name}", owner, name)
    for owner, names in (
        (sys, ("excepthook", "displayhook", "getsizeof")),
        (os, ("fork", "system", "cpu_count")),
        (time, ("sleep", "time", "perf_counter")),
        (subprocess, ("Popen", "run")),
    )
    for name in names
]


def _process() -> dict[str, Any]:
    """Return handlers of signals, the environment, paths and the folder of work."""
    found: dict[str, Any] = {f"handler of {s.name}": signal.getsignal(s) for s in _SIGNALS}
    found["environment"] = {k: v for k, v in os.environ._data.items() if k not in _OWN_VARIABLES}
    found["folder"] = os.getcwd()
    found["sys.argv"] = tuple(sys.argv)
    found["sys.path"] = tuple(sys.path)
    found["finders of torchlike"] = [f for f in sys.meta_path if _is_ours(type(f).__module__)]
    found["torch means torchlike"] = sys.modules.get("torch") is torch
    found["trace"] = sys.gettrace()
    found["profile"] = sys.getprofile()
    found["umask"] = _umask()
    return found


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "torchlike"


def _umask() -> int:
    """Return the umask, which the kernel tells without changing it."""
    try:
        with open("/proc/self/status", "rb") as status:
            return int(status.read(200).partition(b"Umask:\t")[2][:4], 8)
    except (OSError, ValueError):
        return -1


def _threads() -> set[Any]:
    return {t for t in threading.enumerate() if not t.name.startswith(_SERVING)}


def _children() -> set[str]:
    """Return the process numbers of this process' children that run."""
    try:
        text = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    except OSError:
        return {str(p.pid) for p in multiprocessing.process._children}
    return set(text.split())


def _files() -> set[str]:
    """Return the numbers of open files, but for the one that lists them."""
    try:
        return {n for n in os.listdir("/proc/self/fd") if _is_open(int(n))}
    except OSError:
        return set()


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


#: Folders of temporary files that are meant to last: pytest's, PyTorch's compiled programs and the
#: logs of its launcher.
_LASTING = ("pytest-", "torchinductor_", "torchelastic_")


def _temporary() -> set[str]:
    """Return what lies in the folder of temporary files, but for what is meant to last."""
    return {n for n in os.listdir(tempfile.gettempdir()) if not n.startswith(_LASTING)}


_VALUES: tuple[Callable[[], dict[str, Any]], ...] = (_modes, _settings, _hooks, _names, _process)
#: How long what is ending (threads, children) is waited for, in seconds.
_PATIENCE = 20.0


class Snapshot:
    """What a process is like now."""

    def __init__(self) -> None:
        self.values = [read() for read in _VALUES]
        self.threads, self.children = _threads(), _children()
        self.files, self.temporary = _files(), _temporary()

    def left(self) -> list[str]:
        """Return a line for each thing that is different now."""
        found = []
        for read, before in zip(_VALUES, self.values, strict=True):
            now = read()
            found += [line for name in before | now if (line := _change(name, before, now))]
        return found + self._left_running() + self._left_on_disk()

    def _left_running(self) -> list[str]:
        until = time.monotonic() + _PATIENCE
        while True:
            threads = {t for t in _threads() - self.threads if t.is_alive()}
            children = {c for c in _children() - self.children if _what_runs(c)}
            if not (threads or children) or time.monotonic() > until:
                break
            time.sleep(0.01)
        return [
            *(f"thread {t.name!r} is running" for t in threads),
            *(f"child process runs: {_what_runs(c)}" for c in children),
        ]

    def _left_on_disk(self) -> list[str]:
        if _temporary() - self.temporary or _opened(_files() - self.files):
            gc.collect()  # what removes or closes it may be in a cycle, such as a traceback's
        found = [f"temporary file {name}" for name in _temporary() - self.temporary]
        found += [f"open file {target}" for target in _opened(_files() - self.files)]
        return found


def _opened(numbers: set[str]) -> list[str]:
    """Return the files that are open under these numbers, but for those that serve the process."""
    found = []
    for number in numbers:
        try:
            target = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            continue  # closed meanwhile, by another thread
        if not target.startswith(_SERVING_FILES) and not any(
            part in target for part in (_FONTS, "(deleted)")
        ):
            found.append(target)
    return found


def _change(name: str, before: dict[str, Any], now: dict[str, Any]) -> str:
    """Return how a value has changed, or an empty string."""
    missing = object()
    old, new = before.get(name, missing), now.get(name, missing)
    if old is new or (type(old) is type(new) and old == new):
        return ""
    if isinstance(old, _Table):
        return f"{name}: {old._replaced(new)} are other objects now"
    if isinstance(old, dict):
        keys = [k for k in old | new if old.get(k) != new.get(k)]
        old, new = ({k: d.get(k) for k in keys} for d in (old, new))
    show = lambda value: "nothing" if value is missing else repr(value)[:300]  # noqa: E731
    return f"{name}: {show(old)} is {show(new)} now"


def _what_runs(child: str) -> str:
    """Return the command of a child that runs and does not serve the process, or ""."""
    try:
        state = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0]
        command = Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""
    # A fork server that is a copy of this process has its command.
    serves = worker_pool._current is not None and child == str(worker_pool._current.pid)
    if state == "Z" or serves or any(name in command for name in _SERVING_CHILDREN):
        return ""
    return command[:200] or f"process {child}"
