"""``torch.fx.traceback``: the node that is being run, and what is noted on new nodes."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torchlike.fx.node import Argument

__all__ = [
    "annotate",
    "annotate_fn",
    "format_stack",
    "get_current_meta",
    "has_preserved_node_meta",
    "preserve_node_meta",
    "set_current_meta",
    "set_stack_trace",
]

#: The meta of the node that is being run; nodes that are made then take it over.
current_meta: dict[str, Any] = {}
_preserving = False


@contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """Have Interpreters note the meta of the node that they run, within a `with` block."""
    global _preserving
    before, _preserving = _preserving, enable
    kept = dict(current_meta)
    try:
        yield
    finally:
        _preserving = before
        current_meta.clear()
        current_meta.update(kept)


def has_preserved_node_meta() -> bool:
    """Return whether Interpreters note the meta of the node that they run."""
    return _preserving


def get_current_meta() -> dict[str, Any]:
    """Return the meta of the node that is being run."""
    return current_meta


@contextmanager
def set_current_meta(node: Any, pass_name: str = "") -> Iterator[None]:
    """Make a node's meta the present one within a `with` block."""
    kept = dict(current_meta)
    if _preserving and node.meta:
        current_meta.clear()
        current_meta.update(node.meta)
    try:
        yield
    finally:
        current_meta.clear()
        current_meta.update(kept)


@contextmanager
def annotate(annotation_dict: dict[str, Any]) -> Iterator[None]:
    """Put these entries into ``meta["custom"]`` of the nodes made within a `with` block."""
    before = current_meta.get("custom")
    current_meta["custom"] = {**(before or {}), **annotation_dict}
    try:
        yield
    finally:
        if before is None:
            current_meta.pop("custom", None)
        else:
            current_meta["custom"] = before


def annotate_fn(
    annotation_dict: dict[str, Any],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that runs a function under ``annotate``."""

    def decorate(function: Any) -> Callable[..., Any]:
        def annotated(*args: Any, **kwargs: Any) -> Argument:
            with annotate(annotation_dict):
                return function(*args, **kwargs)

        return annotated

    return decorate


def set_stack_trace(stack: list[str]) -> None:
    """Note a stack as the present node's."""
    if _preserving and stack:
        current_meta["stack_trace"] = "".join(stack)


def format_stack() -> list[str]:
    """Return the present node's stack trace, or Python's."""
    if _preserving:
        return [current_meta.get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])
