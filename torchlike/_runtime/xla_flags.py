"""What XLA's CPU backend is told before it starts: flags, and how many threads it has.

``xla_cpu_disable_tiled_emitter``: in XLA as of jaxlib 0.10, a program of pointwise operations alone
(what an eager op compiles to) is emitted in tiles, which LLVM leaves as copies through the stack:
``a * b`` of 64 Ki float32 takes 21 µs, with a broadcast operand beside it, so that the other
emitter has it, 10. Without tiles 10 as well, ``-a`` 20 -> 6, ``a * b`` on 16 MB 650 -> 380; an
eager CNN step takes 0.94 of the time, an eager GPT step 0.98, compilation 0.85.

Transposing a matrix by itself takes 4 to 7 times as long without tiles, so an eager one goes
another way (``_core/views/chains.py``).

``--combiner-store-merging=false``, an option of LLVM's: with AVX-512, jaxlib before 0.11.2 makes
wrong code of some fusions. Of ``cat([a, a + a * b], 1)`` with two (4, 5) matrices of float64 at a
computed place of a longer array, four of five columns are wrong. It takes LLVM's merging of stores
(or its interleaved accesses, which strided loops are faster by). Of 2,100 random fusions of this
kind five were wrong, all of that size; without merging none. Not where an accelerator is: its XLA
reads the option as well.

``xla_cpu_experimental_ynn_fusion_type=-individual_convolution``: convolutions by Eigen, not by
YNNPACK, which stays on one thread. On two, 3x3 kernels, float32, by YNNPACK and by Eigen, in ms
forward / weight gradient:

- 32 -> 64 channels on 14x14, batch 32, 1.70 and 1.00 / 2.35 and 1.73;
- 64 -> 64 on 32x32, batch 16, 8.9 and 4.9 / 12.2 and 9.9;
- 256 -> 256 on 14x14, batch 8, 7.3 and 6.4 / 9.8 and 7.3;
- one image, 64 -> 64 on 56x56, 1.66 and 1.11 / 2.3 and 3.9.

A CNN step: eager 13.9 -> 12.0, jitted 8.7 -> 7.25. On one thread YNNPACK's is the faster one, up to
twice, and is kept. With jaxlib 0.12 the two are closer (the first 1.52 and 1.38 / 2.09 and 1.81; a
jitted CNN step 7.8 and 6.8). XLA ends the process at a flag that it does not know, so this one,
which is young, is set only where its version is one that this was measured with and no other XLA
(an accelerator's) reads the flags.

The first was measured on two cores of a Zen 4 server, the second on two of an Intel machine with
AVX-512. Tried beside the first: no new emitters at all (an MLP step 1.6 times as long), YNNPACK for
pointwise fusions (GPT 1.6 times), XNNPACK for them and the scheduler for concurrency (no change).
Not ``--xla_cpu_prefer_vector_width=512``: it gains 3 to 8 % and makes ``arctan`` of 16 or more
numbers wrong in most of them. And not oneDNN for products (``xla_cpu_use_onednn`` with
``xla_cpu_experimental_onednn_fusion_type=dot``): a product by itself takes 0.8 to 0.9 of the time,
but small ones longer (an LSTM step 1.9 times, a jitted GPT step 1.03), and the hand-written CNN and
GPT steps of ``benchmarks`` ended the process at an illegal instruction.

``PJRT_NPROC``: several devices on the CPU (``--xla_force_host_platform_device_count``) have as many
threads as there are devices, or cores. A collective holds one for each device until all have come.
Handing a program to a device takes one, too, and keeps it while 32 programs are under way there,
which is soon the case where Python is ahead of busy cores. Then those that hand over and a part of
the oldest collective hold all threads, the other part gets none, and after 40 s XLA ends the
process by SIGABRT. With four threads for each device three Python threads may hand programs over
at once.

Where the environment sets the same flag it is left as it is; ``TORCHLIKE_XLA_FLAGS=system`` leaves
all of them. Setting flags once XLA has started changes nothing.
"""

from __future__ import annotations

import os
import re

import jaxlib.version

from torchlike._runtime import platforms
from torchlike._runtime.environment_variables import XLA_FLAGS
from torchlike._runtime.patches import at_import

#: What the environment said before torchlike was imported.
FOUND = os.environ.get("XLA_FLAGS", "")

_EXTRA = "--xla_backend_extra_options"
_TILES = "xla_cpu_disable_tiled_emitter"
_STORES = "--combiner-store-merging=false"
#: The first version of jaxlib that makes right code with merged stores.
_MERGES_STORES = (0, 11, 2)
_EIGEN = "--xla_cpu_experimental_ynn_fusion_type", "-individual_convolution"
#: So many that a program on all devices cannot be kept from the threads that it needs: see above.
_THREADS_OF_A_DEVICE = 4
#: The versions of jaxlib that are known to have the second.
MEASURED = ("0.10.2", "0.12.0")


def cpu_threads() -> int:
    """Return the number of threads that XLA's CPU backend starts, and splits its loops for.

    One for each core that this process may run on, or what ``PJRT_NPROC`` or ``NPROC`` says.
    """
    for name in ("PJRT_NPROC", "NPROC"):
        if (said := os.environ.get(name, "")).isdecimal():
            return int(said)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def set_cpu_threads(number: int) -> None:
    """Set the number of threads that XLA's CPU backend is to start, here and in processes that this
    one starts. Call it before XLA starts."""
    at_import.XLA.set_item(os.environ, "PJRT_NPROC", str(number))
    enable()  # some flags depend on it


def _ours() -> list[tuple[str, str]]:
    """Return our flags for this machine: names and values."""
    version = jaxlib.version.__version__
    if not platforms.only_cpu():
        return [(_EXTRA, _TILES)]
    merges = tuple(map(int, re.findall(r"\d+", version)[:3])) >= _MERGES_STORES
    found = [(_EXTRA, _TILES if merges else f"{_TILES},{_STORES}")]
    if version.startswith(MEASURED) and cpu_threads() > 1:
        found.append(_EIGEN)
    return found


def extended(flags: str) -> str:
    """Return ``flags`` with ours behind them, but for those that they set themselves.

    What does not begin with a dash is the name of a file with flags.
    """
    if flags.strip() and not flags.lstrip().startswith("-"):
        return flags
    added = [f"{name}={value}" for name, value in _ours() if name not in flags]
    return " ".join([*flags.split(), *added])


def _value(name: str) -> str:
    """Return the value of a flag with which XLA starts, or did."""
    said = os.environ.get("XLA_FLAGS", "").split()
    return next((flag.partition("=")[2] for flag in said if flag.startswith(f"{name}=")), "")


def has_tiles() -> bool:
    """Return whether XLA starts, or did, with its tiled emitter."""
    return _TILES not in _value(_EXTRA).split(",")


def convolves_by_eigen() -> bool:
    """Return whether XLA starts, or did, with the flag for Eigen's convolutions."""
    name, value = _EIGEN
    return _value(name) == value


def cpu_devices() -> int:
    """Return the number of devices that XLA's CPU backend is told to have."""
    said = re.findall(r"--xla_force_host_platform_device_count=(\d+)", FOUND)
    said += re.findall(r"^\d+$", os.environ.get("JAX_NUM_CPU_DEVICES", ""))
    return max(map(int, said), default=1)


def enable() -> None:
    """Put our flags into the environment, where XLA reads it when it starts."""
    if XLA_FLAGS.get():
        return
    at_import.XLA.set_item(os.environ, "XLA_FLAGS", extended(FOUND))
    if (devices := cpu_devices()) > 1:
        threads = max(cpu_threads(), _THREADS_OF_A_DEVICE * devices)
        at_import.XLA.set_item(os.environ, "PJRT_NPROC", str(threads))
