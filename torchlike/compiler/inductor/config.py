"""``torch._inductor.config``: settings that scripts make. XLA generates the code, so none has an
effect."""

import types

from torchlike.utils._config_module import install_config_module

allow_buffer_reuse = True
benchmark_kernel = False
compile_threads = 1
conv_1x1_as_mm = False
coordinate_descent_check_all_directions = False
coordinate_descent_tuning = False
debug = False
epilogue_fusion = True
fallback_random = False
force_disable_caches = False
force_fuse_int_mm_with_mul = False
force_same_precision = False
freezing = False
fx_graph_cache = True
fx_graph_remote_cache = None
group_fusion = False
max_autotune = False
max_autotune_gemm = False
max_autotune_gemm_backends = "ATEN,TRITON,CPP"
max_autotune_pointwise = False
pattern_matcher = True
reorder_for_compute_comm_overlap = False
shape_padding = True
size_asserts = True
split_reductions = True
use_mixed_mm = True

cpp = types.SimpleNamespace(
    threads=-1, simdlen=None, enable_kernel_profile=False, weight_prepack=True
)
cuda = types.SimpleNamespace(arch=None, version=None, compile_opt_level="-O1")
triton = types.SimpleNamespace(
    autotune_at_compile_time=None,
    cudagraph_skip_dynamic_graphs=False,
    cudagraph_trees=True,
    cudagraphs=False,
    dense_indexing=False,
    descriptive_names="original_aten",
    max_tiles=None,
    multi_kernel=0,
    tiling_prevents_pointwise_fusion=True,
    unique_kernel_names=True,
)

install_config_module(__name__, known_as="torch._inductor.config")
