"""How what is compiled for an op enters a program that is being traced: equation by equation.

So `torchlike.jit` cuts forward from backward and puts updates last by equations, not by whole ops.
"""

from __future__ import annotations

from typing import Any

import jax

_Inline: Any = getattr(jax, "Inline", None)
#: For ``jax.jit(inline=...)``. From JAX 0.12 on True would be when the program is lowered.
AT_ONCE: Any = True if _Inline is None else _Inline.JAX_EARLY
