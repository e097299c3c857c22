"""``torch.fx.passes``: what is done with graphs."""

from torchlike.fx.passes import graph_drawer as graph_drawer
from torchlike.fx.passes import graph_manipulation as graph_manipulation
from torchlike.fx.passes import infra as infra
from torchlike.fx.passes import operator_support as operator_support
from torchlike.fx.passes import param_fetch as param_fetch
from torchlike.fx.passes import regional_inductor as regional_inductor
from torchlike.fx.passes import shape_prop as shape_prop
from torchlike.fx.passes import split_module as split_module
from torchlike.fx.passes import split_utils as split_utils
from torchlike.fx.passes import splitter_base as splitter_base
from torchlike.fx.passes import tools_common as tools_common
from torchlike.fx.passes import utils as utils
