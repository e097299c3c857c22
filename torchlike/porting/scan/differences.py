"""Which differences a program can meet, judged by the words that it has.

A difference that speaks of sparse tensors is met where a program says "sparse" somewhere; one of
an argument where it writes the argument's name; and what PyTorch refuses is met by no program that
runs on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

#: What a difference speaks of, and a word of the program's without which it is not met.
_TOPICS = (
    (r"\bsparse\b", r"sparse"),
    (
        r"torchlike\.jit|compiled|\bcapture\b|graph break|part of the graph",
        r"(?<!\bre)(?<!regex)\.compile\b|import compile\b|\bjit\b",
    ),
    (r"nodes of the graph", r"grad_fn|next_functions"),
    (r"the layers use the mask", r"padding_mask"),
    (r"^fractions are", r"arange\([^()]*(\d\.|\.\d|/|float)"),
    (r"MAP_SHARED", r"mmap"),
    (r"\bfloat16\b", r"float16|\bhalf\b|fp16|autocast"),
    (r"\bbfloat16\b|float8", r"bfloat16|float8|bf16|autocast"),
    (r"\bcomplex\d*\b", r"complex|cfloat|fft"),
    (r"\bmesh|several devices|\branks?\b|drives all devices", r"distributed|mesh|rank"),
    (r"pickle|\bfiles?\b", r"\bload\b|\bsave\b|pickle"),
    (r"\bvmap\b|randomness", r"vmap|functorch|torch\.func"),
    (r"subclass", r"__torch_function__|__torch_dispatch__|_make_subclass"),
)
#: What PyTorch refuses, and torchlike does.
_MORE = re.compile(
    r"^(it )?has (a )?gradients?\b|gradients pass through it|which it refuses|annotations are not"
    r"|rather than being refused|backward raises|works? on (the )?CPUs?\b|is not needed"
    r"|^it runs on the CPU|^it may be called|without a warning|only warns|without a GPU"
    r"|rather than whatever was in memory|``multiprocessing_context=\"thread\"``"
)
#: The argument that a difference is about.
_ARGUMENT = re.compile(r"^(?:with |without |if )?``(\w+)(?:=[^`]*)?``")


def can_meet(says: str, texts: Iterable[str]) -> bool:
    """Return whether a program of these texts can meet a difference."""
    if _MORE.search(says):
        return False
    needed = [word for topic, word in _TOPICS if re.search(topic, says)]
    argument = _ARGUMENT.match(says)
    if argument is not None:
        needed.append(rf"\b{argument[1]}\b")
    texts = list(texts)
    return all(any(re.search(word, text) for text in texts) for word in needed)
