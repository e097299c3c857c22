"""Learning-rate schedules."""

from torchlike.optim.lr_scheduler.base import EPOCH_DEPRECATION_WARNING, LRScheduler, _LRScheduler
from torchlike.optim.lr_scheduler.combined import ChainedScheduler, SequentialLR
from torchlike.optim.lr_scheduler.cosine import CosineAnnealingLR, CosineAnnealingWarmRestarts
from torchlike.optim.lr_scheduler.cycles import CyclicLR, OneCycleLR
from torchlike.optim.lr_scheduler.factors import (
    ConstantLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from torchlike.optim.lr_scheduler.plateau import ReduceLROnPlateau

__all__ = [
    "EPOCH_DEPRECATION_WARNING",
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
    "_LRScheduler",
]
