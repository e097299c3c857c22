"""``torch.masked``: tensors with a mask, and functions that leave out what a mask hides.

Imports `_ops`, `_extensions` and below. Begin with ``maskedtensor/``; ``_ops.py`` has the functions
of plain tensors and a mask.
"""

from torchlike.masked._ops import (
    _input_mask,
    _output_mask,
    amax,
    amin,
    argmax,
    argmin,
    cumprod,
    cumsum,
    log_softmax,
    logaddexp,
    logsumexp,
    mean,
    median,
    norm,
    normalize,
    prod,
    softmax,
    softmin,
    std,
    sum,
    var,
)
from torchlike.masked.maskedtensor import rules as _rules
from torchlike.masked.maskedtensor.core import MaskedTensor, is_masked_tensor
from torchlike.masked.maskedtensor.creation import as_masked_tensor, masked_tensor

__all__ = [
    "MaskedTensor",
    "_input_mask",
    "_output_mask",
    "amax",
    "amin",
    "argmax",
    "argmin",
    "as_masked_tensor",
    "cumprod",
    "cumsum",
    "is_masked_tensor",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "masked_tensor",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]

assert _rules  # importing them fills the table of rules
