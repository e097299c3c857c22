"""The frameworks that are compared."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Framework:
    """One column of a table, as ``name`` or ``name@allocator``.

    Attributes:
        library: the package it times: torchlike, torch or jax.
        compiled: whether functions go through the library's compiler.
        allocator: "tuned" keeps large freed blocks in the process and gives XLA torchlike's flags,
            "stock" leaves malloc and XLA alone.
    """

    label: str
    library: str
    compiled: bool
    allocator: str

    @property
    def name(self) -> str:
        return self.label.partition("@")[0]


#: torchlike.jit with a step that ends by clearing the gradients. Hand-written JAX hands out none
#: either; the usual step, which begins by clearing them, leaves them to be read.
CLEARING = "torchlike.jit.cleared"
#: torchlike.jit without checks of values: what those cost.
UNCHECKED = "torchlike.jit.unchecked"

#: name -> (library, compiled, allocator unless the label says otherwise).
_KNOWN = {
    "torchlike": ("torchlike", False, "tuned"),
    "torchlike.jit": ("torchlike", True, "tuned"),
    CLEARING: ("torchlike", True, "tuned"),
    UNCHECKED: ("torchlike", True, "tuned"),
    "torch": ("torch", False, "stock"),
    "torch.compile": ("torch", True, "stock"),
    "jax": ("jax", True, "stock"),
    "jnp": ("jax", False, "stock"),
    "nnx": ("jax", True, "stock"),
}
NAMES = tuple(_KNOWN)


def parse(label: str) -> Framework:
    """Read ``torchlike.jit`` or ``jax@tuned``.

    Raises:
        ValueError: for a name or an allocator that is not known.
    """
    name, _, allocator = label.partition("@")
    if name not in _KNOWN:
        raise ValueError(f"unknown framework {name!r}; known: {', '.join(NAMES)}")
    if allocator not in ("", "tuned", "stock"):
        raise ValueError(f"{label!r}: the part after @ is 'tuned' or 'stock'")
    library, compiled, default = _KNOWN[name]
    return Framework(label, library, compiled, allocator or default)
