"""``torch.optim``: optimizers that update all parameters of a group in one compiled call."""

from torchlike.optim import lr_scheduler
from torchlike.optim.adam import Adam, AdamW
from torchlike.optim.optimizer import Optimizer
from torchlike.optim.sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "lr_scheduler"]
