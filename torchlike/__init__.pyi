# Made by `python -m tools.generate` from the registry. Do not edit.
from builtins import bool as _bool, bytes as _bytes, complex as _complex, dict as _dict, float as _float, int as _int, list as _list, object as _object, set as _set, str as _str, tuple as _tuple, type as _type
from torchlike._core.devices import device as _device
from torchlike._core.dtypes import dtype as _dtype
from torchlike._core.layouts import layout as _layout, memory_format as _memory_format
from torchlike._core.size import Size as _Size
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from torchlike.random import Generator as Generator
from torchlike.tensor import Tensor as Tensor

Number = _bool | _int | _float | _complex

from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi
from torchlike import _decomp as _decomp
from torchlike import _dynamo as _dynamo
from torchlike import _functorch as _functorch
from torchlike import _subclasses as _subclasses
from torchlike import _utils as _utils
from torchlike import accelerator as accelerator
from torchlike import amp as amp
from torchlike import ao as ao
from torchlike import autograd as autograd
from torchlike import backends as backends
from torchlike import compiler as compiler
from torchlike import cuda as cuda
from torchlike import distributed as distributed
from torchlike import distributions as distributions
from torchlike import export as export
from torchlike import fft as fft
from torchlike import func as func
from torchlike import futures as futures
from torchlike import fx as fx
from torchlike import hub as hub
from torchlike import interop as interop
from torchlike import library as library
from torchlike import linalg as linalg
from torchlike import masked as masked
from torchlike import multiprocessing as multiprocessing
from torchlike import nested as nested
from torchlike import nn as nn
from torchlike import onnx as onnx
from torchlike import ops as ops
from torchlike import optim as optim
from torchlike import overrides as overrides
from torchlike import profiler as profiler
from torchlike import quasirandom as quasirandom
from torchlike import random as random
from torchlike import serialization as serialization
from torchlike import signal as signal
from torchlike import sparse as sparse
from torchlike import special as special
from torchlike import testing as testing
from torchlike import utils as utils
from torchlike import version as version
from torchlike._compat import configuration as __config__
from torchlike._compat import core as _C
from torchlike._compat import print_settings as _tensor_str
from torchlike._compat import return_types as return_types
from torchlike._compat import torch_version as torch_version
from torchlike._compat import types as types
from torchlike._compat.archives import PyTorchFileReader as PyTorchFileReader
from torchlike._compat.archives import PyTorchFileWriter as PyTorchFileWriter
from torchlike._compat.devices import cpu as cpu
from torchlike._compat.devices import mps as mps
from torchlike._compat.devices import mtia as mtia
from torchlike._compat.devices import xpu as xpu
from torchlike._compat.qschemes import per_channel_affine as per_channel_affine
from torchlike._compat.qschemes import per_channel_affine_float_qparams as per_channel_affine_float_qparams
from torchlike._compat.qschemes import per_channel_symmetric as per_channel_symmetric
from torchlike._compat.qschemes import per_tensor_affine as per_tensor_affine
from torchlike._compat.qschemes import per_tensor_symmetric as per_tensor_symmetric
from torchlike._compat.qschemes import qscheme as qscheme
from torchlike._compat.settings import are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled
from torchlike._compat.settings import get_deterministic_debug_mode as get_deterministic_debug_mode
from torchlike._compat.settings import get_float32_matmul_precision as get_float32_matmul_precision
from torchlike._compat.settings import get_num_interop_threads as get_num_interop_threads
from torchlike._compat.settings import get_num_threads as get_num_threads
from torchlike._compat.settings import is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled
from torchlike._compat.settings import is_warn_always_enabled as is_warn_always_enabled
from torchlike._compat.settings import set_default_tensor_type as set_default_tensor_type
from torchlike._compat.settings import set_deterministic_debug_mode as set_deterministic_debug_mode
from torchlike._compat.settings import set_float32_matmul_precision as set_float32_matmul_precision
from torchlike._compat.settings import set_flush_denormal as set_flush_denormal
from torchlike._compat.settings import set_num_interop_threads as set_num_interop_threads
from torchlike._compat.settings import set_num_threads as set_num_threads
from torchlike._compat.settings import set_warn_always as set_warn_always
from torchlike._compat.settings import use_deterministic_algorithms as use_deterministic_algorithms
from torchlike._compat.streams import Event as Event
from torchlike._compat.streams import Stream as Stream
from torchlike._compat.symbolic import SymBool as SymBool
from torchlike._compat.symbolic import SymFloat as SymFloat
from torchlike._compat.symbolic import SymInt as SymInt
from torchlike._compat.symbolic import sym_float as sym_float
from torchlike._compat.symbolic import sym_int as sym_int
from torchlike._compat.symbolic import sym_ite as sym_ite
from torchlike._compat.symbolic import sym_max as sym_max
from torchlike._compat.symbolic import sym_min as sym_min
from torchlike._compat.symbolic import sym_not as sym_not
from torchlike._compat.symbolic import sym_sqrt as sym_sqrt
from torchlike._compat.symbolic import sym_sum as sym_sum
from torchlike._compat.typed_storage import TypedStorage as TypedStorage
from torchlike._core.devices import device as device
from torchlike._core.devices import get_default_device as get_default_device
from torchlike._core.devices import set_default_device as set_default_device
from torchlike._core.dtypes import dtype as dtype
from torchlike._core.dtypes import finfo as finfo
from torchlike._core.dtypes import get_default_dtype as get_default_dtype
from torchlike._core.dtypes import iinfo as iinfo
from torchlike._core.dtypes import promote_types as promote_types
from torchlike._core.dtypes import set_default_dtype as set_default_dtype
from torchlike._core.errors import AcceleratorError as AcceleratorError
from torchlike._core.errors import OutOfMemoryError as OutOfMemoryError
from torchlike._core.layouts import channels_last as channels_last
from torchlike._core.layouts import channels_last_3d as channels_last_3d
from torchlike._core.layouts import contiguous_format as contiguous_format
from torchlike._core.layouts import jagged as jagged
from torchlike._core.layouts import layout as layout
from torchlike._core.layouts import memory_format as memory_format
from torchlike._core.layouts import preserve_format as preserve_format
from torchlike._core.layouts import sparse_bsc as sparse_bsc
from torchlike._core.layouts import sparse_bsr as sparse_bsr
from torchlike._core.layouts import sparse_coo as sparse_coo
from torchlike._core.layouts import sparse_csc as sparse_csc
from torchlike._core.layouts import sparse_csr as sparse_csr
from torchlike._core.layouts import strided as strided
from torchlike._core.size import Size as Size
from torchlike._extensions.deferred.switch import deferred as deferred
from torchlike._extensions.untyped_storage import UntypedStorage as UntypedStorage
from torchlike._functorch.apis import vmap as vmap
from torchlike._ops.aten.tags import Tag as Tag
from torchlike._runtime.printing import set_printoptions as set_printoptions
from torchlike._subclasses import active_mode as _guards
from torchlike.amp import GradScaler as GradScaler
from torchlike.amp.autocast_mode import autocast as autocast
from torchlike.amp.autocast_mode import autocast_decrement_nesting as autocast_decrement_nesting
from torchlike.amp.autocast_mode import autocast_increment_nesting as autocast_increment_nesting
from torchlike.amp.autocast_mode import clear_autocast_cache as clear_autocast_cache
from torchlike.amp.autocast_mode import get_autocast_cpu_dtype as get_autocast_cpu_dtype
from torchlike.amp.autocast_mode import get_autocast_dtype as get_autocast_dtype
from torchlike.amp.autocast_mode import get_autocast_gpu_dtype as get_autocast_gpu_dtype
from torchlike.amp.autocast_mode import is_autocast_cache_enabled as is_autocast_cache_enabled
from torchlike.amp.autocast_mode import is_autocast_cpu_enabled as is_autocast_cpu_enabled
from torchlike.amp.autocast_mode import is_autocast_enabled as is_autocast_enabled
from torchlike.amp.autocast_mode import set_autocast_cache_enabled as set_autocast_cache_enabled
from torchlike.amp.autocast_mode import set_autocast_cpu_dtype as set_autocast_cpu_dtype
from torchlike.amp.autocast_mode import set_autocast_cpu_enabled as set_autocast_cpu_enabled
from torchlike.amp.autocast_mode import set_autocast_dtype as set_autocast_dtype
from torchlike.amp.autocast_mode import set_autocast_enabled as set_autocast_enabled
from torchlike.amp.autocast_mode import set_autocast_gpu_dtype as set_autocast_gpu_dtype
from torchlike.ao import quantization as quantization
from torchlike.autograd.anomaly_mode import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from torchlike.autograd.anomaly_mode import is_anomaly_enabled as is_anomaly_enabled
from torchlike.autograd.anomaly_mode import set_anomaly_enabled as set_anomaly_enabled
from torchlike.autograd.grad_mode import enable_grad as enable_grad
from torchlike.autograd.grad_mode import inference_mode as inference_mode
from torchlike.autograd.grad_mode import is_grad_enabled as is_grad_enabled
from torchlike.autograd.grad_mode import is_inference_mode_enabled as is_inference_mode_enabled
from torchlike.autograd.grad_mode import no_grad as no_grad
from torchlike.autograd.grad_mode import set_grad_enabled as set_grad_enabled
from torchlike.backends.device_modules import get_device_module as get_device_module
from torchlike.compiler import inductor as _inductor
from torchlike.compiler.torch_compile import compile as compile
from torchlike.func import older_vmap as _vmap_internals
from torchlike.futures import Future as Future
from torchlike.interop import from_jax_function as from_jax_function
from torchlike.interop import to_jax_function as to_jax_function
from torchlike.jit import _CallableModule
from torchlike.jit._script import ScriptFunction as ScriptFunction
from torchlike.jit._script import ScriptModule as ScriptModule
from torchlike.library import classes as classes
from torchlike.library import older_definitions as _custom_ops
from torchlike.nn import conversion_switches as __future__
from torchlike.ops._aten import prims_common as _prims_common
from torchlike.porting.allocator import tune_allocator as tune_allocator
from torchlike.porting.bench import bench as bench
from torchlike.porting.plan import plan as plan
from torchlike.porting.torch_alias import alias as alias
from torchlike.porting.torch_alias import install_alias as install_alias
from torchlike.porting.torch_alias import remove_alias as remove_alias
from torchlike.random import default_generator as default_generator
from torchlike.random import get_rng_state as get_rng_state
from torchlike.random import initial_seed as initial_seed
from torchlike.random import manual_seed as manual_seed
from torchlike.random import seed as seed
from torchlike.random import set_rng_state as set_rng_state
from torchlike.random.cuda.cards import set_card as set_card
from torchlike.serialization import load as load
from torchlike.serialization import save as save
from torchlike.tensor import from_jax as from_jax

newaxis: None

bfloat16: _dtype
bit: _dtype
bits16: _dtype
bits1x8: _dtype
bits2x4: _dtype
bits4x2: _dtype
bits8: _dtype
bool: _dtype
cdouble: _dtype
cfloat: _dtype
chalf: _dtype
complex128: _dtype
complex32: _dtype
complex64: _dtype
double: _dtype
float: _dtype
float16: _dtype
float32: _dtype
float4_e2m1fn_x2: _dtype
float64: _dtype
float8_e4m3fn: _dtype
float8_e4m3fnuz: _dtype
float8_e5m2: _dtype
float8_e5m2fnuz: _dtype
float8_e8m0fnu: _dtype
half: _dtype
int: _dtype
int1: _dtype
int16: _dtype
int2: _dtype
int3: _dtype
int32: _dtype
int4: _dtype
int5: _dtype
int6: _dtype
int64: _dtype
int7: _dtype
int8: _dtype
long: _dtype
qint32: _dtype
qint8: _dtype
quint2x4: _dtype
quint4x2: _dtype
quint8: _dtype
short: _dtype
uint1: _dtype
uint16: _dtype
uint2: _dtype
uint3: _dtype
uint32: _dtype
uint4: _dtype
uint5: _dtype
uint6: _dtype
uint64: _dtype
uint7: _dtype
uint8: _dtype
__version__: str

jit: _CallableModule

_VF: Any

_compile: Any

_jit_internal: Any

_library: Any

_refs: Any

_tensor: Any

functional: Any

numa: Any

storage: Any

def _addmm_activation(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1, use_gelu: _bool = False, out: Tensor | None = None) -> Tensor:
    """Return ``relu(addmm(input, mat1, mat2))``, or with ``use_gelu`` the exact ``gelu`` of it."""

def _assert(condition: Any, message: Any) -> None:
    """Raise AssertionError with the message unless the condition, a bool or a tensor of one, is
true."""

def _assert_async(input: Tensor, assert_msg: _str | None = None) -> None:
    """Raise RuntimeError unless a tensor's one value is not zero."""

def _assert_scalar(self: Any, assert_msg: _str) -> None:
    """Raise RuntimeError with the message unless a number or a bool is true."""

def _assert_tensor_metadata(a: Tensor, size: Any = None, stride: Any = None, dtype: Any = None, *, device: Any = None, layout: Any = None) -> None:
    """Raise RuntimeError unless a tensor has the size, strides, dtype, device and layout that are
given."""

def _cast_Byte(input: Tensor, non_blocking: _bool = False) -> Tensor:
    """Return ``input.to(torch.uint8)``: a function from before ``to``."""

def _cast_Char(input: Tensor, non_blocking: _bool = False) -> Tensor:
    """Return ``input.to(torch.int8)``: a function from before ``to``."""

def _cast_Double(input: Tensor, non_blocking: _bool = False) -> Tensor:
    """Return ``input.to(torch.float64)``: a function from before ``to``."""

def _cast_Float(input: Tensor, non_blocking: _bool = False) -> Tensor:
    """Return ``input.to(torch.float32)``: a function from before ``to``."""

def _cast_Half(input: Tensor, non_blocking: _bool = False) -> Tensor:
    """Return ``input.to(torch.float16)``: a function from before ``to``."""

def _cast_Int(input: Tensor, non_blocking: _bool = False) -> Tensor:
    """Return ``input.to(torch.int32)``: a function from before ``to``."""

def _cast_Long(input: Tensor, non_blocking: _bool = False) -> Tensor:
    """Return ``input.to(torch.int64)``: a function from before ``to``."""

def _cast_Short(input: Tensor, non_blocking: _bool = False) -> Tensor:
    """Return ``input.to(torch.int16)``: a function from before ``to``."""

def _check(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise RuntimeError with the text that ``message()`` returns unless ``cond``."""

def _check_index(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise IndexError with the text that ``message()`` returns unless ``cond``."""

def _check_is_size(i: _int, message: Any = None, *, max: _int | None = None) -> None:
    """Raise RuntimeError unless ``0 <= i``, and ``i <= max`` where it is given."""

def _check_not_implemented(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise NotImplementedError with the text that ``message()`` returns unless ``cond``."""

def _check_tensor_all(cond: Any, message: Any = None) -> None:
    """Raise RuntimeError unless all elements of a tensor of bools are true."""

def _check_tensor_all_with(error_type: Any, cond: Any, message: Any = None) -> None:
    """Raise ``error_type`` unless all elements of a tensor of bools are true."""

def _check_type(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise TypeError with the text that ``message()`` returns unless ``cond``."""

def _check_value(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise ValueError with the text that ``message()`` returns unless ``cond``."""

def _check_with(error_type: Any, cond: Any, message: Any = None) -> None:
    """Raise ``error_type`` with the text that ``message()`` returns unless ``cond``, which must be
a bool."""

def _chunk_cat(tensors: Any, dim: _int, num_chunks: _int, *, out: Any = None) -> Tensor:
    """Pad each tensor with zeros to ``num_chunks`` equal chunks along ``dim``; the chunks of one
number are flattened and joined: (*leading, num_chunks, total)."""

def _conj(input: Tensor) -> Tensor:
    """Return the conjugate, as ``conj()``: a view of a complex tensor."""

def _convert_indices_from_coo_to_csr(input: Any, size: _int, *, out_int32: _bool = False) -> Tensor:
    """Return where each of ``size`` rows begins in sorted row indices (nnz,): (size + 1,)."""

def _convert_indices_from_csr_to_coo(crow_indices: Any, col_indices: Any, *, out_int32: _bool = False, transpose: _bool = False) -> Tensor:
    """Return the rows and columns (2, nnz) of a matrix in CSR, or the columns and rows if
``transpose``."""

def _convert_weight_to_int4pack_for_cpu(input: Tensor, innerKTiles: _int, *, out: Tensor | None = None) -> Tensor:
    """Pack two weights of 0 … 15 (int32, (N, K)) into a byte: uint8 (N, K / 2), for
``_weight_int4pack_mm_for_cpu`` alone to read. ``innerKTiles`` changes nothing."""

def _dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the derivative of each entry of a Dirichlet sample by its concentration, over ``1 -
x``."""

def _foreach_abs(self: Any) -> Any:
    """``abs`` on each tensor of a list."""

def _foreach_abs_(self: Any) -> Any:
    """``abs_`` on each tensor of a list."""

def _foreach_acos(self: Any) -> Any:
    """``acos`` on each tensor of a list."""

def _foreach_acos_(self: Any) -> Any:
    """``acos_`` on each tensor of a list."""

def _foreach_add(self: Any, *args: Any, alpha: Any = None, **kwargs: Any) -> Any:
    """``add`` on each tensor of a list."""

def _foreach_add_(self: Any, *args: Any, alpha: Any = None, **kwargs: Any) -> Any:
    """``add_`` on each tensor of a list."""

def _foreach_addcdiv(self: Any, tensor1: Any, tensor2: Any, *args: Any, **kwargs: Any) -> Any:
    """``addcdiv`` on each tensor of a list."""

def _foreach_addcdiv_(self: Any, tensor1: Any, tensor2: Any, *args: Any, **kwargs: Any) -> Any:
    """``addcdiv_`` on each tensor of a list."""

def _foreach_addcmul(self: Any, tensor1: Any, tensor2: Any, *args: Any, **kwargs: Any) -> Any:
    """``addcmul`` on each tensor of a list."""

def _foreach_addcmul_(self: Any, tensor1: Any, tensor2: Any, *args: Any, **kwargs: Any) -> Any:
    """``addcmul_`` on each tensor of a list."""

def _foreach_asin(self: Any) -> Any:
    """``asin`` on each tensor of a list."""

def _foreach_asin_(self: Any) -> Any:
    """``asin_`` on each tensor of a list."""

def _foreach_atan(self: Any) -> Any:
    """``atan`` on each tensor of a list."""

def _foreach_atan_(self: Any) -> Any:
    """``atan_`` on each tensor of a list."""

def _foreach_ceil(self: Any) -> Any:
    """``ceil`` on each tensor of a list."""

def _foreach_ceil_(self: Any) -> Any:
    """``ceil_`` on each tensor of a list."""

def _foreach_clamp_max(self: Any, *args: Any, alpha: Any = None, **kwargs: Any) -> Any:
    """``clamp_max`` on each tensor of a list."""

def _foreach_clamp_max_(self: Any, *args: Any, alpha: Any = None, **kwargs: Any) -> Any:
    """``clamp_max_`` on each tensor of a list."""

def _foreach_clamp_min(self: Any, *args: Any, alpha: Any = None, **kwargs: Any) -> Any:
    """``clamp_min`` on each tensor of a list."""

def _foreach_clamp_min_(self: Any, *args: Any, alpha: Any = None, **kwargs: Any) -> Any:
    """``clamp_min_`` on each tensor of a list."""

def _foreach_clone(self: Any) -> _tuple[Tensor, ...]:
    """Return a copy of every tensor."""

def _foreach_copy_(self: Any, src: Any, non_blocking: _bool = False) -> _list[Any]:
    """Copy to every tensor the values of its partner in ``src``."""

def _foreach_cos(self: Any) -> Any:
    """``cos`` on each tensor of a list."""

def _foreach_cos_(self: Any) -> Any:
    """``cos_`` on each tensor of a list."""

def _foreach_cosh(self: Any) -> Any:
    """``cosh`` on each tensor of a list."""

def _foreach_cosh_(self: Any) -> Any:
    """``cosh_`` on each tensor of a list."""

def _foreach_div(self: Any, *args: Any, alpha: Any = None, **kwargs: Any) -> Any:
    """``div`` on each tensor of a list."""

def _foreach_div_(self: Any, *args: Any, alpha: Any = None, **kwargs: Any) -> Any:
    """``div_`` on each tensor of a list."""

def _foreach_erf(self: Any) -> Any:
    """``erf`` on each tensor of a list."""

def _foreach_erf_(self: Any) -> Any:
    """``erf_`` on each tensor of a list."""

def _foreach_erfc(self: Any) -> Any:
    """``erfc`` on each tensor of a list."""

def _foreach_erfc_(self: Any) -> Any:
    """``erfc_`` on each tensor of a list."""

def _foreach_exp(self: Any) -> Any:
    """``exp`` on each tensor of a list."""

def _foreach_exp_(self: Any) -> Any:
    """``exp_`` on each tensor of a list."""

def _foreach_expm1(self: Any) -> Any:
    """``expm1`` on each tensor of a list."""

def _foreach_expm1_(self: Any) -> Any:
    """``expm1_`` on each tensor of a list."""

def _foreach_floor(self: Any) -> Any:
    """``floor`` on each tensor of a list."""

def _foreach_floor_(self: Any) -> Any:
    """``floor_`` on each tensor of a list."""

def _foreach_frac(self: Any) -> Any:
    """``frac`` on each tensor of a list."""

def _foreach_frac_(self: Any) -> Any:
    """``frac_`` on each tensor of a list."""

def _foreach_lerp(self: Any, tensors1: Any, *args: Any, **kwargs: Any) -> Any:
    """``lerp`` on each tensor of a list."""

def _foreach_lerp_(self: Any, tensors1: Any, *args: Any, **kwargs: Any) -> Any:
    """``lerp_`` on each tensor of a list."""

def _foreach_lgamma(self: Any) -> Any:
    """``lgamma`` on each tensor of a list."""

def _foreach_lgamma_(self: Any) -> Any:
    """``lgamma_`` on each tensor of a list."""

def _foreach_log(self: Any) -> Any:
    """``log`` on each tensor of a list."""

def _foreach_log10(self: Any) -> Any:
    """``log10`` on each tensor of a list."""

def _foreach_log10_(self: Any) -> Any:
    """``log10_`` on each tensor of a list."""

def _foreach_log1p(self: Any) -> Any:
    """``log1p`` on each tensor of a list."""

def _foreach_log1p_(self: Any) -> Any:
    """``log1p_`` on each tensor of a list."""

def _foreach_log2(self: Any) -> Any:
    """``log2`` on each tensor of a list."""

def _foreach_log2_(self: Any) -> Any:
    """``log2_`` on each tensor of a list."""

def _foreach_log_(self: Any) -> Any:
    """``log_`` on each tensor of a list."""

def _foreach_max(self: Any) -> _tuple[Tensor, ...]:
    """Return the greatest element of each tensor."""

def _foreach_maximum(self: Any, *args: Any, alpha: Any = None, **kwargs: Any) -> Any:
    """``maximum`` on each tensor of a list."""

def _foreach_maximum_(self: Any, *args: Any, alpha: Any = None, **kwargs: Any) -> Any:
    """``maximum_`` on each tensor of a list."""

def _foreach_minimum(self: Any, *args: Any, alpha: Any = None, **kwargs: Any) -> Any:
    """``minimum`` on each tensor of a list."""

def _foreach_minimum_(self: Any, *args: Any, alpha: Any = None, **kwargs: Any) -> Any:
    """``minimum_`` on each tensor of a list."""

def _foreach_mm(self: Any, mat2: Any) -> _tuple[Tensor, ...]:
    """Return the matrix product of each tensor with its partner."""

def _foreach_mul(self: Any, *args: Any, alpha: Any = None, **kwargs: Any) -> Any:
    """``mul`` on each tensor of a list."""

def _foreach_mul_(self: Any, *args: Any, alpha: Any = None, **kwargs: Any) -> Any:
    """``mul_`` on each tensor of a list."""

def _foreach_neg(self: Any) -> Any:
    """``neg`` on each tensor of a list."""

def _foreach_neg_(self: Any) -> Any:
    """``neg_`` on each tensor of a list."""

def _foreach_norm(self: Any, ord: Any = 2, dtype: Any = None) -> _tuple[Tensor, ...]:
    """Return the norm of each tensor's elements. RuntimeError for an infinite one of an empty
tensor."""

def _foreach_pow(self: Any, *args: Any, alpha: Any = None, **kwargs: Any) -> Any:
    """``pow`` on each tensor of a list."""

def _foreach_pow_(self: Any, *args: Any, alpha: Any = None, **kwargs: Any) -> Any:
    """``pow_`` on each tensor of a list."""

def _foreach_powsum(self: Any, ord: Any = 2, dtype: Any = None) -> _tuple[Tensor, ...]:
    """Return the sum of the sizes of each tensor's elements to the power ``ord``."""

def _foreach_reciprocal(self: Any) -> Any:
    """``reciprocal`` on each tensor of a list."""

def _foreach_reciprocal_(self: Any) -> Any:
    """``reciprocal_`` on each tensor of a list."""

def _foreach_round(self: Any) -> Any:
    """``round`` on each tensor of a list."""

def _foreach_round_(self: Any) -> Any:
    """``round_`` on each tensor of a list."""

def _foreach_rsqrt(self: Any) -> Any:
    """``rsqrt`` on each tensor of a list."""

def _foreach_rsqrt_(self: Any) -> Any:
    """``rsqrt_`` on each tensor of a list."""

def _foreach_sigmoid(self: Any) -> Any:
    """``sigmoid`` on each tensor of a list."""

def _foreach_sigmoid_(self: Any) -> Any:
    """``sigmoid_`` on each tensor of a list."""

def _foreach_sign(self: Any) -> Any:
    """``sign`` on each tensor of a list."""

def _foreach_sign_(self: Any) -> Any:
    """``sign_`` on each tensor of a list."""

def _foreach_sin(self: Any) -> Any:
    """``sin`` on each tensor of a list."""

def _foreach_sin_(self: Any) -> Any:
    """``sin_`` on each tensor of a list."""

def _foreach_sinh(self: Any) -> Any:
    """``sinh`` on each tensor of a list."""

def _foreach_sinh_(self: Any) -> Any:
    """``sinh_`` on each tensor of a list."""

def _foreach_sqrt(self: Any) -> Any:
    """``sqrt`` on each tensor of a list."""

def _foreach_sqrt_(self: Any) -> Any:
    """``sqrt_`` on each tensor of a list."""

def _foreach_sub(self: Any, *args: Any, alpha: Any = None, **kwargs: Any) -> Any:
    """``sub`` on each tensor of a list."""

def _foreach_sub_(self: Any, *args: Any, alpha: Any = None, **kwargs: Any) -> Any:
    """``sub_`` on each tensor of a list."""

def _foreach_tan(self: Any) -> Any:
    """``tan`` on each tensor of a list."""

def _foreach_tan_(self: Any) -> Any:
    """``tan_`` on each tensor of a list."""

def _foreach_tanh(self: Any) -> Any:
    """``tanh`` on each tensor of a list."""

def _foreach_tanh_(self: Any) -> Any:
    """``tanh_`` on each tensor of a list."""

def _foreach_trunc(self: Any) -> Any:
    """``trunc`` on each tensor of a list."""

def _foreach_trunc_(self: Any) -> Any:
    """``trunc_`` on each tensor of a list."""

def _foreach_zero_(self: Any) -> _list[Any]:
    """Set every tensor of the list to zero."""

def _grouped_mm(mat_a: Tensor, mat_b: Tensor, *, offs: Tensor | None = None, bias: Tensor | None = None, out_dtype: Any = None) -> Tensor:
    """Multiply matrices in groups, as a mixture of experts has them."""

def _has_compatible_shallow_copy_type(input: Tensor, other: Tensor) -> _bool:
    """Return whether ``input.data = other`` keeps the kind of tensor: its layout, type of device,
and having memory of its own or none."""

def _int_mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the product of a matrix of int8 or uint8 and one of int8, summed in int32."""

def _is_all_true(input: Tensor) -> Tensor:
    """Return ``all()`` of a bool tensor. RuntimeError for another dtype."""

def _is_any_true(input: Tensor) -> Tensor:
    """Return ``any()`` of a bool tensor. RuntimeError for another dtype."""

def _is_zerotensor(input: Tensor) -> _bool:
    """Return False: no tensor is zero without memory."""

def _log_softmax_backward_data(grad_output: Tensor, output: Tensor, dim: _int, input_dtype: Any, *, out: Any = None) -> Tensor:
    """Return the gradient of log_softmax from its output: ``grad - exp(output) * sum(grad)``."""

def _native_batch_norm_legit(input: Tensor, weight: Any, bias: Any, *rest: Any, out: Any = None, **named: Any) -> _tuple[Tensor, Tensor, Tensor]:
    """Call ``native_batch_norm``; the two running statistics may be left out."""

def _neg_view(input: Tensor) -> Tensor:
    """Return the negative as a view: what is written to it is written, negated, to ``input``."""

def _nested_tensor_from_mask(*args: Any, **kwargs: Any) -> Any:
    """Not supported: XLA compiles for fixed shapes, so there are no nested (ragged) tensors. Use instead: torch.nn.utils.rnn.pad_sequence and a mask."""

def _nested_view_from_buffer(*args: Any, **kwargs: Any) -> Any:
    """Not supported: XLA compiles for fixed shapes, so there are no nested (ragged) tensors. Use instead: torch.nn.utils.rnn.pad_sequence and a mask."""

def _sample_dirichlet(input: Tensor, generator: Any = None) -> Tensor:
    """Draw a point of the simplex for each row of concentrations."""

def _scaled_grouped_mm(*args: Any, **kwargs: Any) -> Any:
    """Not supported: products of 8-bit floats in groups are not there. Use instead: torch._scaled_mm for each group."""

def _scaled_mm(input: Tensor, mat2: Tensor, scale_a: Tensor, scale_b: Tensor, bias: Tensor | None = None, scale_result: Tensor | None = None, out_dtype: _dtype | None = None, use_fast_accum: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return ``(input * scale_a) @ (mat2 * scale_b) + bias`` of matrices of 8-bit floats."""

def _scaled_mm_v2(self: Tensor, mat2: Tensor, scale_a: _list[Tensor], recipe_a: _list[_int], swizzle_a: _list[_int], scale_b: _list[Tensor], recipe_b: _list[_int], swizzle_b: _list[_int], bias: Tensor | None, out_dtype: Any, contraction_dim: Any = ..., use_fast_accum: _bool = False) -> Tensor:
    """Compute ``_scaled_mm`` with the kind of the scales named: one number (recipe 0), or one for
each row and column (1). NotImplementedError for scales of blocks, which PyTorch's CPU build
refuses too."""

def _segment_reduce(data: Tensor, reduce: _str, *, lengths: Tensor | None = None, indices: Tensor | None = None, offsets: Tensor | None = None, axis: _int = 0, unsafe: Any = False, initial: Any = None) -> Tensor:
    """Return the "amax", "mean", "amin", "sum" or "prod" of consecutive segments of ``axis``."""

def _shape_as_tensor(input: Tensor) -> Tensor:
    """Return the sizes of a tensor's dimensions as integers, (ndim,)."""

def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: _int, input_dtype: Any, *, grad_input: Any = None) -> Tensor:
    """Return the gradient of softmax from its output: ``output * (grad - sum(grad * output))``."""

def _sparse_broadcast_to(input: Any, size: Any) -> Any:
    """Broadcast a sparse tensor to a size: sparse in the dimensions that come before its own.
Raises RuntimeError for a size that it does not fit, and under a jit where elements are
repeated."""

def _sparse_semi_structured_linear(*args: Any, **kwargs: Any) -> Any:
    """Not supported: it is not written for sparse tensors. Use instead: x.to_dense() and the dense function."""

def _standard_gamma(input: Tensor, generator: Any = None) -> Tensor:
    """Draw a Gamma(alpha, 1) value for each concentration in ``input``; differentiable."""

def _standard_gamma_grad(input: Tensor, output: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the derivative of a gamma sample ``output`` by its concentration ``input``."""

def _unsafe_masked_index(input: Any, mask: Tensor, indices: Any, fill: Any) -> Tensor:
    """Return ``input[indices]`` where ``mask`` holds, else ``fill``; indices elsewhere may be
anything."""

def _unsafe_masked_index_put_accumulate(input: Tensor, mask: Tensor, indices: Any, values: Tensor) -> Tensor:
    """Return ``input`` with ``values`` added at ``indices`` where ``mask`` holds."""

def _upsample_bicubic2d_aa(input: Tensor, output_size: Any = None, align_corners: Any = False, *factors: Any, scale_factors: Any = None, scales_h: Any = None, scales_w: Any = None) -> Tensor:
    """Call ``nn.functional.interpolate`` by bicubic interpolation with antialias."""

def _upsample_bilinear2d_aa(input: Tensor, output_size: Any = None, align_corners: Any = False, *factors: Any, scale_factors: Any = None, scales_h: Any = None, scales_w: Any = None) -> Tensor:
    """Call ``nn.functional.interpolate`` by bilinear interpolation with antialias."""

def _validate_sparse_bsc_tensor_args(compressed: Tensor, plain: Tensor, values: Tensor, size: Any) -> None:
    """Raise RuntimeError unless `sparse_bsc_tensor` could be made of these."""

def _validate_sparse_bsr_tensor_args(compressed: Tensor, plain: Tensor, values: Tensor, size: Any) -> None:
    """Raise RuntimeError unless `sparse_bsr_tensor` could be made of these."""

def _validate_sparse_compressed_tensor_args(compressed_indices: Tensor, plain_indices: Tensor, values: Tensor, size: Any, layout: Any) -> None:
    """Raise RuntimeError unless indices and values make a tensor of a compressed ``layout`` and
size."""

def _validate_sparse_csc_tensor_args(compressed: Tensor, plain: Tensor, values: Tensor, size: Any) -> None:
    """Raise RuntimeError unless `sparse_csc_tensor` could be made of these."""

def _validate_sparse_csr_tensor_args(compressed: Tensor, plain: Tensor, values: Tensor, size: Any) -> None:
    """Raise RuntimeError unless `sparse_csr_tensor` could be made of these."""

def _weight_int4pack_mm_for_cpu(input: Tensor, mat2: Tensor, qGroupSize: _int, qScaleAndZeros: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``input @ weight.T`` for a weight of ``_convert_weight_to_int4pack_for_cpu``."""

def _weight_int8pack_mm(input: Tensor, mat2: Tensor, scales: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``input @ (mat2 * scales[:, None]).T`` for int8 weights (N, K) with a scale for each
row."""

def abs(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the absolute value elementwise; the modulus (real) of a complex tensor."""

def abs_(input: Tensor) -> Tensor:
    """Return the absolute value elementwise; the modulus (real) of a complex tensor."""

def absolute(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the absolute value elementwise; the modulus (real) of a complex tensor."""

def absolute_(input: Tensor) -> Tensor:
    """Return the absolute value elementwise; the modulus (real) of a complex tensor."""

def acos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``acos`` elementwise; integers give the default float dtype."""

def acos_(input: Tensor) -> Tensor:
    """Return ``acos`` elementwise; integers give the default float dtype."""

def acosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``acosh`` elementwise; integers give the default float dtype."""

def acosh_(input: Tensor) -> Tensor:
    """Return ``acosh`` elementwise; integers give the default float dtype."""

def adaptive_avg_pool1d(input: Tensor, output_size: _int | Sequence[_int] | None, *, out: Tensor | None = None) -> Tensor:
    """Return the means over windows that divide (N, C, …) into ``output_size`` (1 long)."""

def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: Any = False) -> Any:
    """Return the maxima over adaptive windows, and their flat positions (int64)."""

def add(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """Return ``input + alpha * other``, broadcast and promoted."""

def add_(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
    """Return ``input + alpha * other``, broadcast and promoted."""

def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """Return ``beta * input + alpha * (batch1 @ batch2).sum(0)``."""

def addbmm_(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """Return ``beta * input + alpha * (batch1 @ batch2).sum(0)``."""

def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1, out: Tensor | None = None) -> Tensor:
    """Return ``input + value * tensor1 / tensor2``. RuntimeError for integer division."""

def addcdiv_(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1, out: Tensor | None = None) -> Tensor:
    """Return ``input + value * tensor1 / tensor2``. RuntimeError for integer division."""

def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1, out: Tensor | None = None) -> Tensor:
    """Return ``input + value * tensor1 * tensor2``."""

def addcmul_(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1, out: Tensor | None = None) -> Tensor:
    """Return ``input + value * tensor1 * tensor2``."""

def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """Return ``beta * input + alpha * (mat1 @ mat2)``."""

def addmm_(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """Return ``beta * input + alpha * (mat1 @ mat2)``."""

def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """Return ``beta * input + alpha * (mat @ vec)``."""

def addmv_(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """Return ``beta * input + alpha * (mat @ vec)``."""

def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """Return ``beta * input + alpha * outer(vec1, vec2)``."""

def addr_(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """Return ``beta * input + alpha * outer(vec1, vec2)``."""

def adjoint(input: Tensor) -> Tensor:
    """Return the conjugate transpose of the last two dimensions."""

def affine_grid_generator(theta: Tensor, size: Any, align_corners: Any) -> Tensor:
    """Call ``nn.functional.affine_grid`` without its checks of ``theta``."""

def alias_copy(input: Tensor, *, out: Any = None) -> Tensor:
    """Apply ``alias`` to make a tensor of its own (contiguous), not a view."""

def all(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return whether all elements are nonzero (uint8 for uint8); each by itself for ``dim=()``."""

def allclose(input: Tensor, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: Any = False) -> _bool:
    """Return whether ``|input - other| <= atol + rtol * |other|`` everywhere, as a Python bool."""

def alpha_dropout(input: Tensor, p: _float, train: Any) -> Tensor:
    """Apply alpha dropout, if ``train``."""

def alpha_dropout_(input: Tensor, p: _float, train: Any) -> Tensor:
    """Apply alpha dropout, if ``train``, in place."""

def amax(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return the maximum over ``dim``; the gradient is shared evenly between ties."""

def amin(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return the minimum over ``dim``; the gradient is shared evenly between ties."""

def aminmax(input: Tensor, *, dim: Any = None, keepdim: Any = False, out: Any = None) -> Any:
    """Return the minimum and the maximum, as a named pair."""

def angle(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the argument of a complex number; 0 or pi for reals (0 for -0.0). No gradient at 0."""

def any(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return whether any element is nonzero (uint8 for uint8); each by itself for ``dim=()``."""

def arange(start: Any = None, end: Any = None, step: Any = 1, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: Any = False, pin_memory: Any = False) -> Tensor:
    """Return numbers from ``start`` (0) up to, not including, ``end`` in steps."""

def arccos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``acos`` elementwise; integers give the default float dtype."""

def arccos_(input: Tensor) -> Tensor:
    """Return ``acos`` elementwise; integers give the default float dtype."""

def arccosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``acosh`` elementwise; integers give the default float dtype."""

def arccosh_(input: Tensor) -> Tensor:
    """Return ``acosh`` elementwise; integers give the default float dtype."""

def arcsin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``asin`` elementwise; integers give the default float dtype."""

def arcsin_(input: Tensor) -> Tensor:
    """Return ``asin`` elementwise; integers give the default float dtype."""

def arcsinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``asinh`` elementwise; integers give the default float dtype."""

def arcsinh_(input: Tensor) -> Tensor:
    """Return ``asinh`` elementwise; integers give the default float dtype."""

def arctan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``atan`` elementwise; integers give the default float dtype."""

def arctan2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``atan2(input, other)`` elementwise, broadcast and promoted."""

def arctan2_(input: Tensor, other: Tensor) -> Tensor:
    """Return ``atan2(input, other)`` elementwise, broadcast and promoted."""

def arctan_(input: Tensor) -> Tensor:
    """Return ``atan`` elementwise; integers give the default float dtype."""

def arctanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``atanh`` elementwise; integers give the default float dtype."""

def arctanh_(input: Tensor) -> Tensor:
    """Return ``atanh`` elementwise; integers give the default float dtype."""

def argmax(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return the index of the maximum (first of ties; of the flattened tensor without ``dim``),
int64."""

def argmin(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return the index of the minimum (first of ties; of the flattened tensor without ``dim``),
int64."""

def argsort(input: Tensor, dim: _int = -1, descending: _bool = False, *, stable: _bool = False, out: Any = None) -> Any:
    """Return the indices that sort, as ``argsort(input, dim=-1, descending=False, *,
stable=False)``."""

def argwhere(input: Tensor) -> Tensor:
    """Return the indices of the nonzero elements, as ``nonzero(input)``."""

def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: _int | None = None) -> Tensor:
    """Return a view of the storage's memory with any size, stride and offset."""

def as_strided_copy(input: Tensor, size: Any, stride: Any, storage_offset: _int | None = None, *, out: Any = None) -> Tensor:
    """Apply ``as_strided`` to make a tensor of its own (contiguous), not a view."""

def as_strided_scatter(input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: _int | None = None) -> Tensor:
    """Return a copy of ``input`` with ``src`` written where ``as_strided`` of these arguments
looks."""

def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """Return ``data`` as a tensor, sharing memory with a NumPy array or tensor where nothing
changes."""

def asarray(obj: Any, *, dtype: Any = None, device: Any = None, copy: Any = None, requires_grad: Any = None) -> Tensor:
    """Return ``obj`` as a tensor: on the memory of a tensor, NumPy array, DLPack capsule or
buffer where dtype and device allow it (``copy=None``), always (``copy=False``, else
ValueError) or never (``copy=True``). The bytes of an UntypedStorage are read as elements of
the dtype (int64)."""

def asin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``asin`` elementwise; integers give the default float dtype."""

def asin_(input: Tensor) -> Tensor:
    """Return ``asin`` elementwise; integers give the default float dtype."""

def asinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``asinh`` elementwise; integers give the default float dtype."""

def asinh_(input: Tensor) -> Tensor:
    """Return ``asinh`` elementwise; integers give the default float dtype."""

def atan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``atan`` elementwise; integers give the default float dtype."""

def atan2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``atan2(input, other)`` elementwise, broadcast and promoted."""

def atan2_(input: Tensor, other: Tensor) -> Tensor:
    """Return ``atan2(input, other)`` elementwise, broadcast and promoted."""

def atan_(input: Tensor) -> Tensor:
    """Return ``atan`` elementwise; integers give the default float dtype."""

def atanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``atanh`` elementwise; integers give the default float dtype."""

def atanh_(input: Tensor) -> Tensor:
    """Return ``atanh`` elementwise; integers give the default float dtype."""

def atleast_1d(*tensors: Any) -> Any:
    """Return tensors with at least 1 dimensions (views); a tuple for several."""

def atleast_2d(*tensors: Any) -> Any:
    """Return tensors with at least 2 dimensions (views); a tuple for several."""

def atleast_3d(*tensors: Any) -> Any:
    """Return tensors with at least 3 dimensions (views); a tuple for several."""

def avg_pool1d(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = None, padding: _int | Sequence[_int] = 0, ceil_mode: _bool = False, count_include_pad: _bool = True, *, out: Tensor | None = None) -> Tensor:
    """Return the mean of each window of (N, C, L) or (C, L)."""

def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """Return ``beta * input + alpha * (batch1 @ batch2)``."""

def baddbmm_(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """Return ``beta * input + alpha * (batch1 @ batch2)``."""

def bartlett_window(window_length: _int, periodic: Any = True, *args: Any, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = False, requires_grad: Any = False, **kwargs: Any) -> Tensor:
    """Return the bartlett window, periodic unless told otherwise."""

def batch_norm(input: Tensor, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: Any, momentum: _float, eps: _float, cudnn_enabled: Any = False) -> Tensor:
    """Call ``nn.functional.batch_norm`` with torch.batch_norm's order of arguments."""

def bernoulli(input: Tensor, p: Any = None, *, generator: Any = None, out: Any = None) -> Tensor:
    """Draw zeros and ones by the probabilities in ``input`` (or with one probability ``p``)."""

def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return ``input1 @ W_k @ input2 + bias_k`` for each output k."""

def binary_cross_entropy_with_logits(input: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: Any = 0) -> Any:
    """Call ``nn.functional.binary_cross_entropy_with_logits`` with the reduction as a number: 0 none, 1 mean, 2 sum."""

def bincount(input: Tensor, weights: Tensor | None = None, minlength: _int = 0) -> Tensor:
    """Return how often each value of a vector of non-negative integers occurs (or its summed
weights)."""

def binomial(count: Tensor, prob: Tensor, generator: Any = None) -> Tensor:
    """Draw the number of successes in ``count`` trials of probability ``prob``, which broadcast
together."""

def bitwise_and(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Return ``bitwise_and`` of integers or bools."""

def bitwise_and_(input: Tensor, other: Any) -> Tensor:
    """Apply ``bitwise_and`` in place."""

def bitwise_left_shift(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Return ``bitwise_left_shift`` of integers or bools."""

def bitwise_left_shift_(input: Tensor, other: Any) -> Tensor:
    """Apply ``bitwise_left_shift`` in place."""

def bitwise_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Invert the bits; logical not for bools."""

def bitwise_not_(input: Tensor) -> Tensor:
    """Invert the bits; logical not for bools."""

def bitwise_or(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Return ``bitwise_or`` of integers or bools."""

def bitwise_or_(input: Tensor, other: Any) -> Tensor:
    """Apply ``bitwise_or`` in place."""

def bitwise_right_shift(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Return ``bitwise_right_shift`` of integers or bools."""

def bitwise_right_shift_(input: Tensor, other: Any) -> Tensor:
    """Apply ``bitwise_right_shift`` in place."""

def bitwise_xor(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Return ``bitwise_xor`` of integers or bools."""

def bitwise_xor_(input: Tensor, other: Any) -> Tensor:
    """Apply ``bitwise_xor`` in place."""

def blackman_window(window_length: _int, periodic: Any = True, *args: Any, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = False, requires_grad: Any = False, **kwargs: Any) -> Tensor:
    """Return the blackman window, periodic unless told otherwise."""

def block_diag(*tensors: Tensor) -> Tensor:
    """Place matrices along the diagonal of a zero matrix; vectors are rows."""

def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the product of two batches of matrices."""

def broadcast_shapes(*shapes: Any) -> _Size:
    """Return the shape that tensors of these shapes broadcast to."""

def broadcast_tensors(*tensors: Any) -> _tuple[Tensor, ...]:
    """Return the tensors expanded to one shape, as views; those that have it are returned as they
are."""

def broadcast_to(input: Tensor, size: Any) -> Tensor:
    """Expand to ``size``."""

def bucketize(input: Any, boundaries: Tensor, *, out_int32: Any = False, right: Any = False, out: Any = None) -> Tensor:
    """Return the index of the bucket of each value; a value on a boundary belongs to the bucket
below it, or with ``right`` to the one above."""

def can_cast(from_: Any, to: Any) -> _bool:
    """Return whether a result of dtype ``from_`` may be stored in a tensor of dtype ``to``."""

def cartesian_prod(*tensors: Any) -> Tensor:
    """Return all combinations of one element of each vector, as rows."""

def cat(tensors: Any, dim: _int = 0, *, out: Any = None, axis: Any = None) -> Tensor:
    """Join tensors one after the other along ``dim``; dtypes are promoted."""

def cdist(x1: Tensor, x2: Tensor, p: _float = 2.0, compute_mode: _str = 'use_mm_for_euclid_dist_if_necessary') -> Tensor:
    """Return the p-norm distance of every row of ``x1`` to every row of ``x2``. (..., P, M), (...,
R, M) to (..., P, R)."""

def ceil(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``ceil`` elementwise; integers stay as they are; the gradient is zero."""

def ceil_(input: Tensor) -> Tensor:
    """Return ``ceil`` elementwise; integers stay as they are; the gradient is zero."""

def celu(input: Tensor, alpha: _float = 1.0, *, out: Tensor | None = None) -> Tensor:
    """Return ``input`` where positive, else ``alpha * (exp(input / alpha) - 1)`` (Barron 2017)."""

def celu_(input: Tensor, alpha: _float = 1.0) -> Tensor:
    """Return ``input`` where positive, else ``alpha * (exp(input / alpha) - 1)`` (Barron 2017)."""

def chain_matmul(*matrices: Tensor) -> Tensor:
    """Return the product of several matrices, left to right."""

def channel_shuffle(input: Tensor, groups: _int, *, out: Tensor | None = None) -> Tensor:
    """Interleave the channels of ``groups`` groups (Zhang et al. 2018)."""

def cholesky(input: Tensor, upper: Any = False, *, out: Any = None) -> Tensor:
    """Compute ``linalg.cholesky``. RuntimeError where PyTorch 2.14 or later is followed."""

def cholesky_inverse(input: Tensor, upper: Any = False, *, out: Any = None) -> Tensor:
    """Return the inverse of a matrix from its Cholesky factor."""

def cholesky_solve(input: Tensor, input2: Tensor, upper: Any = False, *, out: Any = None) -> Tensor:
    """Return X with ``(L @ L.mH) @ X = input`` from the Cholesky factor L = ``input2``."""

def chunk(input: Tensor, chunks: _int, dim: _int = 0) -> _tuple[Tensor, ...]:
    """Return at most ``chunks`` consecutive views of (nearly) equal size."""

def clamp(input: Tensor, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
    """Limit values to ``[min, max]`` (numbers or tensors; either may be None)."""

def clamp_(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """Limit values to ``[min, max]`` (numbers or tensors; either may be None)."""

def clamp_max(input: Tensor, max: Any, *, out: Tensor | None = None) -> Tensor:
    """Limit values from above: ``clamp(input, max=max)``."""

def clamp_max_(input: Tensor, max: Any) -> Tensor:
    """Limit values from above: ``clamp(input, max=max)``."""

def clamp_min(input: Tensor, min: Any, *, out: Tensor | None = None) -> Tensor:
    """Limit values from below: ``clamp(input, min=min)``."""

def clamp_min_(input: Tensor, min: Any) -> Tensor:
    """Limit values from below: ``clamp(input, min=min)``."""

def clip(input: Tensor, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
    """Limit values to ``[min, max]`` (numbers or tensors; either may be None)."""

def clip_(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """Limit values to ``[min, max]`` (numbers or tensors; either may be None)."""

def clone(input: Tensor, *, memory_format: Any = ...) -> Tensor:
    """Return a copy with the same values and (by default) the same memory order."""

def column_stack(tensors: Any, *, out: Any = None) -> Tensor:
    """Join tensors along dimension 1; vectors are columns."""

def combinations(input: Tensor, r: _int = 2, with_replacement: Any = False) -> Tensor:
    """Return all selections of ``r`` elements of a vector, as rows."""

def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return a complex tensor from real and imaginary parts. RuntimeError unless the dtypes
agree."""

def concat(tensors: Any, dim: _int = 0, *, out: Any = None, axis: Any = None) -> Tensor:
    """Join tensors one after the other along ``dim``; dtypes are promoted."""

def concatenate(tensors: Any, dim: _int = 0, *, out: Any = None, axis: Any = None) -> Tensor:
    """Join tensors one after the other along ``dim``; dtypes are promoted."""

def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ...) -> Any:
    """Call ``true_fn(*operands)`` if ``pred`` (a bool, or a tensor of one element), else
``false_fn``."""

def conj(input: Tensor) -> Tensor:
    """Return the conjugate: a view of a complex tensor, a real tensor itself."""

def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the conjugate, computed rather than viewed."""

def conj_physical_(input: Tensor) -> Tensor:
    """Return the conjugate, computed rather than viewed."""

def constant_pad_nd(input: Tensor, pad: Any, value: Any = 0) -> Tensor:
    """Pad with a constant, as ``nn.functional.pad``."""

def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | Sequence[_int] = 1, padding: _int | Sequence[_int] | _str = 0, dilation: _int | Sequence[_int] = 1, groups: _int = 1, *, out: Tensor | None = None) -> Tensor:
    """Compute the cross-correlation over 1 spatial
dimension."""

def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | Sequence[_int] = 1, padding: _int | Sequence[_int] | _str = 0, dilation: _int | Sequence[_int] = 1, groups: _int = 1, *, out: Tensor | None = None) -> Tensor:
    """Compute the cross-correlation over 2 spatial
dimensions."""

def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | Sequence[_int] = 1, padding: _int | Sequence[_int] | _str = 0, dilation: _int | Sequence[_int] = 1, groups: _int = 1, *, out: Tensor | None = None) -> Tensor:
    """Compute the cross-correlation over 3 spatial
dimensions."""

def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: Any = 0) -> Tensor:
    """Convolve over time. input (T, N, C_in), weight (K, C_in, C_out), bias (C_out): (T + 2 pad - K
+ 1, N, C_out)."""

def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | Sequence[_int] = 1, padding: _int | Sequence[_int] = 0, output_padding: _int | Sequence[_int] = 0, groups: _int = 1, dilation: _int | Sequence[_int] = 1, *, out: Tensor | None = None) -> Tensor:
    """Compute the transposed convolution over 1 spatial
dimension."""

def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | Sequence[_int] = 1, padding: _int | Sequence[_int] = 0, output_padding: _int | Sequence[_int] = 0, groups: _int = 1, dilation: _int | Sequence[_int] = 1, *, out: Tensor | None = None) -> Tensor:
    """Compute the transposed convolution over 2 spatial
dimensions."""

def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | Sequence[_int] = 1, padding: _int | Sequence[_int] = 0, output_padding: _int | Sequence[_int] = 0, groups: _int = 1, dilation: _int | Sequence[_int] = 1, *, out: Tensor | None = None) -> Tensor:
    """Compute the transposed convolution over 3 spatial
dimensions."""

def convolution(input: Tensor, weight: Tensor, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: Any, output_padding: Any, groups: _int) -> Tensor:
    """Compute any convolution, by the number of dimensions of a batch ``input``: (N, C, …)."""

def copysign(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Return ``copysign(input, other)`` elementwise, broadcast and promoted."""

def copysign_(input: Tensor, other: Tensor | Number) -> Tensor:
    """Return ``copysign(input, other)`` elementwise, broadcast and promoted."""

def corrcoef(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return Pearson's correlation of variables in rows, observations in columns."""

def cos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``cos`` elementwise; integers give the default float dtype."""

def cos_(input: Tensor) -> Tensor:
    """Return ``cos`` elementwise; integers give the default float dtype."""

def cosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``cosh`` elementwise; integers give the default float dtype."""

def cosh_(input: Tensor) -> Tensor:
    """Return ``cosh`` elementwise; integers give the default float dtype."""

def cosine_embedding_loss(input1: Any, input2: Any, target: Any, margin: Any = 0.0, reduction: Any = 0) -> Any:
    """Call ``nn.functional.cosine_embedding_loss`` with the reduction as a number: 0 none, 1 mean, 2 sum."""

def cosine_similarity(x1: Tensor, x2: Tensor, dim: _int = 1, eps: _float = 1e-08, *, out: Tensor | None = None) -> Tensor:
    """Return ``x1 · x2 / (max(|x1|, eps) max(|x2|, eps))`` along ``dim``, broadcast."""

def count_nonzero(input: Tensor, dim: _int | Sequence[_int] | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return how many elements are nonzero, as int64."""

def cov(input: Tensor, *, correction: _int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
    """Return the covariance matrix of variables in rows, observations in columns."""

def cross(input: Tensor, other: Tensor, dim: _int | None = None, *, out: Any = None) -> Tensor:
    """Return the cross product along ``dim`` (the first of size 3 by default)."""

def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: _int = 0, reduction: _int = 0, zero_infinity: _bool = False) -> Tensor:
    """Compute ``nn.functional.ctc_loss`` with the reduction as a number: 0 none, 1 mean, 2 sum."""

def cummax(input: Tensor, dim: _int, *, out: Sequence[Tensor] | None = None) -> Any:
    """Return the running maximum and its index (last of ties)."""

def cummin(input: Tensor, dim: _int, *, out: Sequence[Tensor] | None = None) -> Any:
    """Return the running minimum and its index (last of ties)."""

def cumprod(input: Tensor, dim: _int, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """Return the running product along ``dim``."""

def cumprod_(input: Tensor, dim: _int, *, dtype: _dtype | None = None) -> Tensor:
    """Return the running product along ``dim``."""

def cumsum(input: Tensor, dim: _int, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """Return the running sum along ``dim``."""

def cumsum_(input: Tensor, dim: _int, *, dtype: _dtype | None = None) -> Tensor:
    """Return the running sum along ``dim``."""

def cumulative_trapezoid(y: Tensor, x: Any = None, *, dx: Any = None, dim: _int = -1) -> Tensor:
    """Return the running integral along ``dim`` by the trapezoidal rule; one element shorter."""

def deg2rad(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``deg2rad`` elementwise; integers give the default float dtype."""

def deg2rad_(input: Tensor) -> Tensor:
    """Return ``deg2rad`` elementwise; integers give the default float dtype."""

def dequantize(*args: Any, **kwargs: Any) -> Any:
    """Not supported: there are no quantized tensors. Use instead: a floating dtype of fewer bits, such as bfloat16."""

def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the determinant of square matrices."""

def detach(input: Tensor) -> Tensor:
    """Return a tensor on the same memory without autograd history."""

def detach_(input: Tensor) -> Tensor:
    """Drop the autograd history of this tensor. RuntimeError for views."""

def detach_copy(input: Tensor, *, out: Any = None) -> Tensor:
    """Apply ``detach`` to make a tensor of its own (contiguous), not a view."""

def diag(input: Tensor, diagonal: _int = 0, *, out: Any = None) -> Tensor:
    """Return the matrix with a vector as its diagonal; of a matrix, a copy of its diagonal."""

def diag_embed(input: Tensor, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
    """Place the last dimension on the ``offset`` diagonal of two new dimensions."""

def diagflat(input: Tensor, offset: _int = 0) -> Tensor:
    """Return the matrix with the flattened tensor as its diagonal."""

def diagonal(input: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
    """Return a view of the diagonal of two dimensions as a new last one."""

def diagonal_copy(input: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1, *, out: Any = None) -> Tensor:
    """Apply ``diagonal`` to make a tensor of its own (contiguous), not a view."""

def diagonal_scatter(input: Tensor, src: Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Tensor:
    """Return a copy of ``input`` in which its diagonal is ``src``."""

def diff(input: Tensor, n: _int = 1, dim: _int = -1, prepend: Tensor | None = None, append: Tensor | None = None, *, out: Any = None) -> Tensor:
    """Return the ``n``-th differences of neighbours along ``dim``, with ``prepend`` and ``append``
joined on first."""

def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``digamma`` elementwise; integers give the default float dtype."""

def digamma_(input: Tensor) -> Tensor:
    """Return ``digamma`` elementwise; integers give the default float dtype."""

def dist(input: Tensor, other: Tensor, p: Number = 2, *, out: Tensor | None = None) -> Tensor:
    """Return the p-norm of ``input - other``."""

def div(input: Any, other: Any, *, rounding_mode: Any = None, out: Any = None) -> Tensor:
    """Return ``input / other``; with ``rounding_mode`` "trunc" or "floor", rounded,
and integers stay."""

def div_(input: Tensor, other: Any, *, rounding_mode: Any = None) -> Tensor:
    """Apply ``div`` in place."""

def divide(input: Any, other: Any, *, rounding_mode: Any = None, out: Any = None) -> Tensor:
    """Return ``input / other``; with ``rounding_mode`` "trunc" or "floor", rounded,
and integers stay."""

def divide_(input: Tensor, other: Any, *, rounding_mode: Any = None) -> Tensor:
    """Apply ``div`` in place."""

def dot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the inner product of two vectors."""

def dropout(input: Tensor, p: _float, train: Any) -> Tensor:
    """Zero elements with probability p and scale the rest, if ``train``."""

def dropout_(input: Tensor, p: _float, train: Any) -> Tensor:
    """Zero elements with probability p and scale the rest, if ``train``, in place."""

def dsmm(input: Any, mat2: Any) -> Tensor:
    """Multiply two matrices, of which one may be sparse; ``dsmm`` is its older name."""

def dsplit(input: Tensor, indices_or_sections: Any) -> _tuple[Tensor, ...]:
    """Split as ``tensor_split`` along a fixed dimension, into equal sections."""

def dstack(tensors: Any, *, out: Any = None) -> Tensor:
    """Join tensors along dimension 2."""

def eig(*args: Any, **kwargs: Any) -> Any:
    """Raise RuntimeError naming ``linalg.eig``: removed from PyTorch."""

def einsum(equation: Any, *operands: Any) -> Tensor:
    """Compute sums of products in Einstein's notation: ``einsum("bij,bjk->bik", a, b)``, or with
lists of numbers in place of letters: ``einsum(a, [0, 1, 2], b, [0, 2, 3], [0, 1, 3])``."""

def embedding(weight: Tensor, indices: Tensor, padding_idx: _int = -1, scale_grad_by_freq: Any = False, sparse: Any = False) -> Tensor:
    """Call ``nn.functional.embedding`` with torch.embedding's order of arguments."""

def embedding_bag(weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: Any = False, mode: _int = 0, sparse: Any = False, per_sample_weights: Tensor | None = None, include_last_offset: Any = False, padding_idx: _int | None = None) -> _tuple[Tensor, Tensor, Tensor, Tensor]:
    """Apply ``nn.functional.embedding_bag`` to a flat list, with numbered modes: 0 sum, 1 mean, 2
max."""

def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: _float, norm_type: _float) -> Tensor:
    """Scale the rows of ``input`` at ``indices`` down to a norm of ``max_norm``, in place."""

def empty(*size: Any, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: Any = False, pin_memory: Any = False, memory_format: Any = None, **kw: Any) -> Tensor:
    """Return a tensor of the given size, in memory in the order of ``memory_format``."""

def empty_like(input: Tensor, *args: Any, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: Any = False, pin_memory: Any = False, memory_format: Any = None, **kw: Any) -> Tensor:
    """Return ``empty`` with the size and dtype of
``input``."""

def empty_permuted(size: Any, physical_layout: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: Any = False, pin_memory: Any = False) -> Tensor:
    """Return a tensor whose dimensions lie in memory in the order ``physical_layout``, slowest
first."""

def empty_strided(size: Any, stride: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: Any = False, pin_memory: Any = False) -> Tensor:
    """Return a tensor with the given strides, filled as ``empty`` fills it."""

def eq(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Return ``eq`` elementwise; a bool tensor."""

def eq_(input: Tensor, other: Tensor | Number) -> Tensor:
    """Return ``eq`` elementwise; a bool tensor."""

def equal(input: Tensor, other: Tensor) -> _bool:
    """Return whether two tensors have the same size and elements, as a Python bool."""

def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``erf`` elementwise; integers give the default float dtype."""

def erf_(input: Tensor) -> Tensor:
    """Return ``erf`` elementwise; integers give the default float dtype."""

def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``erfc`` elementwise; integers give the default float dtype."""

def erfc_(input: Tensor) -> Tensor:
    """Return ``erfc`` elementwise; integers give the default float dtype."""

def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``erfinv`` elementwise; integers give the default float dtype."""

def erfinv_(input: Tensor) -> Tensor:
    """Return ``erfinv`` elementwise; integers give the default float dtype."""

def exp(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``exp`` elementwise; integers give the default float dtype."""

def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``exp2`` elementwise; integers give the default float dtype."""

def exp2_(input: Tensor) -> Tensor:
    """Return ``exp2`` elementwise; integers give the default float dtype."""

def exp_(input: Tensor) -> Tensor:
    """Return ``exp`` elementwise; integers give the default float dtype."""

def expand_copy(input: Any, size: Any, *, implicit: Any = False, out: Any = None) -> Any:
    """Apply ``expand`` to make a tensor of its own (contiguous), not a view."""

def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``expm1`` elementwise; integers give the default float dtype."""

def expm1_(input: Tensor) -> Tensor:
    """Return ``expm1`` elementwise; integers give the default float dtype."""

def eye(n: _int, m: _int | None = None, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: Any = False) -> Tensor:
    """Return the identity matrix of n rows (and m columns)."""

def fake_quantize_per_channel_affine(input: Tensor, scale: Tensor, zero_point: Tensor, axis: _int, quant_min: _int, quant_max: _int) -> Tensor:
    """Quantize and dequantize as ``fake_quantize_per_tensor_affine`` does, with a scale and zero
point for each index of ``axis``."""

def fake_quantize_per_tensor_affine(input: Tensor, scale: Any, zero_point: Any, quant_min: _int, quant_max: _int) -> Tensor:
    """Return the nearest of the values ``(level - zero_point) * scale``, for whole levels from
``quant_min`` to ``quant_max``. The gradient is passed on where the level is in that range."""

def feature_alpha_dropout(input: Tensor, p: _float, train: Any) -> Tensor:
    """Apply alpha dropout to whole channels, if ``train``."""

def feature_alpha_dropout_(input: Tensor, p: _float, train: Any) -> Tensor:
    """Apply alpha dropout to whole channels, if ``train``, in place."""

def feature_dropout(input: Tensor, p: _float, train: Any) -> Tensor:
    """Apply dropout to whole channels, if ``train``."""

def feature_dropout_(input: Tensor, p: _float, train: Any) -> Tensor:
    """Apply dropout to whole channels, if ``train``, in place."""

def fill(input: Tensor, value: Any, *, out: Tensor | None = None) -> Tensor:
    """Return ``input`` with every element replaced by a number or 0-dim tensor."""

def fill_(input: Tensor, value: Any) -> Tensor:
    """Return ``input`` with every element replaced by a number or 0-dim tensor."""

def fix(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``trunc`` elementwise; integers stay as they are; the gradient is zero."""

def fix_(input: Tensor) -> Tensor:
    """Return ``trunc`` elementwise; integers stay as they are; the gradient is zero."""

def flatten(input: Tensor, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
    """Join the dimensions ``start_dim..end_dim`` into one (a view where possible)."""

def flip(input: Tensor, *dims: Any, **kwargs: Any) -> Tensor:
    """Return a copy with the order reversed along ``dims``."""

def fliplr(input: Tensor) -> Tensor:
    """Return a copy with columns in reversed order."""

def flipud(input: Tensor) -> Tensor:
    """Return a copy with rows in reversed order."""

def float_power(input: Tensor | Number, exponent: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Return ``input ** exponent`` in double precision."""

def floor(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``floor`` elementwise; integers stay as they are; the gradient is zero."""

def floor_(input: Tensor) -> Tensor:
    """Return ``floor`` elementwise; integers stay as they are; the gradient is zero."""

def floor_divide(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """Return the quotient rounded toward negative infinity."""

def floor_divide_(input: Tensor, other: Any) -> Tensor:
    """Apply ``floor_divide`` in place."""

def fmax(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``fmax(input, other)`` elementwise, broadcast and promoted."""

def fmin(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``fmin(input, other)`` elementwise, broadcast and promoted."""

def fmod(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """Return the C remainder: the sign of the dividend."""

def fmod_(input: Tensor, other: Any) -> Tensor:
    """Apply ``fmod`` in place."""

def frac(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``input - trunc(input)``."""

def frac_(input: Tensor) -> Tensor:
    """Return ``input - trunc(input)``."""

def frexp(input: Tensor, *, out: Any = None) -> Any:
    """Split ``input`` into ``mantissa * 2 ** exponent``, the mantissa's size in [0.5, 1): a named
pair."""

def frobenius_norm(input: Tensor, dim: Any = None, keepdim: Any = False, *, out: Any = None) -> Tensor:
    """Return the 2-norm over ``dim``."""

def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: Any = None) -> Tensor:
    """Return a tensor from any object with ``__dlpack__``, or from a capsule of the CPU's memory. A
tensor's memory, and that of an object on the CPU, is shared: each side sees the other's writes."""

def from_file(filename: _str, shared: _bool | None = None, size: _int | None = 0, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = False, requires_grad: Any = False) -> Tensor:
    """Return a tensor of ``size`` elements on the memory of a mapped file. With ``shared``, writes
reach the file, which is created where it is missing and made as long as it has to be.
RuntimeError for a file that cannot be opened or (not ``shared``) is shorter."""

def from_numpy(ndarray: Any) -> Tensor:
    """Return a tensor sharing memory with a NumPy array: each side sees the other's writes."""

def frombuffer(buffer: Any, *, dtype: Any, count: _int = -1, offset: _int = 0, requires_grad: Any = False) -> Tensor:
    """Return a 1-D tensor of ``count`` elements (negative: all) on the memory of a Python buffer,
from byte ``offset`` on."""

def full(size: Any, fill_value: Any, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: Any = False, pin_memory: Any = False) -> Tensor:
    """Return a tensor of the given size filled with a number (whose type decides the dtype)."""

def full_like(input: Tensor, *args: Any, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: Any = False, pin_memory: Any = False, memory_format: Any = None, **kw: Any) -> Tensor:
    """Return ``full`` with the size and dtype of
``input``."""

def fused_moving_avg_obs_fake_quant(input: Tensor, observer_on: Tensor, fake_quant_on: Tensor, running_min: Tensor, running_max: Tensor, scale: Tensor, zero_point: Tensor, averaging_const: _float, quant_min: _int, quant_max: _int, ch_axis: _int, per_row_fake_quant: _bool = False, symmetric_quant: _bool = False) -> Tensor:
    """Observe a tensor's range and round the tensor to levels, by two switches (tensors of one
element)."""

def gather(input: Tensor, dim: _int, index: Tensor, *, sparse_grad: _bool = False, out: Tensor | None = None) -> Tensor:
    """Gather values along a dimension: ``out[i][j] = input[index[i][j]][j]`` for ``dim`` 0."""

def gcd(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``gcd(input, other)`` elementwise, broadcast and promoted."""

def gcd_(input: Tensor, other: Tensor) -> Tensor:
    """Return ``gcd(input, other)`` elementwise, broadcast and promoted."""

def ge(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Return ``ge`` elementwise; a bool tensor."""

def ge_(input: Tensor, other: Tensor | Number) -> Tensor:
    """Return ``ge`` elementwise; a bool tensor."""

def geqrf(input: Tensor, *, out: Any = None) -> Any:
    """Return the compact QR factorization: reflectors below the diagonal, R on and above it, and
tau."""

def ger(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return every product of an element of one vector with one of the other."""

def get_device(input: Tensor) -> _int:
    """Return ``input.get_device()``."""

def gradient(input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: _int = 1) -> _tuple[Any, ...]:
    """Return estimated derivatives along each of ``dim`` (all by default), as a tuple of tensors."""

def greater(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Return ``gt`` elementwise; a bool tensor."""

def greater_(input: Tensor, other: Tensor | Number) -> Tensor:
    """Return ``gt`` elementwise; a bool tensor."""

def greater_equal(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Return ``ge`` elementwise; a bool tensor."""

def greater_equal_(input: Tensor, other: Tensor | Number) -> Tensor:
    """Return ``ge`` elementwise; a bool tensor."""

def grid_sampler(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: Any) -> Tensor:
    """Call ``nn.functional.grid_sample`` with its modes as numbers."""

def grid_sampler_2d(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: Any) -> Tensor:
    """Call ``nn.functional.grid_sample`` with its modes as numbers."""

def grid_sampler_3d(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: Any) -> Tensor:
    """Call ``nn.functional.grid_sample`` with its modes as numbers."""

def group_norm(input: Tensor, num_groups: _int, weight: Any = None, bias: Any = None, eps: _float = 1e-05, cudnn_enabled: Any = True) -> Tensor:
    """Call ``nn.functional.group_norm``."""

def gru(input: Tensor, *arguments: Any) -> _tuple[Any, ...]:
    """Run all layers of the gru over a sequence, with ``hx = h_0``."""

def gru_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """Compute one step of the gru: the new hidden state."""

def gt(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Return ``gt`` elementwise; a bool tensor."""

def gt_(input: Tensor, other: Tensor | Number) -> Tensor:
    """Return ``gt`` elementwise; a bool tensor."""

def hamming_window(window_length: _int, periodic: Any = True, *args: Any, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = False, requires_grad: Any = False, **kwargs: Any) -> Tensor:
    """Return the hamming window, periodic unless told otherwise."""

def hann_window(window_length: _int, periodic: Any = True, *args: Any, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = False, requires_grad: Any = False, **kwargs: Any) -> Tensor:
    """Return the hann window, periodic unless told otherwise."""

def hardshrink(input: Tensor, lambd: _float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """Return ``input`` where ``|input| > lambd``, else 0."""

def hash_tensor(input: Tensor, dim: Any = ..., *, keepdim: Any = False, mode: _int = 0, out: Any = None) -> Tensor:
    """Return a uint64 hash: the exclusive or of all elements, floats by the bits of their float64
value."""

def heaviside(input: Tensor, values: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return 0 below zero, 1 above, ``values`` at zero. RuntimeError for operands of two dtypes."""

def heaviside_(input: Tensor, values: Tensor) -> Tensor:
    """Return 0 below zero, 1 above, ``values`` at zero. RuntimeError for operands of two dtypes."""

def hinge_embedding_loss(input: Any, target: Any, margin: Any = 1.0, reduction: Any = 0) -> Any:
    """Call ``nn.functional.hinge_embedding_loss`` with the reduction as a number: 0 none, 1 mean, 2 sum."""

def histc(input: Tensor, bins: _int = 100, min: Number = 0, max: Number = 0, *, out: Tensor | None = None) -> Tensor:
    """Count how many elements fall into each of ``bins`` equal intervals from ``min`` to ``max``
(of the data when they are equal); the last includes its end, what is outside does not count."""

def histogram(input: Tensor, bins: Any = 100, *, range: Any = None, weight: Tensor | None = None, density: Any = False, out: Any = None) -> Any:
    """Return the counts (or summed weights, or a density) in ``bins`` equal intervals or between
given edges, and the edges: a named pair."""

def histogramdd(input: Tensor, bins: Any, *, range: Any = None, weight: Tensor | None = None, density: Any = False, out: Any = None) -> Any:
    """Return a histogram of points (..., N): an N-dimensional tensor, and N tensors of edges."""

def hsmm(mat1: Any, mat2: Any) -> Any:
    """Multiply a sparse matrix by a dense one, (n, m) and (m, k): the result has the rows that have
elements, with one sparse and one dense dimension. Raises RuntimeError for others, and
JitCaptureError under a jit."""

def hsplit(input: Tensor, indices_or_sections: Any) -> _tuple[Tensor, ...]:
    """Split as ``tensor_split`` along a fixed dimension, into equal sections."""

def hspmm(mat1: Any, mat2: Any) -> Any:
    """Multiply a sparse matrix by a dense one, (n, m) and (m, k): the result has the rows that have
elements, with one sparse and one dense dimension. Raises RuntimeError for others, and
JitCaptureError under a jit."""

def hstack(tensors: Any, *, out: Any = None) -> Tensor:
    """Join tensors along dimension 1 (0 for vectors)."""

def hypot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``hypot(input, other)`` elementwise, broadcast and promoted."""

def hypot_(input: Tensor, other: Tensor) -> Tensor:
    """Return ``hypot(input, other)`` elementwise, broadcast and promoted."""

def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``i0`` elementwise; integers give the default float dtype."""

def i0_(input: Tensor) -> Tensor:
    """Return ``i0`` elementwise; integers give the default float dtype."""

def igamma(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``igamma(input, other)`` elementwise, broadcast and promoted."""

def igamma_(input: Tensor, other: Tensor) -> Tensor:
    """Return ``igamma(input, other)`` elementwise, broadcast and promoted."""

def igammac(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``igammac(input, other)`` elementwise, broadcast and promoted."""

def igammac_(input: Tensor, other: Tensor) -> Tensor:
    """Return ``igammac(input, other)`` elementwise, broadcast and promoted."""

def imag(input: Tensor) -> Tensor:
    """Return the imaginary part, a view. RuntimeError for real tensors."""

def index_add(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """Add ``alpha * source`` to the slices of a dimension at the positions in a vector."""

def index_add_(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, alpha: Number = 1) -> Tensor:
    """Add ``alpha * source`` to the slices of a dimension at the positions in a vector."""

def index_copy(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Write ``source`` over the slices of a dimension at the positions in a vector."""

def index_copy_(input: Tensor, dim: _int, index: Tensor, source: Tensor) -> Tensor:
    """Write ``source`` over the slices of a dimension at the positions in a vector."""

def index_fill(input: Tensor, dim: _int, index: Tensor, value: Any, *, out: Tensor | None = None) -> Tensor:
    """Write a number over the slices of a dimension at the positions in a vector."""

def index_fill_(input: Tensor, dim: _int, index: Tensor, value: Any) -> Tensor:
    """Write a number over the slices of a dimension at the positions in a vector."""

def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: Any = False) -> Tensor:
    """Return a copy of ``input`` with ``values`` written (or added) at index tensors."""

def index_put_(input: Tensor, indices: Any, values: Tensor, accumulate: Any = False) -> Tensor:
    """Write (or add) ``values`` at index tensors, in place."""

def index_reduce(input: Tensor, dim: _int, index: Tensor, source: Tensor, reduce: _str, *, include_self: _bool = True, out: Tensor | None = None) -> Tensor:
    """Combine slices of ``source`` into a dimension by "prod", "mean", "amax" or "amin"."""

def index_reduce_(input: Tensor, dim: _int, index: Tensor, source: Tensor, reduce: _str, *, include_self: _bool = True) -> Tensor:
    """Combine slices of ``source`` into a dimension by "prod", "mean", "amax" or "amin"."""

def index_select(input: Tensor, dim: _int, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the slices of a dimension at the positions in a vector. Out of range: IndexError for
the first dimension, RuntimeError for others."""

def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the products summed over the last dimensions."""

def instance_norm(input: Tensor, weight: Any, bias: Any, running_mean: Any, running_var: Any, use_input_stats: Any, momentum: _float, eps: _float, cudnn_enabled: Any = False) -> Tensor:
    """Call ``nn.functional.instance_norm`` with torch.instance_norm's order of arguments."""

def int_repr(*args: Any, **kwargs: Any) -> Any:
    """Not supported: there are no quantized tensors. Use instead: a floating dtype of fewer bits, such as bfloat16."""

def inverse(input: Tensor, *, out: Any = None) -> Tensor:
    """Compute ``linalg.inv``."""

def is_complex(input: Tensor) -> Any:
    """Return ``input.is_complex()``."""

def is_conj(input: Tensor) -> _bool:
    """Return whether a tensor is a conjugated view (conjugation not carried out in memory)."""

def is_distributed(input: Tensor) -> _bool:
    """Return False: a tensor lives in one process."""

def is_floating_point(input: Tensor) -> Any:
    """Return ``input.is_floating_point()``."""

def is_inference(input: Tensor) -> Any:
    """Return ``input.is_inference()``."""

def is_neg(input: Tensor) -> _bool:
    """Return whether a tensor is a negated view (``x.conj().imag``)."""

def is_nonzero(input: Tensor) -> _bool:
    """Return whether a tensor of one element is not zero. RuntimeError for any other size."""

def is_same_size(input: Tensor, other: Tensor) -> _bool:
    """Return whether two tensors have the same size."""

def is_signed(input: Tensor) -> Any:
    """Return ``input.is_signed()``."""

def is_storage(obj: Any) -> _bool:
    """Return whether ``obj`` is a storage."""

def is_tensor(obj: Any) -> _bool:
    """Return whether ``obj`` is a tensor."""

def isclose(input: Tensor, other: Tensor, rtol: Number = 1e-05, atol: Number = 1e-08, equal_nan: Tensor | Number = False, *, out: Tensor | None = None) -> Tensor:
    """Return whether ``|input - other| <= atol + rtol * |other|``."""

def isfinite(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``isfinite`` elementwise; a bool tensor."""

def isin(elements: Any, test_elements: Any, *, assume_unique: Any = False, invert: Any = False, out: Any = None) -> Tensor:
    """Return whether each element is among ``test_elements`` (with ``invert``: is not)."""

def isinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``isinf`` elementwise; a bool tensor."""

def isnan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``isnan`` elementwise; a bool tensor."""

def isneginf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``isneginf`` elementwise; a bool tensor."""

def isposinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``isposinf`` elementwise; a bool tensor."""

def isreal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``isreal`` elementwise; a bool tensor."""

def istft(input: Tensor, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: Any = True, normalized: Any = False, onesided: Any = None, length: _int | None = None, return_complex: Any = False) -> Tensor:
    """Return the inverse of ``stft``: (…, frequency, frame) to (…, time)."""

def kaiser_window(window_length: _int, periodic: Any = True, *args: Any, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = False, requires_grad: Any = False, **kwargs: Any) -> Tensor:
    """Return the kaiser window, periodic unless told otherwise."""

def kl_div(input: Any, target: Any, reduction: Any = 0, log_target: Any = False) -> Any:
    """Call ``nn.functional.kl_div`` with the reduction as a number: 0 none, 1 mean, 2 sum."""

def kron(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the Kronecker product."""

def kthvalue(input: Tensor, k: _int, dim: _int = -1, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None) -> Any:
    """Return the ``k``-th smallest value along a dimension (k counts from 1), and its index."""

def layer_norm(input: Tensor, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: _float = 1e-05, cudnn_enable: Any = True) -> Tensor:
    """Call ``nn.functional.layer_norm``."""

def lcm(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``lcm(input, other)`` elementwise, broadcast and promoted."""

def lcm_(input: Tensor, other: Tensor) -> Tensor:
    """Return ``lcm(input, other)`` elementwise, broadcast and promoted."""

def ldexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``input * 2 ** other``: of integer exponents exactly, in the dtype of ``input``;
integers give the default float dtype."""

def ldexp_(input: Tensor, other: Tensor) -> Tensor:
    """Return ``input * 2 ** other``: of integer exponents exactly, in the dtype of ``input``;
integers give the default float dtype."""

def le(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Return ``le`` elementwise; a bool tensor."""

def le_(input: Tensor, other: Tensor | Number) -> Tensor:
    """Return ``le`` elementwise; a bool tensor."""

def lerp(input: Tensor, end: Tensor, weight: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Return ``input + weight * (end - input)``, computed from the nearer end as PyTorch does."""

def lerp_(input: Tensor, end: Tensor, weight: Tensor | Number) -> Tensor:
    """Return ``input + weight * (end - input)``, computed from the nearer end as PyTorch does."""

def less(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Return ``lt`` elementwise; a bool tensor."""

def less_(input: Tensor, other: Tensor | Number) -> Tensor:
    """Return ``lt`` elementwise; a bool tensor."""

def less_equal(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Return ``le`` elementwise; a bool tensor."""

def less_equal_(input: Tensor, other: Tensor | Number) -> Tensor:
    """Return ``le`` elementwise; a bool tensor."""

def lgamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``lgamma`` elementwise; integers give the default float dtype."""

def lgamma_(input: Tensor) -> Tensor:
    """Return ``lgamma`` elementwise; integers give the default float dtype."""

def linspace(start: Any, end: Any, steps: _int, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: Any = False) -> Tensor:
    """Return ``steps`` evenly spaced numbers, both ends included, computed from the nearer end."""

def lobpcg(A: Tensor, k: _int | None = None, B: Tensor | None = None, X: Tensor | None = None, n: _int | None = None, iK: Tensor | None = None, niter: _int | None = None, tol: _float | None = None, largest: _bool | None = None, method: _str | None = None, tracker: Any = None, ortho_iparams: Any = None, ortho_fparams: Any = None, ortho_bparams: Any = None) -> _tuple[Tensor, Tensor]:
    """Return the ``k`` largest (or smallest) eigenvalues of ``A`` (*, m, m), symmetric, and
eigenvectors (*, m, k); of ``A x = l B x`` with a positive definite ``B``."""

def log(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``log`` elementwise; integers give the default float dtype."""

def log10(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``log10`` elementwise; integers give the default float dtype."""

def log10_(input: Tensor) -> Tensor:
    """Return ``log10`` elementwise; integers give the default float dtype."""

def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``log1p`` elementwise; integers give the default float dtype."""

def log1p_(input: Tensor) -> Tensor:
    """Return ``log1p`` elementwise; integers give the default float dtype."""

def log2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``log2`` elementwise; integers give the default float dtype."""

def log2_(input: Tensor) -> Tensor:
    """Return ``log2`` elementwise; integers give the default float dtype."""

def log_(input: Tensor) -> Tensor:
    """Return ``log`` elementwise; integers give the default float dtype."""

def log_softmax(input: Tensor, dim: _int, dtype: Any = None, *, out: Any = None) -> Tensor:
    """Return ``log(softmax(input, dim))``, without overflow."""

def logaddexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``logaddexp(input, other)`` elementwise, broadcast and promoted."""

def logaddexp2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``logaddexp2(input, other)`` elementwise, broadcast and promoted."""

def logcumsumexp(input: Tensor, dim: _int, *, out: Tensor | None = None) -> Tensor:
    """Return the running log-sum-exp along ``dim``."""

def logdet(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the logarithm of the determinant; NaN where it is negative."""

def logical_and(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``logical_and`` elementwise; a bool tensor."""

def logical_and_(input: Tensor, other: Tensor) -> Tensor:
    """Return ``logical_and`` elementwise; a bool tensor."""

def logical_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """True where ``input`` is zero."""

def logical_not_(input: Tensor) -> Tensor:
    """True where ``input`` is zero."""

def logical_or(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``logical_or`` elementwise; a bool tensor."""

def logical_or_(input: Tensor, other: Tensor) -> Tensor:
    """Return ``logical_or`` elementwise; a bool tensor."""

def logical_xor(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``logical_xor`` elementwise; a bool tensor."""

def logical_xor_(input: Tensor, other: Tensor) -> Tensor:
    """Return ``logical_xor`` elementwise; a bool tensor."""

def logit(input: Tensor, eps: Tensor | Number | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return ``log(x / (1 - x))``, with x clamped to ``[eps, 1 - eps]`` when eps is given."""

def logit_(input: Tensor, eps: Tensor | Number | None = None) -> Tensor:
    """Return ``log(x / (1 - x))``, with x clamped to ``[eps, 1 - eps]`` when eps is given."""

def logspace(start: Any, end: Any, steps: _int, base: _float = 10.0, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: Any = False) -> Tensor:
    """Return ``base`` to the powers of ``linspace(start, end, steps)``."""

def logsumexp(input: Tensor, dim: _int | Sequence[_int] | None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return ``log(sum(exp(input)))`` over ``dim``, without overflow."""

def lstm(input: Tensor, *arguments: Any) -> _tuple[Any, ...]:
    """Run all layers of the lstm over a sequence, with ``hx = (h_0, c_0)``."""

def lstm_cell(input: Tensor, hx: Any, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> _tuple[Tensor, Tensor]:
    """Compute one LSTM step from (h, c): the new (h, c)."""

def lstsq(*args: Any, **kwargs: Any) -> Any:
    """Raise RuntimeError naming ``linalg.lstsq``: removed from PyTorch."""

def lt(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Return ``lt`` elementwise; a bool tensor."""

def lt_(input: Tensor, other: Tensor | Number) -> Tensor:
    """Return ``lt`` elementwise; a bool tensor."""

def lu(A: Tensor, pivot: Any = True, get_infos: Any = False, out: Any = None) -> Any:
    """Return the compact LU factorization and pivots (and info codes): a tuple."""

def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Any = None) -> Tensor:
    """Compute ``linalg.lu_solve``."""

def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: Any = True, unpack_pivots: Any = True, *, out: Any = None) -> Any:
    """Return P, L and U from the compact LU form (empty where not asked for)."""

def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: Any = 0.0, reduction: Any = 0) -> Any:
    """Call ``nn.functional.margin_ranking_loss`` with the reduction as a number: 0 none, 1 mean, 2 sum."""

def masked_fill(input: Tensor, mask: Tensor, value: Any, *, out: Tensor | None = None) -> Tensor:
    """Return ``input`` with ``value`` (a number or 0-dim tensor) where ``mask`` is True."""

def masked_fill_(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """Return ``input`` with ``value`` (a number or 0-dim tensor) where ``mask`` is True."""

def masked_scatter(input: Tensor, mask: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``input`` with the elements of ``source``, in order, where ``mask`` is True."""

def masked_scatter_(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Return ``input`` with the elements of ``source``, in order, where ``mask`` is True."""

def masked_select(input: Tensor, mask: Tensor, *, out: Any = None) -> Tensor:
    """Return the elements where ``mask`` (bool, broadcast) is True, as a vector."""

def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the matrix product; batches broadcast, vectors are promoted to matrices and back."""

def matrix_exp(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the matrix exponential of square matrices; in float32 for 16-bit ones."""

def matrix_power(A: Tensor, n: _int, *, out: Any = None) -> Tensor:
    """Return the ``n``-th power of square matrices; a negative n inverts."""

def max(input: Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
    """Return the maximum of all elements; with ``dim``, values and indices
there; with another tensor, elementwise."""

def max_pool1d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: _bool = False) -> Tensor:
    """Return the maximum of each window over 1 dimension."""

def max_pool1d_with_indices(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = None, padding: _int | Sequence[_int] = 0, dilation: _int | Sequence[_int] = 1, ceil_mode: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return the maxima, and their flat positions in the input's plane (int64)."""

def max_pool2d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: _bool = False) -> Tensor:
    """Return the maximum of each window over 2 dimensions."""

def max_pool2d_with_indices_backward(grad_output: Tensor, self: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: Any, indices: Tensor) -> Tensor:
    """Return the gradient of a max pool: each element of ``grad_output`` goes where its maximum
was."""

def max_pool3d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: _bool = False) -> Tensor:
    """Return the maximum of each window over 3 dimensions."""

def maximum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``maximum(input, other)`` elementwise, broadcast and promoted."""

def mean(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """Return the mean over ``dim``. RuntimeError for integers unless a float ``dtype`` is given."""

def median(input: Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
    """Return the median (the lower of two) of all elements; with ``dim``, values and indices along it."""

def meshgrid(*tensors: Any, indexing: Any = None) -> _tuple[Tensor, ...]:
    """Return the coordinate grids of vectors, as views; ``indexing`` "ij" (matrix, the default) or
"xy"."""

def min(input: Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
    """Return the minimum of all elements; with ``dim``, values and indices
there; with another tensor, elementwise."""

def minimum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``minimum(input, other)`` elementwise, broadcast and promoted."""

def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the product of two matrices."""

def mode(input: Tensor, dim: _int = -1, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None) -> Any:
    """Return the most frequent value along a dimension (the smallest of several), and the index
where it last is."""

def moveaxis(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Return a view with dimensions moved to new places, the others keeping their order."""

def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Return a view with dimensions moved to new places, the others keeping their order."""

def msort(input: Tensor, *, out: Any = None) -> Tensor:
    """Return the values in order along the first dimension."""

def mul(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Return ``input * other``, broadcast and promoted."""

def mul_(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Return ``input * other``, broadcast and promoted."""

def multinomial(input: Tensor, num_samples: _int, replacement: Any = False, *, generator: Any = None, out: Any = None) -> Tensor:
    """Draw indices by the weights in each row. input: (n,) or (rows, n) -> (num_samples,) or (rows,
num_samples), int64."""

def multiply(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Return ``input * other``, broadcast and promoted."""

def multiply_(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Return ``input * other``, broadcast and promoted."""

def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the product of a matrix and a vector."""

def mvlgamma(input: Tensor, p: _int, *, out: Tensor | None = None) -> Tensor:
    """Return the logarithm of the multivariate gamma function of dimension ``p``."""

def mvlgamma_(input: Tensor, p: _int) -> Tensor:
    """Return the logarithm of the multivariate gamma function of dimension ``p``."""

def nan_to_num(input: Tensor, nan: Tensor | Number | None = None, posinf: Tensor | Number | None = None, neginf: Tensor | Number | None = None, *, out: Tensor | None = None) -> Tensor:
    """Replace NaN and infinities (by 0 and the dtype's limits unless given)."""

def nan_to_num_(input: Tensor, nan: Tensor | Number | None = None, posinf: Tensor | Number | None = None, neginf: Tensor | Number | None = None) -> Tensor:
    """Replace NaN and infinities (by 0 and the dtype's limits unless given)."""

def nanmean(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """Return the mean of the elements that are not NaN. RuntimeError for integers unless a float
``dtype`` is given."""

def nanmedian(input: Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
    """Return the nanmedian (the lower of two) of all elements; with ``dim``, values and indices along it."""

def nanquantile(input: Tensor, q: Any, dim: _int | None = None, keepdim: Any = False, *, interpolation: _str = 'linear', out: Any = None) -> Tensor:
    """Return the ``q``-th nanquantiles (a number, or a vector: the result's
first dimension) along ``dim``, or of all elements. RuntimeError unless every q is in [0, 1]."""

def nansum(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """Return the sum over ``dim`` with NaN taken as zero."""

def narrow(input: Tensor, dim: _int, start: Any, length: _int) -> Tensor:
    """Return a view of ``length`` indices of a dimension from ``start`` on."""

def narrow_copy(input: Tensor, dim: _int, start: Any, length: _int, *, out: Any = None) -> Tensor:
    """Apply ``narrow`` to make a tensor of its own (contiguous), not a view."""

def native_batch_norm(input: Tensor, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: Any, momentum: _float, eps: _float, *, out: Any = None) -> _tuple[Tensor, Tensor, Tensor]:
    """Normalise by the batch in training, which moves the running statistics in place, else by
these, and return the result, the batch's mean and ``1 / sqrt(var + eps)`` (else empty)."""

def native_channel_shuffle(input: Tensor, groups: _int, *, out: Tensor | None = None) -> Tensor:
    """Interleave the channels of ``groups`` groups (Zhang et al. 2018)."""

def native_dropout(input: Tensor, p: _float, train: Any) -> _tuple[Tensor, Tensor]:
    """Return the input after dropout, and the mask of the elements that were kept."""

def native_dropout_backward(grad_output: Tensor, mask: Tensor, scale: _float) -> Tensor:
    """Return ``grad_output * mask * scale``."""

def native_group_norm(input: Tensor, weight: Any, bias: Any, N: _int, C: _int, HxW: _int, group: _int, eps: _float, *, out: Any = None) -> _tuple[Tensor, Tensor, Tensor]:
    """Return the group norm of (N, C, …), with the mean and ``1 / sqrt(var + eps)`` (N, group)."""

def native_layer_norm(input: Tensor, normalized_shape: Any, weight: Any, bias: Any, eps: _float, *, out: Any = None) -> _tuple[Tensor, Tensor, Tensor]:
    """Return the layer norm, with the mean and ``1 / sqrt(var + eps)`` of each sample."""

def native_norm(input: Any, p: Any = 2, dim: Any = None, keepdim: _bool = False, dtype: Any = None) -> Tensor:
    """Compute ``norm``, under the name by which it takes sparse tensors in PyTorch."""

def ne(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Return ``ne`` elementwise; a bool tensor."""

def ne_(input: Tensor, other: Tensor | Number) -> Tensor:
    """Return ``ne`` elementwise; a bool tensor."""

def neg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``-input``. RuntimeError for bool tensors."""

def neg_(input: Tensor) -> Tensor:
    """Return ``-input``. RuntimeError for bool tensors."""

def negative(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``-input``. RuntimeError for bool tensors."""

def negative_(input: Tensor) -> Tensor:
    """Return ``-input``. RuntimeError for bool tensors."""

def nextafter(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``nextafter(input, other)`` elementwise, broadcast and promoted."""

def nextafter_(input: Tensor, other: Tensor) -> Tensor:
    """Return ``nextafter(input, other)`` elementwise, broadcast and promoted."""

def nonzero(input: Tensor, *, out: Any = None, as_tuple: Any = False) -> Any:
    """Return the indices of the nonzero elements: rows of an (n, ndim) int64 tensor, or a tuple of
columns."""

def nonzero_static(input: Tensor, *, size: _int, fill_value: _int = -1, out: Any = None) -> Tensor:
    """Return the indices of ``size`` elements that are not zero, one a row, the rest
``fill_value``."""

def norm(input: Tensor, p: Any = 'fro', dim: Any = None, keepdim: Any = False, out: Any = None, dtype: Any = None) -> Tensor:
    """Return the p-norm of all elements or of vectors over ``dim`` ("fro" is 2), or "nuc" of
matrices."""

def norm_except_dim(v: Tensor, pow: _int = 2, dim: _int = 0) -> Tensor:
    """Return the norm of each slice along ``dim``, kept broadcastable; of everything for
``dim=-1``."""

def normal(mean: Any, std: Any = 1.0, size: Any = None, *, generator: Any = None, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: Any = False, pin_memory: Any = False) -> Tensor:
    """Draw normal numbers with mean and standard deviation given as numbers or tensors."""

def not_equal(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Return ``ne`` elementwise; a bool tensor."""

def not_equal_(input: Tensor, other: Tensor | Number) -> Tensor:
    """Return ``ne`` elementwise; a bool tensor."""

def nuclear_norm(input: Tensor, dim: Any = None, keepdim: Any = False, *, out: Any = None) -> Tensor:
    """Return the sum of the singular values."""

def numel(input: Tensor) -> Any:
    """Return ``input.numel()``."""

def ones(*size: Any, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: Any = False, pin_memory: Any = False, **kw: Any) -> Tensor:
    """Return a tensor of the given size, filled with 1."""

def ones_like(input: Tensor, *args: Any, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: Any = False, pin_memory: Any = False, memory_format: Any = None, **kw: Any) -> Tensor:
    """Return ``ones`` with the size and dtype of
``input``."""

def orgqr(input: Tensor, input2: Tensor, *, out: Any = None) -> Tensor:
    """Compute ``linalg.householder_product``."""

def ormqr(input: Tensor, tau: Tensor, other: Tensor, left: Any = True, transpose: Any = False, *, out: Any = None) -> Tensor:
    """Return Q @ other (other @ Q unless ``left``; the adjoint of Q if ``transpose``), Q given by
the reflectors and factors of ``geqrf``. RuntimeError for shapes and dtypes that do not fit."""

def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return every product of an element of one vector with one of the other."""

def pairwise_distance(x1: Tensor, x2: Tensor, p: _float = 2.0, eps: _float = 1e-06, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return the p-norm of ``x1 - x2 + eps`` along the last dimension, broadcast."""

def pca_lowrank(A: Tensor, q: _int | None = None, center: _bool = True, niter: _int = 2) -> _tuple[Tensor, Tensor, Tensor]:
    """Return the principal components of the rows of ``A`` (..., m, n) by ``svd_lowrank``, of
columns less their means if ``center``; q is min(6, m, n) unless given."""

def pdist(input: Tensor, p: Any = 2.0) -> Tensor:
    """Return the p-norm distance of every pair of rows: (N, M) to (N (N - 1) / 2,)."""

def permute(input: Tensor, *dims: Any, **kwargs: Any) -> Tensor:
    """Return a view with the dimensions in the given order."""

def permute_copy(input: Any, dims: Any, *, out: Any = None) -> Any:
    """Apply ``permute`` to make a tensor of its own (contiguous), not a view."""

def pinverse(input: Tensor, rcond: _float = 1e-15) -> Tensor:
    """Compute ``linalg.pinv`` with ``rtol=rcond``."""

def pixel_shuffle(input: Tensor, upscale_factor: _int, *, out: Tensor | None = None) -> Tensor:
    """Move channels into pixels: (…, C r², H, W) -> (…, C, H r, W r) (Shi et al. 2016)."""

def pixel_unshuffle(input: Tensor, downscale_factor: _int, *, out: Tensor | None = None) -> Tensor:
    """Move pixels into channels: (…, C, H r, W r) -> (…, C r², H, W), the inverse of
``pixel_shuffle``."""

def poisson(input: Tensor, generator: Any = None) -> Tensor:
    """Draw a Poisson count for each rate in ``input``, in its shape and dtype."""

def poisson_nll_loss(input: Any, target: Any, log_input: Any, full: Any, eps: Any, reduction: Any) -> Any:
    """Call ``nn.functional.poisson_nll_loss`` with the reduction as a number: 0 none, 1 mean, 2 sum."""

def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``abs * exp(i * angle)``. RuntimeError unless the dtypes agree."""

def polygamma(n: _int, input: Tensor, *, out: Any = None) -> Tensor:
    """Return the ``n``-th derivative of digamma. RuntimeError for a negative n."""

def positive(input: Tensor) -> Tensor:
    """Return ``input`` itself. RuntimeError for bool tensors."""

def pow(input: Any, exponent: Any, *, out: Any = None) -> Tensor:
    """Return ``input ** exponent``, broadcast and promoted."""

def prelu(input: Tensor, weight: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``input`` where positive, else ``weight * input``; one weight, or one for each
channel."""

def prod(input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """Return the product along one ``dim``, or of all elements."""

def put(input: Tensor, index: Tensor, source: Tensor, accumulate: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Write (or add) ``source`` at positions of the flattened tensor; negative ones wrap."""

def put_(input: Tensor, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
    """Write (or add) ``source`` at positions of the flattened tensor; negative ones wrap."""

def q_per_channel_axis(*args: Any, **kwargs: Any) -> Any:
    """Not supported: there are no quantized tensors. Use instead: a floating dtype of fewer bits, such as bfloat16."""

def q_per_channel_scales(*args: Any, **kwargs: Any) -> Any:
    """Not supported: there are no quantized tensors. Use instead: a floating dtype of fewer bits, such as bfloat16."""

def q_per_channel_zero_points(*args: Any, **kwargs: Any) -> Any:
    """Not supported: there are no quantized tensors. Use instead: a floating dtype of fewer bits, such as bfloat16."""

def q_scale(*args: Any, **kwargs: Any) -> Any:
    """Not supported: there are no quantized tensors. Use instead: a floating dtype of fewer bits, such as bfloat16."""

def q_zero_point(*args: Any, **kwargs: Any) -> Any:
    """Not supported: there are no quantized tensors. Use instead: a floating dtype of fewer bits, such as bfloat16."""

def qr(input: Tensor, some: Any = True, *, out: Any = None) -> Any:
    """Compute ``linalg.qr``: reduced if ``some``, else complete. RuntimeError where PyTorch 2.14 or
later is followed."""

def quantile(input: Tensor, q: Any, dim: _int | None = None, keepdim: Any = False, *, interpolation: _str = 'linear', out: Any = None) -> Tensor:
    """Return the ``q``-th quantiles (a number, or a vector: the result's
first dimension) along ``dim``, or of all elements. RuntimeError unless every q is in [0, 1]."""

def quantize_per_channel(*args: Any, **kwargs: Any) -> Any:
    """Not supported: there are no quantized tensors. Use instead: a floating dtype of fewer bits, such as bfloat16."""

def quantize_per_tensor(*args: Any, **kwargs: Any) -> Any:
    """Not supported: there are no quantized tensors. Use instead: a floating dtype of fewer bits, such as bfloat16."""

def quantize_per_tensor_dynamic(*args: Any, **kwargs: Any) -> Any:
    """Not supported: there are no quantized tensors. Use instead: a floating dtype of fewer bits, such as bfloat16."""

def quantized_batch_norm(*args: Any, **kwargs: Any) -> Any:
    """Not supported: there are no quantized tensors. Use instead: a floating dtype of fewer bits, such as bfloat16."""

def quantized_max_pool1d(*args: Any, **kwargs: Any) -> Any:
    """Not supported: there are no quantized tensors. Use instead: a floating dtype of fewer bits, such as bfloat16."""

def quantized_max_pool2d(*args: Any, **kwargs: Any) -> Any:
    """Not supported: there are no quantized tensors. Use instead: a floating dtype of fewer bits, such as bfloat16."""

def rad2deg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``rad2deg`` elementwise; integers give the default float dtype."""

def rad2deg_(input: Tensor) -> Tensor:
    """Return ``rad2deg`` elementwise; integers give the default float dtype."""

def rand(*size: Any, generator: Any = None, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: Any = False, pin_memory: Any = False, names: Any = None, **kw: Any) -> Tensor:
    """Draw random numbers of the given size: rand."""

def rand_like(input: Tensor, *, generator: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: Any = False, pin_memory: Any = False, memory_format: Any = None) -> Tensor:
    """Draw as ``rand``, with the size, dtype and memory order of ``input``."""

def randint(low: Any = None, high: Any = None, size: Any = None, *, generator: Any = None, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: Any = False, pin_memory: Any = False) -> Tensor:
    """Draw integers of ``[low, high)`` (``randint(high, size)``: from 0), int64 by default."""

def randint_like(input: Tensor, low: Any = None, high: Any = None, *, generator: Any = None, dtype: Any = None, device: Any = None, requires_grad: Any = False, layout: Any = None, memory_format: Any = None) -> Tensor:
    """Draw integers as ``randint`` does, with the size and dtype of ``input``."""

def randn(*size: Any, generator: Any = None, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: Any = False, pin_memory: Any = False, names: Any = None, **kw: Any) -> Tensor:
    """Draw random numbers of the given size: randn."""

def randn_like(input: Tensor, *, generator: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: Any = False, pin_memory: Any = False, memory_format: Any = None) -> Tensor:
    """Draw as ``randn``, with the size, dtype and memory order of ``input``."""

def randperm(n: _int, *, generator: Any = None, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: Any = False, pin_memory: Any = False) -> Tensor:
    """Draw a random permutation of 0..n-1."""

def range(start: Any, end: Any, step: Any = 1, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: Any = False) -> Tensor:
    """Return the values of ``arange`` with the end included. Deprecated in PyTorch, which warns, as
this does."""

def ravel(input: Tensor) -> Tensor:
    """Flatten to one dimension, row-major: a view of a contiguous tensor, else of a copy."""

def real(input: Tensor) -> Tensor:
    """Return the real part (a view of a complex tensor; a real tensor itself)."""

def reciprocal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``reciprocal`` elementwise; integers give the default float dtype."""

def reciprocal_(input: Tensor) -> Tensor:
    """Return ``reciprocal`` elementwise; integers give the default float dtype."""

def relu(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``max(input, 0)``. RuntimeError for bool tensors."""

def relu_(input: Tensor) -> Tensor:
    """Return ``max(input, 0)``. RuntimeError for bool tensors."""

def remainder(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """Return ``input - floor(input / other) * other``: the sign of the divisor, as Python's ``%``."""

def remainder_(input: Tensor, other: Any) -> Tensor:
    """Apply ``remainder`` in place."""

def renorm(input: Tensor, p: Number, dim: _int, maxnorm: Number, *, out: Tensor | None = None) -> Tensor:
    """Scale each slice along ``dim`` down to p-norm ``maxnorm`` where it is larger."""

def renorm_(input: Tensor, p: Number, dim: _int, maxnorm: Number) -> Tensor:
    """Scale each slice along ``dim`` down to p-norm ``maxnorm`` where it is larger."""

def repeat_interleave(input: Tensor, repeats: Any = None, dim: _int | None = None, *, output_size: _int | None = None) -> Tensor:
    """Repeat each element (of the flattened tensor, or slice along ``dim``) in a row."""

def reshape(input: Tensor, *shape: Any, **kwargs: Any) -> Tensor:
    """Return a view where strides allow one, else a copy in the new shape."""

def resize_as_(input: Tensor, other: Tensor, memory_format: Any = None) -> Tensor:
    """Resize to ``other.size()``; with ``preserve_format`` in the memory order of ``other``."""

def resolve_conj(input: Tensor) -> Tensor:
    """Return the tensor with a lazy conjugation carried out."""

def resolve_neg(input: Tensor) -> Tensor:
    """Return the tensor with a lazy negation carried out."""

def result_type(tensor1: Any, tensor2: Any) -> Any:
    """Return the dtype of the result of an operation on two tensors or numbers."""

def rms_norm(input: Tensor, normalized_shape: Sequence[_int], weight: Tensor | None = None, eps: _float | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return ``input / sqrt(mean(input ** 2) + eps) * weight`` over the last dimensions (Zhang &
Sennrich 2019); ``eps`` is the dtype's machine epsilon unless given."""

def rnn_relu(input: Tensor, *arguments: Any) -> _tuple[Any, ...]:
    """Run all layers of the rnn_relu over a sequence, with ``hx = h_0``."""

def rnn_relu_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """Compute one step of the rnn_relu: the new hidden state."""

def rnn_tanh(input: Tensor, *arguments: Any) -> _tuple[Any, ...]:
    """Run all layers of the rnn_tanh over a sequence, with ``hx = h_0``."""

def rnn_tanh_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """Compute one step of the rnn_tanh: the new hidden state."""

def roll(input: Tensor, shifts: _int | Sequence[_int], dims: _int | Sequence[_int] | None = ..., *, out: Tensor | None = None) -> Tensor:
    """Move elements along dimensions (of the flattened tensor without ``dims``), round the end."""

def rot90(input: Tensor, k: _int = 1, dims: Any = ...) -> Tensor:
    """Rotate by 90 degrees ``k`` times, from the first of two dimensions toward the second."""

def round(input: Tensor, *, decimals: Number = 0, out: Tensor | None = None) -> Tensor:
    """Round half to even, to ``decimals`` places; the gradient is zero."""

def round_(input: Tensor, *, decimals: Number = 0) -> Tensor:
    """Round half to even, to ``decimals`` places; the gradient is zero."""

def row_stack(tensors: Any, *, out: Any = None) -> Tensor:
    """Join tensors along dimension 0; vectors are rows."""

def rrelu(input: Tensor, lower: _float = 0.125, upper: _float = 0.3333333333333333, training: _bool = False, generator: Any = None) -> Tensor:
    """Apply ``nn.functional.rrelu``, with a generator."""

def rrelu_(input: Tensor, lower: _float = 0.125, upper: _float = 0.3333333333333333, training: _bool = False, generator: Any = None) -> Tensor:
    """Apply ``rrelu`` in place."""

def rsqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``rsqrt`` elementwise; integers give the default float dtype."""

def rsqrt_(input: Tensor) -> Tensor:
    """Return ``rsqrt`` elementwise; integers give the default float dtype."""

def rsub(input: Tensor, other: Tensor | Number, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """Return ``other - alpha * input``."""

def saddmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """Return ``beta * input + alpha * (mat1 @ mat2)`` of two sparse matrices and a dense one:
sparse, with all elements of the rows where ``mat1`` has any. Raises RuntimeError for others,
and JitCaptureError under a jit."""

def scalar_tensor(s: Any, *, dtype: Any = None, device: Any = None, requires_grad: Any = False) -> Any:
    """Return a 0-dim tensor of a number, in the default float dtype."""

def scatter(input: Tensor, dim: _int, index: Tensor, src: Any = None, *, value: Any = None, reduce: Any = None, out: Any = None) -> Tensor:
    """Write values of ``src`` (a tensor or number) at ``index`` along ``dim``:
``out[index[i][j]][j] = src[i][j]`` for ``dim`` 0; ``reduce`` "add" or "multiply" combines
instead. RuntimeError for an index out of range."""

def scatter_add(input: Tensor, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Add values of ``src`` at ``index`` along ``dim``."""

def scatter_add_(input: Tensor, dim: _int, index: Tensor, src: Tensor) -> Tensor:
    """Add values of ``src`` at ``index`` along ``dim``."""

def scatter_reduce(input: Tensor, dim: _int, index: Tensor, src: Tensor, reduce: _str, *, include_self: Any = True, out: Any = None) -> Tensor:
    """Combine values of ``src`` at ``index`` along ``dim`` by "sum", "prod", "mean", "amax" or
"amin"; with ``include_self`` the old value takes part."""

def searchsorted(sorted_sequence: Tensor, input: Any = None, *, out_int32: Any = False, right: Any = False, side: Any = None, out: Any = None, sorter: Tensor | None = None, self: Any = None) -> Tensor:
    """Return the indices at which values would be inserted to keep the last dimension of
``sorted_sequence`` sorted."""

def segment_reduce(data: Tensor, reduce: _str, *, lengths: Tensor | None = None, indices: Tensor | None = None, offsets: Tensor | None = None, axis: _int = 0, unsafe: Any = False, initial: Any = None) -> Tensor:
    """Return the "amax", "mean", "amin", "sum" or "prod" of consecutive segments of ``axis``."""

def select(input: Tensor, dim: _int, index: _int) -> Tensor:
    """Return a view at one index of a dimension; the dimension goes. IndexError when out of
range."""

def select_copy(input: Tensor, dim: _int, index: _int, *, out: Any = None) -> Tensor:
    """Apply ``select`` to make a tensor of its own (contiguous), not a view."""

def select_scatter(input: Tensor, src: Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Tensor:
    """Return a copy of ``input`` in which its select is ``src``."""

def selu(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``elu`` with the constants that keep mean 0 and variance 1 (Klambauer et al. 2017)."""

def selu_(input: Tensor) -> Tensor:
    """Return ``elu`` with the constants that keep mean 0 and variance 1 (Klambauer et al. 2017)."""

def sgn(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the sign of reals, and ``z / |z|`` of complex numbers."""

def sgn_(input: Tensor) -> Tensor:
    """Return the sign of reals, and ``z / |z|`` of complex numbers."""

def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``sigmoid`` elementwise; integers give the default float dtype."""

def sigmoid_(input: Tensor) -> Tensor:
    """Return ``sigmoid`` elementwise; integers give the default float dtype."""

def sign(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return -1, 0 or 1; bools stay."""

def sign_(input: Tensor) -> Tensor:
    """Return -1, 0 or 1; bools stay."""

def signbit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return whether the sign bit is set."""

def sin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``sin`` elementwise; integers give the default float dtype."""

def sin_(input: Tensor) -> Tensor:
    """Return ``sin`` elementwise; integers give the default float dtype."""

def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``sinc`` elementwise; integers give the default float dtype."""

def sinc_(input: Tensor) -> Tensor:
    """Return ``sinc`` elementwise; integers give the default float dtype."""

def sinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``sinh`` elementwise; integers give the default float dtype."""

def sinh_(input: Tensor) -> Tensor:
    """Return ``sinh`` elementwise; integers give the default float dtype."""

def slice_copy(input: Tensor, dim: _int = 0, start: Any = None, end: Any = None, step: _int = 1, *, out: Any = None) -> Tensor:
    """Apply ``slice`` to make a tensor of its own (contiguous), not a view."""

def slice_scatter(input: Tensor, src: Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Tensor:
    """Return a copy of ``input`` in which its slice is ``src``."""

def slogdet(input: Tensor, *, out: Any = None) -> Any:
    """Compute ``linalg.slogdet``."""

def smm(input: Any, mat2: Any) -> Tensor:
    """Multiply a sparse matrix by a dense one: sparse, with all elements of the rows that have any.
Raises RuntimeError for others, and JitCaptureError under a jit."""

def softmax(input: Tensor, dim: _int, dtype: Any = None, *, out: Any = None) -> Tensor:
    """Return ``exp(input) / sum(exp(input))`` along ``dim``; ``dtype`` casts first. IndexError for
a dim out of range, NotImplementedError for integers without ``dtype``."""

def solve(*args: Any, **kwargs: Any) -> Any:
    """Raise RuntimeError naming ``linalg.solve``: removed from PyTorch."""

def sort(input: Tensor, dim: _int = -1, descending: _bool = False, *, stable: _bool = False, out: Any = None) -> Any:
    """Sort as ``sort(input, dim=-1, descending=False, *, stable=False)``: values and indices, a
named pair."""

def sparse_bsc_tensor(ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, *, dtype: Any = None, layout: Any = None, **options: Any) -> Any:
    """``sparse_compressed_tensor`` of layout torch.sparse_bsc: ccol_indices, row_indices, values and a size. RuntimeError as there."""

def sparse_bsr_tensor(crow_indices: Any, col_indices: Any, values: Any, size: Any = None, *, dtype: Any = None, layout: Any = None, **options: Any) -> Any:
    """``sparse_compressed_tensor`` of layout torch.sparse_bsr: crow_indices, col_indices, values and a size. RuntimeError as there."""

def sparse_compressed_tensor(compressed_indices: Any, plain_indices: Any, values: Any, size: Any = None, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: _bool = False, requires_grad: _bool = False, check_invariants: _bool | None = None) -> Any:
    """Return a tensor of a compressed ``layout``; its size is the least that holds the indices
unless given."""

def sparse_coo_tensor(indices: Any = None, values: Any = None, size: Any = None, *, dtype: Any = None, device: Any = None, requires_grad: _bool = False, pin_memory: _bool = False, check_invariants: _bool | None = None, is_coalesced: _bool | None = None) -> Any:
    """Return a sparse tensor of ``indices`` (sparse_dim, nnz) and ``values`` (nnz, …); its size is
the least that holds the indices unless given. ``sparse_coo_tensor(size=…)`` is empty."""

def sparse_csc_tensor(ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, *, dtype: Any = None, layout: Any = None, **options: Any) -> Any:
    """``sparse_compressed_tensor`` of layout torch.sparse_csc: ccol_indices, row_indices, values and a size. RuntimeError as there."""

def sparse_csr_tensor(crow_indices: Any, col_indices: Any, values: Any, size: Any = None, *, dtype: Any = None, layout: Any = None, **options: Any) -> Any:
    """``sparse_compressed_tensor`` of layout torch.sparse_csr: crow_indices, col_indices, values and a size. RuntimeError as there."""

def split(tensor: Tensor, split_size_or_sections: Any, dim: _int = 0) -> _tuple[Tensor, ...]:
    """Return views of consecutive pieces: of one size, or of the sizes in a list."""

def split_copy(tensor: Any, split_size: Any, dim: Any = 0, *, out: Any = None) -> Any:
    """Apply ``split`` to make a tensor of its own (contiguous), not a view."""

def split_with_sizes(input: Tensor, split_sizes: Any, dim: _int = 0) -> _tuple[Tensor, ...]:
    """Split as ``split`` does with a list of sizes."""

def split_with_sizes_copy(input: Tensor, split_sizes: Any, dim: _int = 0, *, out: Any = None) -> _tuple[Tensor, ...]:
    """Apply ``split_with_sizes`` to make a tensor of its own (contiguous), not a view."""

def spmm(input: Any, mat2: Any) -> Tensor:
    """Multiply two matrices, of which one may be sparse; ``dsmm`` is its older name."""

def sqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``sqrt`` elementwise; integers give the default float dtype."""

def sqrt_(input: Tensor) -> Tensor:
    """Return ``sqrt`` elementwise; integers give the default float dtype."""

def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``input ** 2``."""

def square_(input: Tensor) -> Tensor:
    """Return ``input ** 2``."""

def squeeze(input: Tensor, dim: Any = None, *more: Any) -> Tensor:
    """Return a view with dimensions of size 1 removed (all, or those named that have size 1)."""

def squeeze_copy(input: Tensor, dim: Any = None, *more: Any, out: Any = None) -> Tensor:
    """Apply ``squeeze`` to make a tensor of its own (contiguous), not a view."""

def sspaddmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """Return ``beta * input + alpha * (mat1 @ mat2)`` of two sparse matrices and a dense one:
sparse, with all elements of the rows where ``mat1`` has any. Raises RuntimeError for others,
and JitCaptureError under a jit."""

def stack(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Join tensors of one size along a new dimension. RuntimeError when sizes differ."""

def std(input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: Any = False, *, correction: Any = None, out: Any = None, axis: Any = None) -> Tensor:
    """Return the std over ``dim``; ``correction`` 1 (or ``unbiased``) by
default."""

def std_mean(input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: Any = False, *, correction: Any = None) -> _tuple[Tensor, Tensor]:
    """Return the standard deviation and the mean."""

def stft(input: Tensor, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: Any = True, pad_mode: _str = 'reflect', normalized: Any = False, onesided: Any = None, return_complex: Any = None, align_to_window: Any = None) -> Tensor:
    """Return the short-time Fourier transform: (time,) or (batch, time) to (…, frequency, frame)."""

def sub(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """Return ``input - alpha * other``, broadcast and promoted. RuntimeError for bool tensors."""

def sub_(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
    """Return ``input - alpha * other``, broadcast and promoted. RuntimeError for bool tensors."""

def subtract(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """Return ``input - alpha * other``, broadcast and promoted. RuntimeError for bool tensors."""

def subtract_(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
    """Return ``input - alpha * other``, broadcast and promoted. RuntimeError for bool tensors."""

def sum(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """Return the sum over ``dim`` (all by default); integers are summed in int64."""

def svd(input: Tensor, some: Any = True, compute_uv: Any = True, *, out: Any = None) -> Any:
    """Return U, S and V, with ``input = U @ diag(S) @ V.mH``."""

def svd_lowrank(A: Tensor, q: _int | None = 6, niter: _int | None = 2, M: Tensor | None = None) -> _tuple[Tensor, Tensor, Tensor]:
    """Return U (..., m, q), S (q), V (..., n, q) with ``A - M`` nearly ``U diag(S) V.mH``; random."""

def swapaxes(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Return a view with two dimensions swapped."""

def swapdims(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Return a view with two dimensions swapped."""

def switch(index: Any, branches: Any, operands: Any = ...) -> Any:
    """Call ``branches[index](*operands)``; an index outside counts as the nearest inside."""

def symeig(*args: Any, **kwargs: Any) -> Any:
    """Raise RuntimeError naming ``linalg.eigh``: removed from PyTorch."""

def t(input: Tensor) -> Tensor:
    """Return the transpose of a tensor with at most two dimensions."""

def t_copy(input: Tensor, *, out: Any = None) -> Tensor:
    """Apply ``t`` to make a tensor of its own (contiguous), not a view."""

def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return elements of the flattened tensor. IndexError when out of range."""

def take_along_dim(input: Tensor, indices: Tensor, dim: _int | None = None, *, out: Any = None) -> Tensor:
    """Return values along ``dim`` at ``indices`` (broadcast), such as argsort or argmax return; of
the flattened tensor without ``dim``."""

def tan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``tan`` elementwise; integers give the default float dtype."""

def tan_(input: Tensor) -> Tensor:
    """Return ``tan`` elementwise; integers give the default float dtype."""

def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``tanh`` elementwise; integers give the default float dtype."""

def tanh_(input: Tensor) -> Tensor:
    """Return ``tanh`` elementwise; integers give the default float dtype."""

def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: Any = False, pin_memory: Any = False) -> Tensor:
    """Return a new tensor holding a copy of ``data`` (numbers, nested sequences, arrays, tensors)."""

def tensor_split(input: Tensor, indices_or_sections: Any, dim: _int = 0) -> _tuple[Tensor, ...]:
    """Return views cut at the given indices, or into sections whose sizes differ by at most one."""

def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Any = None) -> Tensor:
    """Return the products summed over the last/first ``dims`` dimensions, or over two lists of
them."""

def threshold(input: Tensor, threshold: Number, value: Number, *, out: Tensor | None = None) -> Tensor:
    """Return ``input`` where it exceeds ``threshold``, else ``value``."""

def threshold_(input: Tensor, threshold: Number, value: Number) -> Tensor:
    """Return ``input`` where it exceeds ``threshold``, else ``value``."""

def tile(input: Tensor, *dims: Any, **kwargs: Any) -> Tensor:
    """Repeat as ``repeat``, with missing leading repeats taken as 1."""

def topk(input: Tensor, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True, *, out: Sequence[Tensor] | None = None) -> Any:
    """Return the ``k`` largest (or smallest) values along a dimension, in order, and their indices."""

def trace(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the sum of the diagonal of a matrix (int64 for integers)."""

def transpose(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Return a view with two dimensions swapped."""

def transpose_copy(input: Tensor, dim0: _int, dim1: _int, *, out: Any = None) -> Tensor:
    """Apply ``transpose`` to make a tensor of its own (contiguous), not a view."""

def trapezoid(y: Tensor, x: Any = None, *, dx: Any = None, dim: _int = -1) -> Tensor:
    """Return the integral along ``dim`` by the trapezoidal rule, over points ``x`` or distance
``dx``."""

def trapz(y: Tensor, x: Any = None, *, dx: Any = None, dim: _int = -1) -> Tensor:
    """Return the integral along ``dim`` by the trapezoidal rule, over points ``x`` or distance
``dx``."""

def triangular_solve(input: Tensor, A: Tensor, upper: Any = True, transpose: Any = False, unitriangular: Any = False, *, out: Any = None) -> Any:
    """Return the solution of a triangular system, and the coefficients: a named pair. Of a sparse
matrix, in compressed rows, no coefficients are copied."""

def tril(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Return the lower triangle of matrices: zero above ``diagonal``."""

def tril_(input: Tensor, diagonal: _int = 0) -> Tensor:
    """Return the lower triangle of matrices: zero above ``diagonal``."""

def tril_indices(row: _int, col: _int, offset: _int = 0, *, dtype: Any = None, device: Any = None, layout: Any = None) -> Tensor:
    """Return the rows and columns of the lower triangle, (2, n)."""

def triplet_margin_loss(anchor: Any, positive: Any, negative: Any, margin: Any = 1.0, p: Any = 2, eps: Any = 1e-06, swap: Any = False, reduction: Any = 0) -> Any:
    """Call ``nn.functional.triplet_margin_loss`` with the reduction as a number: 0 none, 1 mean, 2 sum."""

def triu(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Return the upper triangle of matrices: zero below ``diagonal``."""

def triu_(input: Tensor, diagonal: _int = 0) -> Tensor:
    """Return the upper triangle of matrices: zero below ``diagonal``."""

def triu_indices(row: _int, col: _int, offset: _int = 0, *, dtype: Any = None, device: Any = None, layout: Any = None) -> Tensor:
    """Return the rows and columns of the upper triangle, (2, n)."""

def true_divide(input: Any, other: Any, *, rounding_mode: Any = None, out: Any = None) -> Tensor:
    """Return ``input / other``; with ``rounding_mode`` "trunc" or "floor", rounded,
and integers stay."""

def true_divide_(input: Tensor, other: Any, *, rounding_mode: Any = None) -> Tensor:
    """Apply ``div`` in place."""

def trunc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``trunc`` elementwise; integers stay as they are; the gradient is zero."""

def trunc_(input: Tensor) -> Tensor:
    """Return ``trunc`` elementwise; integers stay as they are; the gradient is zero."""

def typename(obj: Any) -> _str:
    """Return ``torch.FloatTensor`` and the like for a tensor; the class name of anything else."""

def unbind(input: Tensor, dim: _int = 0) -> _tuple[Tensor, ...]:
    """Return all indices of a dimension, each a view without it."""

def unbind_copy(input: Tensor, dim: _int = 0, *, out: Any = None) -> _tuple[Tensor, ...]:
    """Apply ``unbind`` to make a tensor of its own (contiguous), not a view."""

def unflatten(input: Tensor, dim: _int, sizes: Any) -> Tensor:
    """Split one dimension into ``sizes`` (one may be -1)."""

def unfold_copy(input: Tensor, dimension: _int, size: _int, step: _int, *, out: Any = None) -> Tensor:
    """Apply ``unfold`` to make a tensor of its own (contiguous), not a view."""

def unique(input: Tensor, sorted: Any = True, return_inverse: Any = False, return_counts: Any = False, dim: _int | None = None) -> Any:
    """Return the distinct elements (or slices along ``dim``), in order."""

def unique_consecutive(input: Tensor, return_inverse: Any = False, return_counts: Any = False, dim: _int | None = None) -> Any:
    """Return the first of every run of equal elements (or slices along ``dim``)."""

def unravel_index(indices: Tensor, shape: Any) -> _tuple[Tensor, ...]:
    """Convert flat indices to a tuple of coordinates in a shape."""

def unsafe_chunk(input: Tensor, chunks: _int, dim: _int = 0) -> _tuple[Tensor, ...]:
    """Split as ``chunk`` does into pieces that may be changed in place."""

def unsafe_split(tensor: Tensor, split_size: _int, dim: _int = 0) -> _tuple[Tensor, ...]:
    """Split as ``split`` does into pieces that may be changed in place (each is a view of its
own)."""

def unsafe_split_with_sizes(input: Tensor, split_sizes: Any, dim: _int = 0) -> _tuple[Tensor, ...]:
    """Split as ``split_with_sizes`` does into pieces that may be changed in place."""

def unsqueeze(input: Tensor, dim: _int) -> Tensor:
    """Return a view with a new dimension of size 1 at ``dim``."""

def unsqueeze_copy(input: Tensor, dim: _int, *, out: Any = None) -> Tensor:
    """Apply ``unsqueeze`` to make a tensor of its own (contiguous), not a view."""

def vander(x: Tensor, N: _int | None = None, increasing: Any = False) -> Tensor:
    """Return the Vandermonde matrix: powers of a vector in columns, falling unless
``increasing``."""

def var(input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: Any = False, *, correction: Any = None, out: Any = None, axis: Any = None) -> Tensor:
    """Return the var over ``dim``; ``correction`` 1 (or ``unbiased``) by
default."""

def var_mean(input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: Any = False, *, correction: Any = None) -> _tuple[Tensor, Tensor]:
    """Return the variance and the mean."""

def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the inner product of two vectors, the first conjugated."""

def view_as_complex(input: Tensor) -> Tensor:
    """View a (..., 2) float tensor as complex numbers."""

def view_as_complex_copy(input: Tensor, *, out: Any = None) -> Tensor:
    """Apply ``view_as_complex`` to make a tensor of its own (contiguous), not a view."""

def view_as_real(input: Tensor) -> Tensor:
    """View a complex tensor as real and imaginary parts in a new last dimension of size 2."""

def view_as_real_copy(input: Tensor, *, out: Any = None) -> Tensor:
    """Apply ``view_as_real`` to make a tensor of its own (contiguous), not a view."""

def view_copy(input: Tensor, size: Any, *, out: Any = None) -> Tensor:
    """Apply ``view`` to make a tensor of its own (contiguous), not a view."""

def vsplit(input: Tensor, indices_or_sections: Any) -> _tuple[Tensor, ...]:
    """Split as ``tensor_split`` along a fixed dimension, into equal sections."""

def vstack(tensors: Any, *, out: Any = None) -> Tensor:
    """Join tensors along dimension 0; vectors are rows."""

def where(condition: Tensor, input: Any = None, other: Any = None, *, out: Any = None, **names: Any) -> Any:
    """Return ``input`` where ``condition`` holds, else ``other``: tensors or numbers, broadcast,
promoted."""

def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any) -> _tuple[Any, ...]:
    """Run ``while cond_fn(*carried): carried = body_fn(*carried)``, and return the last
``carried``."""

def xlogy(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Return ``input * log(other)``, 0 where ``input`` is 0. TypeError unless one is a tensor."""

def xlogy_(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Return ``input * log(other)``, 0 where ``input`` is 0. TypeError unless one is a tensor."""

def zero_(input: Tensor) -> Tensor:
    """Set every element to zero."""

def zeros(*size: Any, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: Any = False, pin_memory: Any = False, **kw: Any) -> Tensor:
    """Return a tensor of the given size, filled with 0."""

def zeros_like(input: Tensor, *args: Any, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: Any = False, pin_memory: Any = False, memory_format: Any = None, **kw: Any) -> Tensor:
    """Return ``zeros`` with the size and dtype of
``input``."""
