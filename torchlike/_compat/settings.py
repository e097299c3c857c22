"""Process-wide switches: precision of float32 products, determinism, threads.

On the CPU float32 matrix products always use all bits. On GPUs (TF32) and TPUs (bfloat16) JAX uses
fewer unless told otherwise, where PyTorch's default is all of them. So each product of a program
for an accelerator says how many (``_runtime/targets.py``). No global flag says it: with
``jax_default_matmul_precision`` set, an eager ``a + b`` took 15 instead of 7 µs.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from torchlike._compat.tensor_types import TENSOR_TYPES, DenseTensorType
from torchlike._core import devices, dtypes, modes
from torchlike._core.errors import type_name, warn_once
from torchlike._ops.creation import determinism
from torchlike._runtime import targets, xla_flags
from torchlike._runtime.jax_private import backends


def get_float32_matmul_precision() -> str:
    """Return "highest" (PyTorch's default), "high" or "medium"."""
    modes.setting_seen("torch.set_float32_matmul_precision()", _get_precision, _set_precision)
    return targets.float32.products


def set_float32_matmul_precision(precision: str) -> None:
    """Set how many bits float32 products may lose on accelerators; the CPU always uses all.

    "highest": none; "high": three bfloat16 or one TF32 product; "medium": the device's fastest.
    ValueError for anything else. Each product of a program for an accelerator says it for itself;
    JAX code of yours follows ``jax.default_matmul_precision`` instead.
    """
    if precision not in targets.PRECISIONS:
        raise ValueError(
            f"precision must be one of {', '.join(map(repr, targets.PRECISIONS))}, but got "
            f"{precision!r}"
        )
    modes.setting_seen("torch.set_float32_matmul_precision()", _get_precision, _set_precision)
    _set_precision(precision)


def _get_precision() -> str:
    return targets.float32.products


def _set_precision(precision: str) -> None:
    if precision != targets.float32.products:
        targets.float32.set(products=precision)
        modes.epoch.advance()  # products have it in compiled programs, too


def get_float32_convolution_precision() -> str:
    """Return how many bits float32 convolutions keep on accelerators, in the words of
    ``get_float32_matmul_precision``."""
    name = "torch.backends.cudnn.allow_tf32"
    modes.setting_seen(name, get_float32_convolution_precision, set_float32_convolution_precision)
    return targets.float32.convolutions


def set_float32_convolution_precision(precision: str) -> None:
    """Set what ``torch.backends.cudnn.allow_tf32`` means: "high" (TF32) or "highest"."""
    if precision != targets.float32.convolutions:
        targets.float32.set(convolutions=precision)
        modes.epoch.advance()


# -- determinism -----------------------------------------------------------------------------------


def _require_bool(value: Any, argument: str) -> None:
    if not isinstance(value, bool):
        raise TypeError(
            f"_set_deterministic_algorithms(): argument {argument} must be bool, not "
            f"{type_name(value)}"
        )


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for the same result from the same input, and for new memory that shows: NaN in ``empty``
    (``torch.utils.deterministic.fill_uninitialized_memory``).

    XLA's CPU and TPU programs always are deterministic. On GPUs scatters may not be; JAX wants to
    know before it starts, by ``XLA_FLAGS=--xla_gpu_deterministic_ops=true``. RuntimeError where a
    GPU is in use and that flag is not set (a warning's worth with ``warn_only``); TypeError for
    what is no bool.
    """
    _require_bool(mode, "'mode' (position 1)")
    _require_bool(warn_only, "'warn_only'")
    flag = "--xla_gpu_deterministic_ops=true"
    if (
        mode
        and not warn_only
        and flag not in os.environ.get("XLA_FLAGS", "")
        and (targets.name() == "gpu")
    ):
        raise RuntimeError(f"set XLA_FLAGS={flag} in the environment before Python starts")
    determinism.set_algorithms(mode, warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """Return whether ``use_deterministic_algorithms`` was asked for."""
    return determinism.algorithms()[0]


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Return whether ``use_deterministic_algorithms`` was told to warn only."""
    return determinism.algorithms()[1]


_MODES = ("default", "warn", "error")


def get_deterministic_debug_mode() -> int:
    """Return 0 where nothing was asked for, 1 for warnings, 2 for errors."""
    asked, warn_only = determinism.algorithms()
    return (1 if warn_only else 2) if asked else 0


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Call ``use_deterministic_algorithms`` in three words: "default", "warn", "error", or 0, 1, 2.

    TypeError for another type, RuntimeError for another word or number.
    """
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in _MODES:
            raise RuntimeError(
                "invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got "
                f"{debug_mode}"
            )
        debug_mode = _MODES.index(debug_mode)
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(
            f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}"
        )
    use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


def set_warn_always(b: bool, /) -> None:
    """Have warnings that are given once in a process given each time, or no more."""
    if not isinstance(b, bool):
        raise TypeError(f"setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    modes.warns_always.set(b)


def is_warn_always_enabled() -> bool:
    """Return whether ``set_warn_always`` was asked for."""
    return modes.warns_always.get()


def set_flush_denormal(mode: bool) -> bool:
    """Return False: XLA's programs run in threads of its own, whose treatment of denormal numbers
    cannot be changed. PyTorch answers so where the processor cannot.

    Differs from PyTorch: on the CPU, XLA takes denormal numbers (below 1.2e-38 in float32, 2.2e-308
    in float64) for zero, and makes zeros of results that are; PyTorch keeps them unless told here.
    ``1e-40 > 0`` is False, ``exp(-100)`` is 0. Copies, views and ``numpy()`` keep what is there.
    """
    return False


# -- threads ---------------------------------------------------------------------------------------


#: What the script asked for between operations, which XLA does not tell apart.
_interop_threads: int | None = None


def get_num_threads() -> int:
    """Return how many threads XLA's CPU backend uses: one for each core this process may run on, or
    what ``torchlike run --threads`` or ``PJRT_NPROC`` said."""
    return xla_flags.cpu_threads()


def set_num_threads(num: int) -> None:
    """Ask for a number of threads. XLA chooses when it starts, which is at the first tensor: asked
    for before that, it is heeded, by ``PJRT_NPROC``, which processes started from here inherit.

    RuntimeError for a number below 1 and for what is no int.

    Differs from PyTorch: later on nothing changes but for a warning, once, and
    ``get_num_threads()`` says what XLA has.
    """
    _check_threads("set_num_threads", num)
    if num == get_num_threads():
        return
    if not backends.started():
        xla_flags.set_cpu_threads(int(num))
        return
    warn_once(
        f"torch.set_num_threads() changes nothing: XLA chose {get_num_threads()} threads when it "
        "started. Call it before the first tensor is made, or run the script by `torchlike run "
        "--threads N`",
        UserWarning,
        stacklevel=2,
    )


def get_num_interop_threads() -> int:
    """Return the number that ``set_num_interop_threads`` was told; by default as many as
    ``get_num_threads``."""
    return get_num_threads() if _interop_threads is None else _interop_threads


def set_num_interop_threads(num: int) -> None:
    """Keep a number of threads, without effect. XLA has one pool of threads, for operations and
    between them.

    RuntimeError for a number below 1 and for what is no int. Differs from PyTorch: it may be called
    at any time, and says once that it changes nothing.
    """
    global _interop_threads
    _check_threads("set_num_interop_threads", num)
    if num != get_num_interop_threads():
        warn_once(
            "torch.set_num_interop_threads() changes nothing: XLA has one pool of threads, whose "
            "number `torchlike run --threads N` says",
            UserWarning,
            stacklevel=2,
        )
    _interop_threads = int(num)


def _check_threads(name: str, num: Any) -> None:
    if isinstance(num, bool) or not isinstance(num, (int, np.integer)):
        raise RuntimeError(f"{name} expects an int, but got {type(num).__name__}")
    if num < 1:
        raise RuntimeError(f"{name} expects a positive integer")


def set_default_tensor_type(t: Any) -> None:
    """Do ``set_default_dtype`` and ``set_default_device`` in their old form: a floating tensor
    type, ``torch.DoubleTensor`` or ``"torch.cuda.FloatTensor"``.

    TypeError for another object, and for a type of the GPU's where there is none.
    """
    kind, on_gpu = t, getattr(t, "device_type", "cpu") == "cuda"
    if isinstance(t, str):
        package, _, name = t.rpartition(".")
        kind, on_gpu = TENSOR_TYPES.get(name), package == "torch.cuda"
        if kind is None or package not in ("torch", "torch.cuda"):
            raise TypeError(f"invalid type: '{t}'")
    floating = "only floating-point types are supported as the default type"
    if not isinstance(kind, DenseTensorType):
        raise TypeError(f"invalid type object: {floating}")
    if not kind.dtype.is_floating_point:
        raise TypeError(floating)
    if on_gpu and not devices.available("cuda"):
        raise TypeError(
            f"type torch.cuda.{kind.__name__} not available. Torch not compiled with CUDA enabled."
        )
    dtypes.set_default_dtype(kind.dtype)
    if on_gpu:
        devices.set_default_device("cuda")
    elif devices.get_default_device().type == "cuda":
        devices.set_default_device(None)
