"""The frameworks that are compared, and the environment each one's process gets."""

from __future__ import annotations

from dataclasses import dataclass

#: glibc's own variables for the settings that `torchlike.porting.allocator` makes by mallopt.
_KEEP_LARGE_BLOCKS = {
    "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
    "MALLOC_ARENA_MAX": "1",
}


@dataclass(frozen=True)
class Framework:
    """One column of a table, as ``name`` or ``name@allocator``.

    Attributes:
        library: the package it times: torchlike, torch or jax.
        compiled: whether functions go through the library's compiler.
        allocator: "tuned" keeps large freed blocks in the process, "stock" leaves malloc alone.
    """

    label: str
    library: str
    compiled: bool
    allocator: str

    @property
    def name(self) -> str:
        return self.label.partition("@")[0]


#: name -> (library, compiled, allocator unless the label says otherwise).
_KNOWN = {
    "torchlike": ("torchlike", False, "tuned"),
    "torchlike.jit": ("torchlike", True, "tuned"),
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


def environment(framework: Framework, cache: str) -> dict[str, str]:
    """The variables to add for a process of `framework`; `cache` is its own compilation cache.

    Every cache starts empty, or the first call of one framework would be warm and that of
    another cold. OpenMP is left alone: PyTorch with OMP_WAIT_POLICY=PASSIVE is 2 to 5 times
    slower, which would flatter everyone else.
    """
    added = {
        "TORCHLIKE_CACHE_DIR": f"{cache}/torchlike",
        "TORCHINDUCTOR_CACHE_DIR": f"{cache}/inductor",
        "JAX_COMPILATION_CACHE_DIR": f"{cache}/jax",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "PYTHONUNBUFFERED": "1",
    }
    if framework.library == "torchlike":
        # The worker calls tune_allocator(), which this variable keeps from doing anything.
        added |= {"TORCHLIKE_ALLOCATOR": "system"} if framework.allocator == "stock" else {}
    elif framework.allocator == "tuned":
        added |= _KEEP_LARGE_BLOCKS
    return added
