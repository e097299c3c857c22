"""Batch normalisation."""

from __future__ import annotations

from typing import Any

from torchlike._core import dtypes
from torchlike._ops.creation.from_data import tensor
from torchlike._ops.shape.joining import cat
from torchlike.autograd.grad_mode import no_grad
from torchlike.distributed import groups
from torchlike.distributed.nn.functional import all_reduce
from torchlike.nn import functional as F
from torchlike.nn import init
from torchlike.nn.modules.module import Module
from torchlike.nn.modules.utils import new_parameter, new_tensor
from torchlike.tensor import Tensor


class _NormBase(Module):
    """What batch and instance norm share: affine parameters and running statistics."""

    weight: Any
    bias: Any
    running_mean: Any
    running_var: Any
    num_batches_tracked: Any
    #: Version 2 added num_batches_tracked.
    _version = 2

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            self.register_parameter(
                name, new_parameter(num_features, device, dtype) if wanted else None
            )
        if track_running_stats:
            self.register_buffer("running_mean", new_tensor(num_features, device, dtype))
            self.register_buffer("running_var", new_tensor(num_features, device, dtype, 1))
            self.register_buffer("num_batches_tracked", new_tensor((), device, dtypes.int64))
        else:
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                self.register_buffer(name, None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Set the running mean to 0, the variance to 1 and the number of batches to 0."""
        if self.track_running_stats:
            init.zeros_(self.running_mean)
            init.ones_(self.running_var)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Reset the running statistics, and set the weight to 1 and the bias to 0."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError(f"{type(self).__name__} does not say which inputs it takes")

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: dict[str, Any], *rest: Any
    ) -> None:
        version = local_metadata.get("version")
        key = f"{prefix}num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            tracked = self.num_batches_tracked
            state_dict[key] = new_tensor((), dtype=dtypes.int64) if tracked is None else tracked
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class _BatchNorm(_NormBase):
    """Normalises each channel over the batch, or by running statistics in evaluation."""

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        momentum: Any = 0.0 if self.momentum is None else self.momentum
        training = self.training
        if training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # running statistics are the mean over all batches
                momentum = 1.0 / self.num_batches_tracked.double()
        by_batch = training or (self.running_mean is None and self.running_var is None)
        kept = not training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if kept else None,
            self.running_var if kept else None,
            self.weight,
            self.bias,
            by_batch,
            momentum,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """Normalise each channel of (N, C) or (N, C, L) over the batch; else as ``BatchNorm2d``."""

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (2, 3):
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")


class BatchNorm2d(_BatchNorm):
    """Normalise each channel of (N, C, H, W) over the batch and the image.

    In training mode by the batch's mean and biased variance, which update ``running_mean`` and
    ``running_var`` (the unbiased one); in evaluation mode by those.

    Args:
      num_features: C.
      eps: added to the variance.
      momentum: the share of the new statistics; None averages all batches.
      affine: whether there are ``weight`` and ``bias`` (C,).
      track_running_stats: False normalises by the batch in evaluation mode, too.

    Raises:
      ValueError: from a call, for another number of dimensions, or in training mode for one value a
        channel.

    Example:
      >>> norm = torch.nn.BatchNorm2d(3)
      >>> y = norm(torch.randn(8, 3, 4, 4))
      >>> y.shape, int(norm.num_batches_tracked)
      (torch.Size([8, 3, 4, 4]), 1)
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 4:
            raise ValueError(f"expected 4D input (got {input.dim()}D input)")


class BatchNorm3d(_BatchNorm):
    """Normalise each channel of (N, C, D, H, W) over the batch; else as ``BatchNorm2d``."""

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 5:
            raise ValueError(f"expected 5D input (got {input.dim()}D input)")


class SyncBatchNorm(_BatchNorm):
    """Batch norm by the statistics of all processes of a group, whose batches may differ in size.

    Under jax.sharding one program sees the whole batch, so these are those of all devices.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if not input.shape[1]:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    def forward(self, input: Tensor) -> Tensor:
        """Normalise the input. Raises ValueError for a shape that is not of a batch, and where all
        processes have one value for each channel together."""
        if not self.training or not groups.is_initialized():
            return super().forward(input)
        group = groups.member(self.process_group)
        if group.size() < 2:
            return super().forward(input)
        self._check_input_dim(input)
        return self._synchronized(input, group)

    def _synchronized(self, input: Tensor, group: Any) -> Tensor:
        """Normalise by the mean of all values, then by the mean of the squares of their deviations
        from it: the difference of two large sums would lose digits."""
        dims = [d for d in range(input.dim()) if d != 1]
        wide = input.float() if input.dtype.itemsize < 4 else input
        own = tensor([input.numel() / input.shape[1]], dtype=wide.dtype)
        sums = all_reduce(cat([wide.sum(dims), own]), group=group)
        count = sums[-1]
        if count.item() <= 1:
            raise ValueError(
                "Expected more than 1 value per channel when training, got input size "
                f"{input.size()}"
            )
        shape = [1, -1, *([1] * (input.dim() - 2))]
        mean = sums[:-1] / count
        off = wide - mean.view(shape)
        variance = all_reduce((off * off).sum(dims), group=group) / count
        result = off * (variance + self.eps).rsqrt().view(shape)
        if self.weight is not None:
            result = result * self.weight.view(shape)
        if self.bias is not None:
            result = result + self.bias.view(shape)
        if self.track_running_stats:
            self._remember(mean.detach(), (variance * (count / (count - 1))).detach())
        return result.to(input.dtype)

    def _remember(self, mean: Tensor, variance: Tensor) -> None:
        assert self.num_batches_tracked is not None
        self.num_batches_tracked.add_(1)
        factor = self.momentum
        if factor is None:
            factor = 1.0 / float(self.num_batches_tracked.item())
        with no_grad():
            for kept, now in ((self.running_mean, mean), (self.running_var, variance)):
                assert kept is not None
                kept.lerp_(now.to(kept.dtype), factor)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """Replace every batch norm in the module by one of this class, which has the parameters and
        buffers of the former, and return the module."""
        converted = module
        if isinstance(module, _BatchNorm):
            made = converted = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
                setattr(made, name, getattr(module, name))
            made.training = module.training
            if hasattr(module, "qconfig"):
                made.qconfig = module.qconfig
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted
