"""All classes below a class: JAX registers each class by itself."""

from __future__ import annotations


def subclasses(cls: type) -> set[type]:
    """The classes that derive from ``cls``, directly or not."""
    below = type.__subclasses__(cls)
    return set(below).union(*map(subclasses, below))
