"""``torch.nn``: modules, parameters, functions, initialisation.

Imports `_ops`, `autograd` and `_jit`. Begin with ``modules/module.py``; a layer is a file of its
family in ``modules/``, and what it computes is in ``_ops/nn/``.
"""

from torchlike.nn import (
    attention,
    common_types,
    functional,
    grad,
    init,
    modules,
    parallel,
    parameter,
    utils,
)
from torchlike.nn.modules import *  # noqa: F403
from torchlike.nn.parallel import DataParallel
from torchlike.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
