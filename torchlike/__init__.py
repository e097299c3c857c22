"""torchlike: PyTorch's programming model on JAX, with no PyTorch inside.

Use it as PyTorch is used (``import torchlike as torch``); ``torchlike.jit`` compiles a whole
training step into one XLA executable. ARCHITECTURE.md says how it is built.
"""

import importlib as _importlib
import sys as _sys
from math import e, inf, nan, pi

from torchlike._runtime import collector as _collector

_at_rest = _collector.AtRest()

from torchlike._runtime import blas_threads as _blas_threads  # noqa: E402
from torchlike._runtime import interrupts as _interrupts  # noqa: E402

_blas_threads.sleep_at_once()
_interrupts.keep()

from torchlike._runtime import compilation_cache as _compilation_cache  # noqa: E402
from torchlike._runtime import known_nans as _known_nans  # noqa: E402
from torchlike._runtime import mlir_contexts as _mlir_contexts  # noqa: E402
from torchlike._runtime import platforms as _platforms  # noqa: E402
from torchlike._runtime import tracebacks as _tracebacks  # noqa: E402 - imports NumPy
from torchlike._runtime import xla_flags as _xla_flags  # noqa: E402

#: ``x[torch.newaxis]``: a new dimension, as ``x[None]``.
newaxis = None

_compilation_cache.enable()
_mlir_contexts.keep()
_known_nans.watch_for()
_platforms.hide_absent()
_xla_flags.enable()
_tracebacks.install()

from torchlike import _ops as _ops  # noqa: E402 - registers the ops
from torchlike import ops  # noqa: E402
from torchlike._compat import foreach as _foreach  # noqa: E402 - registers torch._foreach_add
from torchlike._compat import places as _places  # noqa: E402
from torchlike._compat import storage_methods as _storage_methods  # noqa: E402 - of UntypedStorage
from torchlike._compat import tensor_copies as _tensor_copies  # noqa: E402 - registers deepcopy
from torchlike._compat import tensor_repr as _tensor_repr  # noqa: E402 - registers repr
from torchlike._compat import typed_storage as _typed_storage  # noqa: E402 - registers Tensor.storage
from torchlike._compat import unsupported as _unsupported  # noqa: E402 - registers what raises
from torchlike._compat.archives import PyTorchFileReader, PyTorchFileWriter  # noqa: E402
from torchlike._compat.help import at_the_keyboard as _at_the_keyboard  # noqa: E402
from torchlike._compat.qschemes import (  # noqa: E402
    per_channel_affine,
    per_channel_affine_float_qparams,
    per_channel_symmetric,
    per_tensor_affine,
    per_tensor_symmetric,
    qscheme,
)
from torchlike._compat.settings import (  # noqa: E402
    are_deterministic_algorithms_enabled,
    get_deterministic_debug_mode,
    get_float32_matmul_precision,
    get_num_interop_threads,
    get_num_threads,
    is_deterministic_algorithms_warn_only_enabled,
    is_warn_always_enabled,
    set_default_tensor_type,
    set_deterministic_debug_mode,
    set_float32_matmul_precision,
    set_flush_denormal,
    set_num_interop_threads,
    set_num_threads,
    set_warn_always,
    use_deterministic_algorithms,
)
from torchlike._compat.storage_types import STORAGE_TYPES as _STORAGE_TYPES  # noqa: E402
from torchlike._compat.tensor_types import TENSOR_TYPES as _TENSOR_TYPES  # noqa: E402
from torchlike._core import dtypes as _dtypes  # noqa: E402 - the cache must be set before JAX compiles
from torchlike._core.devices import device, get_default_device, set_default_device  # noqa: E402
from torchlike._core.dispatch import registry as _registry  # noqa: E402
from torchlike._core.dtypes import (  # noqa: E402
    dtype,
    finfo,
    get_default_dtype,
    iinfo,
    promote_types,
    set_default_dtype,
)
from torchlike._core.layouts import (  # noqa: E402
    channels_last,
    channels_last_3d,
    contiguous_format,
    jagged,
    layout,
    memory_format,
    preserve_format,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
)
from torchlike._core.layouts import contiguous_format as legacy_contiguous_format  # noqa: E402
from torchlike._core.layouts import mkldnn as _mkldnn  # noqa: E402
from torchlike._core.size import Size  # noqa: E402
from torchlike._extensions import absent_dtypes as _absent_dtypes  # noqa: E402
from torchlike._extensions.deferred.switch import deferred  # noqa: E402
from torchlike._extensions.untyped_storage import UntypedStorage  # noqa: E402
from torchlike._higher_order_ops import control_flow as _control_flow  # noqa: E402 - registers torch.cond
from torchlike._runtime.printing import set_printoptions  # noqa: E402
from torchlike.autograd.anomaly_mode import (  # noqa: E402
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    set_anomaly_enabled,
)
from torchlike.autograd.grad_mode import (  # noqa: E402
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from torchlike.random import (  # noqa: E402
    Generator,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from torchlike.random.cuda.cards import set_card  # noqa: E402
from torchlike.sparse import _compressed_rules as _compressed_rules  # noqa: E402 - the same for CSR and its kin
from torchlike.sparse import _names as _sparse_names  # noqa: E402 - registers coalesce, spmm
from torchlike.sparse import _products as _sparse_products  # noqa: E402 - registers smm and kin
from torchlike.sparse import _rules as _sparse_rules  # noqa: E402 - what ops do on sparse tensors
from torchlike.sparse import _shape_rules as _sparse_shape_rules  # noqa: E402 - joined, cut, resized
from torchlike.sparse import _tensor as _sparse_tensor  # noqa: E402 - registers sparse_coo_tensor
from torchlike.tensor import Tensor, from_jax  # noqa: E402

#: PyTorch's base class of storages: here the class of all that hold bytes.
StorageBase = UntypedStorage
globals().update({d.name: d for d in _dtypes.ALL})
globals().update(_dtypes.ALIASES)
globals().update(_absent_dtypes.DTYPES)
globals().update(_absent_dtypes.ALIASES)
globals().update(_registry.NAMESPACES[""])
globals().update(_TENSOR_TYPES)
globals().update(_STORAGE_TYPES)

from torchlike import (  # noqa: E402
    accelerator,
    amp,
    autograd,
    backends,
    compiler,
    cuda,
    distributed,
    fft,
    func,
    futures,
    interop,
    jit,
    linalg,
    masked,
    nested,
    nn,
    optim,
    random,
    serialization,
    sparse,
    special,
    utils,
    version,
)
from torchlike._compat import symbolic_asking as _symbolic_asking  # noqa: E402
from torchlike._compat.streams import Event, Stream  # noqa: E402
from torchlike._compat.symbolic import (  # noqa: E402
    SymBool,
    SymFloat,
    SymInt,
    sym_float,
    sym_int,
    sym_ite,
    sym_max,
    sym_min,
    sym_not,
    sym_sqrt,
    sym_sum,
)
from torchlike._compat.torch_version import __version__ as __version__  # noqa: E402
from torchlike._compat.typed_storage import TypedStorage  # noqa: E402
from torchlike._core.errors import AcceleratorError, OutOfMemoryError  # noqa: E402
from torchlike._functorch.apis import vmap  # noqa: E402
from torchlike._ops.aten.tags import Tag  # noqa: E402
from torchlike.amp import GradScaler  # noqa: E402
from torchlike.amp.autocast_mode import (  # noqa: E402
    autocast,
    autocast_decrement_nesting,
    autocast_increment_nesting,
    clear_autocast_cache,
    get_autocast_cpu_dtype,
    get_autocast_dtype,
    get_autocast_gpu_dtype,
    is_autocast_cache_enabled,
    is_autocast_cpu_enabled,
    is_autocast_enabled,
    set_autocast_cache_enabled,
    set_autocast_cpu_dtype,
    set_autocast_cpu_enabled,
    set_autocast_dtype,
    set_autocast_enabled,
    set_autocast_gpu_dtype,
)
from torchlike.backends.device_modules import get_device_module  # noqa: E402
from torchlike.compiler.torch_compile import compile  # noqa: E402
from torchlike.futures import Future  # noqa: E402
from torchlike.interop import from_jax_function, to_jax_function  # noqa: E402
from torchlike.jit._markers import _disable_dynamo as _disable_dynamo  # noqa: E402
from torchlike.jit._script import ScriptFunction, ScriptModule  # noqa: E402
from torchlike.porting.allocator import tune_allocator  # noqa: E402
from torchlike.porting.torch_alias import alias, install_alias, remove_alias  # noqa: E402
from torchlike.serialization import load, save  # noqa: E402

_places.install()
_unsupported.make_modules()
_at_the_keyboard.install(Tensor)
_at_the_keyboard.install_classes(nn, optim, optim.lr_scheduler)
_at_rest.end()

#: Rooms that are entered by a door of their own: imported when they are first asked for.
_LATER = _places.at_root() | {
    "_decomp",
    "_dynamo",
    "_functorch",
    "ao",
    "export",
    "fx",
    "hub",
    "signal",
    "_subclasses",
    "_utils",
    "distributions",
    "library",
    "multiprocessing",
    "onnx",
    "overrides",
    "profiler",
    "quasirandom",
    "testing",
}


def __getattr__(name: str):
    if name == "torch":  # scripts write torch.torch.Tensor by accident, and PyTorch lets them
        return _sys.modules[__name__]
    if name == "Storage":  # that of the default dtype, which changes
        return _STORAGE_TYPES[f"{_dtypes.scalar_type(get_default_dtype())}Storage"]
    if name in ("bench", "plan"):  # with what they need of JAX and rich
        return getattr(_importlib.import_module(f"torchlike.porting.{name}"), name)
    if name in _LATER:
        return _importlib.import_module(f"torchlike.{name}")
    module = _sys.modules[__name__]
    raise AttributeError(f"module 'torchlike' has no attribute {name!r}", name=name, obj=module)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER, "Storage"})
