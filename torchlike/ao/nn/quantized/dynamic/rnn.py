"""An LSTM with weights of int8, whose inputs and states are quantized as they come."""

from __future__ import annotations

from typing import Any

from torchlike._ops.creation.filled import zeros
from torchlike._ops.linalg.dynamic_quantization import dynamic_lstm
from torchlike._ops.random.dropout import dropout
from torchlike._ops.shape.joining import cat, stack
from torchlike.ao.quantization.observer import quantized
from torchlike.nn.modules.module import Module
from torchlike.tensor import Tensor


class LSTM(Module):
    """``nn.LSTM`` of float32 inputs (time, batch, features), batch first if the layer was so, or
    (time, features); no gradient passes.

    AssertionError for a layer without biases, as in PyTorch; NotImplementedError for packed
    sequences: pad them.

    Differs from PyTorch: weights are in buffers (``weight_ih_l0``, ``weight_ih_l0_scale``, …)
    rather than in packed parameters, so state dicts of the two do not fit each other.
    """

    def __init__(self, mod: Any) -> None:
        super().__init__()
        for name in (
            "input_size",
            "hidden_size",
            "num_layers",
            "bias",
            "batch_first",
            "dropout",
            "bidirectional",
        ):
            setattr(self, name, getattr(mod, name))
        if not mod.bias:
            raise AssertionError("mod.bias must be True")
        if mod.proj_size:
            raise NotImplementedError(
                "torch.ao.quantization: LSTM with projections is not there. Use instead: torchao."
            )
        for layer in range(self.num_layers):
            for suffix in self._suffixes(layer):
                for kind in ("ih", "hh"):
                    name = f"weight_{kind}{suffix}"
                    weight, scale = quantized(getattr(mod, name).detach(), mod.qconfig.weight())
                    self.register_buffer(name, weight)
                    self.register_buffer(f"{name}_scale", scale)
                    bias = getattr(mod, f"bias_{kind}{suffix}").detach()
                    self.register_buffer(f"bias_{kind}{suffix}", bias)
        self.train(mod.training)

    def _suffixes(self, layer: int) -> list[str]:
        return [f"_l{layer}", f"_l{layer}_reverse"][: 2 if self.bidirectional else 1]

    def forward(self, input: Any, hx: Any = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        if not isinstance(input, Tensor):
            raise NotImplementedError(
                "torch.ao.nn.quantized.dynamic.LSTM: packed sequences are not there. Use instead: "
                "torch.nn.utils.rnn.pad_packed_sequence."
            )
        batched = input.dim() == 3
        x = input if batched else input.unsqueeze(1)
        if batched and self.batch_first:
            x = x.transpose(0, 1)
        ways = 2 if self.bidirectional else 1
        if hx is None:
            start = zeros(self.num_layers * ways, x.shape[1], self.hidden_size)
            hx = (start, start)
        elif not batched:
            hx = tuple(h.unsqueeze(1) for h in hx)
        hidden: list[Tensor] = []
        cells: list[Tensor] = []
        for layer in range(self.num_layers):
            outputs = []
            for way, suffix in enumerate(self._suffixes(layer)):
                weights = [
                    getattr(self, f"{part}{suffix}{end}")
                    for part, end in (
                        ("weight_ih", ""),
                        ("weight_ih", "_scale"),
                        ("bias_ih", ""),
                        ("weight_hh", ""),
                        ("weight_hh", "_scale"),
                        ("bias_hh", ""),
                    )
                ]
                at = layer * ways + way
                out, h, c = dynamic_lstm(x, hx[0][at], hx[1][at], *weights, way == 1)
                outputs.append(out)
                hidden.append(h)
                cells.append(c)
            x = cat(outputs, -1) if ways == 2 else outputs[0]
            if self.dropout and layer + 1 < self.num_layers:
                x = dropout(x, self.dropout, self.training)
        last = stack(hidden), stack(cells)
        if not batched:
            return x.squeeze(1), (last[0].squeeze(1), last[1].squeeze(1))
        return (x.transpose(0, 1) if self.batch_first else x), last

    def extra_repr(self) -> str:
        said = f"{self.input_size}, {self.hidden_size}"
        usual = {"num_layers": 1, "batch_first": False, "dropout": 0.0, "bidirectional": False}
        for name, value in usual.items():
            if getattr(self, name) != value:
                said += f", {name}={getattr(self, name)}"
        return said

    def _get_name(self) -> str:
        return "DynamicQuantizedLSTM"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> LSTM:
        """Make the layer of a ``nn.LSTM`` whose ``qconfig.weight`` makes the observers of
        weights."""
        return cls(mod)
