"""What StableHLO of a file may call: a closed list of XLA's custom calls.

A custom call runs a function of the process that is registered by its name. Most names of XLA are
for its own compiler, which hands them pointers; a file that says such a name says what is read and
written. The list has what ``jax.export`` writes with a promise that it stays readable, less what
carries a program for the host.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torchlike._runtime.jax_private import lowering

_LAPACK_TEXT = """
potrf geqrf orgqr ungqr syevd heevd geev gesdd getrf sytrd hetrd gehrd gees trsm gtsv
"""
_LAPACK = tuple(_LAPACK_TEXT.split())
_CUSOLVER_TEXT = """
cusolver_getrf cusolver_geqrf cusolver_orgqr cusolver_potrf cusolver_syevd cusolver_gesvd
cusolver_gesvdj cusolver_sytrd cusparse_gtsv2
"""
_CUSOLVER = tuple(_CUSOLVER_TEXT.split())
_HIPSOLVER_TEXT = """
hipsolver_getrf hipsolver_geqrf hipsolver_orgqr hipsolver_potrf hipsolver_syevd hipsolver_gesvd
hipsolver_gesvdj hipsolver_gesdd hipsolver_sytrd
"""
_HIPSOLVER = tuple(_HIPSOLVER_TEXT.split())
#: Targets that check the shapes of what they get, or that the compiler replaces.
TARGETS = frozenset(
    {
        *(f"lapack_{kind}{name}_ffi" for kind in "sdcz" for name in _LAPACK),
        *(f"{name}_ffi" for name in (*_CUSOLVER, *_HIPSOLVER)),
        "cu_lu_pivots_to_permutation",
        "hip_lu_pivots_to_permutation",
        "cu_threefry2x32_ffi",
        "hip_threefry2x32_ffi",
        # Of the TPU's compiler; the last is a kernel for the TPU alone.
        "Eigh",
        "Qr",
        "ProductOfElementaryHouseholderReflectors",
        "LuDecomposition",
        "ApproxTopK",
        "tpu_custom_call",
        # Of StableHLO and of its partitioner.
        "Sharding",
        "SPMDFullToShardShape",
        "SPMDShardToFullShape",
        "annotate_device_placement",
        "AllocateBuffer",
        "shape_assertion",
        "stablehlo.dynamic_approx_top_k",
        "stablehlo.dynamic_reduce_window",
        "stablehlo.dynamic_rng_bit_generator",
        "stablehlo.dynamic_top_k",
    }
)
_DIALECTS = ("builtin", "func", "stablehlo", "chlo", "sdy")
#: What waits for a host program that is not there.
_WAITING = ("stablehlo.send", "stablehlo.recv", "stablehlo.infeed", "stablehlo.outfeed")


def check(exported: Any) -> Any:
    """Refuse a program of a file that calls what is not on the list; else give it back.

    RuntimeError that names what it calls.
    """
    with lowering.make_context():
        for operation in _operations(exported.mlir_module(serialized=False).operation):
            name = operation.name
            if name == "stablehlo.custom_call":
                target = operation.attributes["call_target_name"].value
                if target not in TARGETS:
                    raise _refused(f"calls {target!r} of XLA")
            elif name in _WAITING or name.partition(".")[0] not in _DIALECTS:
                raise _refused(f"has an operation {name!r}")
    return exported


def _operations(operation: Any) -> Iterator[Any]:
    """Yield an operation with all that are inside of it."""
    left = [operation]
    while left:
        found = left.pop()
        yield found
        left += [o.operation for region in found.regions for block in region for o in block]


def _refused(what: str) -> RuntimeError:
    return RuntimeError(
        f"the program of this file {what}, which is not among what programs of files may do: it "
        "could read and write this process's memory. Export the model again without it."
    )
