"""The adaptive softmax: rare classes in clusters with ever smaller projections."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from torchlike._core import modes
from torchlike._ops.indexing.masking import where
from torchlike._ops.shape.joining import cat
from torchlike._ops.value_checks import refuse_tensor
from torchlike.nn import functional as F
from torchlike.nn.modules.container import ModuleList, Sequential
from torchlike.nn.modules.linear import Linear
from torchlike.nn.modules.module import Module
from torchlike.tensor import Tensor

_CUTOFFS = (
    "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, "
    "where each value is between 1 and n_classes-1"
)


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


def _is_no_class(classes: int, values: Any) -> Any:
    return (values < 0) | (values >= classes)


class AdaptiveLogSoftmaxWithLoss(Module):
    """Softmax over many classes sorted by frequency (Grave et al., 2017, "Efficient softmax
    approximation for GPUs").

    The head scores the classes below the first cutoff and the clusters; cluster i scores its own
    classes through a projection to ``in_features // div_value ** (i + 1)`` features.

    Args:
      cutoffs: where the clusters begin; increasing, between 1 and ``n_classes - 1``.
      div_value: by what the projection shrinks from cluster to cluster.
      head_bias: whether the head has a bias.

    ``forward`` takes (N, in_features) and targets (N), or (in_features) and a 0-dim target, and
    gives ``(output, loss)``: the targets' log probabilities, and their negative mean. ValueError
    for bad cutoffs; RuntimeError for shapes that do not match and targets that are no class.

    Differs from PyTorch: inside ``torchlike.jit`` every cluster scores every row, because how many
    belong to it is known only when the program runs, and targets that are no class give NaN.
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            cutoffs != sorted(set(cutoffs))
            or cutoffs[0] <= 0
            or cutoffs[-1] > n_classes - 1
            or any(int(c) != c for c in cutoffs)
        ):
            raise ValueError(_CUTOFFS)
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        made = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **made)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            hidden = int(in_features // div_value ** (i + 1))
            size = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(
                Sequential(
                    Linear(in_features, hidden, bias=False, **made),
                    Linear(hidden, size, bias=False, **made),
                )
            )

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        self.head.reset_parameters()
        for projection, scores in self.tail:
            projection.reset_parameters()
            scores.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        self._check(input_, target_)
        batched = target_.dim() > 0
        input, target = (input_, target_) if batched else (input_[None], target_[None])
        head = F.log_softmax(self.head(input), 1)
        output = head.gather(1, target.clamp(0, self.shortlist_size - 1)[:, None])[:, 0]
        capturing = modes.is_capturing()
        if capturing:  # no value can be looked at: a target that is no class gives NaN
            output = where((target >= 0) & (target < self.shortlist_size), output, math.nan)
        for i, (low, high) in enumerate(zip(self.cutoffs, self.cutoffs[1:], strict=False)):
            inside = (target >= low) & (target < high)
            if capturing:
                output = where(inside, self._cluster(i, head, input, target), output)
                continue
            rows = inside.nonzero()[:, 0]
            if rows.numel():
                found = self._cluster(i, head[rows], input[rows], target[rows])
                output = output.index_copy(0, rows, found)
        return _ASMoutput(output if batched else output.squeeze(0), (-output).mean())

    def _cluster(self, i: int, head: Tensor, input: Tensor, target: Tensor) -> Tensor:
        """Return the log probabilities of targets in cluster i (of others: something finite)."""
        low, high = self.cutoffs[i : i + 2]
        within = F.log_softmax(self.tail[i](input), 1)
        chosen = within.gather(1, (target - low).clamp(0, high - low - 1)[:, None])[:, 0]
        return head[:, self.shortlist_size + i] + chosen

    def _check(self, input: Tensor, target: Tensor) -> None:
        if target.dim() > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if target.dim() == 1 and input.shape[0] != target.shape[0]:
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if input.dim() != target.dim() + 1:
            raise RuntimeError(
                f"{target.dim()}D target tensor expects {target.dim() + 1}D input tensors, but "
                f"found inputs with size {input.shape}"
            )
        if modes.is_capturing():
            words = f"Target values should be in [0, {self.n_classes - 1}], but one is {{0}}"
            no_class = functools.partial(_is_no_class, self.n_classes)
            refuse_tensor(target, no_class, RuntimeError, words, self.n_classes)
        elif target.numel():
            least, most = int(target.min().item()), int(target.max().item())
            if least < 0 or most >= self.n_classes:
                raise RuntimeError(
                    f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                    f"[{least}, {most}] were found. "
                )

    def log_prob(self, input: Tensor) -> Tensor:
        """Return the log probabilities of all classes, (N, in_features) -> (N, n_classes)."""
        head = F.log_softmax(self.head(input), 1)
        parts = [head[:, : self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            column = head[:, self.shortlist_size + i, None]
            parts.append(F.log_softmax(cluster(input), 1) + column)
        return cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """Return the most probable class of each row, (N, in_features) -> (N)."""
        return self.log_prob(input).argmax(1)
