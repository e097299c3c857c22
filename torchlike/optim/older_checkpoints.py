"""What checkpoints of older releases lack: options that came later, counts that were numbers."""

from __future__ import annotations

from torchlike._ops.creation.from_data import tensor
from torchlike.optim.optimizer import Optimizer
from torchlike.tensor import Tensor

#: Options that PyTorch's optimizers have not always had, and what held before.
_BEFORE = {
    "amsgrad": False,
    "capturable": False,
    "centered": False,
    "decoupled_weight_decay": False,
    "differentiable": False,
    "foreach": None,
    "fused": None,
    "maximize": False,
    "momentum": 0,
    "nesterov": False,
}
#: States that are tensors of one number, and once were numbers.
_NUMBERS = ("step", "eta", "mu", "mu_product")


def complete_groups(optimizer: Optimizer) -> None:
    """Add to groups the options of the optimizer that they lack, as they were then."""
    for group in optimizer.param_groups:
        for name in _BEFORE.keys() & optimizer.defaults.keys():
            group.setdefault(name, _BEFORE[name])


def complete_states(optimizer: Optimizer) -> None:
    """Make tensors of states that are numbers."""
    for state in optimizer.state.values():
        for name in _NUMBERS:
            value = state.get(name)
            if value is not None and not isinstance(value, Tensor):
                state[name] = tensor(float(value))
