"""``torch.cuda.amp``: the old names of torch.amp's."""

from torchlike.cuda.amp import autocast_mode, common, grad_scaler
from torchlike.cuda.amp.autocast_mode import autocast, custom_bwd, custom_fwd
from torchlike.cuda.amp.common import amp_definitely_not_available
from torchlike.cuda.amp.grad_scaler import GradScaler
