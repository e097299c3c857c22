"""`RunningCapture`: the interface of a running capture, as the rooms below the compiler see it.

``torchlike.jit`` stands above the rooms that a capture hears from: storages, tensors, ops, modules,
optimizers. They reach it as ``modes.running_capture()``, of this type. ``_jit/capture/capture.py``
implements it, and so does, inside a branch or a loop's body, ``_jit/trace/subgraph.py``. Where no
capture runs, `EAGER` stands in its place: the bodies of the methods here are what eager code does,
which notes nothing, refuses nothing, and calls what a capture would call later.

Tensors, storages and arrays are typed Any here: this file stands below theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol, TypeVar

_T = TypeVar("_T")


class RunningCapture(Protocol):
    """A capture of a function's graph, in the thread in which it runs."""

    #: The queue that puts off calls of compiled forms, which is told of cells as this is.
    defers: Any = False
    #: Whether calls run, or are put off, with arrays: cells are read as they are.
    is_eager: bool = False
    #: Nodes recorded before the capture have a smaller sequence number.
    first_sequence: int = -1
    #: The name of the function, for messages.
    name: str = ""
    #: Whether it is another trace of what was compiled, for ``create_graph`` outside.
    is_retraced: bool = False
    #: Whether checks of values become a part of the program.
    checks_values: bool = False
    #: Whether ``torch.jit.is_scripting()`` says yes.
    scripting: bool = False
    #: Attributes that were read or bound: {(id of the owner, name): slot}.
    slots: dict[tuple[int, str], Any]
    #: Gradients that leaves have or not, as a value decides: {id: (gradient, condition)}.
    conditions: dict[int, tuple[Any, Any]]
    #: The errors that ended it, first things first.
    refusals: list[Any]
    #: Names that one branch on a value bound and the other did not, or a loop's turns alone.
    maybe_unbound: set[str]

    @property
    def observer(self) -> Any:
        """The compiler's own `FrameObserver`."""
        return None

    def note_check(self) -> str:
        """Note that the program is about to check values, and return the user's line, which begins
        with a space: `` (train.py:41)``."""
        return ""

    # -- cells -------------------------------------------------------------------------------------

    def adopt(self, storage: Any) -> None:
        """Note a storage that was made as the capture's own."""

    def is_created(self, storage: Any) -> bool:
        """Return whether a storage was made during the capture. (In eager code nothing is from
        outside.)"""
        return True

    def read(self, storage: Any) -> Any:
        """Return the array of a cell."""
        return storage.read()

    def write(self, storage: Any, array: Any) -> None:
        """Write an array to a cell."""
        storage.write(array)

    def traced(self, storage: Any, array: Any) -> Any:
        """Return an array as code of the user's may have it: nobody can freeze its value."""
        return array

    def unless(self, condition: Any) -> AbstractContextManager[None]:
        """Have writes to cells from outside count, inside the `with` block, only where
        ``condition`` is False. (Eager code looks at the condition itself.)"""
        raise AssertionError("eager code looks at the condition")

    def adopt_view(self, t: Any) -> None:
        """Note a tensor that was made on a storage that may be from outside."""

    def place_asked(self, t: Any, sharding: object) -> None:
        """Note that code asked on which devices a tensor lies, and was told ``sharding`` (None: on
        one)."""

    def numbers_asked(self, t: Any, read: Callable[[Any], Any]) -> Any:
        """Return the result of ``read`` for an argument's values, a NumPy array: the program is for
        calls with the same. None for a tensor that is no argument, or that was written."""
        return None

    def is_adopted(self, t: Any) -> bool:
        """Return whether `adopt_view` was told of this very tensor."""
        return False

    # -- what tensors are changed in ---------------------------------------------------------------

    def slot_read(self, owner: object, name: str) -> None:
        """Note that an attribute that holds a tensor is being looked up."""

    def slot_write(self, owner: object, name: str) -> None:
        """Note that an attribute that holds a tensor is about to be bound."""

    def data_write(self, t: Any, value: Any) -> None:
        """Note that ``t.data = value`` is about to happen."""

    def field_write(self, t: Any, asked: str) -> None:
        """Note that a tensor's own geometry or ``requires_grad`` is about to change, by
        ``asked``."""

    def history_write(self, t: Any) -> None:
        """Note that an in-place op is about to change a tensor's history."""

    def hook_write(self, leaf: Any) -> None:
        """Note that a hook is about to be registered on a leaf."""

    # -- gradients that there are or not -----------------------------------------------------------

    def condition_of(self, gradient: Any) -> Any:
        """Return the condition under which a leaf has the gradient that it holds."""
        return {}

    def hold_gradient(self, t: Any, when: Any) -> None:
        """Note that ``t.grad`` is a gradient on this condition, and else None."""

    def check_gradient(self, gradient: Any) -> None:
        """Raise JitCaptureError where a value decides whether there is this gradient."""

    # -- ranks -------------------------------------------------------------------------------------

    def join_ranks(self, make: Callable[[], Any]) -> Any:
        """Return the ranks over which the program runs; ``make`` gives those of the first
        collective."""
        return make()

    def check_at_end(self, check: Callable[[], None]) -> None:
        """Call ``check``, which may refuse, once the body has run."""

    # -- Python ------------------------------------------------------------------------------------

    def read_attribute(self, owner: object, name: str) -> None:
        """Note that a plain attribute of a module is being looked up."""

    def write_attribute(self, owner: object, name: str) -> None:
        """Note that a plain attribute of a module is about to be set."""

    def table_write(self, owner: object, table: object, what: str) -> None:
        """Note that a table of parameters, children, hooks or groups is about to change."""

    def module_made(self, module: object) -> None:
        """Note that a module is being made."""

    def retains_grad_seen(self, t: Any) -> None:
        """Note that a tensor is asked whether it keeps its gradient."""

    def setting_seen(
        self, name: str, ask: Callable[[], object], tell: Callable[[Any], None]
    ) -> None:
        """Note that a switch is about to be read or set."""

    def enter_module(self, module: object) -> None:
        """Note that a module is being called."""

    def enter_optimizer(self, optimizer: object) -> None:
        """Note that an optimizer takes a step."""

    # -- per-call values ---------------------------------------------------------------------------

    def per_call_value(self, getter: Callable[[], Any]) -> Any:
        """Return a value that ``getter`` provides at each call."""
        return getter()

    def do_not_repeat(self, why: str) -> None:
        """Note that the next call will want another program."""

    def undo_on_failure(self, owner: object, undo: Callable[[], None]) -> None:
        """Call ``undo`` where the capture fails."""

    # -- out of sight ------------------------------------------------------------------------------

    def outside(self) -> AbstractContextManager[None]:
        """Capture nothing inside the `with` block: what is made there counts as having existed
        before."""
        return nullcontext()

    def paused(self) -> AbstractContextManager[None]:
        """Hide what runs inside the `with` block from the observer: library code that it need not
        see."""
        return nullcontext()

    def unseen(self, function: Callable[..., _T], *args: object) -> _T:
        """Return ``function(*args)`` while `paused`."""
        return function(*args)

    # -- refusals ----------------------------------------------------------------------------------

    def refuse(self, asked: str, instead: str, lines: str | None = None) -> None:
        """Raise JitCaptureError: ``asked`` cannot be compiled."""

    def refuse_value(self, asked: str, instead: str) -> None:
        """Raise JitCaptureError: ``asked`` needs a value, and there is none yet."""

    def remember_refusal(self, error: Any) -> None:
        """End the capture with this error, whatever code makes of it."""


class Eager(RunningCapture):
    """What stands in a capture's place where none runs."""

    def __init__(self) -> None:
        self.slots, self.conditions, self.refusals, self.maybe_unbound = {}, {}, [], set()


EAGER = Eager()
