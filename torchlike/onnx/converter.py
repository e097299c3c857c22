"""The converter, which is in JAX's modules only while it converts.

jax2onnx puts functions of its own into ``jax.numpy`` and its like and leaves some there: after an
export ``jnp.cumsum(x, 0)`` raised for everybody.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any

_MODULES = ("jax.numpy", "jax.numpy.linalg", "jax.numpy.fft", "jax.lax", "jax.nn", "jax.random")
_GONE = object()
#: What it left there, by module and name: it is put back for the next export.
_left: dict[tuple[str, str], Any] = {}


@contextlib.contextmanager
def converting() -> Iterator[Any]:
    """Yield jax2onnx; afterwards JAX's modules are as they were. ModuleNotFoundError where it is
    not installed."""
    modules = {name: importlib.import_module(name) for name in _MODULES}
    before = {name: dict(vars(module)) for name, module in modules.items()}
    for (name, attribute), value in _left.items():
        setattr(modules[name], attribute, value)
    try:
        yield importlib.import_module("jax2onnx")
    finally:
        for name, module in modules.items():
            for attribute, value in before[name].items():
                now = vars(module).get(attribute, _GONE)
                if now is value:
                    continue
                if now is not _GONE:
                    _left[name, attribute] = now
                setattr(module, attribute, value)
