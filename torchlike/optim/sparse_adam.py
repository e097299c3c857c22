"""SparseAdam: Adam on the rows that a sparse gradient names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike.autograd.grad_mode import no_grad
from torchlike.optim.optimizer import Optimizer
from torchlike.optim.rules import check_betas
from torchlike.tensor import Tensor


class SparseAdam(Optimizer):
    """For sparse gradients, which nothing in torchlike gives: its ``step`` raises.

    RuntimeError for dense gradients, as PyTorch; NotImplementedError for a sparse one that was put
    there by hand. Use Adam.
    """

    def __init__(
        self, params: Any, lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8, maximize: bool = False,
    ) -> None:  # fmt: skip
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not lr > 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        params = [p for group in self.param_groups for p in group["params"]]
        found = [i for i, p in enumerate(params) if p.is_complex()]
        if found:
            raise ValueError(f"Complex params at indices {found}: SparseAdam does not support "
                             "complex parameters")  # fmt: skip

    @no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Raise for the first gradient; without any, give the closure's loss."""
        loss = self.loss_of(closure)
        for group in self.param_groups:
            for p in self.with_gradients(group):
                assert p.grad is not None
                if not p.grad.is_sparse:
                    raise RuntimeError(
                        "SparseAdam does not support dense gradients, please consider Adam instead"
                    )
                raise NotImplementedError(
                    "torch.optim.SparseAdam: there are no sparse updates. Use instead: "
                    "torch.optim.Adam, with p.grad.to_dense()."
                )
        return loss
