"""``torch.ao.nn.quantized.dynamic``: layers with weights of int8, made by ``quantize_dynamic``."""

from torchlike.ao.nn.quantized.dynamic.linear import Linear
from torchlike.ao.nn.quantized.dynamic.rnn import LSTM

__all__ = ["LSTM", "Linear"]
