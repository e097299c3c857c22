"""`Tracing` runs a Python body once under make_jaxpr and finds what the run left behind."""

from __future__ import annotations

import gc
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax import core

from torchlike._core import cells, modes, tape
from torchlike._core.errors import JitCaptureError
from torchlike._core.storage import Storage
from torchlike._core.tape import AccumulateGrad
from torchlike._core.views import UNKNOWN
from torchlike._extensions import meta
from torchlike._extensions.sharing import tensors_on
from torchlike._extensions.wrapped import Wrapped
from torchlike._jit.capture.capture import Capture
from torchlike._jit.capture.changes import fixed, numbers_in, put_unseen
from torchlike._jit.capture.effects import ThreadModes
from torchlike._jit.capture.refusals import defined_at
from torchlike._jit.capture.replay import ChangesOutside
from torchlike._jit.capture.scalars import (
    CallValues,
    Copies,
    InputContainer,
    Number,
    Table,
    is_device,
)
from torchlike._jit.capture.unread import UnreadString
from torchlike._jit.capture.value_visits import ATOMS
from torchlike._jit.guards.containers import ItemsGuard
from torchlike._jit.guards.guard import MISSING, NameGuard, describe, same
from torchlike._jit.guards.sources import (
    InputSource,
    PerCallValue,
    PlaceSlot,
    TracedNumber,
    ViewOffset,
    slot_value,
)
from torchlike._jit.trace.backward import JointBackward, RecordedBackward
from torchlike._jit.trace.outputs import CapturedOutputs, TraceResults, without_unknown_place
from torchlike._runtime import mixed_operands
from torchlike._runtime.jax_private.primitives import convert
from torchlike._runtime.jaxprs import make_jaxpr
from torchlike._runtime.trees import (
    Made,
    flatten_arguments,
    flatten_result,
    forget_examples,
    unflatten_call,
)
from torchlike.autograd import saved
from torchlike.tensor import FIELDS, Tensor, whole_dict, wrap


class Tracing:
    """One run of the Python body under make_jaxpr, and what it left behind.

    Attributes:
      modes_left: the modes that the body left set, where it changed any.
      records: plain values that the body only recorded something in, once per compile.
      outside: what the body changes of Python's objects, for each call to make again.
      replays, gives_objects: whether it does; whether objects that were there before are returned
        as they are and not as copies.
      offsets: the tensors among the arguments whose place in their base is traced, and the arrays
        that stand for its numbers.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        name: str,
        arguments: list[Tensor],
        leaves: list[Any],
        structure: Any,
        as_themselves: frozenset[int],
        traced: Sequence[int] = (),
        drawn: Sequence[Any] = (),
        moving: Mapping[Any, Any] | None = None,
    ) -> None:
        """Prepare a run. ``traced``: the leaves that are traced numbers or offsets; ``drawn``: the
        per-call values that an earlier trace got; ``moving``: numbers in Python's objects that are
        traced, by their places' keys."""
        self.fn = fn
        self.capture = Capture(name, drawn)
        self.capture.refused.defined_at = defined_at(fn)
        self.results = TraceResults()
        self.arguments = arguments
        self.n_forward = 0
        self.first_values: list[Any] = []
        self.modes_left: ThreadModes | None = None
        self.records: list[str] = []
        self._as_themselves = as_themselves
        #: Of which arguments something was put outside, and how many tensors of the body's own
        #: were, other than into tables.
        self._held_arguments: set[int] = set()
        self._n_kept = 0
        self._seen = self._placeholders()
        self._position: dict[int, int] = {}
        for i, t in enumerate(self._seen):
            if i not in as_themselves:
                self._position.setdefault(id(t._storage), i)
        seen = iter(self._seen)
        self._moving = numbers_in(moving or {})
        #: What stands for the strings that are thought to be read by nobody.
        self.unread = [UnreadString(i) for i in traced if type(leaves[i]) is str]
        #: Numbers among the arguments, and in Python's objects, that are traced and not frozen.
        roots = {i: leaves[i] for i in traced if not isinstance(leaves[i], (Tensor, str))}
        self.numbers = Table(roots, [place for place, _ in self._moving.values()])
        self.outside = ChangesOutside(self.capture, self._moving)
        self.replays = self.gives_objects = False
        self.traced = tuple(traced)
        self.offsets = offsets_among(leaves, traced)
        if not self.offsets.isdisjoint(as_themselves):
            raise OffsetNeeded  # an argument as itself is where it is
        self._offset_arrays = {
            (i, k): jax.device_put(np.array(number))
            for i in self.offsets
            for view in [arguments[i]._view]
            if view is not None
            for k, number in enumerate(view.dynamic)
        }
        given: dict[int, Any] = {unread.leaf: unread for unread in self.unread}
        given.update((p, self.numbers.root(k)) for k, p in enumerate(self.numbers.positions))
        self._inputs = [
            next(seen) if isinstance(x, Tensor) else given.get(i, x) for i, x in enumerate(leaves)
        ]
        self._structure = structure
        self.outputs = CapturedOutputs(self.capture, self.results, self._position)
        made = Made()
        self.args, self.kwargs = unflatten_call(structure, self._inputs, made)
        observer = self.capture.observer
        self.copies = Copies(made, self._refuse_of_container)
        observer.containers = self.copies.leaves.keys()
        observer.visit(fn, name)
        for i, leaf in enumerate(leaves):
            if not isinstance(leaf, Tensor):
                observer.visit(leaf, f"argument {i}")
        self.backward = JointBackward(self.capture, self.results, self.outputs, self._seen)

    @property
    def opened(self) -> frozenset[type]:
        """The classes of which objects among the arguments are taken apart."""
        return frozenset(map(type, self.copies.objects()))

    def record_backward(self) -> RecordedBackward:
        """Have the backward be recorded, for create_graph (see ``double``), and return it."""
        self.capture.is_retraced = True
        self.capture.checks_values = False  # the call itself has looked
        self.backward = recorded = RecordedBackward(
            self.capture, self.results, self.outputs, self._seen
        )
        return recorded

    def _placeholders(self) -> list[Tensor]:
        """Make the tensors that the function gets for its arguments: the same values in cells of
        their own, so that an argument and the same tensor reached from outside can be told
        apart."""
        storages: dict[int, Storage] = {}
        seen: list[Tensor] = []
        objects: dict[int, Tensor] = {}
        for i, t in enumerate(self.arguments):
            if i in self._as_themselves:
                seen.append(t)
                continue
            if id(t) in objects:
                seen.append(objects[id(t)])
                continue
            original = t._storage
            storage = storages.get(id(original))
            if storage is None:
                array = self.capture.cells.concrete(original)
                special = original.is_placed or original.is_ordinary
                storage = original.alike(array) if special else Storage(array)
                storages[id(original)] = storage
                storage.strides = original.strides
            edge = tape.gradient_edge(t)
            placeholder = object.__new__(type(t))
            whole_dict(placeholder).update(whole_dict(t))
            placeholder._storage, placeholder._base, placeholder._accumulator = storage, None, None
            placeholder._requires_grad = t.requires_grad
            if edge is not None and not isinstance(edge[0], AccumulateGrad):
                placeholder._node, placeholder._output_nr = edge
            if t._view is not None:
                placeholder._view = type(t._view)(t._view.steps, t._view.dynamic, t._view.geometry)
            self.capture.placeholders[id(placeholder)] = i
            objects[id(t)] = placeholder
            seen.append(placeholder)
        return seen

    def trace(self, avals: Sequence[Any] | None = None) -> Any:
        """Run the body once; afterwards cells and slots are as they were before.

        With ``avals`` the arguments' arrays are the jaxpr's own inputs, of these shapes (which may
        be symbolic), instead of constants.
        """
        capture = self.capture

        def with_arguments(*arrays: Any) -> list[Any]:
            for t, array in zip(self._seen, arrays, strict=True):
                t._storage.cell, t._storage.host = array, None
            return self.body()

        for unread in self.unread:
            unread.count_holders()
        n_arguments = len(self.numbers.positions)
        moving = [(fixed(at), number) for at, number in self._moving.values()]
        for i, (at, _) in enumerate(moving, n_arguments):
            put_unseen(at, self.numbers.root(i))
        modes.current.watch(capture)
        place, modes.current.place = modes.current.place, None
        before = ThreadModes()
        # Hooks on saved tensors around a call are not the program's: a later call may have others.
        hooks, tape.saving.hooks = tape.saving.hooks, ()
        saved.choose_node()
        try:
            # JAX folds a number's conversion in NumPy, which warns of 1e30 as float16.
            with np.errstate(over="ignore"), capture.prints:
                if avals is not None:
                    closed = make_jaxpr(with_arguments, *avals)
                else:
                    closed = make_jaxpr(self.body)
                capture.refused.end_refused()
                return closed
        except BaseException as error:
            capture.per_call.fail()
            capture.undo_python()
            reason = cleaned(capture.refused.reason_to_end(error))
            if isinstance(reason, JitCaptureError):
                vars(reason)["trains"] = bool(capture.optimizers)
            raise reason from None
        finally:
            tape.saving.hooks = hooks
            saved.choose_node()
            if moving:
                self.outside.take_numbers_out(moving)
            capture.place, modes.current.place = modes.current.place, place
            modes.current.watch(None)
            # A second capture begins as the first did.
            self.modes_left = ThreadModes() if before.changed() else None
            before.restore()
            # On success too: the program's first run writes cells and slots like any other.
            capture.roll_back()

    def arguments_that_are_state(self) -> frozenset[int]:
        """Return the arguments whose own storage was used as well, reached past the placeholder, or
        compared with it, and those whose placeholder, or a view of it, the body put somewhere
        outside."""
        used = {id(s) for s in (*self.capture.cells.inputs, *self.capture.cells.written)}
        if not self.results.cacheable:  # what the body put somewhere stays there
            self._note_held_arguments(tensors_held(self.outside.values(), self._is_own))
        return (
            self.compared_arguments()
            | self._held_arguments
            | {
                i
                for i, t in enumerate(self.arguments)
                if i not in self._as_themselves and id(t._storage) in used
            }
        )

    def compared_arguments(self) -> frozenset[int]:
        """Return the arguments with which the code may have compared the placeholder, or of which
        it may have asked what they are views of."""
        known = set(map(id, self.capture.observer.comparable_tensors()))
        asks = self.capture.observer.asks_for_bases()
        return frozenset(
            i
            for i, t in enumerate(self.arguments)
            if i not in self._as_themselves and (id(t) in known or (asks and t._view is not None))
        )

    def body(self) -> list[Any]:
        """Run what is traced: the function, then its backward on placeholders if outputs need one.
        Return the arrays of the results."""
        observer, before = self.capture.observer, ThreadModes()
        self._trace_offsets()
        observer.start()
        try:
            result = self.fn(*self.args, **self.kwargs)
            self.capture.end_large()  # user code may have caught it
            self.capture.run_last_checks()
            self.capture.refused.end_refused()
            observer.settle()
            if self.replays:
                observer.unseen(self.outside.collect)
            leaves, structure = self._flattened(result)
            del result
            if changed := before.changed():
                observer.reasons.append(
                    f"it sets {' and '.join(changed)} for good; use it as a context manager, or "
                    "set it outside"
                )
            for leaf in leaves:
                if isinstance(leaf, (types.GeneratorType, types.CoroutineType)):
                    self.capture.refuse("returning a generator", "a list")
            self._check_arguments()
            self.capture.cells.check_hooks(self.capture.observer.reasons)
            return self._results(leaves, structure)
        finally:
            observer.stop()

    def _trace_offsets(self) -> None:
        """Let the placeholders for views begin where the call says."""
        for i in self.offsets:
            view: Any = self._seen[i]._view
            numbers = [
                # A tracer, so that nothing can take the number for a constant.
                convert(self._offset_arrays[i, k], np.dtype(np.int64), False)
                for k in range(len(view.dynamic))
            ]
            geometry = view.geometry._replace(offset=UNKNOWN)
            self._seen[i]._view = type(view)(view.steps, tuple(numbers), geometry)

    def _check_offsets(self, given: Iterable[Any]) -> None:
        """Raise OffsetNeeded where a tensor on the memory of a view whose offset is traced is given
        out: which part of the memory it is cannot be told. An argument itself is given back as it
        came."""
        memory = {id(self._seen[i]._storage) for i in self.offsets}
        own = self.capture.placeholders
        for t in given:
            if isinstance(t, Tensor) and id(t._storage) in memory and id(t) not in own:
                raise OffsetNeeded

    def _placed(self, x: Any) -> Any:
        """Copy a view at an index that only the program knows, but for an argument itself."""
        return x if id(x) in self.capture.placeholders else without_unknown_place(x)

    def _flattened(self, result: Any) -> tuple[list[Any], Any]:
        """Return the leaves and the structure of the result, and of what is in containers that were
        changed."""
        changed, left = self.copies.changed(), self.outside.values()
        given_out = [*left, result] if self.gives_objects else left
        own_way = self.outside.from_outside(given_out) if given_out else {}
        if changed or left:
            self.results.is_followed = True
            result = result, self.copies.contents(changed), left
        try:
            leaves, structure = flatten_result(
                result, self._is_own, {**own_way, **self.copies.leaves}
            )
        except RecursionError:
            self.capture.refuse("a result that is nested too deeply", "fewer levels")
            raise  # never: refuse() does
        own = list(self.copies.leaves.values())
        self.results.changes = tuple(own[i].index for i in changed)
        if changed or any(type(x) is InputContainer for x in leaves):
            self.results.numbers = CallValues(self.numbers if self.numbers else None)
        elif self.numbers:
            self.results.numbers = self.numbers
        return leaves, structure

    def check_containers(self, own: list[Any]) -> None:
        """Raise JitCaptureError where a container that is changed was also reached past the
        argument: the body saw another one there. ``own``: the caller's."""
        n, objects = len(own), [i - len(own) for i, x in enumerate(own) if type(x) in self.opened]
        for index in {*self.results.changes, *objects}:
            if self.capture.observer.has_visited(own[n + index]):
                self.capture.per_call.fail()
                self.capture.undo_python()
                self._refuse_of_container(
                    "changing something that was passed as an argument and is also "
                    f"reached as `{self.capture.observer.label_of(own[n + index])}`",
                    "one of the two ways",
                    self.copies.copy(index),
                )

    def _refuse_of_container(self, asked: str, instead: str, container: Any) -> None:
        observer = self.capture.observer
        self.capture.refuse(asked, instead, observer.lines_that_change(container))

    def _is_own(self, x: Any) -> bool:
        """Return whether the body made an object, so that each call has to make another."""
        return not self.capture.observer.is_from_outside(x)

    def _results(self, leaves: list[Any], structure: Any) -> list[Any]:
        """Return the arrays of the cells written, of what is returned, and of the gradients."""
        capture, results, returned = self.capture, self.results, self.outputs
        written = [slot_value(s.owner, s.name) for s in capture.bindings.written.values()]
        self._check_offsets([*leaves, *written])
        leaves = [self._placed(x) for x in leaves]
        capture.see_plain_slots()
        capture.cells.check_histories()
        self._check_sizes()
        results.flags = [
            (capture.placeholders.get(id(t), t), before, t._requires_grad)
            for t, before in capture.cells.flags_written()
        ]
        slots = [
            (s, self._placed(slot_value(s.owner, s.name)))
            for s in capture.bindings.written.values()
            if s.is_there()
        ]
        gradients: list[Any] = []
        templates = [returned.leaf(x) for x in leaves]
        results.slot_outputs = [
            (slot, None if v is None else returned.tensor(v)) for slot, v in slots
        ]
        for i, (_, v) in enumerate(slots):
            _, condition = capture.conditions.get(id(v), (None, None))
            if condition is not None:
                results.slot_conditions[i] = returned.add(wrap(condition)._storage)
        self._find_held(leaves)
        returned.add_held()
        returned.join_views()
        capture.conditions.clear()  # they would keep gradients that were dropped
        self._check_kept()
        if returned.roots:
            gradients = self.backward.trace()
            if isinstance(self.backward, RecordedBackward):
                return gradients
            capture.observer.settle()
        self._check_python()
        forget_examples(structure)
        results.result = (templates, structure)
        results.written = returned.places(capture.cells.written)
        if capture.has_checks:
            returned.keep_slots(slots)
        outputs = capture.cells.results(capture.has_checks) + [s.read() for s in returned.made]
        if meta.involved(outputs):
            capture.refuse("a result on the meta device", "a tensor with values")
        if any(type(array) is Wrapped for array in outputs):
            capture.refuse(
                "a wrapper subclass as a result", "the tensors inside, and wrap them outside"
            )
        if cells.kind_among(outputs) is not None:
            capture.refuse(
                "a result of a transform that has ended", "forward_ad.unpack_dual(t).primal"
            )
        results.n_made = len(returned.made)
        results.ordinary = mixed_operands.ordinary_results(
            capture.cells.inputs.values(), returned.made
        )
        self.n_forward = len(outputs)
        self.first_values = capture.per_call.first_values
        return outputs + gradients

    def sources(self) -> dict[int, InputSource]:
        """Return the source of each constant of the jaxpr, by its id."""
        inputs = self.capture.cells.inputs
        found: dict[int, InputSource] = dict(
            zip(map(id, inputs.values()), self.outputs.places(inputs), strict=True)
        )
        for i, (_, placeholder) in enumerate(self.capture.per_call.getters):
            found[id(placeholder)] = PerCallValue(i)
        found |= self.backward.sources()
        for i, placeholder in self.numbers.placeholders.items():
            found[id(placeholder)] = TracedNumber(i)
        for offset, placeholder in self._offset_arrays.items():
            found[id(placeholder)] = ViewOffset(*offset)
        return found

    def _find_held(self, leaves: list[Any]) -> None:
        """Find the tensors that the body put into what it changed outside, or into an object of its
        own that it returns, and keep them."""
        capture, observer = self.capture, self.capture.observer
        is_own = observer.own_objects()
        capture.tables.drop(is_own)
        for owner in capture.tables.owners():
            own = getattr(owner, "__dict__", {})  # the handle of a hook has none
            if "_parameters" in own:
                capture.enter_module(owner)
            elif "param_groups" in own:
                capture.enter_optimizer(owner)
        for key in capture.made_modules:
            capture.modules.pop(key, None)
        roots = [p.now() for p in observer.changes() if not self.outside.covers(p)]
        for key, (owner, name, before) in capture.bindings.attributes_written.items():
            now = owner.__dict__.get(name, MISSING)
            if now is not before and not is_own(owner) and not self.outside.covers_attribute(key):
                roots.append(now)
        roots += [x for x in leaves if not isinstance(x, Tensor) and is_own(x)]
        self._keep(tensors_held(roots, is_own))
        self._n_kept = len(self.results.kept)
        self._keep(tensors_held(capture.tables.changed(), is_own))

    def _keep(self, tensors: list[Tensor]) -> None:
        """Record tensors that are held outside: the first call gives them values, history and
        memory."""
        capture = self.capture
        for t in self._note_held_arguments(tensors):
            if capture.is_adopted(t) or (
                capture.is_created(t._storage) and isinstance(t._storage.cell, core.Tracer)
            ):
                self.results.kept.append(self.outputs.tensor(t))

    def _note_held_arguments(self, tensors: list[Tensor]) -> list[Tensor]:
        """Note which arguments the body has put somewhere outside, and return the other tensors."""
        others = []
        for t in tensors:
            held = self.capture.placeholders.get(id(t), self._position.get(id(t._storage), -1))
            if held >= 0:
                self._held_arguments.add(held)
            else:
                others.append(t)
        return others

    def _check_kept(self) -> None:
        """Find the tensors that were made inside and are kept outside by other means than results
        and slots, and keep no program where there are some."""
        written = {
            id(owner): owner for owner, *_ in self.capture.bindings.attributes_written.values()
        }
        # A module that the body made (a loss) is made again by the next capture; asked before
        # anything collects garbage.
        own = {key for key, owner in written.items() if self._is_own(owner)}
        self.outputs.drop_freed()
        kept = [s for s in self.capture.cells.created_alive() if s not in self.outputs]
        for generation in range(3):
            # What the body left in cycles is young, since collections were off while it ran; one of
            # everything takes 150 ms where a million lists live.
            if not kept:
                break
            del kept
            gc.collect(generation)
            kept = [s for s in self.capture.cells.created_alive() if s not in self.outputs]
        kept = [s for s in kept if isinstance(s.cell, core.Tracer)]
        if kept or self._n_kept:
            # They get their values from this run, but a later run could not find their owners.
            self.outputs.made += kept
            self.results.do_not_keep(
                f"{len(kept) + self._n_kept} tensor(s) made inside are kept outside (in a list, "
                "dict or attribute); return them instead"
            )
        slots = self.capture.bindings.written
        observer, changed = self.capture.observer, []
        for key, (owner, name, before) in self.capture.bindings.attributes_written.items():
            label, space = f"{type(owner).__name__}.{name}", owner.__dict__
            if not self.outside.covers_attribute(key):
                self._refuse_kept_number(space.get(name), label)
                self.copies.check_kept(space.get(name), label)
            if (
                isinstance(before, Tensor)
                or key in slots
                or id(owner) in own
                or self.outside.covers_attribute(key)
                or (same(space.get(name, MISSING), before))
            ):
                continue
            if observer.only_records(name):
                self.records.append(label)
            else:
                changed.append(label)
        if changed:
            self.results.do_not_keep(
                f"it changes the Python attribute(s) {', '.join(changed)}, which a compiled "
                "program would do only once; use a tensor (a buffer) or change it outside"
            )

    def _check_sizes(self) -> None:
        """Keep no program where memory from outside has another size now: the next call finds it
        so, and is another program's. A placeholder has its memory to itself; the argument may share
        it."""
        for storage, (cell, host, _) in self.capture.cells.written.items():
            before = (cell if host is None else host).shape
            if self.capture.cells.values[storage].shape == before:
                continue
            self.results.do_not_keep(f"it changes the size of memory from outside ({list(before)})")
            if id(storage) in self._position:
                argument = self.arguments[self._position[id(storage)]]._storage
                if argument.host is not None or len(tensors_on(argument)) > 1:
                    self.capture.refuse(
                        "changing the size of an argument that shares its memory", "a new tensor"
                    )

    def _check_arguments(self) -> None:
        """Refuse changes to attributes of tensors and to registered classes, which reach the
        function as copies: a change would be lost."""
        self.copies.check_registered()
        for t, argument in zip(self._seen, self.arguments, strict=True):
            now, before = (dict(vars(x)) for x in (t, argument))
            for name in {**before, **now}:
                if not same(now.get(name, MISSING), before.get(name, MISSING)):
                    self.capture.refuse(
                        f"setting the attribute `{name}` of an argument", "a returned value"
                    )

    def _check_python(self) -> None:
        """Look at the plain Python values that the body changed, and at what it took from clocks
        and iterators: record what each call can do again, and the reasons against a program."""
        observer, results = self.capture.observer, self.results
        if not self.replays:
            self.records += [p.label for p in observer.take_records()]
        changed = [p for p in observer.changes() if not self.outside.covers(p)]
        for p in changed:
            self._refuse_kept_number(p.now(), p.label)
            self.copies.check_kept(p.now(), p.label)
        changes = [f"`{p.label}` ({describe(p.before())} → {describe(p.now())})" for p in changed]
        if changes:
            observer.reasons.insert(
                0,
                f"it changes the Python value(s) {', '.join(changes[:5])}, which a compiled "
                "program would do only once; use a tensor, return the value, or change it outside",
            )
        gone = [
            f"`{type(s.owner).__name__}.{s.name}`"
            for s in self.capture.bindings.written.values()
            if not s.is_missing and not s.is_there()
        ]
        if gone:
            observer.reasons.append(f"it deletes {', '.join(gone)}; delete outside")
        if tables := self.capture.tables.changes():
            modes.epoch.advance()
            results.changes_structure = results.cacheable and not observer.reasons
            observer.reasons.append(
                f"it changes {', '.join(dict.fromkeys(tables))}, which a compiled program would do "
                "only once; do so before the first call, or outside"
            )
        if observer.reasons:
            results.cacheable = False
            results.why_not = "; ".join(dict.fromkeys((*observer.reasons, results.why_not))).rstrip(
                "; "
            )

    def makes_lazily(self) -> frozenset[int]:
        """Return the ids of the objects that have attributes from this run on which were missing or
        None, and of the lists that were empty; of all that changed where no call can change it
        otherwise."""
        found: set[int] = set()
        for g in self.capture.observer.changes():
            if type(g) is NameGuard and g.owner is not g.space:
                is_new = g.before() is None or g.before() is MISSING
            else:
                is_new = type(g) is ItemsGuard and not g.items
            if is_new:
                found.add(id(g.owner))
        return frozenset(found)

    def changes_number(self, among: Collection[int]) -> bool:
        """Return whether the body left another number in the place of some leaf of its
        arguments."""
        after = flatten_arguments(self.args, self.kwargs, self.opened)[0]
        if len(after) != len(self._inputs):
            return False
        pairs = [(self._inputs[i], after[i]) for i in among]
        return any(x is not y and (type(y) is Number or not same(x, y)) for x, y in pairs)

    def undo_changes(self) -> None:
        """Put Python's objects back as they were, where each call of the program, the first among
        them, makes the changes: guards are on what the body found."""
        if not self.results.cacheable:
            for slot in self.capture.bindings.slots.values():
                if isinstance(slot, PlaceSlot):
                    slot.found = slot.initial
        elif self.outside.changes:
            self.results.outside = tuple(self.outside.changes)
            self.capture.bindings.restore_attributes()
            self.capture.observer.restore()
            for change in self.outside.changes:
                change.forget()

    def _refuse_kept_number(self, value: Any, label: str) -> None:
        """Refuse to keep a number of the program, which has no value that Python could keep."""
        held = value.values() if isinstance(value, dict) else value
        held = held if isinstance(held, (list, tuple, set)) else [held]
        if any(is_device(x) for x in held):
            self.capture.refuse(
                f"keeping a number that depends on a tensor in `{label}`", "a returned value"
            )


class OffsetNeeded(Exception):
    """A program cannot be for a view wherever it begins."""


def offsets_among(leaves: Sequence[Any], traced: Sequence[int]) -> frozenset[int]:
    """Return the positions, among the tensors of the leaves, of those traced leaves that are
    tensors."""
    tensors = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
    return frozenset(n for n, i in enumerate(tensors) if i in traced)


def cleaned(error: BaseException) -> BaseException:
    """Strip JAX's note about its own frames from the user's error, and return it."""
    error.__cause__ = None
    if hasattr(error, "__notes__"):
        error.__notes__ = [n for n in error.__notes__ if "JAX" not in n]
    return error


_PASSED_OVER = (type, types.ModuleType, types.CodeType)


def tensors_held(roots: Iterable[Any], is_own: Callable[[Any], bool]) -> list[Tensor]:
    """Return the tensors reached from ``roots`` through objects that the body made. What was there
    before was not changed, or it would be a root.

    Finds the tensors that a body has put into objects from outside.

    A tensor that the body made (or was given) may be put into a list, an attribute, a closure, a
    new module's table, an optimizer's groups. Whoever holds it holds the very object that the
    function returns or binds to a slot, so the capture has to know them all.
    """
    found: list[Tensor] = []
    seen: dict[int, Any] = {}
    stack: list[Any] = []

    def enter(x: Any) -> None:
        seen[id(x)] = x  # kept alive, so that its id stays its own
        if isinstance(x, Tensor):
            found.append(x)
            stack.extend(v for k, v in whole_dict(x).items() if k == "_grad" or k not in FIELDS)
        elif not isinstance(x, _PASSED_OVER):
            stack.extend(gc.get_referents(x))

    for root in roots:
        if type(root) not in ATOMS and id(root) not in seen:
            enter(root)
    while stack:
        x = stack.pop()
        if type(x) in ATOMS or id(x) in seen:
            continue
        if isinstance(x, Tensor) or not gc.is_tracked(x) or is_own(x):
            enter(x)
    return found
