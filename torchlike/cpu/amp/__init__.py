"""``torch.cpu.amp``: the old names of torch.amp's."""

from torchlike.cpu.amp import autocast_mode, grad_scaler
from torchlike.cpu.amp.autocast_mode import autocast
from torchlike.cpu.amp.grad_scaler import GradScaler
