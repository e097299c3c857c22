"""torchlike: PyTorch's programming model on JAX, with no PyTorch inside.

Use it as PyTorch is used (``import torchlike as torch``); ``torchlike.jit`` compiles a whole
training step into one XLA executable. ARCHITECTURE.md says how it is built.
"""

from torchlike import compilation_cache as _compilation_cache

_compilation_cache.enable()

from torchlike import dtypes as _dtypes  # noqa: E402 - the cache must be set before JAX compiles
from torchlike import ops as _ops  # noqa: E402 - registers the ops
from torchlike.autograd.grad_mode import (  # noqa: E402
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from torchlike.devices import device, get_default_device, set_default_device  # noqa: E402
from torchlike.dispatch import registry as _registry  # noqa: E402
from torchlike.dtypes import (  # noqa: E402
    can_cast,
    dtype,
    finfo,
    get_default_dtype,
    iinfo,
    promote_types,
    set_default_dtype,
)
from torchlike.printing import set_printoptions  # noqa: E402
from torchlike.random import (  # noqa: E402
    Generator,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from torchlike.tensor import (  # noqa: E402
    Size,
    Tensor,
    channels_last,
    channels_last_3d,
    contiguous_format,
    from_jax,
    layout,
    memory_format,
    preserve_format,
    sparse_coo,
    strided,
)

globals().update({d.name: d for d in _dtypes.ALL})
globals().update(_dtypes.ALIASES)
globals().update(_registry.NAMESPACES[""])

from torchlike import (  # noqa: E402
    autograd,
    backends,
    cuda,
    fft,
    interop,
    jit,
    linalg,
    nn,
    optim,
    random,
    serialization,
    special,
    utils,
)
from torchlike.compile import compile  # noqa: E402
from torchlike.porting.allocator import tune_allocator  # noqa: E402
from torchlike.serialization import load, save  # noqa: E402

#: The PyTorch release whose behaviour is the reference.
__version__ = "2.13.0+torchlike"
