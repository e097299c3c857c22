"""``torch.distributed.algorithms``: uneven inputs, communication hooks."""

from torchlike._runtime.lazy import submodules as _submodules

__getattr__ = _submodules(__name__, "model_averaging")
