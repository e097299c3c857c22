"""``torch._dynamo.config``: the settings that scripts make.

``suppress_errors`` means what it does in PyTorch: what cannot be compiled runs eagerly;
``recompile_limit`` holds for functions compiled with ``fullgraph=True``. The others can be set and
read and have no effect: there is one graph a function, compiled for each shape.
"""

from torchlike import jit
from torchlike._jit.call.recompile_limit import set_recompile_limit
from torchlike.utils._config_module import install_config_module

suppress_errors = False

accumulated_cache_size_limit = 256
accumulated_recompile_limit = 256
allow_unspec_int_on_nn_module = False
assume_static_by_default = True
automatic_dynamic_shapes = True
cache_size_limit = 8
capture_dynamic_output_shape_ops = False
capture_scalar_outputs = False
compiled_autograd = False
dynamic_shapes = True
error_on_recompile = False
fail_on_recompile_limit_hit = False
fake_tensor_cache_crosscheck_enabled = False
fake_tensor_cache_enabled = True
force_parameter_static_shapes = True
guard_nn_modules = True
inline_inbuilt_nn_modules = True
numpy_default_float = "float64"
optimize_ddp = True
recompile_limit = 8
skip_code_recursive_on_recompile_limit_hit = True
skip_fwd_side_effects_in_bwd_under_checkpoint = False
specialize_float = False
specialize_int = False
trace_numpy = True
verbose = False

install_config_module(
    __name__,
    {
        "recompile_limit": set_recompile_limit,
        "suppress_errors": lambda value: jit.set_fallback("eager" if value else None),
    },
)
