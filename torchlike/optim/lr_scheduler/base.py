"""What every schedule shares: the epoch, the groups' rates, the state."""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable
from typing import Any

from torchlike.optim.optimizer import Optimizer, refuse_capture
from torchlike.tensor import Tensor

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where "
    "possible. Please use `scheduler.step()` to step the scheduler. During the deprecation, if "
    "epoch is different from None, the closed form is used instead of the new chainable form, "
    "where available. Please open an issue if you are unable to replicate your use case: "
    "https://github.com/pytorch/pytorch/issues/new/choose."
)


def values_of(optimizer: Optimizer, key: str) -> list[Any]:
    """Return one setting of all groups; tensors are copied."""
    return [copied(group[key]) for group in optimizer.param_groups]


def copied(value: Any) -> Any:
    """Return a number as it is, and a tensor as a copy: what is written into one is not seen by the
    other."""
    return value.clone() if isinstance(value, Tensor) else value


def put(group: dict[str, Any], key: str, value: Any) -> None:
    """Set a group's number; one that is a tensor keeps being the same tensor."""
    if isinstance(group[key], Tensor):
        group[key].fill_(value)
    else:
        group[key] = value


def for_each_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """Return a value for each group, from one or a list; tensors are copied, for the caller may go
    on writing into its own. Raises ValueError for a list of another length."""
    n = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [copied(value) for _ in range(n)]
    if len(value) != n:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has "
            f"{len(value)} values, param_groups has {n}."
        )
    return [copied(v) for v in value]


class LRScheduler:
    """Base class: subclasses give ``get_lr``, the rates for the present ``last_epoch``.

    ``get_lr`` may go on from the groups' present rates, so that several schedules can act on one
    optimizer; ``_get_closed_form_lr`` gives them from the epoch alone.
    """

    _get_lr_called_within_step: bool = False
    _is_initial: bool = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming "
                    "scheduler with last_epoch >= 0.\nThis typically happens when:\n"
                    "1. You're trying to resume training from a checkpoint but haven't properly "
                    "loaded the optimizer state\n2. You're using last_epoch >= 0 for a fresh "
                    "training run (not recommended)"
                )
        self.base_lrs = values_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        if "step" in vars(self.optimizer):
            self.optimizer._step_when_scheduled = vars(self.optimizer)["step"]
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def get_lr(self) -> list[Any]:
        """Return the rate of each group at ``last_epoch``. Ask ``get_last_lr`` instead."""
        raise NotImplementedError

    def get_last_lr(self) -> list[Any]:
        """Return the rates set last."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Advance by one epoch (or to ``epoch``) and set the rates. Call it after the optimizer.

        Example:
          >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
          >>> scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
          >>> optimizer.step()
          >>> scheduler.step()
          >>> scheduler.get_last_lr()
          [0.5]
        """
        refuse_capture("scheduler.step()")
        if self._step_count == 1 and self._is_step_overridden():
            warnings.warn(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler "
                "initialization. Please, make sure to call `optimizer.step()` before "
                "`lr_scheduler.step()`. See more details at "
                "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate",
                UserWarning,
                stacklevel=2,
            )
        elif self._step_count == 1 and not self.optimizer._opt_called:
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch "
                "1.1.0 and later, you should call them in the opposite order: `optimizer.step()` "
                "before `lr_scheduler.step()`.  Failure to do this will result in PyTorch skipping "
                "the first value of the learning rate schedule. See more details at "
                "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate",
                UserWarning,
                stacklevel=2,
            )
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _is_step_overridden(self) -> bool:
        """Return whether the optimizer's ``step`` has been replaced since a schedule was made for
        it."""
        optimizer = self.optimizer
        return vars(optimizer).get("step") is not optimizer._step_when_scheduled

    def _update_lr(self, epoch: int | None = None) -> None:
        self._get_lr_called_within_step = True
        try:
            closed: Callable[[], Any] | None = getattr(self, "_get_closed_form_lr", None)
            self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
            values = self.get_lr() if epoch is None or closed is None else closed()
        finally:
            self._get_lr_called_within_step = False
        self._set(values)

    def _set(self, values: list[Any]) -> None:
        for group, lr in zip(self.optimizer.param_groups, values, strict=True):
            put(group, "lr", lr)
        self._last_lr = values_of(self.optimizer, "lr")

    def _present(self) -> list[Any]:
        """Return the groups' present rates, within ``get_lr``."""
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use "
                "`get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )
        return values_of(self.optimizer, "lr")

    def state_dict(self) -> dict[str, Any]:
        """Return all attributes but the optimizer."""
        return {k: v for k, v in self.__dict__.items() if k != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state."""
        self.__dict__.update(state_dict)


_LRScheduler = LRScheduler


def state_of_callable(fn: Any) -> dict[str, Any] | None:
    """Return what a checkpoint keeps of a callable object: its attributes, or None for a
    function."""
    return None if fn is None or isinstance(fn, types.FunctionType) else fn.__dict__.copy()
