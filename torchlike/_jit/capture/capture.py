"""`Capture` records what a function reads, writes, makes and draws while it is traced.

While a capture runs, every read of a Storage comes here. ``jax.make_jaxpr`` keeps each concrete
array that it meets among ``jaxpr.consts`` as the very same object, so it is enough to remember
which array belongs to which cell: after the one run of the Python body those constants become the
program's inputs. No second run, no list of modules, nothing declared.

Besides cells there are *slots*: attributes that hold tensors and are rebound rather than written,
such as ``p.grad`` or a module's buffer. And *host values*: numbers that Python has to provide anew
at each call, such as a learning rate or the draws of a random generator.
"""

from __future__ import annotations

import contextlib
import sys
import types
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import core, lax
from jax.sharding import NamedSharding

from torchlike._core import errors, modes, tape
from torchlike._core.devices import accelerator_of
from torchlike._core.errors import JitCaptureError
from torchlike._core.storage import Storage
from torchlike._jit.capture.deferred_prints import DeferredPrints
from torchlike._jit.capture.frame_observer import FrameObserver
from torchlike._jit.capture.libraries import is_library, trace_counts
from torchlike._jit.capture.slots import Slot, hooks_of, rebound_slots, set_slot
from torchlike._jit.capture.structure import Tables
from torchlike._jit.fallback import advice
from torchlike._jit.guards.numbers import values_of
from torchlike._jit.guards.tensors import retains
from torchlike._jit.guards.values import MISSING
from torchlike._runtime import value_check
from torchlike._runtime.jax_private.primitives import convert
from torchlike.autograd.partial import GIVEN, When
from torchlike.random.generator import Generator
from torchlike.tensor import Tensor

#: The module whose frames stand around a body that is captured.
_AROUND = "torchlike._jit.capture.tracing"


def _registered(module: Any) -> set[str]:
    """Return the names of a module's parameters and buffers, whose look-ups are seen."""
    own = module.__dict__
    return {*own.get("_parameters", ()), *own.get("_buffers", ())}


class Capture:
    """The running record of one capture."""

    def __init__(self, name: str, drawn: Sequence[Any] = ()) -> None:
        self.name = name
        #: `` (train.py:40)``: where the function begins, for what is refused when it has ended.
        self.defined_at = ""
        #: Whether ``torch.jit.is_scripting()`` is to say yes.
        self.scripting = False
        #: Whether it is of a module that is compiled by itself, unasked.
        self.is_part = False
        #: Whether it is another trace of what was compiled, for create_graph outside (see double).
        self.is_retraced = False
        #: Whether checks of values become a part of the program, and whether one has.
        self.checks_values = False
        self.has_checks = False
        #: Host values that an earlier trace of the same call already got, to be used again.
        self._drawn = list(drawn)
        #: Nodes recorded before the capture have a smaller sequence number.
        self.first_sequence = tape.next_sequence()
        self.inputs: dict[Storage, Any] = {}
        self._seen_arrays: set[int] = set()
        self._created: dict[int, weakref.ref[Storage]] = {}
        #: Cells written, with their contents before.
        self.written: dict[Storage, tuple[Any, Any, int]] = {}
        #: What the cells written hold now, as far as this capture goes.
        self.values: dict[Storage, Any] = {}
        self.slots: dict[tuple[int, str], Slot] = {}
        self.slots_written: dict[tuple[int, str], Slot] = {}
        self.host_values: list[tuple[Callable[[], Any], Any]] = []
        #: What the getters gave, as they gave it: a float passed as an array instead would be
        #: another signature to jax.jit, and the second call would compile the program again.
        self.first_values: list[Any] = []
        #: Plain Python attributes read and written: (owner, name, value then).
        self.attributes: dict[tuple[int, str], tuple[Any, str, Any]] = {}
        self.attributes_written: dict[tuple[int, str], tuple[Any, str, Any]] = {}
        self.modules: dict[int, Any] = {}
        #: Ids of modules that the body made.
        self.made_modules: set[int] = set()
        self.optimizers: dict[int, Any] = {}
        #: What the function sees instead of its arguments: {id(placeholder): which argument}.
        self.placeholders: dict[int, int] = {}
        #: Names that one branch on a value bound and the other did not, or a loop's turns alone.
        self.maybe_unbound: set[str] = set()
        #: What was refused, first things first, whatever user code made of the errors.
        self.refusals: list[JitCaptureError] = []
        #: Tables of modules, hooks and optimizers that the body was about to change.
        self.tables = Tables(self.slots_written.values())
        #: Plain Python values that user code can read.
        self.observer = FrameObserver(self.placeholders, self.tables)
        self.prints = DeferredPrints(self.observer.say, self.refuse_value)
        #: Entries of parameter groups that are asked for anew at each run: (id(group), name).
        self.host_places: set[tuple[int, str]] = set()
        #: Why the program must not be used again, if somebody said so.
        self.unrepeatable = ""
        #: What chex had counted before: a body that is run once more is no second trace.
        self._traces = dict(trace_counts())
        self._undo: dict[int, tuple[Any, Callable[[], None]]] = {}
        #: Tensors from outside whose autograd history an in-place op changed, as they were.
        self._histories: dict[int, tuple[Tensor, tuple[Any, ...]]] = {}
        #: Tensors on cells from outside whose own fields changed, as they were, and by what.
        self._fields: dict[int, tuple[Tensor, tuple[Any, ...], str]] = {}
        #: Gradients that leaves have or not, as a value decides: {id: (gradient, condition)}.
        self.conditions: dict[int, tuple[Tensor, Any]] = {}
        #: Leaves from outside on which a hook was registered, and the hooks that they had.
        self._hooked: dict[int, tuple[Tensor, Any]] = {}
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
        #: Views made during the capture.
        self._views: dict[int, weakref.ref[Tensor]] = {}

    # -- out of sight ------------------------------------------------------------------------------

    def paused(self) -> contextlib.AbstractContextManager[None]:
        """Hide library code that runs within a `with` block from the observer; see
        `FrameObserver.paused`."""
        return self.observer.paused()

    def unseen(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return ``function(*args)`` while `paused`."""
        return self.observer.unseen(function, *args)

    # -- cells -------------------------------------------------------------------------------------

    def adopt(self, storage: Storage) -> None:
        """Record a storage as made during the capture."""
        self._created[id(storage)] = weakref.ref(storage)

    def is_created(self, storage: Storage) -> bool:
        reference = self._created.get(id(storage))
        return reference is not None and reference() is storage

    def created_alive(self) -> list[Storage]:
        """Return the storages made during the capture that something still holds."""
        return [s for s in (r() for r in self._created.values()) if s is not None]

    def read(self, storage: Storage) -> Any:
        """Return the value of a cell and make one that existed before an input, at its first
        read."""
        if storage in self.values:
            return self.values[storage]
        if self.is_created(storage):
            return storage.concrete()
        return self._input(storage)

    def _input(self, storage: Storage) -> Any:
        """Return the array that a cell that existed before held when the capture began, as an input
        of the program."""
        found = self.inputs.get(storage)
        if found is None:
            with self.outside():
                found = storage.concrete()
                modes.current.place = modes.current.place or accelerator_of(found)
                if id(found) in self._seen_arrays:
                    found = _another_handle(found)  # two cells may hold one array
            self._seen_arrays.add(id(found))
            self.inputs[storage] = found
        return found

    def results(self) -> list[Any]:
        """Return the arrays that the cells written are to hold: what they held, where a check of
        values fails."""
        if not self.has_checks:
            return [self.values[storage] for storage in self.written]
        return [self.or_before(self.values[storage], storage) for storage in self.written]

    def or_before(self, new: Any, storage: Storage) -> Any:
        """Return a value for a cell from outside, bound to what the cell held before, which counts
        where a check of values fails."""
        old = self._input(storage)
        if not isinstance(new, jax.Array) or (new.shape, new.dtype) != (old.shape, old.dtype):
            return new
        return value_check.kept.bind(new, old)

    def traced(self, storage: Storage, array: Any) -> Any:
        """Return an array as JAX's own functions and the user's may have it: one of a cell from
        outside traced, so that nobody can freeze its value (``float(t.jax())``)."""
        known = self.is_created(storage) or isinstance(array, core.Tracer)
        if known or not isinstance(array, jax.Array):
            return array
        weak = getattr(array, "weak_type", False)
        return convert(array, array.dtype, weak)

    def write(self, storage: Storage, array: Any) -> None:
        """Record a write to a cell, which is an output if it existed before."""
        if not self.is_created(storage):
            if storage not in self.written:
                self.written[storage] = (storage.cell, storage.host, storage.version)
            # The cell itself keeps its contents: another thread may be using it.
            held = getattr(storage.cell, "sharding", None)
            if isinstance(held, NamedSharding) and storage.shape == array.shape:
                array = lax.with_sharding_constraint(array, held)  # and its place on a mesh
            self.values[storage] = array
            if storage.shape == array.shape and storage.dtype == array.dtype:
                return
        storage.cell, storage.host = array, None

    @contextlib.contextmanager
    def unless(self, condition: Any) -> Iterator[None]:
        """Have the cells from outside that are written in a `with` block keep what they held where
        ``condition`` (a 0-dim bool array) is True: a step that a program takes or not."""
        before = dict(self.values)
        yield
        for storage, value in list(self.values.items()):
            held = before.get(storage)
            if held is value:
                continue
            if held is None:
                del self.values[storage]
                held = self.read(storage)
            self.values[storage] = jnp.where(condition, held, value)

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

    # -- ranks -------------------------------------------------------------------------------------

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

    # -- slots and attributes ----------------------------------------------------------------------

    def _slot(self, owner: Any, name: str) -> Slot | None:
        if isinstance(owner, Tensor) and (
            self.is_created(owner._storage) or self.is_adopted(owner)
        ):
            return None
        key = (id(owner), name)
        slot = self.slots.get(key)
        if slot is None:
            slot = self.slots[key] = Slot(owner, name, self.placeholders.get(id(owner), -1))
        return slot

    def slot_read(self, owner: Any, name: str) -> None:
        """Record that a tensor-holding attribute is being looked up."""
        slot = self._slot(owner, name)
        if slot is not None and (id(owner), name) not in self.slots_written:
            slot.is_read = True

    def slot_write(self, owner: Any, name: str) -> None:
        """Record that a tensor-holding attribute is about to be bound."""
        slot = self._slot(owner, name)
        if slot is not None:
            self.slots_written[(id(owner), name)] = slot

    def data_write(self, t: Tensor, value: Tensor) -> None:
        """Refuse ``t.data = value`` but for tensors that are made here alone: each call would have
        to swap cells."""
        own = self.is_created(t._storage) or self.is_adopted(t)
        if not (own and self.is_created(value._storage)):
            self.refuse("`tensor.data = value`", "tensor.data.copy_(value)")

    def see_plain_slots(self) -> None:
        """Record the slots among the plain attributes of modules, which are looked up unseen: those
        that some program binds, and that code here loads."""
        for module in {**self.observer.modules, **self.modules}.values():
            for name in rebound_slots.of(module):
                if (id(module), name) not in self.slots and name not in _registered(module):
                    self._slot(module, name)
        labels = self.observer.labels_of_storages()
        for slot in self.slots.values():
            if slot.is_read or slot.of_tensor:
                continue
            if slot.name not in _registered(slot.owner) and self.observer.loads(slot.name):
                slot.is_read = True
            elif isinstance(slot.initial, Tensor) and slot.initial._storage in self.inputs:
                # Read past the attribute (``module.buffers()``), unless there is another way.
                ways = labels.get(id(slot.initial._storage), ())
                slot.is_read = all(x.rpartition(".")[2] == slot.name for x in ways)

    def is_rebound(self, slot: Slot) -> bool:
        """Return whether a slot may hold another tensor at each call: one that this function or
        another jitted one binds, or a tensor's own (``.grad``). A module's other slots change only
        when ``modes.epoch`` moves."""
        if not (slot.is_missing or slot.is_there()):
            return False  # the body deleted it
        key = (id(slot.owner), slot.name)
        return (
            slot.of_tensor or key in self.slots_written or rebound_slots.has(slot.owner, slot.name)
        )

    def read_attribute(self, owner: Any, name: str) -> None:
        """Record that a plain attribute (a module's ``training``) is being looked up."""
        key = (id(owner), name)
        if key not in self.attributes and key not in self.attributes_written:
            self.attributes[key] = (owner, name, owner.__dict__.get(name))

    def write_attribute(self, owner: Any, name: str) -> None:
        """Record that a plain attribute is about to be set."""
        self.attributes_written.setdefault(
            (id(owner), name), (owner, name, owner.__dict__.get(name, MISSING))
        )

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

    def setting_seen(self, name: str, ask: Callable[[], Any], tell: Callable[[Any], None]) -> None:
        """Record, as a guard, a switch that is about to be read or set."""
        self.observer.see_setting(name, ask, tell)

    def enter_module(self, module: Any) -> None:
        """Record a module that is being called: its plain attributes become guards."""
        self.modules[id(module)] = module

    def enter_optimizer(self, optimizer: Any) -> None:
        """Record an optimizer that takes a step: its groups and state become guards."""
        self.optimizers[id(optimizer)] = optimizer

    def history_write(self, t: Tensor) -> None:
        """Record the autograd history of a tensor from outside that an in-place op is about to
        change."""
        if not self.is_created(t._storage) and id(t) not in self._histories:
            self._histories[id(t)] = (t, (t._node, t._output_nr, t._requires_grad, t._history))

    def adopt_view(self, t: Tensor) -> None:
        """Record a tensor that was made during the capture on a storage that may be from
        outside."""
        self._views[id(t)] = weakref.ref(t)

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
        if position is None or t._storage in self.values:
            return None
        if (position, read) not in self.numbers:
            with self.outside():
                if isinstance(t._storage.concrete(), core.Tracer):
                    return None
                self.numbers[position, read] = read(values_of(t))
        return self.numbers[position, read]

    def is_adopted(self, t: Tensor) -> bool:
        """Return whether `adopt_view` was told of this very tensor."""
        made_here = self._views.get(id(t))
        return made_here is not None and made_here() is t

    def field_write(self, t: Tensor, asked: str) -> None:
        """Record a tensor's own geometry and ``requires_grad``, which are about to change."""
        if self.is_created(t._storage) or self.is_adopted(t):
            return
        if id(t) not in self._fields:
            before = t._view, t._node, t._output_nr, t._requires_grad
            self._fields[id(t)] = t, before, asked

    def hook_write(self, leaf: Tensor) -> None:
        """Record the hooks of a leaf on which one is about to be registered."""
        if not (self.is_created(leaf._storage) or self.is_adopted(leaf)):
            self._hooked.setdefault(id(leaf), (leaf, hooks_of(leaf)))

    def check_hooks(self) -> None:
        """Refuse hooks that the body leaves on arguments, and record as a reason against a program
        those on other leaves from outside."""
        for leaf, before in self._hooked.values():
            if hooks_of(leaf) == before:
                continue
            if id(leaf) in self.placeholders:
                self.refuse("registering a hook on an argument", "a hook on a clone of it")
            self.observer.reasons.append(
                "it registers a hook on a tensor from outside, which a compiled program would do "
                "only once; register it outside"
            )

    def flags_written(self) -> list[tuple[Tensor, Any]]:
        """Return the leaves from outside whose ``requires_grad`` changed, each with what it was.

        JitCaptureError for other changes to a tensor from outside: the compiled function would
        make them only once.
        """
        flags = []
        for t, (view, node, _, requires_grad), asked in self._fields.values():
            if t._view is not view or t._node is not node:
                self.refuse(f"{asked} on a tensor from outside", asked.replace("_()", "()"))
            if t._requires_grad is not requires_grad:
                flags.append((t, requires_grad))
        return flags

    def check_histories(self) -> None:
        """Refuse to leave a tensor from outside with a history made of tracers."""
        for t, (node, *_) in self._histories.values():
            if t._node is not node and t._node is not None:
                self.refuse(
                    "writing a value that requires grad into a tensor from outside",
                    "value.detach(), or write under torchlike.no_grad()",
                )

    # -- host values -------------------------------------------------------------------------------

    def host_value(self, getter: Callable[[], Any]) -> Any:
        """Return the first value of ``getter``, which provides one at each call, in the order asked
        for, and record it as an input of the program."""
        place = getattr(getter, "place", None)
        if place is not None:
            self.host_places.add((id(place[0]), place[1]))
        with self.outside():
            again = len(self.host_values) < len(self._drawn)
            value = self._drawn[len(self.host_values)] if again else getter()
            # A copy, and not by jnp.array: that compiles a program, 10 to 25 ms in a new process.
            placeholder = jax.device_put(np.array(value))
        self.host_values.append((getter, placeholder))
        self.first_values.append(value)
        return placeholder

    def do_not_repeat(self, why: str) -> None:
        """Say that the next call will want another program (this one's steps happen only once)."""
        self.unrepeatable = why

    def undo_on_failure(self, owner: Any, undo: Callable[[], None]) -> None:
        """Call ``undo`` if the capture fails; the first one given for an owner counts."""
        self._undo.setdefault(id(owner), (owner, undo))

    def fail(self) -> None:
        """Put back what drawing host values changed (the states of random generators)."""
        for _, undo in self._undo.values():
            undo()

    def generators(self) -> list[Generator]:
        """Return the random generators that the body draws from."""
        return [owner for owner, _ in self._undo.values() if isinstance(owner, Generator)]

    @contextlib.contextmanager
    def outside(self) -> Iterator[None]:
        """Suspend the capture: what is computed and made inside is concrete and existed before."""
        with modes.capturing(None), jax.ensure_compile_time_eval():
            yield

    def note_check(self) -> str:
        """Record that the program is about to check values, and return the user's line, which
        begins with a space: `` (train.py:41)``."""
        self.has_checks = True
        return users_line() or self.defined_at

    # -- refusals and undoing ----------------------------------------------------------------------

    def refuse(self, asked: str, instead: str, lines: str | None = None) -> None:
        """Raise JitCaptureError naming the user's line, or (where it is known better) ``lines``."""
        lines = (users_line() or self.defined_at) if lines is None else lines
        error = JitCaptureError(
            f"{asked} cannot be compiled: {self.name} is being captured by torchlike.jit{lines}.\n"
            f"  Use {instead}, or move it outside the jitted function."
        )
        vars(error)["place"] = asked, lines
        raise error

    def refuse_value(self, asked: str, instead: str) -> None:
        """Refuse to give a value to Python."""
        frame = errors.users_frame(_AROUND)
        shown = asked
        if frame is not None:
            place = frame.f_code.co_filename, frame.f_lineno
            shown, instead = advice.asked_and_instead(asked, instead, *place)
        error = JitCaptureError(
            f"{shown} needs a value while {self.name} is being captured by torchlike.jit"
            f"{users_line()}.\n  It would be frozen into the compiled graph. Use {instead}, or "
            "move it outside the jitted function."
        )
        vars(error)["asked"], vars(error)["place"] = asked, (asked, users_line())
        raise error

    def remember_refusal(self, error: JitCaptureError) -> None:
        """Record the error with which the capture is to end. Its traceback will begin where user
        code catches it: the code that runs now is kept for the conversion."""
        vars(error)["codes"] = _users_code()
        self.refusals.append(error)

    def end_refused(self) -> None:
        """Raise the first refusal, if user code caught one and went on."""
        self._take_refusals_of_jax(None)
        if self.refusals:
            raise self.refusals[0]

    def reason_to_end(self, error: BaseException) -> BaseException:
        """Return the error with which the capture ends that an exception left: the first refusal,
        of which this may be all that user code let out."""
        self._take_refusals_of_jax(error)
        if not self.refusals or isinstance(error, KeyboardInterrupt):
            return error
        return self.refusals[0]

    def _take_refusals_of_jax(self, raised: BaseException | None) -> None:
        """Add errors by which JAX refused user code a traced array's value, and which user code
        caught (JAX catches some itself, and goes on)."""
        errors = self.observer.errors_of_jax
        for error in errors:
            tb, caught_at, line = error.__traceback__, "", ""
            while tb is not None:
                frame = tb.tb_frame
                if not is_library(frame.f_globals.get("__name__"), frame.f_code.co_filename):
                    line = f" ({frame.f_code.co_filename.rpartition('/')[2]}:{tb.tb_lineno})"
                caught_at = caught_at or str(frame.f_globals.get("__name__"))
                tb = tb.tb_next
            if error is raised or caught_at.partition(".")[0] in ("", "jax", "torchlike"):
                continue
            JitCaptureError(  # which remembers itself
                f"the value of a JAX array is needed while {self.name} is being captured by "
                f"torchlike.jit{line}, where JAX raises {type(error).__name__}.\n  There is none "
                "yet. Use jax.numpy.where or jax.lax.cond, or move it outside the jitted function."
            )
        errors.clear()

    def roll_back(self) -> None:
        """Put cells and slots back as they were before the capture."""
        for storage, (cell, host, version) in self.written.items():
            storage.cell, storage.host, storage.version = cell, host, version
        for t, (node, nr, requires_grad, history) in self._histories.values():
            t._node, t._output_nr, t._requires_grad, t._history = node, nr, requires_grad, history
        for t, before, _ in self._fields.values():
            t._view, t._node, t._output_nr, t._requires_grad = before
        for slot in self.slots_written.values():
            # One that was made or deleted inside is left as it is: no program that is kept reads
            # it, and its place in the table is the right one.
            if not slot.is_missing and slot.is_there():
                set_slot(slot.owner, slot.name, slot.initial)

    def undo_python(self) -> None:
        """Put plain Python values back: the capture failed, or the body runs once more."""
        for owner, name, value in self.attributes_written.values():
            if value is MISSING:
                owner.__dict__.pop(name, None)
            else:
                owner.__dict__[name] = value
        self.observer.restore()
        counts = trace_counts()
        counts.clear()
        counts.update(self._traces)
        self.tables.restore()
        for slot in self.slots_written.values():
            if slot.is_missing:
                slot.remove()
            elif not slot.is_there():  # in no table
                slot.owner.__dict__[slot.name] = slot.initial


def _another_handle(array: Any) -> Any:
    """Make a second jax.Array object on the same buffers."""
    return jax.make_array_from_single_device_arrays(
        array.shape, array.sharding, [shard.data for shard in array.addressable_shards]
    )


def _users_code() -> list[types.CodeType]:
    """Return the code of the user's functions that runs below the innermost capture, outermost
    first."""
    found: dict[types.CodeType, None] = {}
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") != _AROUND:
        if not is_library(frame.f_globals.get("__name__"), frame.f_code.co_filename):
            found[frame.f_code] = None
        frame = frame.f_back
    return list(found)[::-1]


def users_line() -> str:
    """Return the user's innermost line, which begins with a space: `` (train.py:41)``; nothing once
    the captured body has ended."""
    frame = errors.users_frame(_AROUND)
    if frame is None:
        return ""
    return f" ({frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno})"
