"""``torch.onnx.symbolic_opset11``: by name only, for functions that libraries write for PyTorch's
exporter."""

from torchlike._compat.unsupported import functions as _functions

globals().update(_functions("onnx.symbolic_opset11"))
