"""Dispatch: how an op travels.

``registry.op`` registers a pure function (its signature read by ``schema``) as an ``OpSpec``;
``call`` is the path from a Python call to the ``Executable``; ``record`` puts what ran onto the
tape; ``inplace`` derives the in-place forms, ``out`` the others. Imports `_core` and `_runtime`.
Begin with ``call.py``.
"""
