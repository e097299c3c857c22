"""Interop: torchlike's objects in JAX's own programs, and JAX's functions in torchlike's.

Imports anything but `porting`; Flax, optax and Orbax only when they are used. Begin with
``functions.py`` (``from_jax_function``) and ``pytrees.py``.
"""

from torchlike._runtime.lazy import submodules as _submodules
from torchlike.interop import modules as modules
from torchlike.interop import pytrees as pytrees
from torchlike.interop.functions import from_jax_function
from torchlike.interop.pytrees import arrays
from torchlike.interop.to_jax import to_jax_function

#: Rooms of libraries that are imported when they are first asked for.
__getattr__ = _submodules(__name__, "flax", "orbax")

__all__ = ["arrays", "from_jax_function", "to_jax_function"]
