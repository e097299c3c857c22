"""``torch.nn``: modules, parameters, functions, initialisation."""

from torchlike.nn import functional, init, modules, parameter, utils
from torchlike.nn.modules import *  # noqa: F403
from torchlike.nn.parameter import Buffer, Parameter, UninitializedParameter
