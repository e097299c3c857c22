"""Parameters averaged over processes now and then, in place of gradients at each step."""

from torchlike.distributed.algorithms.model_averaging import averagers as averagers
from torchlike.distributed.algorithms.model_averaging import utils as utils
