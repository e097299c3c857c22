"""The inline cache: generated source that recognises a call like the one before.

A call is described by a key (its structure, the modes, each argument's signature), under which the
programs that may fit are found: 1.5 µs for one tensor, before the guard takes 0.7, and 85 for a
cache of twelve layers, which is taken apart. Most calls are like the one before. So a program gets
a function that compares each argument with what its signature says, containers and opened objects
part by part, and asks the guard's questions too: 1.1 µs together; the arguments are 22 of it for
such a cache. Where it says no, the key is made.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from typing import Any

from torchlike._core import dtypes
from torchlike._jit.capture.scalars import CallValues
from torchlike._jit.guards.guard import ARGUMENTS, GuardSet
from torchlike._jit.guards.keys import (
    BY_VALUE,
    PLAIN,
    TRACED,
    ObjectKey,
    is_at_any_offset,
    is_plain,
    is_view_of_data,
    of_other_memory,
    of_view,
    signature,
    signature_at_any_offset,
    static_key,
)
from torchlike._jit.program.generated_call import Source
from torchlike._runtime.trees import AGAIN, class_of_given
from torchlike.tensor import Tensor

#: Leaves and containers of the longest call.
_MOST = 500
#: Tensors, or containers, of which each is compared with all others; more are put into a set.
_PAIRS = 3


def generate_inline_cache(
    guards: GuardSet, leaves: Sequence[Any], key: tuple[Any, ...], numbers: Any
) -> Any:
    """Generate ``recognize(args, kwargs, current)``: for a call whose key is ``key`` and that the
    program fits, it gives the tensors among the arguments, and where the program has ``numbers`` a
    pair of them and of the containers of the arguments; None otherwise.

    ``leaves`` are those of one such call, ``current`` the modes of the thread. False where such
    calls cannot be recognised.
    """
    structure, grad_enabled, default, (inference, autocast), device, *signatures = key
    if numbers and not (type(numbers) is CallValues and numbers.are_containers):
        return False
    source = _Arguments(leaves, signatures)
    name = source.name
    source.conditions = [
        f"current['grad_enabled'] is {name(grad_enabled)}",
        f"current['inference'] is {name(inference)}",
        f"current['autocast'] == {name(autocast)}",
        f"current['device'] == {name(device)}",
        f"{name(dtypes.get_default_dtype)}() is {name(default)}",
    ]
    if not source.follow_call(structure):
        return False
    source.compare_memory()
    found = f"({''.join(f't{i}, ' for i in source.tensors)})"
    if structure == (len(source.tensors), ()):
        found = "args"
    given = f"({ARGUMENTS}, [{', '.join(source.containers)}])" if numbers else ARGUMENTS
    source.line("try:")
    source.line(f"    if not ({' and '.join(source.conditions)}): return None")
    source.line(f"    arguments = {found}")
    source.line("except Exception:  # of what is no such argument")
    source.line("    return None")
    source.answer(guards.expressions(name), given, "None")
    return source.function("recognize(args, kwargs, current)")


class _Arguments(Source):
    """The conditions under which arguments are like those of one call."""

    def __init__(self, leaves: Sequence[Any], signatures: Sequence[Any]) -> None:
        super().__init__()
        self.conditions: list[str] = []
        #: The leaves that are tensors, each with the first one that has its memory.
        self.tensors: dict[int, int] = {}
        #: What stands for the lists, dictionaries and opened objects, in the order of their
        #: numbers in the structure.
        self.containers: list[str] = []
        self._leaves, self._signatures = leaves, signatures
        self._at = self._named = 0

    def follow_call(self, structure: Any) -> bool:
        """Compare all arguments; return False where some cannot be."""
        if len(self._leaves) > _MOST:
            return False
        if type(structure[0]) is int:  # none is a container
            n, names = structure
            same = f"tuple(kwargs) == {self.name(names)}" if names else "not kwargs"
            self.conditions.append(f"{same} and len(args) == {n}")
            parts = [*(f"args[{i}]" for i in range(n)), *(f"kwargs[{x!r}]" for x in names)]
            for part in parts:
                self._follow_leaf(part)
            return True
        args, kwargs = structure[-1]
        return self._follow("args", args) and self._follow("kwargs", kwargs)

    def compare_memory(self) -> None:
        """Compare which tensors share memory, and which containers are one."""
        firsts = [i for i, first in self.tensors.items() if i == first]
        self.conditions += [f"s{i} is s{k}" for i, k in self.tensors.items() if i != k]
        self._are_apart([f"s{i}" for i in firsts])
        self._are_apart([f"id({c})" for c in self.containers])

    def _are_apart(self, objects: Sequence[str]) -> None:
        if len(objects) > _PAIRS:
            self.conditions.append(f"len({{{', '.join(objects)}}}) == {len(objects)}")
            return
        word = "!=" if objects and objects[0].startswith("id(") else "is not"
        self.conditions += [f"{a} {word} {b}" for a, b in itertools.combinations(objects, 2)]

    def _follow(self, path: str, structure: Any) -> bool:
        """Compare what is found at ``path``."""
        if structure is None:
            self._follow_leaf(path)
            return True
        kind = structure[0]
        if kind is AGAIN:
            self.conditions.append(f"{path} is {self.containers[structure[1]]}")
            return True
        given = class_of_given(kind)
        local = f"c{self._named}"
        self._named += 1
        if given is not None or kind in (list, dict, OrderedDict, defaultdict):
            self.containers.append(local)
        same = f"type({local} := {path}) is {self.name(given or kind)}"
        if kind is tuple or kind is list:
            self.conditions.append(f"{same} and len({local}) == {len(structure[-1])}")
            return self._follow_parts(local, range(len(structure[-1])), structure[-1])
        if local not in self.containers or not {str}.issuperset(map(type, structure[1])):
            return False  # of a class that somebody registered, or a key that may equal others
        self.conditions.append(same)
        if given is not None:
            space, local = f"{local}.__dict__", f"d{local}"
            self.conditions.append(f"type({local} := {space}) is dict")
        elif structure[2] is not None:
            self.conditions.append(f"{local}.default_factory is {self.name(structure[2])}")
        names = structure[1]
        self.conditions.append(f"len({local}) == {len(names)}")
        if names:  # the very strings: one of another class may equal them
            self.conditions.append(f"all(map(is_, {local}, {self.name(names)}))")
        return self._follow_parts(local, names, structure[-1])

    def _follow_parts(self, local: str, keys: Any, parts: Sequence[Any]) -> bool:
        return all(self._follow(f"{local}[{k!r}]", p) for k, p in zip(keys, parts, strict=True))

    def _follow_leaf(self, path: str) -> None:
        i, self._at = self._at, self._at + 1
        leaf, expected = self._leaves[i], self._signatures[i]
        if isinstance(leaf, Tensor):
            self._follow_tensor(path, i, expected)
        elif isinstance(expected, ObjectKey):
            self.conditions.append(f"{path} is {self.name(expected.value)}")
        elif expected[1] is TRACED:  # a string that nobody reads
            self.conditions.append(f"type({path}) is {self.name(expected[0])}")
        else:
            found = f"{self.name(static_key)}({path}) == {self.name(expected)}"
            if type(leaf) in BY_VALUE:
                found = f"({path} is {self.name(leaf)} or {found})"
            self.conditions.append(found)

    def _follow_tensor(self, path: str, i: int, expected: tuple[Any, ...]) -> None:
        shape, dtype, *rest = expected
        alias = rest.pop(4)
        first = [k for k, of in self.tensors.items() if k == of]
        self.tensors[i] = i if alias == len(first) else first[alias]
        leaf = self._leaves[i]
        if tuple(rest) == PLAIN and len(leaf._whole_dict) == 1:
            self.conditions.append(is_plain(path, str(i), shape, dtype, self.name))
            return
        if is_view_of_data(leaf):
            self.conditions.append(of_view(path, str(i), expected, self.name))
            return
        alone = self.name(of_other_memory(expected))
        find = signature_at_any_offset if is_at_any_offset(expected) else signature
        self.conditions.append(
            f"type(t{i} := {path}) is {self.name(type(leaf))}"
            f" and {self.name(find)}(t{i}, {{}}) == {alone}"
        )
        self.conditions.append(f"(s{i} := t{i}._storage) is not None")
