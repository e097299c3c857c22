"""``torch.cpu.amp``: the old names of torch.amp's."""

from torchlike._compat.devices.cpu.amp import autocast_mode, grad_scaler
from torchlike._compat.devices.cpu.amp.autocast_mode import autocast
from torchlike._compat.devices.cpu.amp.grad_scaler import GradScaler
