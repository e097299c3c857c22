"""``torch.ao``: quantization of modules, as far as it is here (see ``ao.quantization``).

Imports `nn` and below. Begin with ``quantization/__init__.py``; observers and fake quantization are
files beside it, ``nn/`` has the modules.
"""

from torchlike._runtime.lazy import submodules as _submodules

__getattr__ = _submodules(__name__, "nn", "quantization")
