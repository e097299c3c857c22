"""What PyTorch has and torchlike has not: name -> (why, what to use instead).

From this one table come the functions that raise NotImplementedError in those words.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NamedTuple

from torchlike._core.dispatch.registry import NAMESPACES, export
from torchlike._runtime.error_codes import with_code
from torchlike.tensor import Tensor, add_method


class Gap(NamedTuple):
    """A function that is not there."""

    why: str
    instead: str


_SEMI_STRUCTURED = Gap("XLA has no product with 2:4 sparsity", "the dense tensor")
_SPARSE = Gap("it is not written for sparse tensors", "x.to_dense() and the dense function")
_QUANTIZED = Gap(
    "there are no quantized tensors", "a floating dtype of fewer bits, such as bfloat16"
)
_NESTED = Gap(
    "XLA compiles for fixed shapes, so there are no nested (ragged) tensors",
    "torch.nn.utils.rnn.pad_sequence and a mask",
)
_NAMED = Gap("there are no named tensors", "dimensions by number, or unflatten and permute")
_HALF_COMPLEX = Gap("XLA has no 32-bit complex numbers", "torchlike.complex64")
_JITERATOR = Gap(
    "CUDA source cannot be compiled by XLA", "torchlike.jit on a Python function, or Pallas"
)
_FP8 = Gap("products of 8-bit floats in groups are not there", "torch._scaled_mm for each group")
_ATTENTION = Gap(
    "it is the kernel of one backend", "torch.nn.functional.scaled_dot_product_attention"
)
_TRITON = Gap(
    "Triton kernels cannot be compiled by XLA here",
    "jax.experimental.pallas through torchlike.from_jax_function",
)
_DISPATCHER = Gap(
    "there is no dispatcher of that kind", "torch.library.custom_op and its register_ methods"
)
_INDUCTOR = Gap("XLA compiles, not the Inductor", "torchlike.jit on the GraphModule")
_ACCELERATORS = Gap(
    "nothing here runs parts of a graph on several accelerators by itself",
    "torch.fx.passes.split_module and one device for each part",
)
_TYPES_OF_GRAPHS = Gap(
    "annotations of sizes are kept in graphs, and not inferred",
    "torch.fx.passes.shape_prop, or a FakeTensorMode",
)
_META_TRACER = Gap(
    "a symbolic trace has no values", "torch.fx.experimental.proxy_tensor.make_fx, which has sizes"
)
_SYMBOLIC = Gap("graphs are not made by functions of the user's", "torch.onnx.export")
_CPP = Gap(
    "C++ and CUDA sources are not compiled",
    "torch.library.custom_op in Python, or torchlike.from_jax_function: with jax.ffi for C++ "
    "(examples/cpp/swish.py has a kernel with its gradient), with Pallas for GPUs and TPUs",
)
_PEERS = Gap("ranks meet in collectives alone", "torch.distributed's collectives, send and recv")
_QUANT = Gap(
    "eager-mode quantization of modules is not there",
    "torchao (quantize_ and its QAT), torch.ao.nn.qat's layers, "
    "or torch.ao.quantization.quantize_dynamic for Linear and LSTM",
)
_UNBACKED = Gap(
    "XLA compiles for fixed shapes, so a fake cannot have unknown sizes",
    "results padded to a fixed size",
)
_TORCHSCRIPT = Gap(
    "there are no TorchScript graphs: torch.jit.script compiles by XLA",
    "torch.fx or torch.export",
)
_REDUCER = Gap(
    "DistributedDataParallel averages gradients in the backward pass itself, without buckets",
    "DistributedDataParallel.register_comm_hook, or no_sync",
)
_COUNTS = Gap("Python counts who has a storage", "sys.getrefcount, or weakref.finalize")
_FLAT_NAMES = Gap(
    "a checkpoint keeps the names of its entries joined, not the dictionaries they came from",
    "torch.distributed.checkpoint.load into a state dict, or format_utils.dcp_to_torch_save",
)
_SYMBOLS = Gap("sizes are no symbols with sources and ranges", "torch._dynamo.mark_dynamic")
_PIPES = Gap("there are no data pipes", "Dataset, IterableDataset and DataLoader")
_MONITOR = Gap("there are no counters of that kind", "torch.utils.tensorboard.SummaryWriter")
_PACKAGE = Gap("code is not packed with models", "torch.save and a Python package")
_EVENTS = Gap("profiles are JAX's", "torch.profiler.profile")
_MTIA = Gap("JAX has no backend of that kind", "torch.accelerator, which asks for JAX's devices")

#: namespace -> name -> gap. "Tensor" are methods, "aten" is torch.ops.aten.
GAPS: dict[str, dict[str, Gap]] = {
    "": {
        **dict.fromkeys(
            (
                "quantize_per_tensor",
                "quantize_per_channel",
                "quantize_per_tensor_dynamic",
                "dequantize",
                "quantized_batch_norm",
                "quantized_max_pool1d",
                "quantized_max_pool2d",
                "q_scale",
                "q_zero_point",
                "q_per_channel_axis",
                "q_per_channel_scales",
                "q_per_channel_zero_points",
                "int_repr",
            ),
            _QUANTIZED,
        ),
        "_scaled_grouped_mm": _FP8,
        "_nested_tensor_from_mask": _NESTED,
        "_nested_view_from_buffer": _NESTED,
        "_sparse_semi_structured_linear": _SPARSE,
    },
    "sparse._triton_ops_meta": dict.fromkeys(("get_meta", "minimize", "update"), _TRITON),
    "_higher_order_ops.inline_asm_elementwise": {"inline_asm_elementwise": _TRITON},
    "sparse": {
        "spsolve": _SPARSE,
        **dict.fromkeys(
            (
                "to_sparse_semi_structured",
                "SparseSemiStructuredTensor",
                "SparseSemiStructuredTensorCUSPARSELT",
                "SparseSemiStructuredTensorCUTLASS",
            ),
            _SEMI_STRUCTURED,
        ),
    },
    "library": {
        **dict.fromkeys(("triton_op", "wrap_triton"), _TRITON),
        **dict.fromkeys(
            ("fallthrough_kernel", "get_kernel", "register_torch_dispatch"), _DISPATCHER
        ),
    },
    "export": {"draft_export": _UNBACKED},
    "onnx.symbolic_opset11": dict.fromkeys(("squeeze", "unsqueeze", "select"), _SYMBOLIC),
    "fx.experimental.accelerator_partitioner": dict.fromkeys(
        ("DAG", "DAGNode", "PartitionResult", "Partitioner"), _ACCELERATORS
    ),
    "fx.experimental.graph_gradual_typechecker": dict.fromkeys(
        ("GraphTypeChecker", "Refine"), _TYPES_OF_GRAPHS
    ),
    "fx.experimental.meta_tracer": dict.fromkeys(
        ("MetaProxy", "MetaTracer", "symbolic_trace"), _META_TRACER
    ),
    "fx.passes.regional_inductor": {"regional_inductor": _INDUCTOR},
    "utils.cpp_extension": dict.fromkeys(
        (
            "load",
            "load_inline",
            "CUDAExtension",
            "CppExtension",
            "SyclExtension",
            "BuildExtension",
            "include_paths",
            "library_paths",
            "check_compiler_ok_for_platform",
            "get_compiler_abi_compatibility_and_version",
        ),
        _CPP,
    ),
    "utils.data": dict.fromkeys(
        (
            "IterDataPipe",
            "MapDataPipe",
            "DFIterDataPipe",
            "DataChunk",
            "functional_datapipe",
            "argument_validation",
            "runtime_validation",
            "runtime_validation_disabled",
            "guaranteed_datapipes_determinism",
            "non_deterministic",
        ),
        _PIPES,
    ),
    "utils.data.graph_settings": dict.fromkeys(
        ("apply_random_seed", "apply_sharding", "apply_shuffle_settings", "get_all_graph_pipes"),
        _PIPES,
    ),
    "monitor": dict.fromkeys(
        (
            "Aggregation",
            "Event",
            "Stat",
            "TensorboardEventHandler",
            "data_value_t",
            "log_event",
            "register_event_handler",
            "unregister_event_handler",
        ),
        _MONITOR,
    ),
    "package": dict.fromkeys(
        (
            "PackageExporter",
            "PackageImporter",
            "Importer",
            "OrderedImporter",
            "Directory",
            "GlobGroup",
            "is_from_package",
        ),
        _PACKAGE,
    ),
    "mtia": dict.fromkeys(
        (
            "Event",
            "Stream",
            "StreamContext",
            "current_device",
            "current_stream",
            "set_device",
            "set_stream",
            "stream",
            "synchronize",
            "init",
            "get_device_capability",
        ),
        _MTIA,
    ),
    **dict.fromkeys(
        ("ao.quantization", "quantization"),
        dict.fromkeys(
            (
                "convert",
                "prepare",
                "prepare_qat",
                "quantize",
                "quantize_qat",
                "fuse_modules",
                "fuse_modules_qat",
                "get_default_qconfig",
                "propagate_qconfig_",
                "swap_module",
                "QuantStub",
                "DeQuantStub",
                "QuantWrapper",
                "FixedQParamsFakeQuantize",
                "QConfigMapping",
            ),
            _QUANT,
        ),
    ),
    "ao.quantization.observer": dict.fromkeys(
        (
            "FixedQParamsObserver",
            "HistogramObserver",
            "RecordingObserver",
            "ReuseInputObserver",
        ),
        _QUANT,
    ),
    "nn.quantized": dict.fromkeys(
        ("BatchNorm2d", "BatchNorm3d", "Conv1d", "Conv2d", "Conv3d", "FloatFunctional", "Linear"),
        _QUANT,
    ),
    "nn.quantized.functional": dict.fromkeys(("conv1d", "conv2d", "conv3d", "linear"), _QUANT),
    "distributed.rpc": dict.fromkeys(
        (
            "init_rpc",
            "shutdown",
            "rpc_async",
            "rpc_sync",
            "remote",
            "get_worker_info",
            "RRef",
            "TensorPipeRpcBackendOptions",
            "WorkerInfo",
        ),
        _PEERS,
    ),
    "distributed.rpc.functions": {"async_execution": _PEERS},
    "distributed.autograd": dict.fromkeys(("backward", "context", "get_gradients"), _PEERS),
    "distributed.optim": {"DistributedOptimizer": _PEERS},
    "distributed.checkpoint.format_utils": {"_EmptyStateDictLoadPlanner": _FLAT_NAMES},
    "distributed.checkpoint.state_dict_loader": {"_load_state_dict": _FLAT_NAMES},
    "distributed._symmetric_memory": dict.fromkeys(
        ("empty", "enable_symm_mem_for_group", "get_symm_mem_workspace", "rendezvous"), _PEERS
    ),
    "_C": {
        **dict.fromkeys(("Graph", "ScriptObject"), _TORCHSCRIPT),
        "_storage_Use_Count": _COUNTS,
    },
    "_C._distributed_c10d": {"Reducer": _REDUCER},
    "jit": {"_get_trace_graph": _TORCHSCRIPT},
    "jit._recursive": {"concrete_type_store": _TORCHSCRIPT},
    "_dynamo.source": dict.fromkeys(
        ("AttrSource", "ConstantSource", "GetItemSource", "GlobalSource", "LocalSource"), _SYMBOLS
    ),
    "utils._sympy.value_ranges": {"ValueRanges": _SYMBOLS},
    "nn.functional": {"scaled_grouped_mm": _FP8},
    "autograd.profiler": {"emit_nvtx": _EVENTS, "emit_itt": _EVENTS},
    "nn.attention": dict.fromkeys(
        ("activate_flash_attention_impl", "register_flash_attention_impl"), _ATTENTION
    ),
    "cuda.jiterator": dict.fromkeys(("_create_jit_fn", "_create_multi_output_jit_fn"), _JITERATOR),
    "aten": {
        **dict.fromkeys(
            (
                "_flash_attention_forward",
                "_flash_attention_backward",
                "_efficient_attention_forward",
                "_efficient_attention_backward",
                "_scaled_dot_product_flash_attention",
                "_scaled_dot_product_efficient_attention",
                "_scaled_dot_product_cudnn_attention",
            ),
            _ATTENTION,
        ),
        **dict.fromkeys(("_sparse_addmm", "_sparse_mm_reduce_impl"), _SPARSE),
    },
    "Tensor": {
        **dict.fromkeys(("align_to", "align_as", "refine_names", "rename", "rename_"), _NAMED),
        **dict.fromkeys(
            (
                "dequantize",
                "int_repr",
                "q_scale",
                "q_zero_point",
                "qscheme",
                "q_per_channel_axis",
                "q_per_channel_scales",
                "q_per_channel_zero_points",
            ),
            _QUANTIZED,
        ),
        "chalf": _HALF_COMPLEX,
    },
}

#: Namespaces that are no modules, or whose modules take their functions themselves.
_MADE_ELSEWHERE = frozenset(
    (
        "",
        "Tensor",
        "aten",
        "cuda.jiterator",
        "sparse",
        "nn.attention",
        "utils.cpp_extension",
        "utils.data",
        "mtia",
        "onnx.symbolic_opset11",
        "export",
        "ao.quantization",
        "ao.quantization.observer",
        "quantization",
        "_C",
        "distributed.checkpoint.format_utils",
        "distributed.optim",
        "fx.experimental.accelerator_partitioner",
        "fx.experimental.graph_gradual_typechecker",
        "fx.experimental.meta_tracer",
        "fx.passes.regional_inductor",
    )
)


def raising(name: str, gap: Gap) -> Callable[..., Any]:
    """Return a function that raises NotImplementedError with the gap's words; for a name in
    capitals a class, of which nothing is an instance, whose constructor does."""
    said = with_code(f"torch.{name}: {gap.why}. Use instead: {gap.instead}.")
    short = name.rsplit(".", 1)[-1]
    doc = f"Not supported: {gap.why}. Use instead: {gap.instead}."

    def function(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(said)

    place = f"torchlike.{name}".rpartition(".")[0]
    if short[0].isupper():
        return type(short, (), {"__new__": function, "__doc__": doc, "__module__": place})
    function.__name__ = function.__qualname__ = short
    function.__doc__, function.__module__ = doc, place.removesuffix(".Tensor")
    return function


def refused_class(space: str, name: str, *methods: str) -> Any:
    """Return the class that stands for ``name``, whose class methods raise in its words."""
    gap = GAPS[space][name]
    refused: Any = raising(f"{space}.{name}", gap)
    for method in methods:
        setattr(refused, method, staticmethod(raising(f"{space}.{name}.{method}", gap)))
    return refused


def functions(space: str) -> dict[str, Callable[..., Any]]:
    """Return the raising functions of a namespace."""
    prefix = {"": "", "aten": "ops.aten."}.get(space, f"{space}.")
    return {name: raising(prefix + name, gap) for name, gap in GAPS[space].items()}


def _register() -> None:
    for space in ("", "aten"):
        for name, function in functions(space).items():
            if name not in NAMESPACES.get(space, {}):
                export(function, name, (space,))
    for name, function in functions("Tensor").items():
        if name not in Tensor.__dict__:
            add_method(name, function)


_register()


def make_modules() -> None:
    """Give every namespace of the table its module: those that nobody else makes hold nothing but
    what raises, so that scripts import them, ask what is an instance of what, and go on."""
    for space in GAPS:
        if space in _MADE_ELSEWHERE:
            continue
        names = space.split(".")
        for i in range(len(names)):
            _module(".".join(("torchlike", *names[:i])), names[i])
        module = sys.modules[f"torchlike.{space}"]
        for name, function in functions(space).items():
            if not hasattr(module, name):
                setattr(module, name, function)


def _module(parent: str, name: str) -> None:
    full = f"{parent}.{name}"
    if full in sys.modules:
        return
    if sys.modules[parent].__path__ and importlib.util.find_spec(full) is not None:
        importlib.import_module(full)  # a room that has some of its names
    else:
        made = sys.modules[full] = ModuleType(full, "What torchlike refuses; see the functions.")
        made.__spec__ = ModuleSpec(full, None, is_package=True)
        made.__path__ = []
        setattr(sys.modules[parent], name, made)
