"""Generates source for later calls: guard and call of a program.

A call takes the arrays out of the cells, asks whether anybody else holds those to be donated, runs
the executable, puts its outputs into cells and builds the result. `Program.run` and `deliver` do so
in loops over what the program lists, and where something is out of the ordinary. A program that is
called again and again gets a function without loops instead: its source has a line for each cell,
which it knows by name. So has the guard in front of it. With 10, 100 and 1,000 cells a call took
1.55, 1.19 and 1.22 times that of `jax.jit` with as many arguments; so 1.26, 1.12 and 1.16 times.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from sys import getrefcount
from typing import Any

from torchlike._core.storage import SOLE_LOCAL, Storage
from torchlike._jit.capture import scalars
from torchlike._jit.capture.scalars import InputContainer
from torchlike._jit.guards.guard import ARGUMENTS, GuardSet
from torchlike._jit.guards.sources import CellSource, FixedCell
from torchlike._jit.program.delivery import on_host
from torchlike._jit.trace.outputs import FreshOutput, NumberTemplate, Template, build
from torchlike._runtime.late_checks import queue
from torchlike._runtime.trees import unflatten
from torchlike.tensor import Tensor

#: What the function gives where the general way is to be taken, before anything has happened: a
#: cell is a host buffer, or somebody else holds what is to be donated.
UNFIT = object()
#: Inputs of the longest call: with 1,000 the loops are as fast, and nothing has to be compiled.
MOST = 500


def generate_guard(guards: GuardSet) -> Callable[..., Any]:
    """Generate ``guard(arguments)``: True only if all guards hold, and where nothing has moved."""
    source = Source()
    source.answer(guards.expressions(source.name), "True", "False")
    return source.function(f"guard({ARGUMENTS})")


def generate_call(program: Any) -> Callable[..., Any]:
    """Generate ``call(arguments, numbers)`` of a program; one that never fits where a call does
    more than named above (joins the tape, changes flags, gives numbers, asks whether there is a
    gradient)."""
    leaves, _ = program.outputs.result
    more = (
        program.gradient.cotangent_avals
        or program.outputs.flags
        or program.outputs.slot_conditions
        or program.outputs.ordinary
        or program.may_run_again
        or len(program.inputs.avals) > MOST
    )
    attributes = [leaf for _, _, leaf in program.outputs.attributes]
    if more or any(
        isinstance(leaf, (NumberTemplate, FreshOutput)) for leaf in (*leaves, *attributes)
    ):
        return _never
    return _Call(program).write()


def _never(arguments: Any, numbers: Any) -> Any:
    return UNFIT


class Source:
    """The lines of one function, and the objects that they name."""

    def __init__(self) -> None:
        self._names: dict[str, Any] = {"__name__": __name__, "is_": is_}
        self._lines: list[str] = []

    def name(self, what: Any) -> str:
        found = f"k{len(self._names)}"
        self._names[found] = what
        return found

    def line(self, text: str) -> None:
        self._lines.append(text)

    def answer(self, conditions: list[str], yes: str, no: str) -> None:
        """Return ``yes`` where all conditions hold."""
        self.line("try:")
        self.line(f"    return {yes} if {' and '.join(conditions)} else {no}")
        self.line("except Exception:  # of a variable that was deleted, a method of the user's")
        self.line(f"    return {no}")

    def function(self, head: str) -> Callable[..., Any]:
        source = "\n ".join([f"def {head}:", *self._lines])
        # A name inside the package: tracebacks leave its frames out.
        exec(compile(source, f"{__file__}:{head}", "exec"), self._names)
        return self._names.pop(head.partition("(")[0])  # or it and its globals were a cycle


class _Call(Source):
    """What a call does."""

    def __init__(self, program: Any) -> None:
        super().__init__()
        self._program = program
        self._names.update(
            build=build,
            forward=program.forward,
            getrefcount=getrefcount,
            new=object.__new__,
            on_host=on_host,
            Storage=Storage,
            Tensor=Tensor,
            UNFIT=UNFIT,
            unflatten=unflatten,
        )
        #: The storages by where they are found, and what stands for them.
        self._storages: dict[CellSource, str] = {}
        #: What stands for the tensors built.
        self._built: dict[int, str] = {}

    def write(self) -> Callable[..., Any]:
        program = self._program
        inputs = [self._storage(x) for x in program.inputs.sources if isinstance(x, CellSource)]
        targets = [self._storage(where) for where in program.outputs.written]
        arrays = [f"a{i}" for i in range(len(inputs))]
        for array, storage in zip(arrays, inputs, strict=True):
            self.line(f"{array} = {storage}.cell")
        refused = [f"{storage}.host is not None" for storage in self._storages.values()]
        refused += [f"getrefcount(a{i}) != {SOLE_LOCAL}" for i in program.inputs.donated]
        if refused:
            self.line(f"if {' or '.join(refused)}: return UNFIT")
        generators = program.generators
        if generators is not None:
            self.line(f"before = {self.name(generators.marks)}()")
        for i, getter in enumerate(program.inputs.getters):
            self.line(f"d{i} = {self.name(getter)}()")
        if generators is not None:
            self.line(f"undo = {self.name(generators.undo)}(before)")
        arrays += [value.code(self.name) for value in program.inputs.values]
        n, made, words = len(targets), program.outputs.n_made, program.words
        outputs = "".join(f"o{i}, " for i in range(n + made + (words is not None)))
        self.line(f"{outputs}= forward({', '.join(arrays)})" if outputs else "")
        for i, storage in enumerate(targets):
            self.line(f"{storage}.cell = o{i}; {storage}.version += 1")
        for i in range(made):
            is_on_host = i in program.outputs.on_host
            self.line(f"m{i} = Storage({f'on_host(o{n + i})' if is_on_host else f'o{n + i}'})")
        self._build_slots()
        if words is not None:
            undo = "None" if generators is None else "undo"
            if (slots := program.gradient_slots) is not None:
                values = "".join(f"b{i}, " for i in range(len(program.outputs.slots)))
                undo = f"{self.name(slots.undo)}(arguments, ({values}), {undo})"
            entry = f"o{n + made}, {self.name(words)}, {undo}, {bool(program.outputs.on_host)}"
            self.line(f"{self.name(queue.append)}(({entry}))")
        self._bind_and_return()
        return self.function("call(arguments, numbers)")

    def _build_slots(self) -> None:
        for i, (_, template) in enumerate(self._program.outputs.slots):
            self._build(f"b{i}", template)

    def _bind_and_return(self) -> None:
        """Write the lines that build the result, bind the slots and return. Everything is built
        before any slot is bound: one may hold what another one gets."""
        bound = []
        for i, (slot, _) in enumerate(self._program.outputs.slots):
            bound.append(f"{self.name(slot)}.bind(arguments, b{i})")
        leaves, structure = self._program.outputs.result
        for i, leaf in enumerate(leaves):
            self._build(f"r{i}", leaf)
        for of_view, of_base, made_by in self._program.outputs.views:
            view, base = self._object(of_view), self._object(of_base)
            self.line(f"{view}._base = {base}; {view}._made_by = {self.name(made_by)}")
        for whose, name, leaf in self._program.outputs.attributes:
            self.line(f"{self._object(whose)}._whole_dict[{name!r}] = {self._object(leaf)}")
        self._lines += bound
        if structure is None:
            self.line("return r0")
            return
        found = ", ".join(f"r{i}" for i in range(len(leaves)))
        result = f"unflatten({self.name(structure)}, [{found}])"
        what = self._program.outputs
        if what.is_followed:
            outside = self.name(what.outside)
            result = f"{self.name(scalars.write)}({what.changes}, {outside}, numbers, {result})"
        self.line(f"return {result}")

    def _object(self, leaf: Any) -> str:
        """Return the name that stands for a leaf, which is built where it was not."""
        if id(leaf) not in self._built:
            self._build(f"h{len(self._built)}", leaf)
        return self._built[id(leaf)]

    def _build(self, target: str, leaf: Any) -> None:
        """Write the line that binds ``target`` to what a template stands for, or to the leaf
        itself."""
        first = self._built.setdefault(id(leaf), target)
        if type(leaf) is InputContainer:
            self.line(f"{target} = numbers[{leaf.index}]")
        elif not isinstance(leaf, Template):
            self.line(f"{target} = {self.name(leaf)}")
        elif first is not target:
            self.line(f"{target} = {first}")
        elif leaf.is_plain:
            self.line(f"{target} = new(Tensor); {target}._storage = m{leaf.output}")
        else:
            made = ", ".join(f"m{i}" for i in range(self._program.outputs.n_made))
            self.line(f"{target} = build({self.name(leaf)}, arguments, [{made}], None)")

    def _storage(self, where: CellSource) -> str:
        """Return the name that stands for the storage at a place; the first mention looks it up."""
        found = self._storages.get(where)
        if found is None:
            found = where.code(self.name)
            if not isinstance(where, FixedCell):
                self.line(f"s{len(self._storages)} = {found}")
                found = f"s{len(self._storages)}"
            self._storages[where] = found
        return found
