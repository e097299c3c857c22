"""``torch.ao.nn.qat``: layers that train with rounded weights. How: ``rounded.py``."""

from torchlike.ao.nn.qat.rounded import CLASSES as _CLASSES

Linear = _CLASSES["Linear"]
Conv1d, Conv2d, Conv3d = (_CLASSES[name] for name in ("Conv1d", "Conv2d", "Conv3d"))
Embedding, EmbeddingBag = _CLASSES["Embedding"], _CLASSES["EmbeddingBag"]

__all__ = ["Conv1d", "Conv2d", "Conv3d", "Embedding", "EmbeddingBag", "Linear"]
