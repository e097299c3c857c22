"""What a profile recorded, event by event, and by name: ``events()``, ``key_averages()``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

#: Microseconds in units that a table may have.
_UNITS = {"s": 1e6, "ms": 1e3, "us": 1.0}
#: Names of devices in names of fields: PyTorch takes each for "device".
_DEVICES = ("cuda", "xpu", "privateuse1")
_WIDTH = 12


class _Unrecorded:
    """What PyTorch's events say and JAX's profiler does not record: shapes, memory, operations,
    lines of code. Empty, or 0."""

    input_shapes: list[Any] = []  # noqa: RUF012  (nobody writes it)
    stack: list[str] = []  # noqa: RUF012
    overload_name = ""
    flops = 0
    cpu_memory_usage = self_cpu_memory_usage = 0
    device_memory_usage = self_device_memory_usage = 0
    node_id = -1
    is_async = is_remote = is_legacy = False


class _Times:
    """Times in microseconds, of the host's threads and of accelerators."""

    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    device_time_total: float
    self_device_time_total: float

    @property
    def cpu_time(self) -> float:
        """The host's mean time."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def device_time(self) -> float:
        """The accelerators' mean time."""
        return self.device_time_total / self.count if self.count else 0.0

    @property
    def cuda_time_total(self) -> float:
        """PyTorch's older name."""
        return self.device_time_total

    @property
    def self_cuda_time_total(self) -> float:
        """PyTorch's older name."""
        return self.self_device_time_total


class FunctionEvent(_Times, _Unrecorded):
    """One thing that ran: where and when, in microseconds, and what ran inside of it."""

    count = 1

    def __init__(
        self,
        name: str,
        start: float,
        end: float,
        thread: int,
        *,
        is_on_device: bool = False,
        is_user_annotation: bool = False,
    ) -> None:
        self.name = self.key = name
        self.start, self.end, self.thread = start, end, thread
        self.is_on_device, self.is_user_annotation = is_on_device, is_user_annotation
        self.cpu_parent: FunctionEvent | None = None
        self.cpu_children: list[FunctionEvent] = []

    @property
    def _total(self) -> float:
        return self.end - self.start

    @property
    def _self(self) -> float:
        return self._total - sum(child._total for child in self.cpu_children)

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        """The time that it took on a thread of the host."""
        return 0.0 if self.is_on_device else self._total

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        """The same without what ran inside of it."""
        return 0.0 if self.is_on_device else self._self

    @property
    def device_time_total(self) -> float:  # type: ignore[override]
        """The time that it took on an accelerator."""
        return self._total if self.is_on_device else 0.0

    @property
    def self_device_time_total(self) -> float:  # type: ignore[override]
        """The same without what ran inside of it."""
        return self._self if self.is_on_device else 0.0

    def __repr__(self) -> str:
        return f"<FunctionEvent name={self.name} thread={self.thread} time={self._total:.3f}us>"


class FunctionEventAvg(_Times, _Unrecorded):
    """All events of one name: how many there are, and the sums of their times."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.count = 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.device_time_total = self.self_device_time_total = 0.0
        self.is_user_annotation = False
        self.cpu_parent: FunctionEvent | None = None

    def add(self, other: Any) -> FunctionEventAvg:
        """Add an event's times, or those of other events."""
        self.count += other.count
        self.cpu_time_total += other.cpu_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        self.device_time_total += other.device_time_total
        self.self_device_time_total += other.self_device_time_total
        self.is_user_annotation = self.is_user_annotation or other.is_user_annotation
        self.cpu_parent = self.cpu_parent or other.cpu_parent
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} count={self.count} "
            f"self_cpu_time={self.self_cpu_time_total:.3f}us cpu_time={self.cpu_time:.3f}us>"
        )


def nest(events: Iterable[FunctionEvent]) -> list[FunctionEvent]:
    """Sort events in the order of their beginnings, each of which then knows what runs inside of it
    on its thread."""
    ordered = sorted(events, key=lambda e: (e.thread, e.start, -e.end))
    open_: list[FunctionEvent] = []
    for event in ordered:
        while open_ and (open_[-1].thread != event.thread or open_[-1].end < event.end):
            open_.pop()
        if open_:
            event.cpu_parent = open_[-1]
            open_[-1].cpu_children.append(event)
        open_.append(event)
    return sorted(ordered, key=lambda e: e.start)


class EventList(list[Any]):
    """Events, or sums of events by name."""

    def __init__(
        self, events: Iterable[Any] = (), export: Callable[[str], None] | None = None
    ) -> None:
        super().__init__(events)
        self._export = export

    @property
    def self_cpu_time_total(self) -> float:
        """The sum of the times on the host's threads."""
        return sum(e.self_cpu_time_total for e in self)

    def key_averages(
        self,
        group_by_input_shapes: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
        include_python_functions: bool = False,
    ) -> EventList:
        """Average the events by name. Shapes, lines of code, overloads and calls of Python
        functions are not recorded: they group nothing."""
        found: dict[str, FunctionEventAvg] = {}
        for event in self:
            found.setdefault(event.key, FunctionEventAvg(event.key)).add(event)
        return EventList(found.values(), self._export)

    def total_average(self) -> FunctionEventAvg:
        """Average all events in one, named "Total"."""
        total = FunctionEventAvg("Total")
        for event in self:
            total.add(event)
        return total

    def export_chrome_trace(self, path: str) -> None:
        """Write the trace that the events are of. RuntimeError for events that are of none."""
        if self._export is None:
            raise RuntimeError("these events are of no profile")
        self._export(path)

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int | None = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """Return a table of the events in lines, most first by the field ``sort_by``, "" where
        there are none.

        Args:
          sort_by: ``"self_cpu_time_total"``, ``"cpu_time_total"``, ``"count"``, …: a field;
            as they come without it. AttributeError for what is none.
          row_limit: lines at most; -1 for all.
          time_unit: "s", "ms" or "us"; the one that fits each time without it.
        """
        events = list(self)
        if not events:
            return ""
        if sort_by is not None:
            field = sort_by
            for name in _DEVICES:
                field = field.replace(name, "device")
            events.sort(key=lambda e: getattr(e, field), reverse=True)
        if top_level_events_only:
            events = [e for e in events if e.cpu_parent is None]
        shown = events if row_limit < 0 else events[:row_limit]
        names = [_shortened(e.key, max_name_column_width) for e in shown]
        headers, rows = _cells(shown, self, time_unit)
        return _laid_out(["Name", *headers], list(zip(names, rows, strict=True)), header) + (
            _sums(self, time_unit)
        )

    def __str__(self) -> str:
        return self.table()


def _shortened(name: str, width: int | None) -> str:
    return name if width is None or len(name) < width - 3 else f"{name[: width - 3]}..."


def _cells(
    shown: list[Any], events: EventList, unit: str | None
) -> tuple[list[str], list[list[str]]]:
    """Return the headers of the columns behind the name, and what is in them."""
    whole = events.self_cpu_time_total
    on_device = sum(e.self_device_time_total for e in events)
    headers = ["Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg"]
    if on_device:
        headers += ["Self Device", "Self Device %", "Device total", "Device time avg"]
    rows = []
    for e in shown:
        row = [
            _share(e.self_cpu_time_total, whole),
            _time(e.self_cpu_time_total, unit),
            _share(e.cpu_time_total, whole),
            _time(e.cpu_time_total, unit),
            _time(e.cpu_time, unit),
        ]
        if on_device:
            row += [
                _time(e.self_device_time_total, unit),
                _share(e.self_device_time_total, on_device),
                _time(e.device_time_total, unit),
                _time(e.device_time, unit),
            ]
        rows.append([*row, str(e.count)])
    return [*headers, "# of Calls"], rows


def _laid_out(headers: list[str], rows: list[tuple[str, list[str]]], title: str | None) -> str:
    widths = [max(len(name) for name in (headers[0], *(n for n, _ in rows))) + 4]
    widths += [max(_WIDTH, len(h)) for h in headers[1:]]
    rule = "  ".join("-" * w for w in widths)
    lines = [] if title is None else ["=" * len(rule), title]
    lines += [rule, _line(headers, widths), rule]
    lines += [_line([name, *cells], widths) for name, cells in rows]
    return "\n".join([*lines, rule, ""])


def _line(cells: list[str], widths: list[int]) -> str:
    return "  ".join(f"{c:>{w}}" for c, w in zip(cells, widths, strict=True))


def _sums(events: EventList, unit: str | None) -> str:
    found = f"Self CPU time total: {_time(events.self_cpu_time_total, unit)}\n"
    on_device = sum(e.self_device_time_total for e in events)
    if on_device:
        found += f"Self device time total: {_time(on_device, unit)}\n"
    return found


def _share(time: float, whole: float) -> str:
    return f"{100 * time / whole:.2f}%" if whole else "NaN"


def _time(us: float, unit: str | None) -> str:
    if unit not in _UNITS:
        unit = next((u for u, size in _UNITS.items() if us >= size), "us")
    return f"{us / _UNITS[unit]:.3f}{unit}"
