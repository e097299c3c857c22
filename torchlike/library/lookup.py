"""``torch._library.utils``: operators by their names."""

from __future__ import annotations

from torchlike._ops.aten import custom

__all__ = ["lookup_op", "parse_namespace"]


def parse_namespace(qualname: str) -> tuple[str, str]:
    """Parse ``namespace::name`` to namespace and name. ValueError for another form."""
    parts = qualname.split("::")
    if len(parts) != 2:
        raise ValueError(
            f'Expected `qualname` to be of the form "namespace::name", but got {qualname}.'
        )
    return parts[0], parts[1]


def lookup_op(qualname: str) -> custom.OpOverload:
    """Return the overload of a name, ``namespace::name`` with ``.overload`` where it has one.

    AttributeError for an unknown one.
    """
    namespace, name = parse_namespace(qualname)
    name, _, overload = name.partition(".")
    return getattr(getattr(custom.find(namespace), name), overload or "default")
