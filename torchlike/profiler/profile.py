"""Profiles by jax.profiler: a region, a schedule of steps, and where the trace goes."""

from __future__ import annotations

import enum
import functools
import gzip
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import jax

from torchlike._runtime import pending, whole_files
from torchlike.profiler.events import EventList, nest
from torchlike.profiler.recorded import read

#: The names of the regions that there were.
_regions: set[str] = set()


class ProfilerActivity(enum.Enum):
    """What PyTorch tells apart; JAX traces all there is."""

    CPU = 0
    CUDA = 1
    XPU = 2
    MTIA = 3


class ProfilerAction(enum.Enum):
    """What a profile does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Callable[[int], ProfilerAction]:
    """Return a schedule of cycles of waiting, warming up and recording.

    Args:
      repeat: after so many cycles nothing more happens; 0: it goes on.
      skip_first: steps before the first cycle.
      skip_first_wait: 1: the first cycle does not wait.
    """
    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError("Invalid profiler schedule arguments")
    if warmup == 0:
        warnings.warn(
            "Profiler won't be using warmup, this can skew profiler results", stacklevel=2
        )

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError("step must be nonnegative")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        length = wait + warmup + active
        if repeat > 0 and step // length >= repeat:
            return ProfilerAction.NONE
        at = step % length
        if at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        last = at == length - 1
        return ProfilerAction.RECORD_AND_SAVE if last else ProfilerAction.RECORD

    return action


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[Any], None]:
    """Return an ``on_trace_ready`` that puts traces where TensorBoard's profile plugin finds
    them."""

    def handle(prof: Any) -> None:
        prof.save(dir_name)

    return handle


class record_function:
    """A named region in the profile; also a decorator."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self._region: Any = None

    def __enter__(self) -> record_function:
        _regions.add(self.name)
        self._region = jax.profiler.TraceAnnotation(self.name)
        self._region.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._region.__exit__(*exc)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name):
                return function(*args, **kwargs)

        return recorded


def _default_schedule_fn(step: int) -> ProfilerAction:
    """Return that each step is recorded."""
    return ProfilerAction.RECORD


#: The profile that records, of which JAX has one at a time.
_recording: list[profile] = []


def _profiler_enabled() -> bool:
    """Return whether a profile records in this process."""
    return bool(_recording)


def _disable_profiler() -> None:
    """End the recording, if a profile records."""
    for one in list(_recording):
        one.stop()


class profile:
    """A profile of what runs inside, as a trace of JAX's profiler.

    Args:
      schedule: which steps (``step()`` ends one) are recorded; all without one.
      on_trace_ready: called with the profile when a recording ends; ``save(folder)`` keeps it.

    Other arguments are accepted. Differs from PyTorch: what is recorded are regions
    (``record_function``), calls of compiled programs, and the operations that XLA has made of each,
    fused and by XLA's names; what NumPy computes for small tensors is not.

    Example:
      >>> with torch.profiler.profile() as profile:
      ...     y = torch.ones(2) + 1
      >>> type(profile.events()).__name__
      'EventList'
    """

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        schedule: Any = None,
        on_trace_ready: Any = None,
        **_: Any,
    ) -> None:
        self.activities = set(activities or ())
        self._schedule = schedule or _default_schedule_fn
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.current_action = ProfilerAction.NONE
        self._folder: str | None = None
        self._running = False
        self._found: EventList | None = None

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin with the first step."""
        self._go(self._schedule(self.step_num))

    def stop(self) -> None:
        """End the recording, which is ready then."""
        self._end()
        self.current_action = ProfilerAction.NONE

    def step(self) -> None:
        """End a step and begin the next."""
        if self.current_action is ProfilerAction.RECORD_AND_SAVE:
            self._end()
        self.step_num += 1
        self._go(self._schedule(self.step_num))

    def _go(self, action: ProfilerAction) -> None:
        self.current_action = action
        wanted = action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        if wanted and not self._running:
            self._forget()
            self._folder = tempfile.mkdtemp(prefix="torchlike-profile-")
            jax.profiler.start_trace(self._folder, create_perfetto_trace=True)
            self._running = True
            _recording.append(self)

    def _end(self) -> None:
        if not self._running:
            return
        pending.wait()
        jax.profiler.stop_trace()
        self._running = False
        _recording.remove(self)
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def _unread(self) -> bool:
        """Return whether there is no finished recording."""
        return self._folder is None or self._running

    def _traced(self) -> Path:
        if self._folder is None or self._running:
            raise RuntimeError("The profile has no finished recording.")
        return Path(self._folder)

    def save(self, folder: str) -> None:
        """Copy the whole trace into a folder, for TensorBoard.

        Args:
          folder: its path; it is made if need be.

        Raises:
          RuntimeError: nothing was recorded.
        """
        shutil.copytree(self._traced(), folder, dirs_exist_ok=True)

    def export_chrome_trace(self, path: str) -> None:
        """Write the trace for Perfetto or chrome://tracing (compressed where ``path`` ends in
        .gz)."""
        found = sorted(self._traced().rglob("perfetto_trace.json.gz"))
        if not found:
            raise RuntimeError("JAX wrote no trace for Perfetto.")
        if str(path).endswith(".gz"):
            whole_files.write_to(path, found[-1].read_bytes())
            return
        with gzip.open(found[-1], "rb") as source, whole_files.writing(path) as target:
            shutil.copyfileobj(source, target)

    def events(self) -> EventList:
        """Return the events that were recorded: regions, programs, XLA's operations. RuntimeError
        without a recording.

        Times are in microseconds. Shapes, memory, numbers of operations and lines of code are not
        recorded: empty, or 0.
        """
        if self._found is None:
            events = nest(read(self._traced(), frozenset(_regions)))
            self._found = EventList(events, self.export_chrome_trace)
        return self._found

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
        include_python_functions: bool = False,
    ) -> EventList:
        """Average ``events()`` by name: how many there are, and the sums of their times;
        ``print(prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=10))``.

        RuntimeError without a recording. Shapes, lines of code and overloads group nothing, and no
        calls of Python functions are recorded that could be included.
        """
        return self.events().key_averages(
            group_by_input_shape,
            group_by_stack_n,
            group_by_overload_name,
            include_python_functions,
        )

    def _forget(self) -> None:
        self._found = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def __del__(self) -> None:
        self._forget()
