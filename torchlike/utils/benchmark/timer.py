"""Timer: how long a statement takes, with the devices waited for, so that work is counted."""

from __future__ import annotations

import dataclasses
import math
import statistics
import timeit
from typing import Any

from torchlike._runtime import pending
from torchlike._runtime.first_calls.settings import set_first_calls


def timer() -> float:
    """Return the time in seconds, once all work asked of the devices is done."""
    return pending.time_when_done()


@dataclasses.dataclass(frozen=True)
class TaskSpec:
    """What was timed, and what it is called."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """Its names in one line; the statement for none."""
        return ": ".join(
            n for n in (self.label or self.stmt, self.sub_label, self.description) if n
        )


class Measurement:
    """Repeated times of one statement, each of ``number_per_run`` runs.

    Attributes:
      times: seconds a run, as measured. ``median``, ``mean`` and ``iqr`` are theirs.
    """

    def __init__(
        self,
        number_per_run: int,
        raw_times: list[float],
        task_spec: TaskSpec,
        metadata: dict[Any, Any] | None = None,
    ) -> None:
        self.number_per_run, self.raw_times = number_per_run, raw_times
        self.task_spec, self.metadata = task_spec, metadata

    title = property(lambda self: self.task_spec.title)
    label = property(lambda self: self.task_spec.label)
    sub_label = property(lambda self: self.task_spec.sub_label)
    description = property(lambda self: self.task_spec.description)
    num_threads = property(lambda self: self.task_spec.num_threads)

    @property
    def significant_figures(self) -> int:
        """How many digits of the median mean something: by the
        standard error that the quartiles tell, at 90 %; one to four."""
        n = len(self.times)
        error = max(self.iqr / 1.349 / math.sqrt(n), 1e-4 * self.median) * 1.645
        return min(max(math.floor(math.log10(self.median / error)), 1), 4)

    @property
    def times(self) -> list[float]:
        """Seconds for one run of the statement."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def median(self) -> float:
        """Their median."""
        return statistics.median(self.times)

    @property
    def mean(self) -> float:
        """Their mean."""
        return statistics.fmean(self.times)

    @property
    def iqr(self) -> float:
        """The distance of their quartiles; 0 for a single one."""
        if len(self.times) < 2:
            return 0.0
        low, _, high = statistics.quantiles(self.times, n=4, method="inclusive")
        return high - low

    def __repr__(self) -> str:
        units = (("s", 1), ("ms", 1e3), ("us", 1e6), ("ns", 1e9))
        unit, factor = next((u for u in units if self.median * u[1] >= 1), units[-1])
        n = len(self.times)
        return (
            f"{type(self).__name__}\n{self.title}\n  {'Median ' if n > 1 else ''}"
            f"{self.median * factor:.2f} {unit}\n  {n} measurement{'s' if n > 1 else ''}, "
            f"{self.number_per_run} runs"
        )


class Timer:
    """Times a statement as ``timeit`` does, and counts the work that it asked for: the clock is
    read when the devices have finished.

    Args:
      stmt, setup, globals: as in timeit.Timer.
      label, sub_label, description: what a measurement is called.
      num_threads: accepted: XLA's threads are set before the process begins.
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Any = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Any = "python",
    ) -> None:
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if global_setup or language not in ("python", "py", 0):
            raise NotImplementedError(
                "torch.utils.benchmark.Timer: statements are Python's; C++ is not compiled."
            )
        self._task_spec = TaskSpec(
            stmt, setup, global_setup, label, sub_label, description, env, num_threads
        )
        self._timer = timeit.Timer(stmt, setup, timer, dict(globals or {}))

    def _timeit(self, number: int) -> float:
        return max(self._timer.timeit(number), 1e-9)  # no clock of a user's makes a time of 0

    def _warm_up(self, number: int = 2) -> None:
        """Run the statement a few times before it is timed: a first run compiles, and modules and
        jitted functions get their final form with the second call. Operations are compiled now, not
        once they were called often enough (``first_calls``): the time of a compiled one is what the
        user asks for."""
        with set_first_calls("compiled"):
            self._timer.timeit(number)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """Measure ``number`` runs once, after a few to warm up."""
        self._warm_up(max(number // 100, 2))
        return Measurement(number, [self._timeit(number)], self._task_spec)

    def blocked_autorange(self, callback: Any = None, min_run_time: float = 0.2) -> Measurement:
        """Measure blocks of runs, for ``min_run_time`` seconds. A block is so long that the clock,
        which waits for the devices, is a thousandth of it at most, or lasts ``min_run_time``."""
        self._warm_up()
        overhead = statistics.median(self._timeit(0) for _ in range(5))
        number = 1
        while True:
            took = self._timeit(number)
            if took > min_run_time or took >= max(min_run_time / 1000, overhead * 1000):
                break
            number *= 10
        times: list[float] = []
        while sum(times) < min_run_time:
            times.append(self._timeit(number))
            if callback is not None:
                callback(number, times[-1])
        return Measurement(number, times, self._task_spec)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Any = None,
    ) -> Measurement:
        """Measure blocks until their quartiles are within ``threshold`` of the median, or time is
        up."""
        found = self.blocked_autorange(callback, min_run_time)
        spent = sum(found.raw_times)
        while (len(found.times) < 4 or found.iqr > threshold * found.median) and (
            spent < max_run_time
        ):
            found.raw_times.append(self._timeit(found.number_per_run))
            spent += found.raw_times[-1]
        return found
