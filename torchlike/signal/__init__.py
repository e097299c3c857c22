"""``torch.signal``: window functions."""

from torchlike.signal import windows
