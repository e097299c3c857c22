"""Tells why a function was compiled again: in a log, and in a warning when it happens too often.

``TORCHLIKE_LOGS=recompiles`` prints each recompilation; otherwise they go to the logger
``torchlike.recompiles`` at level INFO.
"""

from __future__ import annotations

import inspect
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from torchlike._core import errors
from torchlike._core.views import Geometry, contiguous_strides
from torchlike._jit.guards.keys import TRACED, Numbers
from torchlike._runtime import logs
from torchlike._runtime.trees import AGAIN, split_call

#: After so many recompilations of one function, warn once. As PyTorch's compiler's limit.
WARN_AFTER = 8

logger = logs.logger("recompiles")

_MODES = ("grad mode", "the default dtype", "inference mode or autocast", "the default device")
_PARTS = (
    "shape",
    "dtype",
    "memory order",
    "view",
    "requires_grad",
    "being a leaf",
    "sharing of memory with another argument",
    "type",
    "attributes",
    "hooks",
)
#: Those of which two values say something in a line.
_SAID = frozenset(("shape", "dtype", "requires_grad", "type"))


def key_difference(old: Sequence[Any], new: Sequence[Any], parameters: Sequence[str]) -> str:
    """Describe what differs between the keys of two calls. ``parameters``: see `naming`."""
    if old[0] != new[0]:
        return structure_difference(old[0], new[0], parameters)
    n = len(_MODES) + 1
    for what, a, b in zip(_MODES, old[1:n], new[1:n], strict=True):
        if a != b:
            return f"{what} changed: {a} → {b}"
    names = leaf_names(new[0], parameters)
    for name, a, b in zip(names, old[n:], new[n:], strict=True):
        if a == b:
            continue
        if is_tensor_key(a) and is_tensor_key(b):
            if (before := _shape(a)) != (now := _shape(b)):
                return f"the shape of argument `{name}` changed: {before} → {now}"
            part = next(k for k, (x, y) in enumerate(zip(a, b, strict=True)) if x != y)
            what = _PARTS[part]
            if what == "shape":
                return f"the shape of the base of argument `{name}` changed: {a[0]} → {b[0]}"
            values = f": {_describe(a[part])} → {_describe(b[part])}" if what in _SAID else ""
            return f"the {what} of argument `{name}` changed{values}"
        return f"argument `{name}` changed: {shown(a)} → {shown(b)}"
    return ""


def is_tensor_key(key: Any) -> bool:
    """Return whether a part of a key stands for a tensor."""
    return isinstance(key, tuple) and len(key) == len(_PARTS)


def _shape(key: Any) -> tuple[int, ...]:
    """Return the shape of a tensor that stands in a key, which names its memory's and the steps to
    it."""
    geometry = Geometry(key[0], contiguous_strides(key[0]), 0)
    for step in key[3][0] if key[3] else ():
        geometry = step.geometry(geometry, *[0] * step.dynamic)  # where it begins does not matter
    return geometry.size


class Resized(NamedTuple):
    """A tensor among the arguments that had another shape at the call before."""

    name: str
    before: tuple[int, ...]
    now: tuple[int, ...]


def differing(old: Sequence[Any] | None, new: Sequence[Any]) -> list[int]:
    """Return the positions of the leaves of the arguments that differ between the keys of two calls
    of one structure."""
    if old is None or old[0] != new[0]:
        return []
    n = len(_MODES) + 1
    return [i for i, (a, b) in enumerate(zip(old[n:], new[n:], strict=True)) if a != b]


def resized(
    old: Sequence[Any] | None, new: Sequence[Any], parameters: Sequence[str]
) -> list[Resized]:
    """Return the arguments whose shapes differ between the keys of two calls."""
    found = []
    for i in differing(old, new):
        assert old is not None
        a, b = (key[len(_MODES) + 1 + i] for key in (old, new))
        if is_tensor_key(a) and is_tensor_key(b) and _shape(a) != _shape(b):
            found.append(Resized(leaf_names(new[0], parameters)[i], _shape(a), _shape(b)))
    return found


def _describe(value: Any) -> str:
    return value.__qualname__ if isinstance(value, type) else str(value)


def shown(key: Any) -> str:
    """Describe what stands in a key for an argument."""
    if is_tensor_key(key):
        return "a tensor"
    if isinstance(key, tuple):
        kind: Any = key[0]
        value: Any = key[1] if len(key) == 2 else key[1:]
        if value == TRACED:
            return f"a traced {kind.__name__}"
        return repr(float.fromhex(value) if kind is float else value)
    return repr(key)


class Recompiles:
    """The recompilations of one function."""

    def __init__(self, fn: Any, name: str, numbers: Numbers) -> None:
        self._fn = fn
        self.name = name
        self._numbers = numbers
        self.reasons: Counter[str] = Counter()
        self._sizes = Sizes()
        #: Shapes that tensors from outside had, in words, by the reason.
        self._shapes: dict[str, dict[str, None]] = {}
        #: Whether the value of a number that changed is needed in Python, by the reason.
        self._needed: set[str] = set()

    def note(self, reason: str, before: Any, key: Any) -> None:
        """Log a recompilation between calls with these keys; the eighth warns, naming what changed
        most often."""
        needed = any(self._numbers.is_needed(key[0], i) for i in differing(before, key))
        logger.info("Recompiling %s: %s", self.name, reason)
        head, _, values = reason.partition(": ")
        self.reasons[head] += 1
        for tensor in resized(before, key, parameter_names(self._fn)):
            self._sizes.add(tensor)
        if needed:
            self._needed.add(head)
        if head.startswith("the shape of"):
            self._shapes.setdefault(head, {}).update(dict.fromkeys(values.split(" → ")))
        if self.reasons.total() == WARN_AFTER:
            worst, count = self.reasons.most_common(1)[0]
            errors.warn_user(
                f"torchlike.jit: {self.name} was compiled {WARN_AFTER + 1} times; {count} times "
                f"because {worst}{self._details(worst)}. {self._remedy(worst)} "
                "TORCHLIKE_LOGS=recompiles shows each."
            )

    def _details(self, reason: str) -> str:
        """Return the sizes that came, to be put behind a reason."""
        if reason.startswith("the shape of argument"):
            return f": {self._sizes}"
        if reason in self._shapes:
            return f": {_series(self._shapes[reason], 'shapes')}"
        return ""

    def _remedy(self, reason: str) -> str:
        if reason.startswith("the shape of argument"):
            return self._sizes.remedy()
        if reason.startswith(("the shape of the base", "the view")):
            return "A view is compiled for where it lies: give the function view.clone()."
        if reason.startswith("the shape"):
            return _FULL_LENGTH
        if reason.startswith("argument") and reason in self._needed:
            return (
                "Its value is needed in Python (as a size, by range()), so each is compiled for: "
                "round it up, torchlike.jit.bucket_of(n), and mask what is too much."
            )
        return _remedy(reason)


_FULL_LENGTH = (
    "Keep a tensor of the full length, write into it in place at a position that is a tensor "
    "(index_copy_), and mask what is not filled yet (docs/changing-shapes.md)."
)


class Sizes:
    """The sizes of the arguments' dimensions that changed, in the order in which they came."""

    def __init__(self) -> None:
        self._dims: dict[tuple[str, int], dict[int, None]] = {}
        #: How many dimensions an argument had, where that changed.
        self._ranks: dict[str, dict[int, None]] = {}

    def add(self, tensor: Resized) -> None:
        name, before, now = tensor
        if len(before) != len(now):
            self._ranks.setdefault(name, {}).update({len(before): None, len(now): None})
            return
        for dim, (a, b) in enumerate(zip(before, now, strict=True)):
            if a != b:
                self._dims.setdefault((name, dim), {}).update({a: None, b: None})

    def __str__(self) -> str:
        most = sorted(self._dims.items(), key=lambda entry: -len(entry[1]))[:_NAMED]
        said = [
            f"dimension {dim} of `{name}` was {_series(sizes, 'sizes')}"
            for (name, dim), sizes in most
        ]
        said += [
            f"`{name}` had {_series(ranks, '')} dimensions" for name, ranks in self._ranks.items()
        ]
        return ", ".join(said)

    def remedy(self) -> str:
        """Return advice on how to make the sizes few."""
        if not self._dims:
            return "Each number of dimensions is compiled for: reshape to one."
        most = sorted(self._dims, key=lambda place: -len(self._dims[place]))[:_NAMED]
        calls = [f"{name} = torchlike.jit.pad_to_bucket({name}, {dim})" for name, dim in most]
        pad = (
            f"Each size is compiled for. Pad to a few outside of the function, `{'; '.join(calls)}`"
            ", and mask what must not count the padding (docs/changing-shapes.md)."
        )
        sizes = list(self._dims[most[0]])
        grows = all(b == a + 1 for a, b in itertools.pairwise(sizes))
        return f"{pad} Or, as it grows: {_FULL_LENGTH}" if grows else pad


#: So many dimensions are named at most, and so many sizes of each.
_NAMED = 3


def _series(values: Iterable[Any], what: str) -> str:
    """Join values as `3, 4, 5, …, 11 (9 sizes)`."""
    *first, last = map(str, values)
    if len(first) <= _NAMED:
        return ", ".join([*first, last])
    count = f" ({len(first) + 1} {what})" if what else ""
    return f"{', '.join(first[:_NAMED])}, …, {last}{count}"


def _remedy(reason: str) -> str:
    if reason.startswith(("the length of", "the keys of")):
        return (
            "Each length of a list or dictionary is compiled for: keep what grows in a tensor of "
            "its full length, written in place."
        )
    if reason.startswith("argument"):
        return (
            "Each value of a Python argument is compiled for: pass a changing number as a tensor."
        )
    if reason.startswith("`"):
        return (
            "Each value of it is compiled for: keep a changing number in a tensor and fill_() it."
        )
    return "Each such state is compiled for."


# -------------------------------------------------------------------------------------------------
# Names a call's arguments for messages, and says how two calls nest them differently.


def parameter_names(fn: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of a function's positional parameters; of ``*args`` with their star at the
    end. Nothing for one that does not tell."""
    try:
        forward = getattr(fn, "forward", None)  # of a module
        parameters = inspect.signature(forward or fn).parameters.values()
    except (TypeError, ValueError):
        return ()
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [p.name for p in parameters if p.kind in by_position]
    names += [f"*{p.name}" for p in parameters if p.kind is inspect.Parameter.VAR_POSITIONAL]
    return tuple(names)


def leaf_names(structure: Any, parameters: Sequence[str]) -> list[str]:
    """Return the names of the leaves of a call: ``x``, ``cache['k'][0]``."""
    return [
        name for path, part in _arguments(structure, parameters) for name in _leaves(part, path)
    ]


def structure_difference(old: Any, new: Any, parameters: Sequence[str]) -> str:
    """Describe what differs first between the structures of two calls."""
    (n_old, names_old), (n_new, names_new) = (_nesting(s) for s in (old, new))
    if n_old != n_new:
        return f"the number of positional arguments changed: {n_old} → {n_new}"
    if names_old != names_new:
        return f"the keywords of the call changed: {_list(names_old)} → {_list(names_new)}"
    for (path, a), (_, b) in zip(
        _arguments(old, parameters), _arguments(new, parameters), strict=True
    ):
        found = _difference(a, b, path)
        if found:
            return found
    return "the structure of the arguments changed"


def _nesting(structure: Any) -> tuple[int, tuple[str, ...]]:
    positional, keywords = split_call(structure)
    return len(positional), tuple(keywords)


def _arguments(structure: Any, parameters: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Yield each argument's name and structure."""
    positional, keywords = split_call(structure)
    star = parameters[-1] if parameters and parameters[-1][0] == "*" else ""
    named = parameters[:-1] if star else parameters
    for i, part in enumerate(positional):
        if i < len(named):
            yield named[i], part
        else:
            yield f"{star[1:]}[{i - len(named)}]" if star else f"argument {i}", part
    yield from keywords.items()


def _leaves(structure: Any, path: str) -> Iterator[str]:
    if structure is None:
        yield path
        return
    for label, part in _parts(structure):
        yield from _leaves(part, path + label)


def _parts(structure: Any) -> Iterator[tuple[str, Any]]:
    """Yield the labels and structures of what is directly inside."""
    kind, parts = structure[0], structure[-1]
    if len(structure) == 4:  # a dictionary: its class, keys, factory and values
        yield from ((f"[{key!r}]", part) for key, part in zip(structure[1], parts, strict=True))
    elif hasattr(kind, "_fields"):
        yield from ((f".{name}", part) for name, part in zip(kind._fields, parts, strict=True))
    else:
        yield from ((f"[{i}]", part) for i, part in enumerate(parts))


def _difference(a: Any, b: Any, path: str) -> str:
    if a == b:
        return ""
    if a is None or b is None or a[0] is not b[0]:
        if a is not None and b is not None and AGAIN in (a[0], b[0]):
            is_now, own = ("is now", a) if b[0] is AGAIN else ("is no longer", b)
            same = _kind(own).removeprefix("a ")
            return f"argument `{path}` {is_now} the same {same} as another one"
        return f"argument `{path}` changed: {_kind(a)} → {_kind(b)}"
    if a[0] is AGAIN:
        return f"argument `{path}` is the same list or dictionary as another one than before"
    if len(a) == 4 and a[1] != b[1]:
        gone = [key for key in a[1] if key not in b[1]]
        new = [key for key in b[1] if key not in a[1]]
        changes = [
            f"{_list(keys)} {what}" for keys, what in ((gone, "is gone"), (new, "is new")) if keys
        ]
        return f"the keys of argument `{path}` changed: {', '.join(changes) or 'their order'}"
    if len(a[-1]) != len(b[-1]):
        return f"the length of argument `{path}` changed: {len(a[-1])} → {len(b[-1])}"
    for (label, x), (_, y) in zip(_parts(a), _parts(b), strict=True):
        found = _difference(x, y, path + label)
        if found:
            return found
    return f"the kind of argument `{path}` changed"


def _kind(structure: Any) -> str:
    if structure is None:
        return "a single value"
    kind = structure[0]
    name = getattr(kind, "__name__", None) or getattr(getattr(kind, "kind", None), "__name__", "")
    return f"a {name}" if name else "a list or dictionary"


def _list(items: Sequence[Any]) -> str:
    return ", ".join(map(repr, items)) if items else "none"
