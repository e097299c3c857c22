"""What is switched per thread: grad mode, inference mode, the running capture, default device."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from torchlike._runtime.provided import Provided
from torchlike._runtime.running_capture import EAGER, RunningCapture

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from torchlike._core import devices


#: A queue where calls are deferred in each thread from its start.
queue_of_thread = Provided("gives a thread's queue of deferred calls, or None", lambda: None)


class _Modes(threading.local):
    def __init__(self) -> None:  # in every thread; a read costs ~40 ns
        self.grad_enabled: bool = True
        #: 0; 1 in inference mode; 2 where enable_grad was said there: nothing is recorded anyway.
        self.inference: int = 0
        #: Whether ops on the tensors of a forward_ad level give tangents.
        self.forward_grad: bool = True
        #: What autograd.set_multithreading_enabled said.
        self.multithreading: bool = True
        #: The torchlike.jit capture that runs in this thread, or None. Hot paths look here; all
        #: others ask `running_capture` or `is_capturing`.
        self.capture: RunningCapture | None = None
        #: The queue of this thread's deferred calls (_extensions/deferred), or None.
        self.queue: Any = queue_of_thread()
        #: What is told of each cell that is made or written: the capture, else what the queue says.
        self.watcher: Any = None
        self.watch(None)
        #: Whether torch.export traces a module in this thread.
        self.exporting: bool = False
        #: The accelerator that the captured function has met (a torchlike.device), where everything
        #: in its program is; None where it has met none.
        self.place: devices.device | None = None
        #: Whether a jitted function's call runs eagerly in this thread to warm up: so do those that
        #: it calls and no program fits.
        self.warming: bool = False
        #: Whether a function of JAX runs that is an op here: it is traced again for backward, so
        #: nothing may be drawn in it.
        self.within_jax_function: bool = False
        #: The default torchlike.device, or None for the CPU.
        self.device: devices.device | None = None
        #: Anomaly detection: whether nodes remember the stack, and backward looks for NaN.
        self.anomaly: bool = False
        self.anomaly_nan: bool = True
        #: The backward pass that runs in this thread (autograd.engine.Pass), or None.
        self.backward_pass: Any = None
        #: The torch.func transforms that run in this thread (boxes.Level), outermost first.
        self.levels: tuple[Any, ...] = ()
        #: Whether a TorchFunctionMode is on: it sees calls, so jitted functions run eagerly.
        self.seen_by_mode: bool = False
        #: What torch.autocast has on in this thread (dispatch.autocast.State), or None.
        self.autocast: Any = None

    @property
    def grad_mode(self) -> bool:
        """What no_grad, enable_grad and their kin said: ``grad_enabled`` but in inference mode."""
        return self.inference == 2 if self.inference else self.grad_enabled

    @grad_mode.setter
    def grad_mode(self, mode: bool) -> None:
        if self.inference:
            self.inference = 2 if mode else 1
        else:
            self.grad_enabled = mode

    def watch(self, capture: RunningCapture | None) -> None:
        """Have a capture see what runs in this thread, or (None) no capture."""
        if capture is not None and self.queue is not None:
            self.queue.flush("a function is captured")
        self.capture = capture
        self.watcher = capture
        if capture is None and self.queue is not None:
            self.watcher = self.queue.watcher


current = _Modes()


class unrecorded:
    """``with unrecorded():`` is ``no_grad`` for the rooms below autograd."""

    def __enter__(self) -> None:
        self._previous = current.grad_enabled
        current.grad_enabled = False

    def __exit__(self, *exc: object) -> None:
        current.grad_enabled = self._previous


class capturing:
    """``with capturing(capture):`` what runs inside is seen by that capture, or (None) by none."""

    def __init__(self, capture: RunningCapture | None) -> None:
        self._capture = capture

    def __enter__(self) -> None:
        self._previous = current.capture
        current.watch(self._capture)

    def __exit__(self, *exc: object) -> None:
        current.watch(self._previous)


def is_capturing() -> bool:
    """Return whether a capture runs in this thread: tensors have no values then."""
    return current.capture is not None


def running_capture() -> RunningCapture:
    """Return the capture that runs in this thread; where none does, one that does and answers what
    is right in eager code, so that the caller need not ask which it is."""
    return current.capture or EAGER


def the_capture() -> RunningCapture:
    """Return the capture that runs in this thread, for code that only runs in one."""
    capture = current.capture
    assert capture is not None
    return capture


def outside() -> AbstractContextManager[None]:
    """Have what is made inside the `with` block count as having existed before a running
    capture."""
    return running_capture().outside()


def setting_seen(name: str, ask: Callable[[], object], tell: Callable[[Any], None]) -> None:
    """Tell a running capture that a switch outside of ``current`` is about to be read or set: its
    program is for calls that find it as ``ask`` says now; ``tell`` sets it back."""
    running_capture().setting_seen(name, ask, tell)


def table_changes(owner: object, table: object, what: str) -> None:
    """Tell a running capture that a table of ``owner`` (a dictionary, list or set of parameters,
    children, hooks, groups) is about to change, so that it remembers it. ``what`` names it in
    messages."""
    running_capture().table_write(owner, table, what)


class Switch:
    """A setting that is on or off, off at first. Compiled programs see it."""

    def __init__(self, name: str) -> None:
        self._name, self._is_on = name, False
        #: Methods kept: what a capture finds made while it runs it takes for its own.
        self._asked, self._told = self._ask, self._tell

    def _ask(self) -> bool:
        return self._is_on

    def _tell(self, value: bool) -> None:
        self._is_on = value

    def set(self, value: bool) -> None:
        setting_seen(self._name, self._asked, self._told)
        self._is_on = value

    def get(self) -> bool:
        setting_seen(self._name, self._asked, self._told)
        return self._is_on


#: Whether what is said once in a process is said each time (``set_warn_always``).
warns_always = Switch("torch.set_warn_always()")


class _Epoch:
    """Counts changes that a compiled program cannot see in its cells: a module got another
    parameter or attribute, a tensor's ``.data`` was swapped. Programs re-check when it moved."""

    count = 0

    def advance(self) -> None:
        self.count += 1

    def advance_if_eager(self) -> None:
        """Advance, but in a capture: it has been told of the change, and puts it back."""
        if not is_capturing():
            self.count += 1


epoch = _Epoch()
