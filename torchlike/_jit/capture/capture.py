"""`Capture` records what a function reads, writes, makes and draws while it is traced.

While a capture runs, every read of a Storage comes here. ``jax.make_jaxpr`` keeps each concrete
array that it meets among ``jaxpr.consts`` as the very same object, so it is enough to remember
which array belongs to which cell: after the one run of the Python body those constants become the
program's inputs. No second run, no list of modules, nothing declared.

Besides cells there are *slots*: attributes that hold tensors and are rebound rather than written,
such as ``p.grad`` or a module's buffer. And *host values*: numbers that Python has to provide anew
at each call, such as a learning rate or the draws of a random generator.

A capture holds its parts: `Cells`, `Bindings` (slots and attributes), `HostValues`, `Refusals`, and
the `FrameObserver`, which sees what Python code reads. Tensors, ops, modules and optimizers report
to the capture (`RunningCapture` is what they know of it), and it hands on to the part.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jax import core

from torchlike._core import tape
from torchlike._jit.capture.cells import Cells, outside_of_capture
from torchlike._jit.capture.effects import DeferredPrints, Tables
from torchlike._jit.capture.frame_observer import FrameObserver
from torchlike._jit.capture.refusals import Refusals, trace_counts, users_line
from torchlike._jit.capture.slots import Bindings, HostValues
from torchlike._jit.guards.tensors import retains, values_of
from torchlike.autograd.partial import GIVEN, When
from torchlike.tensor import Tensor


class Capture:
    """The running record of one capture.

    Attributes:
      cells, bindings, host, refused, observer: its parts.
    """

    def __init__(self, name: str, drawn: Sequence[Any] = ()) -> None:
        self.name = name
        #: Whether ``torch.jit.is_scripting()`` is to say yes.
        self.scripting = False
        #: Whether it is of a module that is compiled by itself, unasked.
        self.is_part = False
        #: Whether it is another trace of what was compiled, for create_graph outside (see double).
        self.is_retraced = False
        #: Whether checks of values become a part of the program, and whether one has.
        self.checks_values = False
        self.has_checks = False
        #: Nodes recorded before the capture have a smaller sequence number.
        self.first_sequence = tape.next_sequence()
        #: What the function sees instead of its arguments: {id(placeholder): which argument}.
        self.placeholders: dict[int, int] = {}
        self.refused = Refusals(name)
        self.cells = Cells(self.placeholders, self.refused.refuse)
        self.bindings = Bindings(self.cells, self.placeholders)
        self.host = HostValues(drawn)
        #: Tables of modules, hooks and optimizers that the body was about to change.
        self.tables = Tables(self.bindings.written.values())
        #: Plain Python values that user code can read.
        self.observer = FrameObserver(self.placeholders, self.tables)
        self.refused.errors_of_jax = self.observer.errors_of_jax
        self.prints = DeferredPrints(self.observer.say, self.refused.refuse_value)
        self.modules: dict[int, Any] = {}
        #: Ids of modules that the body made.
        self.made_modules: set[int] = set()
        self.optimizers: dict[int, Any] = {}
        #: Names that one branch on a value bound and the other did not, or a loop's turns alone.
        self.maybe_unbound: set[str] = set()
        #: What chex had counted before: a body that is run once more is no second trace.
        self._traces = dict(trace_counts())
        #: Gradients that leaves have or not, as a value decides: {id: (gradient, condition)}.
        self.conditions: dict[int, tuple[Tensor, Any]] = {}
        #: Arguments of which code asked on which devices they lie, and what it was told.
        self.places_asked: dict[int, Any] = {}
        #: The accelerator that the program is on (a torchlike.device); None for the CPU.
        self.place: Any = None
        #: What code made of arguments' values: (position, function) -> its result.
        self.numbers: dict[tuple[int, Callable[[Any], Any]], Any] = {}
        #: Of which tensors code asked whether they keep their gradients: {id: (tensor, or position
        #: among the arguments, answer)}.
        self.retaining: dict[int, tuple[Tensor | int, bool]] = {}
        #: The ranks that run the program together, once it has a collective (distributed/captured).
        self.ranks: Any = None
        #: What else may refuse the capture once the body has run.
        self._last_checks: list[Callable[[], None]] = []
        self._hand_on()

    def _hand_on(self) -> None:
        """Let each part take what is reported to the capture: no call between them."""
        cells, bindings, host, refused = self.cells, self.bindings, self.host, self.refused
        self.adopt, self.is_created = cells.adopt, cells.is_created
        self.read, self.write, self.traced, self.unless = (
            cells.read,
            cells.write,
            cells.traced,
            cells.unless,
        )
        self.adopt_view, self.is_adopted = cells.adopt_view, cells.is_adopted
        self.history_write, self.field_write = cells.history_write, cells.field_write
        self.hook_write, self.outside = cells.hook_write, outside_of_capture
        self.slots = bindings.slots
        self.slot_read, self.slot_write = bindings.slot_read, bindings.slot_write
        self.read_attribute = bindings.read_attribute
        self.write_attribute = bindings.write_attribute
        self.host_value, self.do_not_repeat = host.host_value, host.do_not_repeat
        self.undo_on_failure = host.undo_on_failure
        self.refusals, self.remember_refusal = refused.errors, refused.remember
        self.refuse, self.refuse_value = refused.refuse, refused.refuse_value
        self.paused, self.unseen = self.observer.paused, self.observer.unseen
        self.setting_seen = self.observer.see_setting

    # -- gradients that there are or not -----------------------------------------------------------

    def condition_of(self, gradient: Tensor | None) -> When:
        """Return the condition under which a leaf has the gradient that it holds."""
        if gradient is None:
            return {}
        _, condition = self.conditions.get(id(gradient), (None, True))
        return {GIVEN: condition}

    def hold_gradient(self, t: Tensor, when: When) -> None:
        """Record that ``t.grad`` is a gradient on this condition, and else None."""
        gradient: Any = t._grad
        if when[GIVEN] is True:
            self.conditions.pop(id(gradient), None)
        else:
            self.conditions[id(gradient)] = gradient, when[GIVEN]

    def check_gradient(self, gradient: Tensor | None) -> None:
        """Refuse to say what a ``.grad`` holds that is None or not as a value decides."""
        if id(gradient) in self.conditions:
            self.refuse_value(
                "the .grad of a tensor that only one branch on a value used (is it None?)",
                "an optimizer's step, clip_grad_norm_, or torchlike.where on both results",
            )

    # -- ranks, and the end of the body ------------------------------------------------------------

    def join_ranks(self, make: Callable[[], Any]) -> Any:
        """Return the ranks over which the program runs: those of the first collective, which
        ``make`` gives."""
        if self.ranks is None:
            self.ranks = make()
        return self.ranks

    def check_at_end(self, check: Callable[[], None]) -> None:
        """Call ``check``, which may refuse, once the body has run."""
        self._last_checks.append(check)

    def run_last_checks(self) -> None:
        for check in self._last_checks:
            check()

    # -- what tensors, modules and optimizers report -----------------------------------------------

    def data_write(self, t: Tensor, value: Tensor) -> None:
        """Refuse ``t.data = value`` but for tensors that are made here alone: each call would have
        to swap cells."""
        own = self.cells.is_created(t._storage) or self.cells.is_adopted(t)
        if not (own and self.cells.is_created(value._storage)):
            self.refuse("`tensor.data = value`", "tensor.data.copy_(value)")

    def table_write(self, owner: Any, table: Any, what: str) -> None:
        """Record that a table of parameters, children, hooks or groups is about to change."""
        self.tables.about_to_change(owner, table, what, users_line)

    def module_made(self, module: Any) -> None:
        """Record that a module is being made."""
        self.made_modules.add(id(module))

    def graph_asked(self) -> None:
        """Refuse a look into the graph (JitCaptureError) where it is the user's code, which may go
        on to do so outside of the module that is compiled by itself."""
        asking = str(sys._getframe(2).f_globals.get("__name__"))
        if asking.partition(".")[0] != "torchlike":
            self.refuse(
                "grad_fn in a module that is compiled by itself",
                "a function that is compiled together with its backward pass",
            )

    def retains_grad_seen(self, t: Tensor) -> None:
        """Record whether a tensor that is asked keeps its gradient: a guard where it is from
        outside."""
        argument = self.placeholders.get(id(t))
        if argument is not None or self.observer.has_visited(t):
            self.retaining.setdefault(id(t), (t if argument is None else argument, retains(t)))

    def enter_module(self, module: Any) -> None:
        """Record a module that is being called: its plain attributes become guards."""
        self.modules[id(module)] = module

    def enter_optimizer(self, optimizer: Any) -> None:
        """Record an optimizer that takes a step: its groups and state become guards."""
        self.optimizers[id(optimizer)] = optimizer

    def place_asked(self, t: Tensor, sharding: Any) -> None:
        """Record that code asked on which devices a tensor lies, and was told ``sharding``: a guard
        where it is an argument. (Of other cells from outside the place does not change.)"""
        position = self.placeholders.get(id(t))
        if position is not None:
            self.places_asked[position] = sharding

    def numbers_asked(self, t: Tensor, read: Callable[[np.ndarray], Any]) -> Any:
        """Return the result of ``read`` for an argument's values and record it as a guard. None for
        a tensor that is no argument, or that was written. (Ragged tensors ask how long their parts
        are.)"""
        position = self.placeholders.get(id(t))
        if position is None or t._storage in self.cells.values:
            return None
        if (position, read) not in self.numbers:
            with outside_of_capture():
                if isinstance(t._storage.concrete(), core.Tracer):
                    return None
                self.numbers[position, read] = read(values_of(t))
        return self.numbers[position, read]

    def note_check(self) -> str:
        """Record that the program is about to check values, and return the user's line, which
        begins with a space: `` (train.py:41)``."""
        self.has_checks = True
        return self.refused.line()

    def see_plain_slots(self) -> None:
        """Record the slots among the plain attributes of modules, which are looked up unseen."""
        self.bindings.see_plain_slots(self.observer, {**self.observer.modules, **self.modules})

    # -- undoing -----------------------------------------------------------------------------------

    def roll_back(self) -> None:
        """Put cells and slots back as they were before the capture."""
        self.cells.roll_back()
        self.bindings.roll_back()

    def undo_python(self) -> None:
        """Put plain Python values back: the capture failed, or the body runs once more."""
        self.bindings.restore_attributes()
        self.observer.restore()
        counts = trace_counts()
        counts.clear()
        counts.update(self._traces)
        self.tables.restore()
        self.bindings.restore_missing()
