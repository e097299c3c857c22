"""The inline cache: generated source that recognises a call like the one before.

A call is described by a key (its structure, the modes, each argument's signature), under which the
programs that may fit are found: 1.5 µs for one tensor, before the guard takes 0.7. Most calls are
like the one before, and their arguments plain tensors. For these a program gets a function that
compares each argument with what its signature says and asks the guard's questions too: 1.1 µs
together. Where it says no, the key is made.
"""

from __future__ import annotations

import itertools
from typing import Any

from torchlike._core import dtypes
from torchlike._jit.compile.generated_call import Source
from torchlike._jit.guards.guard import ARGUMENTS, GuardSet
from torchlike._jit.guards.keys import ObjectKey
from torchlike._jit.guards.signatures import PLAIN, is_plain
from torchlike.tensor import Tensor

#: Tensors of the longest call: each is compared with all others.
_MOST = 6


def generate_inline_cache(guards: GuardSet, args: tuple[Any, ...], key: tuple[Any, ...]) -> Any:
    """Generate ``recognize(args, kwargs, current)``, which gives the tensors among the arguments of
    a call without keywords whose key is ``key``, where the program fits, and None otherwise.

    ``args`` are those of one such call, ``current`` the modes of the thread. False where one
    argument is neither a plain tensor nor an object that is compared by identity.
    """
    structure, grad_enabled, default, (inference, autocast), device, *signatures = key
    tensors = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
    if structure != (len(args), ()) or len(tensors) > _MOST:
        return False
    source = Source()
    name = source.name
    conditions = [
        f"not kwargs and len(args) == {len(args)}",
        f"current['grad_enabled'] is {name(grad_enabled)}",
        f"current['inference'] is {name(inference)}",
        f"current['autocast'] == {name(autocast)}",
        f"current['device'] == {name(device)}",
        f"{name(dtypes.get_default_dtype)}() is {name(default)}",
    ]
    aliases = {}
    for i, signature in enumerate(signatures):
        if isinstance(signature, ObjectKey):
            conditions.append(f"args[{i}] is {name(signature.value)}")
            continue
        if i not in tensors:
            return False
        shape, dtype, *rest = signature
        aliases[i] = rest.pop(4)
        if tuple(rest) != PLAIN:
            return False
        conditions.append(is_plain(f"args[{i}]", str(i), shape, dtype, name))
    for i, j in itertools.combinations(aliases, 2):
        conditions.append(f"s{i} {'is' if aliases[i] == aliases[j] else 'is not'} s{j}")
    source.line(f"if not ({' and '.join(conditions)}): return None")
    found = "args" if len(tensors) == len(args) else f"({''.join(f't{i}, ' for i in tensors)})"
    source.line(f"arguments = {found}")
    source.answer(guards.expressions(name), ARGUMENTS, "None")
    return source.function("recognize(args, kwargs, current)")
