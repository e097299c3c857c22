"""``torch.optim``: optimizers that update all parameters of a group in one compiled call.

Imports `nn` and below. Begin with ``optimizer.py`` (groups and state) and ``rprop.py``: an
optimizer is a rule for one parameter, which ``fused.py`` compiles for all of a group.
``optax_optimizer.py`` and kin take optax's transformations; ``lr_scheduler/`` has schedules.
"""

from torchlike._compat import reexports as _reexports
from torchlike.optim import lr_scheduler, swa_utils
from torchlike.optim.accumulating import Adadelta, Adagrad, RMSprop
from torchlike.optim.adafactor import Adafactor
from torchlike.optim.adam import Adam, AdamW
from torchlike.optim.adam_variants import Adamax, NAdam, RAdam
from torchlike.optim.averaged_sgd import ASGD
from torchlike.optim.lbfgs import LBFGS
from torchlike.optim.muon import Muon
from torchlike.optim.optax_optimizer import Optax
from torchlike.optim.optimizer import Optimizer
from torchlike.optim.rprop import Rprop
from torchlike.optim.sgd import SGD
from torchlike.optim.sparse_adam import SparseAdam
from torchlike.optim.to_optax import to_optax

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optax",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "lr_scheduler",
    "swa_utils",
    "to_optax",
]

_reexports.reexport(
    __name__,
    {
        "adadelta": (Adadelta,),
        "adagrad": (Adagrad,),
        "adamax": (Adamax,),
        "adamw": (AdamW,),
        "asgd": (ASGD,),
        "nadam": (NAdam,),
        "radam": (RAdam,),
        "rmsprop": (RMSprop,),
    },
)
