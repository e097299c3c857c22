"""``torchlike.deferred``: whether this thread's calls are deferred."""

from __future__ import annotations

import sys
import threading
from types import FrameType
from typing import Any

import jax

from torchlike._core import modes, tape
from torchlike._extensions.deferred import policy
from torchlike._extensions.deferred.queue import Queue
from torchlike._extensions.deferred.running import is_running
from torchlike._runtime import first_calls, frames, pending, platforms
from torchlike._runtime.environment_variables import EAGER
from torchlike._runtime.first_calls.settings import settings
from torchlike._runtime.jax_private.arrays import ArrayImpl
from torchlike._runtime.jax_private.tracing import trace_state_clean
from torchlike._runtime.patches import at_import

#: How calls run on the CPU where the environment does not say: "immediate" or "deferred".
DEFAULT = "immediate"
#: Where modules are called.
_MODULES = "torchlike.nn.modules.module"


class deferred:
    """Defer what this thread calls, from now on, or call it at once again.

    Also a context manager, which sets back at its end what held before. A deferred call is
    recorded; it runs when a value is asked for (``item()``, printing, ``numpy()``, a decision), and
    what recurs runs as one compiled program. What a script does is the same: Python runs as
    ever, and errors of shapes and dtypes come at their line. Sums are rounded as compiled programs
    round them. All threads defer from their start, unless the environment variable
    ``TORCHLIKE_EAGER`` is "immediate"; each says for itself what holds from then on.

    Args:
      mode: whether calls are deferred.

    Example:
      >>> with torchlike.deferred(True):
      ...     y = torch.ones(3) * 2
      ...     z = (y + 1).sum()
      >>> z
      tensor(9.)
    """

    def __init__(self, mode: bool = True) -> None:
        self._previous = modes.current.queue, _thread.said
        _thread.said = mode
        _switch_to(None if not mode else modes.current.queue or _made(policy.current))

    def __enter__(self) -> deferred:
        return self

    def __exit__(self, *exc: object) -> None:
        queue, _thread.said = self._previous
        _switch_to(queue)


class _Thread(threading.local):
    #: What `deferred` was last told; None where nobody has.
    said: bool | None = None
    #: While nothing is deferred, too: what they have heard so far counts.
    queue: Queue | None = None
    asked: Queue | None = None
    before_asked: Queue | None = None


_thread = _Thread()


def _made(by: policy.Policy) -> Queue:
    settings.ask_who_defers()
    slot = "asked" if by is policy.ASKED else "queue"
    queue = getattr(_thread, slot)
    if queue is None or queue.policy is not by:
        queue = Queue(by)
        setattr(_thread, slot, queue)
    return queue


def begins_as_asked() -> bool:
    """Return whether `defer_as_asked` would begin to defer as asked: not where a function asked
    for it before, where `deferred` or ``TORCHLIKE_EAGER`` has said what is to be, or within a
    backward pass."""
    queue = modes.current.queue
    has_begun = queue is not None and queue.policy is policy.ASKED
    return not has_begun and not _is_in_backward() and _thread.said is None and not EAGER.get()


def _is_in_backward() -> bool:
    return modes.current.backward_pass is not None or bool(tape.saving.hooks)


def defer_as_asked() -> None:
    """Defer what this thread calls from now on, as it was to compile what cannot be captured."""
    if begins_as_asked():
        _thread.before_asked = modes.current.queue
        _switch_to(_made(policy.ASKED))


@first_calls.meets_accelerator.by
def _defer_on_accelerators(operands: Any) -> bool:
    """Defer what this thread calls from now on, as it computes on an accelerator, where each call
    would be compiled by itself; return whether it begins to."""
    queue = modes.current.queue
    listens = queue is not None and queue.policy.listens and not _is_in_backward()
    may = begins_as_asked() if queue is None else listens
    may = may and not is_running() and trace_state_clean() and _are_there(operands)
    if may:
        queue = _made(policy.ON_ACCELERATORS)
        _switch_to(queue)
        if _is_in_module():
            queue.enter_module(None)
    return may


def _are_there(operands: Any) -> bool:
    """Return whether what is computed from the operands is on an accelerator: where JAX puts what
    it computes from none of its arrays, too."""
    arrays = [x for x in jax.tree.leaves(operands) if type(x) is ArrayImpl]
    there = {device for x in arrays for device in x.devices()}
    return not any(map(platforms.is_cpu, there or {platforms.default_device()}))


def _is_in_module() -> bool:
    """Return whether a module is being called, of which no queue was told."""

    def is_other(frame: FrameType) -> bool:
        return frame.f_code.co_name != "__call__" or frames.module_of(frame) != _MODULES

    return frames.innermost(sys._getframe(1), is_other) is not None


def forget_asked() -> None:
    """Call as before what this thread defers because it was asked to compile it."""
    if modes.current.queue is not None and modes.current.queue.policy is policy.ASKED:
        _switch_to(_thread.before_asked)


def defer_everywhere(by: policy.Policy) -> None:
    """Defer what this thread calls, and threads that have not begun yet."""
    policy.current = by
    modes.queue_of_thread.by(_of_thread)
    _switch_to(_made(by))


def _switch_to(queue: Queue | None) -> None:
    """Make a queue this thread's; what another one has recorded is run."""
    current = modes.current
    if current.queue is not None and current.queue is not queue:
        current.queue.flush("calls are deferred no more")
    current.queue = queue
    current.watch(current.capture)


def _of_thread() -> Queue | None:
    return _made(policy.current)


def _before_fork() -> None:
    """Run what is recorded: XLA's threads are not in the child."""
    queue = modes.current.queue
    if queue is not None:
        queue.flush("the process forks")


@pending.about_to_wait.call
def _before_waiting() -> None:
    queue = modes.current.queue
    if queue is not None:
        queue.flush("all work is waited for")


at_import.FORKS.at_fork(before=_before_fork)


def _as_the_environment_says() -> None:
    chosen = policy.named(next(iter(EAGER.get()), DEFAULT))
    if chosen is not None:
        defer_everywhere(chosen)


_as_the_environment_says()
