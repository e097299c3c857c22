"""``torch.nn``: modules, parameters, functions, initialisation."""

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
