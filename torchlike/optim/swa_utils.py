"""Averages of a model's weights over training: stochastic weight averaging (Izmailov et al. 2018)
and exponential moving averages."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any

from torchlike._core import modes
from torchlike._ops import functions
from torchlike.autograd.grad_mode import no_grad
from torchlike.nn.modules.batchnorm import _BatchNorm
from torchlike.nn.modules.module import Module
from torchlike.optim.lr_scheduler.base import LRScheduler, for_each_group
from torchlike.optim.optimizer import Optimizer
from torchlike.tensor import Tensor

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )


def get_ema_avg_fn(decay: float = 0.999) -> Callable[..., Any]:
    """Return a function that computes ``decay * average + (1 - decay) * value``."""
    _check_decay(decay)

    @no_grad()
    def update(ema_param: Any, current_param: Any, num_averaged: Any) -> Tensor:
        return decay * ema_param + (1 - decay) * current_param

    return update


def get_swa_avg_fn() -> Callable[..., Any]:
    """Return a function that computes the mean of all values so far."""

    @no_grad()
    def update(averaged_param: Any, current_param: Any, num_averaged: Any) -> Tensor:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return update


def _each(one: Callable[..., Any]) -> Callable[..., Any]:
    """Turn an average of one tensor into one of lists of tensors, in place."""

    @no_grad()
    def update(averaged: Any, current: Any, num_averaged: Any) -> None:
        for a, b in zip(averaged, current, strict=True):
            a.copy_(one(a, b, num_averaged))

    return update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., Any]:
    """Return a function that updates the exponential moving average of lists of tensors in
    place."""
    _check_decay(decay)

    def one(average: Any, value: Any, n: Any) -> Tensor:
        if average.is_floating_point() or average.is_complex():
            return functions.lerp(average, value, 1 - decay)
        return average * decay + value * (1 - decay)

    return _each(one)


def get_swa_multi_avg_fn() -> Callable[..., Any]:
    """Return a function that updates the mean of lists of tensors so far in place."""
    return _each(get_swa_avg_fn())


class AveragedModel(Module):
    """A copy of a model whose parameters are averages; ``update_parameters(model)`` takes one more.

    Args:
      avg_fn: (average, value, number of values before) -> average; the mean by default.
      multi_avg_fn: the same in place on lists. Give at most one of the two.
      use_buffers: average buffers too, instead of copying the last ones.
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Any = None,
        multi_avg_fn: Any = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", functions.tensor(0, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the averaged model."""
        return self.module(*args, **kwargs)

    @no_grad()
    def update_parameters(self, model: Module) -> None:
        """Take the model's present parameters into the average."""

        def state(m: Module) -> list[Tensor]:
            found = itertools.chain(m.parameters(), m.buffers() if self.use_buffers else ())
            return [t.detach() for t in found]

        own, given = state(self.module), state(model)
        given = [b.to(a.device) for a, b in zip(own, given, strict=True)]
        n, capture = self.n_averaged, modes.running_capture()
        if not modes.is_capturing():
            (self._average if n.item() else _copy)(own, given)
        else:  # which of the two depends on a value: both, and the one that counts is kept
            first = n._read() == 0
            with capture.unless(first):
                self._average(own, given)
            with capture.unless(~first):
                _copy(own, given)
        if not self.use_buffers:
            for a, b in zip(self.module.buffers(), model.buffers(), strict=True):
                a.copy_(b.detach().to(a.device))
        n.add_(1)

    def _average(self, own: list[Tensor], given: list[Tensor]) -> None:
        if self.avg_fn is not None:
            for a, b in zip(own, given, strict=True):
                a.copy_(self.avg_fn(a, b, self.n_averaged.to(a.device)))
            return
        update = self.multi_avg_fn or get_swa_multi_avg_fn()
        kinds: dict[Any, tuple[list[Tensor], list[Tensor]]] = {}
        for a, b in zip(own, given, strict=True):
            lists = kinds.setdefault((str(a.device), a.dtype), ([], []))
            lists[0].append(a)
            lists[1].append(b)
        for averaged, current in kinds.values():
            update(averaged, current, self.n_averaged.to(averaged[0].device))


def _copy(own: list[Tensor], given: list[Tensor]) -> None:
    for a, b in zip(own, given, strict=True):
        a.copy_(b)


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Recompute the statistics of all batch normalizations as means over the loader's batches (of
    a batch that is a list, its first entry)."""
    norms = [m for m in model.modules() if isinstance(m, _BatchNorm)]
    if not norms:
        return
    was_training = model.training
    momenta = [m.momentum for m in norms]
    model.train()
    for m in norms:
        m.reset_running_stats()
        m.momentum = None  # a cumulative mean
    for batch in loader:
        x = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(x if device is None else x.to(device))
    for m, momentum in zip(norms, momenta, strict=True):
        m.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """The rate goes to ``swa_lr`` in ``anneal_epochs`` and stays there."""

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: Any,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        for lr, group in zip(
            for_each_group("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True
        ):
            group["swa_lr"] = lr
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        super().__init__(optimizer, last_epoch)

    def anneal_func(self, t: float) -> float:
        """Return how much of the way from one rate to the other is done at a share of the
        epochs."""
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    def get_lr(self) -> list[Any]:
        now = self._present()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)

        def share(k: int) -> float:
            return self.anneal_func(max(0, min(1, k / max(1, self.anneal_epochs))))

        before, after = share(step - 1), share(step)
        rates = []
        for group, lr in zip(self.optimizer.param_groups, now, strict=True):
            swa = group["swa_lr"]
            # What the rate would be without averaging, from the present mixture of the two.
            other = swa if before == 1 else (lr - before * swa) / (1 - before)
            rates.append(swa * after + other * (1 - after))
        return rates
