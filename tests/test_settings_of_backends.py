"""torch.backends, torch.accelerator, torch.cpu: switches are kept, questions answered."""

import pytest

import torchlike as torch
from torchlike._core import errors
from torchlike.backends import cuda as backend
from torchlike.backends import cudnn, flags_frozen, frozen, mkldnn

no_accelerator = pytest.mark.skipif(
    torch.accelerator.is_available(), reason="says what happens without an accelerator"
)


@pytest.mark.parametrize("kernel", ["flash", "mem_efficient", "math", "cudnn"])
def test_attention_switches_are_kept(kernel):
    ask, tell = getattr(backend, f"{kernel}_sdp_enabled"), getattr(backend, f"enable_{kernel}_sdp")
    assert ask() is True
    tell(False)
    assert ask() is False
    tell(True)


def test_the_deprecated_region_sets_them_and_puts_them_back():
    with pytest.warns(FutureWarning, match="sdp_kernel"):
        region = backend.sdp_kernel(enable_flash=False)
    with region:
        assert not backend.flash_sdp_enabled()
        assert backend.math_sdp_enabled()
    assert backend.flash_sdp_enabled()


def test_no_kernel_of_pytorch_can_be_used():
    x = torch.ones(1, 1, 1, 1)
    params = backend.SDPAParams(x, x, x, None, 0.0, False, False)
    assert not backend.can_use_flash_attention(params, True)
    assert not backend.can_use_efficient_attention(params)
    with pytest.raises(TypeError, match="SDPAParams"):
        backend.can_use_cudnn_attention(3)


def test_matmul_switches():
    matmul = backend.cuBLASModule()
    assert (matmul.allow_tf32, matmul.fp32_precision) == (False, "none")
    matmul.allow_tf32 = True
    assert (matmul.fp32_precision, torch.get_float32_matmul_precision()) == ("tf32", "high")
    matmul.allow_tf32 = False
    assert (matmul.fp32_precision, torch.get_float32_matmul_precision()) == ("ieee", "highest")
    matmul.allow_bf16_reduced_precision_reduction = (False, False)
    assert not matmul.allow_bf16_reduced_precision_reduction_split_k
    with pytest.raises(AttributeError, match="Unknown attribute tf33"):
        matmul.tf33 = True
    with pytest.raises(RuntimeError, match="Unknown precision: x"):
        matmul.fp32_precision = "x"
    with pytest.raises(TypeError, match="at most two"):
        matmul.allow_fp16_reduced_precision_reduction = (True,) * 3


def test_libraries():
    assert backend.preferred_linalg_library("default").name == "Default"
    assert backend.preferred_blas_library().name == "Cublas"
    with pytest.raises(RuntimeError, match="has not been compiled with cuSOLVER"):
        backend.preferred_linalg_library("cusolver")
    with pytest.raises(RuntimeError, match="Choose from: default, cusolver, magma"):
        backend.preferred_linalg_library("x")
    with pytest.raises(RuntimeError, match="input value type"):
        backend.preferred_blas_library(3)


@no_accelerator
@pytest.mark.parametrize(
    "name", ["memory_stats", "empty_cache", "current_stream", "get_memory_info", "synchronize"]
)
def test_an_accelerator_that_is_not_there(name):
    with pytest.raises(RuntimeError, match="none is available"):
        getattr(torch.accelerator, name)()
    with torch.accelerator.device_index(None):
        pass
    with pytest.raises(RuntimeError, match="none is available"), torch.accelerator.device_index(0):
        pass


@no_accelerator
def test_plans_without_a_gpu():
    with pytest.raises(AssertionError, match="not compiled with CUDA"):
        backend.cufft_plan_cache.max_size = 3
    with pytest.raises(RuntimeError, match="0 <= device index < 0"):
        backend.cufft_plan_cache[0]


def test_streams_of_the_host():
    own = torch.Stream("cpu")
    with torch.cpu.stream(own):
        assert torch.cpu.current_stream() is own
    assert torch.cpu.current_stream() is not own
    assert torch.cpu.Event().query()
    assert torch.cpu.get_capabilities()["num_logical_cores"] >= 1


@pytest.mark.parametrize("name", ["sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged"])
def test_layouts_by_name_only(name):
    layout = getattr(torch, name)
    assert repr(layout) == f"torch.{name}"
    assert torch.ones(2).layout != layout
    with pytest.raises(NotImplementedError, match="sparse_coo_tensor"):
        torch.ones(2, 2, layout=layout)


def test_determinism_in_three_words():
    for mode, number in (("warn", 1), ("error", 2), (0, 0)):
        torch.set_deterministic_debug_mode(mode)
        assert torch.get_deterministic_debug_mode() == number
    with pytest.raises(RuntimeError, match="but got x"):
        torch.set_deterministic_debug_mode("x")


@no_accelerator
def test_cuda_runtime_without_a_gpu():
    for name in ("cudart", "current_blas_handle", "get_sync_debug_mode"):
        with pytest.raises(AssertionError, match="not compiled with CUDA"):
            getattr(torch.cuda, name)()
    with pytest.raises(torch.cuda.CudaError):
        torch.cuda.check_error(2)
    assert torch.cuda.host_memory_stats() == {}


def test_flags_that_are_kept_for_regions(monkeypatch):
    monkeypatch.setattr(frozen, "_frozen", False)
    cudnn.benchmark = True
    cudnn.benchmark = False
    assert not flags_frozen()
    torch.backends.disable_global_flags()
    assert flags_frozen()
    for module, name in [
        (cudnn, "enabled"),
        (cudnn, "benchmark"),
        (cudnn, "deterministic"),
        (cudnn, "allow_tf32"),
        (mkldnn, "enabled"),
        (mkldnn, "deterministic"),
        (mkldnn, "allow_tf32"),
    ]:
        before = getattr(module, name)
        kind = module.__name__.removeprefix("torchlike")
        with pytest.raises(RuntimeError, match=f"not allowed to set torch{kind} flags after"):
            setattr(module, name, not before)
        with module.flags(**{name: not before}):
            assert getattr(module, name) is not before
        assert getattr(module, name) is before
    cudnn.benchmark_limit = 10  # no flag without CUDA, in PyTorch either
    backend.matmul.allow_tf32 = backend.matmul.allow_tf32


def test_what_the_processor_has():
    found = torch.backends.cpu.get_cpu_capability()
    has = torch.cpu.get_capabilities()
    assert found in ("AVX512", "AVX2", "DEFAULT")
    assert (found != "DEFAULT") == bool(has.get("avx2") and has.get("fma3"))


def test_the_engine_for_quantized_products_is_a_hint(monkeypatch):
    monkeypatch.setattr(errors, "_given", set())
    quantized = torch.backends.quantized
    assert quantized.engine in quantized.supported_engines
    before = quantized.engine
    with pytest.warns(UserWarning, match="XLA multiplies"):
        quantized.engine = "qnnpack"
    assert quantized.engine == "qnnpack"
    quantized.engine = before  # told once
    with pytest.raises(RuntimeError, match="nope is not a valid value for quantized engine"):
        quantized.engine = "nope"
    with pytest.raises(RuntimeError, match="NoQEngine is not supported"):
        quantized.engine = "none"
    with pytest.raises(RuntimeError, match="Assignment not supported"):
        quantized.supported_engines = []
    assert quantized.engine == before


def test_libraries_that_compute_nothing_here():
    backends = torch.backends
    assert not backends.xnnpack.enabled
    with pytest.raises(RuntimeError, match="Assignment not supported"):
        backends.xnnpack.enabled = True
    with backends.nnpack.flags(enabled=False):
        assert backends.nnpack.set_flags(True) == (False,)
    assert backends.nnpack.set_flags(True) == (True,)
    for library in (backends.nnpack, backends.kleidiai, backends.cusparselt):
        assert not library.is_available()
    assert backends.cusparselt.version() is backends.cusparselt.get_max_alg_id() is None


def test_the_order_of_products_is_opt_einsums():
    module = torch.backends.opt_einsum
    assert module.is_available()
    assert module.get_opt_einsum().__name__ == "opt_einsum"
    with module.flags(strategy="greedy"):
        assert (module.enabled, module.strategy) == (True, "greedy")
    assert module.strategy == "auto"
