"""Tracing: one run of the Python body under make_jaxpr, and what it left behind."""

from __future__ import annotations

import copy
import gc
import types
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax import core

from torchlike import modes, tape
from torchlike.autograd import engine, partial, saved
from torchlike.autograd.partial import Partial
from torchlike.dispatch.inplace import reads_a_view
from torchlike.dispatch.record import OpNode
from torchlike.jit import joint
from torchlike.jit.capture import Capture, slot_value
from torchlike.jit.effects import ThreadModes
from torchlike.jit.places import MISSING, VALUES, describe, same
from torchlike.jit.program import Program
from torchlike.jit.scalars import Number, Table, is_device
from torchlike.jit.templates import Again, Anew, NumberTemplate, Template
from torchlike.sharing import tensors_on
from torchlike.storage import Storage
from torchlike.tape import AccumulateGrad, Edge, Node
from torchlike.tensor import Tensor, wrap
from torchlike.trees import (
    flatten,
    flatten_call,
    forget_examples,
    unflatten_call,
)


class Tracing:
    """One run of the Python body under make_jaxpr, and what it left behind."""

    def __init__(
        self, fn: Callable[..., Any], name: str, arguments: list[Tensor], leaves: list[Any],
        structure: Any, as_themselves: frozenset[int], traced: Sequence[int] = (),
        drawn: Sequence[Any] = (),
    ) -> None:  # fmt: skip
        self.fn = fn
        self.capture = Capture(name, drawn)
        self.program = Program()
        self.arguments = arguments
        self.made: list[Storage] = []
        self.n_forward = 0
        self.cotangents: list[Any] = []
        self.first_values: list[Any] = []
        #: The modes that the body left set, where it changed any.
        self.modes_left: ThreadModes | None = None
        #: Plain values that the body only recorded something in.
        self.records: list[str] = []
        self._as_themselves = as_themselves
        self._seen = self._stand_ins()
        self._position: dict[int, int] = {}
        for i, t in enumerate(self._seen):
            if i not in as_themselves:
                self._position.setdefault(id(t._storage), i)
        seen = iter(self._seen)
        #: Numbers among the arguments that are traced rather than frozen.
        self.numbers = Table({i: leaves[i] for i in traced})
        roots = {p: self.numbers.root(k) for k, p in enumerate(self.numbers.positions)}
        self._given = [
            next(seen) if isinstance(x, Tensor) else roots.get(i, x) for i, x in enumerate(leaves)
        ]
        self._structure = structure
        self.args, self.kwargs = unflatten_call(structure, self._given)
        watch = self.capture.watch
        watch.visit(fn, name)
        for i, leaf in enumerate(leaves):
            if not isinstance(leaf, Tensor):
                watch.visit(leaf, f"argument {i}")
        self._roots: list[tuple[Tensor, Edge]] = []
        #: For create_graph (see double): record the backward, and run that one's backward too.
        self.create_graph = False
        self.first_gradients: list[Any] = []
        #: Whether there is one, for each edge of the boundary.
        self.first_arrived: list[bool] = []
        self.second_roots: list[int] = []
        self.second_targets: list[tuple[str, int]] = []
        self._second: list[Any] = []
        self._new: list[Tensor] = []
        #: Tensors to be given back, by their ids, and how.
        self._templates: dict[int, tuple[Tensor, Template]] = {}

    def _stand_ins(self) -> list[Tensor]:
        """What the function gets for its arguments: the same values in cells of their own, so that
        an argument and the same tensor reached from outside can be told apart."""
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
                storage = storages[id(original)] = Storage(original.concrete())
                storage.strides = original.strides
            edge = tape.gradient_edge(t)
            stand_in = object.__new__(type(t))
            vars(stand_in).update(vars(t))
            stand_in._storage, stand_in._base, stand_in._accumulator = storage, None, None
            stand_in._requires_grad = t.requires_grad
            if edge is not None and not isinstance(edge[0], AccumulateGrad):
                stand_in._node, stand_in._output_nr = edge
            if t._view is not None:
                stand_in._view = type(t._view)(t._view.steps, t._view.dynamic, t._view.geometry)
            self.capture.stand_ins[id(stand_in)] = i
            objects[id(t)] = stand_in
            seen.append(stand_in)
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

        modes.current.capture = capture
        before = ThreadModes()
        # Hooks on saved tensors around a call are not the program's: a later call may have others.
        hooks, tape.saving.hooks = tape.saving.hooks, ()
        saved.choose_node()
        try:
            # JAX folds a number's conversion in NumPy, which warns of 1e30 as float16.
            with np.errstate(over="ignore"):
                if avals is not None:
                    return jax.make_jaxpr(with_arguments)(*avals)
                return jax.make_jaxpr(self.body)()
        except BaseException as error:
            capture.fail()
            capture.undo_python()
            raise cleaned(error) from error.__cause__
        finally:
            tape.saving.hooks = hooks
            saved.choose_node()
            modes.current.capture = None
            # A second capture begins as the first did.
            self.modes_left = ThreadModes() if before.changed() else None
            before.restore()
            # On success too: the program's first run writes cells and slots like any other.
            capture.roll_back()

    def arguments_that_are_state(self) -> frozenset[int]:
        """Arguments whose own storage was used as well, reached past the stand-in."""
        used = {id(s) for s in (*self.capture.inputs, *self.capture.written)}
        return frozenset(
            i for i, t in enumerate(self.arguments)
            if i not in self._as_themselves and id(t._storage) in used
        )  # fmt: skip

    def body(self) -> list[Any]:
        """What is traced: the function, then its backward on placeholders if outputs need one."""
        watch, before = self.capture.watch, ThreadModes()
        watch.start()
        try:
            result = self.fn(*self.args, **self.kwargs)
            leaves, structure = flatten(result, dataclass_too=True, own=self._is_own)
            del result
            if changed := before.changed():
                watch.reasons.append(
                    f"it sets {' and '.join(changed)} for good; use it as a context manager, or "
                    "set it outside"
                )
            for leaf in leaves:
                if isinstance(leaf, (types.GeneratorType, types.CoroutineType)):
                    self.capture.refuse("returning a generator", "a list")
            self._check_arguments()
            return self._results(leaves, structure)
        finally:
            watch.stop()

    def _is_own(self, x: Any) -> bool:
        """Whether the body made an object, so that each call has to make another."""
        return not self.capture.watch.is_from_outside(x)

    def _results(self, leaves: list[Any], structure: Any) -> list[Any]:
        """Arrays of the cells written, of what is returned, and of the gradients."""
        capture, program = self.capture, self.program
        leaves = [_without_unknown_place(x) for x in leaves]
        capture.see_plain_slots()
        capture.check_histories()
        self._check_sizes()
        program.flags = [
            (capture.stand_ins.get(id(t), t), before, t._requires_grad)
            for t, before in capture.flags_written()
        ]
        slots = [
            (s, _without_unknown_place(slot_value(s.owner, s.name)))
            for s in capture.slots_written.values()
        ]
        index: dict[int, int] = {}
        gradients: list[Any] = []
        templates = [self._leaf(x, index) for x in leaves]
        program.slot_outputs = [
            (slot, None if v is None else self._template(v, index)) for slot, v in slots
        ]
        for i, (_, v) in enumerate(slots):
            _, condition = capture.conditions.get(id(v), (None, None))
            if condition is not None:
                self.made.append(wrap(condition)._storage)
                index[id(self.made[-1])] = program.slot_conditions[i] = len(self.made) - 1
        self._join_views(index)
        capture.conditions.clear()  # they would keep gradients that were dropped
        capture.watch.settle()
        self._check_kept(index)
        if self._roots:
            if self.create_graph:
                return self._recorded_backward()
            gradients = self._joint_backward()
            capture.watch.settle()
        self._check_python()
        forget_examples(structure)
        program.result = (templates, structure)
        program.written = [self._where(s) for s in capture.written]
        outputs = [capture.read(s) for s in capture.written] + [s.read() for s in self.made]
        program.n_made = len(self.made)
        self.n_forward = len(outputs)
        self.first_values = capture.first_values
        return outputs + gradients

    # -- outputs -----------------------------------------------------------------------------------

    def _leaf(self, x: Any, index: dict[int, int]) -> Any:
        """How to give one leaf of the result back at each call."""
        if isinstance(x, Tensor):
            return self._template(x, index)
        if type(x) is not Number:
            return self._made_anew(x)
        if x.table is not None:
            return NumberTemplate(x.kind, x.index, -1)
        self.made.append(x._storage)
        index[id(x._storage)] = len(self.made) - 1
        return NumberTemplate(x.kind, -1, len(self.made) - 1)

    def _made_anew(self, x: Any) -> Any:
        """An object that is no tensor: itself where it was there before (or cannot change), else
        one like it at each call."""
        if isinstance(x, VALUES) or self.capture.watch.is_from_outside(x):
            return x
        if _is_plain(x):
            return Anew(copy.deepcopy(x))
        self.program.cacheable = False
        self.program.why_not = (
            f"it returns an object that it made, of type {type(x).__name__}, which each call has "
            "to make anew; return tensors, numbers, or tuples, lists, dictionaries or dataclasses "
            "of such"
        )
        return x

    def _template(self, t: Tensor, index: dict[int, int]) -> Template:
        """How to give a tensor back; the same template for the same tensor, which is one object at
        each call, too."""
        known = self._templates.get(id(t))
        if known is None:
            known = self._templates[id(t)] = t, self._template_of(t, index)
        else:
            self.program.repeats = True
        return known[1]

    def _template_of(self, t: Tensor, index: dict[int, int]) -> Template:
        storage = t._storage
        if not self.capture.is_created(storage):
            argument = self.capture.stand_ins.get(id(t), -1)
            if argument < 0 and (again := self._view_again(t)) is not None:
                template = Template(t, -1, None, -1)
                template.again = again
                return template
            if argument < 0 and t._node is not None and (
                t._node.sequence >= self.capture.first_sequence
            ):  # fmt: skip
                self.capture.refuse(
                    "returning a tensor that shares memory with one from outside, and has another "
                    "history", "tensor.clone()",
                )  # fmt: skip
            kind, slot = self._where(storage)
            if kind == "slot" and argument < 0:
                return Template(t, -1, None, -1, slot)  # what it holds is another at each call
            return Template(t, -1, t, argument)
        where = index.get(id(storage))
        if where is None:
            where = index[id(storage)] = len(self.made)
            self.made.append(storage)
        if t.retains_grad and not _is_freed(t.grad_fn, self.capture.first_sequence):
            # What it retains would include the other results' gradients (CompiledNode.check_whole).
            self.capture.refuse(
                "returning a tensor that retains its gradient",
                "backward() inside the jitted function, or retain_grad() on its one result",
            )
        return self._new_template(t, where)

    def _new_template(self, t: Tensor, where: int, recorded: bool = True) -> Template:
        """That of a tensor made inside, on output ``where``."""
        template = Template(t, where, None, -1)
        self._new.append(t)
        if not recorded:
            template.root = -2 if t.requires_grad else -1
        elif t.requires_grad and t.grad_fn is not None:
            edge = tape.gradient_edge(t)
            assert edge is not None
            if _is_freed(edge[0], self.capture.first_sequence):
                template.root = -2
            else:
                template.root = len(self._roots)
                self._roots.append((t, edge))
        return template

    def _join_views(self, index: dict[int, int]) -> None:
        """Which results made inside are views of which, where that matters: of several that share
        memory a write into one becomes the others' history, and those that may not be written to
        say so. A base that is not returned is made as well; where nobody may write to its views,
        it is asked for no gradient."""
        sharing: dict[int, list[Tensor]] = {}
        for t in self._new:
            sharing.setdefault(id(t._storage), []).append(t)
        for tensors in sharing.values():
            for t in tensors:
                base = t._base
                if base is None or (len(tensors) == 1 and not t._made_by):
                    continue
                known = self._templates.get(id(base))
                if known is None:
                    recorded = any(v._base is base and not v._made_by for v in tensors)
                    known = base, self._new_template(base, index[id(t._storage)], recorded)
                    self._templates[id(base)] = known
                self.program.views.append((self._templates[id(t)][1], known[1], t._made_by))
                self.program.repeats = True

    def _view_again(self, t: Tensor) -> Again | None:
        """How to make a view of an argument or of a tensor from outside anew; None for what is more
        than a view, or where its steps cannot be told from its parent's."""
        view, parent = t._view, t._base
        where: Any = -1 if parent is None else self.capture.stand_ins.get(id(parent), -1)
        if where < 0:
            # Of an alias (``x.detach()[0]``), or of a tensor from outside.
            where = self._position.get(id(t._storage), -1)
            parent = parent if where < 0 else None
        is_view = parent is not None
        if where < 0:
            if self._where(t._storage)[0] == "slot":
                return None
            if self.capture.is_adopted(t) and parent is None:
                where = t  # a new object at each call: the user may write to it
            elif view is None or parent is None:
                return None
            else:
                where = parent
        nodes = [] if t._node is None else self._views_behind((t._node, t._output_nr), parent)
        if nodes is None:
            return None
        return Again(where, tuple(nodes), view, t._made_by, is_view)

    def _views_behind(self, edge: tape.Edge, parent: Tensor | None) -> list[Any] | None:
        """The nodes from an edge from outside to this one, if they are views and nothing else."""
        end = None if parent is None else tape.gradient_edge(parent)
        if end is None or not (
            isinstance(end[0], AccumulateGrad) or end[0].sequence < self.capture.first_sequence
        ):  # fmt: skip
            return None
        found = []
        node, nr = edge
        while reads_a_view(node) and not (node.pre_hooks or node.hooks or node.retained):
            assert isinstance(node, OpNode)
            found.append((node.exe, node.saved, node.avals, node.n_outputs, nr))
            following = node.edges[0]
            if following == end:
                return found[::-1]
            if following is None:
                return None
            node, nr = following
        return None

    def _where(self, storage: Storage) -> tuple[str, Any]:
        """Where an existing storage is found again at the next call."""
        i = self._position.get(id(storage))
        if i is not None:
            return "argument", i
        for slot in self.capture.slots.values():
            if slot.is_read and self.capture.is_rebound(slot) and (
                isinstance(slot.initial, Tensor) and slot.initial._storage is storage
            ):  # fmt: skip
                return "slot", slot
        return "fixed", storage

    def sources(self) -> dict[int, Any]:
        """What each constant of the jaxpr is."""
        found = {id(array): self._where(s) for s, array in self.capture.inputs.items()}
        for i, (_, placeholder) in enumerate(self.capture.host_values):
            found[id(placeholder)] = ("host", i)
        for i, placeholder in enumerate(self.cotangents):
            found[id(placeholder)] = ("cotangent", i)
        for i, placeholder in self.numbers.placeholders.items():
            found[id(placeholder)] = ("number", i)
        for i, placeholder in enumerate(self._second):
            found[id(placeholder)] = ("second cotangent", i)
        return found

    def _check_kept(self, index: dict[int, int]) -> None:
        """Tensors made inside and kept outside by other means than results and slots."""
        written = {id(owner): owner for owner, *_ in self.capture.attributes_written.values()}
        # A module that the body made (a loss) is made again by the next capture; asked before
        # anything collects garbage.
        own = {key for key, owner in written.items() if self._is_own(owner)}
        kept = [s for s in self.capture.created_alive() if id(s) not in index]
        if kept:
            del kept
            gc.collect()
            kept = [s for s in self.capture.created_alive() if id(s) not in index]
        kept = [s for s in kept if isinstance(s.cell, core.Tracer)]
        if kept:
            # They get their values from this run, but a later run could not find their owners.
            self.made += kept
            self.program.cacheable = False
            self.program.why_not = (
                f"{len(kept)} tensor(s) made inside are kept outside (in a list, dict or "
                "attribute); return them instead"
            )
        slots = self.capture.slots_written
        changed = [
            f"{type(owner).__name__}.{name}"
            for key, (owner, name, before) in self.capture.attributes_written.items()
            if not isinstance(before, Tensor)
            and key not in slots
            and not same(owner.__dict__.get(name, MISSING), before)
            and id(owner) not in own
        ]
        for owner, name, _ in self.capture.attributes_written.values():
            self._refuse_kept_number(owner.__dict__.get(name), f"{type(owner).__name__}.{name}")
        counted = {c for c in changed if self.capture.watch.only_records(c.rpartition(".")[2])}
        self.records += counted
        changed = [c for c in changed if c not in counted]
        if changed:
            self.program.cacheable = False
            self.program.why_not = (
                f"it changes the Python attribute(s) {', '.join(changed)}, which a compiled "
                "program would do only once; use a tensor (a buffer) or change it outside"
            )

    def _check_sizes(self) -> None:
        """Memory from outside that has another size now: the next call finds it so, and is another
        program's. A stand-in has its memory to itself; the argument may share it."""
        for storage, (cell, host, _) in self.capture.written.items():
            before = (cell if host is None else host).shape
            if self.capture.values[storage].shape == before:
                continue
            self.program.cacheable = False
            self.program.why_not = f"it changes the size of memory from outside ({list(before)})"
            if id(storage) in self._position:
                argument = self.arguments[self._position[id(storage)]]._storage
                if argument.host is not None or len(tensors_on(argument)) > 1:
                    self.capture.refuse(
                        "changing the size of an argument that shares its memory", "a new tensor"
                    )

    def _check_arguments(self) -> None:
        """Lists and dictionaries reach the function as copies: a change would be lost."""
        leaves, structure = flatten_call(self.args, self.kwargs)
        if structure != self._structure or any(
            a is not b for a, b in zip(leaves, self._given, strict=True)
        ):
            self.capture.refuse(
                "changing a list or dictionary that was passed as an argument",
                "a returned list or dictionary",
            )

    def _check_python(self) -> None:
        """Plain Python values that the body changed, and what it took from clocks and iterators."""
        watch, program = self.capture.watch, self.program
        self.records += [p.label for p in watch.take_records()]
        for p in watch.changes():
            self._refuse_kept_number(p.now(), p.label)
        changes = [
            f"`{p.label}` ({describe(p.before())} → {describe(p.now())})" for p in watch.changes()
        ]
        if changes:
            watch.reasons.insert(
                0, f"it changes the Python value(s) {', '.join(changes[:5])}, which a compiled "
                "program would do only once; use a tensor, return the value, or change it outside",
            )  # fmt: skip
        if watch.reasons:
            program.cacheable = False
            program.why_not = "; ".join(dict.fromkeys((*watch.reasons, program.why_not))).rstrip(
                "; "
            )

    def _refuse_kept_number(self, value: Any, label: str) -> None:
        """A number of the program has no value that Python could keep."""
        held = value.values() if isinstance(value, dict) else value
        held = held if isinstance(held, (list, tuple, set)) else [held]
        if any(is_device(x) for x in held):
            self.capture.refuse(
                f"keeping a number that depends on a tensor in `{label}`", "a returned value"
            )

    # -- joining the tape --------------------------------------------------------------------------

    def _joint_backward(self) -> list[Any]:
        """Gradients of everything outside that the outputs depend on, from placeholders."""
        capture = self.capture
        boundary = joint.boundary_of(
            [edge for _, edge in self._roots], capture.first_sequence, capture.is_created
        )
        for t, _ in self._roots:
            aval = (tuple(t.shape), t.dtype.numpy)
            self.program.cotangent_avals.append(jax.ShapeDtypeStruct(*aval))
            with capture.outside():
                self.cotangents.append(jax.numpy.zeros(*aval))
        with joint.hooks_left_to_others(boundary):
            gradients = engine.run(
                [edge for _, edge in self._roots],
                [Partial(c, {i: True}) for i, c in enumerate(self.cotangents)],
                retain_graph=True,
                create_graph=False,
                targets=boundary,
                accumulate=False,
                stop_before=capture.first_sequence,
            )
        self.program.behind = joint.behind([e for _, e in self._roots], capture.first_sequence)
        self.program.boundary = [self._origin(edge) for edge in boundary]
        flags: list[Any] = []
        self.program.when = [partial.numbered(partial.when_of(g), flags) for g in gradients]
        return [partial.array_of(g) for g in gradients if g is not None] + flags

    def _recorded_backward(self) -> list[Any]:
        """The gradients, recorded, and their own gradients from placeholders (see double)."""
        capture = self.capture
        edges = [edge for _, edge in self._roots]
        boundary = joint.boundary_of(edges, capture.first_sequence, capture.is_created)
        incoming = []
        for t, _ in self._roots:
            with capture.outside():
                self.cotangents.append(jax.numpy.zeros(tuple(t.shape), t.dtype.numpy))
            incoming.append(wrap(self.cotangents[-1]).requires_grad_())
        into = {tape.gradient_edge(c): ("cotangent", i) for i, c in enumerate(incoming)}
        into |= {edge: ("boundary", i) for i, edge in enumerate(boundary)}
        self.program.boundary = [self._origin(edge) for edge in boundary]
        with joint.hooks_left_to_others(boundary):
            found = engine.run(
                edges, incoming, retain_graph=True, create_graph=True, targets=boundary,
                accumulate=False, stop_before=capture.first_sequence,
            )  # fmt: skip
        self.first_arrived = [g is not None for g in found]
        found = [g for g in found if g is not None]
        roots: dict[int, Any] = {
            i: tape.gradient_edge(g) for i, g in enumerate(found)
            if isinstance(g, Tensor) and g.requires_grad
        }  # fmt: skip
        self.second_roots = list(roots)
        reached = joint.boundary_of(
            list(roots.values()), capture.first_sequence, lambda s: False
        )  # fmt: skip
        targets = [e for e in into if e in reached]
        self.second_targets = [into[e] for e in targets]
        self.first_gradients = [g._read() for g in found]
        for i in roots:
            with capture.outside():
                like = self.first_gradients[i]
                self._second.append(jax.numpy.zeros(like.shape, like.dtype))
        with joint.hooks_left_to_others(targets):
            second = engine.run(
                list(roots.values()), self._second, retain_graph=True, create_graph=False,
                targets=targets, accumulate=False, stop_before=capture.first_sequence,
            )  # fmt: skip
        return self.first_gradients + [partial.array_of(g) for g in second]

    def _origin(self, edge: Edge) -> Any:
        """How to find a boundary edge at the next call: an argument, a leaf, or the edge itself."""
        node, nr = edge

        def is_of(t: Tensor) -> bool:
            leaf = isinstance(node, AccumulateGrad) and node.variable is t
            return leaf or (t._node is node and t._output_nr == nr)

        for i, t in enumerate(self._seen):
            if is_of(t):
                return i
        for slot in self.capture.slots.values():
            if slot.is_read and self.capture.is_rebound(slot) and (
                isinstance(slot.initial, Tensor) and is_of(slot.initial)
            ):  # fmt: skip
                return slot
        return node.variable if isinstance(node, AccumulateGrad) else edge

    def finish(self) -> None:
        """Cut the capture's own tensors off its tape: their nodes hold tracers."""
        self._templates.clear()
        for t in self._new:
            t._node, t._base = None, None
            if t._view is not None:
                t._view.cached_version = -1


def _without_unknown_place(x: Any) -> Any:
    """A view at an index that only the compiled program knows, as a copy; the rest as it is."""
    if isinstance(x, Tensor) and x._view is not None:
        offset = x._view.geometry.offset
        if offset != offset:  # views.UNKNOWN
            return x.clone()
    return x


def _is_plain(x: Any) -> bool:
    """Whether an object consists of plain values alone."""
    if isinstance(x, (*VALUES, bytearray, np.ndarray)):
        return not isinstance(x, np.ndarray) or not x.dtype.hasobject
    if isinstance(x, dict):
        return all(_is_plain(k) and _is_plain(v) for k, v in x.items())
    return isinstance(x, (list, tuple, set, frozenset, deque)) and all(map(_is_plain, x))


def _is_freed(node: Node, first_sequence: int) -> Any:
    """Whether backward already ran through the graph behind a node."""
    seen, stack = set(), [node]
    while stack:
        at = stack.pop()
        if at in seen or at.sequence < first_sequence:
            continue
        seen.add(at)
        if at.is_released():
            return True
        stack += [e[0] for e in at.edges if e is not None]
    return False


def cleaned(error: BaseException) -> BaseException:
    """The user's error without JAX's note about its own frames."""
    error.__cause__ = None
    if hasattr(error, "__notes__"):
        error.__notes__ = [n for n in error.__notes__ if "JAX" not in n]
    return error
