"""What `torch.cuda` and its neighbours answer on a machine without a GPU, against PyTorch."""

import pytest
from oracle import compare

import torchlike

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.skipif(torchlike.cuda.is_available(), reason="answers of a machine without a GPU"),
]


CUDA = {
    name: (lambda t, name=name: getattr(t.cuda, name)())
    for name in (
        "is_available",
        "device_count",
        "is_initialized",
        "init",
        "current_device",
        "get_device_capability",
        "get_device_properties",
        "get_device_name",
        "current_stream",
        "default_stream",
        "Stream",
        "Event",
        "synchronize",
        "empty_cache",
        "mem_get_info",
        "memory_stats",
        "memory_stats_as_nested_dict",
        "memory_allocated",
        "memory_reserved",
        "max_memory_allocated",
        "max_memory_reserved",
        "get_rng_state",
        "get_rng_state_all",
        "seed",
        "seed_all",
        "initial_seed",
        "CUDAGraph",
        "FloatTensor",
        "graph_pool_handle",
        "is_bf16_supported",
        "is_tf32_supported",
        "ipc_collect",
        "get_arch_list",
        "get_gencode_flags",
    )
} | {
    "manual_seed": lambda t: t.cuda.manual_seed(1),
    "manual_seed_all": lambda t: t.cuda.manual_seed_all(1),
    "set_rng_state_all": lambda t: t.cuda.set_rng_state_all([]),
    "stream": lambda t: t.cuda.stream(None).__enter__(),
    "set_stream": lambda t: t.cuda.set_stream(None),
    "no device": lambda t: t.cuda.device(-1).__enter__(),
    "device_of": lambda t: t.cuda.device_of(t.ones(1)).__enter__(),
    "nvtx": lambda t: t.cuda.nvtx.range_push("a"),
    "profiler": lambda t: t.cuda.profiler.start(),
    "isinstance": lambda t: isinstance(t.ones(1), t.cuda.FloatTensor),
    "default_generators": lambda t: t.cuda.default_generators,
    "amp": lambda t: t.cuda.amp.common.amp_definitely_not_available(),
    "version": lambda t: (t.version.cuda, t.version.hip, t.version.debug),
    "constants": lambda t: (t.inf, t.pi, t.e, t.nan),
    "onnx": lambda t: t.onnx.is_in_onnx_export(),
    "stream of the cpu": lambda t: t.Stream(),
    "event of the cpu": lambda t: t.Event(),
    "memory error": lambda t: issubclass(t.OutOfMemoryError, RuntimeError),
    "strategies": lambda t: (
        sorted(t.multiprocessing.get_all_sharing_strategies()),
        t.multiprocessing.get_sharing_strategy(),
    ),
    "start method": lambda t: t.multiprocessing.get_context("spawn").get_start_method(),
}


@pytest.mark.skipif(
    torch.version.cuda is not None, reason="built for GPUs, PyTorch misses the driver"
)
@pytest.mark.parametrize("name", CUDA)
def test_without_a_gpu(name):
    compare(CUDA[name])
