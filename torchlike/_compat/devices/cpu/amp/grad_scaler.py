"""The old name of torch.amp.GradScaler for the host."""

from torchlike.amp.old_names import scaler_of

__all__ = ["GradScaler"]

GradScaler = scaler_of("cpu")
