"""Dropout: zeroes at random in training, the identity in evaluation."""

from __future__ import annotations

from torchlike.nn import functional as F
from torchlike.nn.modules.module import Module
from torchlike.tensor import Tensor


class _DropoutNd(Module):
    """What all share: a probability of being zeroed. ValueError outside [0, 1]."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Set elements to zero with probability ``p`` in training mode; the others are divided by
    ``1 - p``.

    The input has any shape; in evaluation mode it comes back as it is. The CPU's draws are
    PyTorch's.

    Args:
      p: the probability.
      inplace: whether the input itself is written.

    Raises:
      ValueError: ``p`` is not within [0, 1].

    Example:
      >>> dropout = torch.nn.Dropout(0.5)
      >>> set(dropout(torch.ones(100)).tolist()) == {0.0, 2.0}
      True
      >>> dropout.eval()(torch.ones(3))
      tensor([1., 1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """Zeroes channels of (N, C, L) or (C, L)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Zeroes channels of (N, C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """Zeroes channels of (N, C, D, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean and variance, for SELU networks."""

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """AlphaDropout of whole channels."""

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
