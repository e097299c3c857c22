"""`RunningCapture`: the interface of a running capture, as the rooms below the compiler see it.

``torchlike.jit`` stands above the rooms that a capture hears from: storages, tensors, ops, modules,
optimizers. They reach it as ``modes.current.capture``, of this type. ``_jit/capture/capture.py``
implements it, and so does, inside a branch or a loop's body, ``_jit/trace/subgraph.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from torchlike._core.cells import Value
    from torchlike._core.storage import Storage
    from torchlike.tensor import Tensor

_T = TypeVar("_T")


class RunningCapture(Protocol):
    """A capture of a function's graph, in the thread in which it runs."""

    #: Nodes recorded before the capture have a smaller sequence number.
    first_sequence: int
    #: The name of the function, for messages.
    name: str
    #: Whether it is another trace of what was compiled, for ``create_graph`` outside.
    is_retraced: bool
    #: Whether checks of values become a part of the program.
    checks_values: bool
    #: Whether ``torch.jit.is_scripting()`` says yes.
    scripting: bool
    #: Whether it is of a module that a script calls eagerly, as it calls its backward pass.
    is_part: bool
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

    def note_check(self) -> str:
        """Note that the program is about to check values, and return the user's line, which begins
        with a space: `` (train.py:41)``."""
        ...

    # -- cells -------------------------------------------------------------------------------------

    def adopt(self, storage: Storage) -> None:
        """Note a storage that was made as the capture's own."""

    def is_created(self, storage: Storage) -> bool:
        """Return whether a storage was made during the capture."""
        ...

    def read(self, storage: Storage) -> Any:
        """Return the array of a cell."""

    def write(self, storage: Storage, array: Value) -> None:
        """Write an array to a cell."""

    def traced(self, storage: Storage, array: Value) -> Any:
        """Return an array as code of the user's may have it: nobody can freeze its value."""

    def unless(self, condition: Any) -> AbstractContextManager[None]:
        """Have writes to cells from outside count, inside the `with` block, only where
        ``condition`` is False."""
        ...

    def adopt_view(self, t: Tensor) -> None:
        """Note a tensor that was made on a storage that may be from outside."""

    def place_asked(self, t: Tensor, sharding: object) -> None:
        """Note that code asked on which devices a tensor lies, and was told ``sharding`` (None: on
        one)."""

    def numbers_asked(self, t: Tensor, read: Callable[[Any], Any]) -> Any:
        """Return the result of ``read`` for an argument's values, a NumPy array: the program is for
        calls with the same. None for a tensor that is no argument, or that was written."""

    def is_adopted(self, t: Tensor) -> bool:
        """Return whether `adopt_view` was told of this very tensor."""
        ...

    # -- what tensors are changed in ---------------------------------------------------------------

    def slot_read(self, owner: object, name: str) -> None:
        """Note that an attribute that holds a tensor is being looked up."""

    def slot_write(self, owner: object, name: str) -> None:
        """Note that an attribute that holds a tensor is about to be bound."""

    def data_write(self, t: Tensor, value: Tensor) -> None:
        """Note that ``t.data = value`` is about to happen."""

    def field_write(self, t: Tensor, asked: str) -> None:
        """Note that a tensor's own geometry or ``requires_grad`` is about to change, by
        ``asked``."""

    def history_write(self, t: Tensor) -> None:
        """Note that an in-place op is about to change a tensor's history."""

    def hook_write(self, leaf: Tensor) -> None:
        """Note that a hook is about to be registered on a leaf."""

    # -- gradients that there are or not -----------------------------------------------------------

    def condition_of(self, gradient: Tensor | None) -> Any:
        """Return the condition under which a leaf has the gradient that it holds."""

    def hold_gradient(self, t: Tensor, when: Any) -> None:
        """Note that ``t.grad`` is a gradient on this condition, and else None."""

    def check_gradient(self, gradient: Tensor | None) -> None:
        """Raise JitCaptureError where a value decides whether there is this gradient."""

    # -- ranks -------------------------------------------------------------------------------------

    def join_ranks(self, make: Callable[[], Any]) -> Any:
        """Return the ranks over which the program runs; ``make`` gives those of the first
        collective."""

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

    def graph_asked(self) -> None:
        """Note that somebody looks into the graph of a module that is compiled by itself."""

    def retains_grad_seen(self, t: Tensor) -> None:
        """Note that a tensor is asked whether it keeps its gradient."""

    def setting_seen(
        self, name: str, ask: Callable[[], object], tell: Callable[[Any], None]
    ) -> None:
        """Note that a switch is about to be read or set."""

    def enter_module(self, module: object) -> None:
        """Note that a module is being called."""

    def enter_optimizer(self, optimizer: object) -> None:
        """Note that an optimizer takes a step."""

    # -- host values -------------------------------------------------------------------------------

    def host_value(self, getter: Callable[[], Any]) -> Any:
        """Return a value that ``getter`` provides at each call."""

    def do_not_repeat(self, why: str) -> None:
        """Note that the next call will want another program."""

    def undo_on_failure(self, owner: object, undo: Callable[[], None]) -> None:
        """Call ``undo`` where the capture fails."""

    # -- out of sight ------------------------------------------------------------------------------

    def outside(self) -> AbstractContextManager[None]:
        """Capture nothing inside the `with` block: what is made there counts as having existed
        before."""
        ...

    def paused(self) -> AbstractContextManager[None]:
        """Hide what runs inside the `with` block from the observer: library code that it need not
        see."""
        ...

    def unseen(self, function: Callable[..., _T], *args: object) -> _T:
        """Return ``function(*args)`` while `paused`."""
        ...

    # -- refusals ----------------------------------------------------------------------------------

    def refuse(self, asked: str, instead: str, lines: str | None = None) -> None:
        """Raise JitCaptureError: ``asked`` cannot be compiled."""

    def refuse_value(self, asked: str, instead: str) -> None:
        """Raise JitCaptureError: ``asked`` needs a value, and there is none yet."""

    def remember_refusal(self, error: Any) -> None:
        """End the capture with this error, whatever code makes of it."""
