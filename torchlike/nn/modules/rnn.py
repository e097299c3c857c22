"""Recurrent layers (RNN, LSTM, GRU) and their cells."""

from __future__ import annotations

import math
import numbers
import warnings
from typing import Any

from torchlike._core.dispatch.registry import NAMESPACES
from torchlike.nn import init
from torchlike.nn.modules.module import Module
from torchlike.nn.modules.utils import new_parameter
from torchlike.nn.utils.rnn import PackedSequence
from torchlike.tensor import Tensor

#: Gates by mode: how many blocks of hidden_size rows the weights have.
_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def _permuted(t: Tensor, permutation: Tensor | None) -> Tensor:
    return t if permutation is None else t.index_select(1, permutation)


class RNNBase(Module):
    """What the layers share: weights by PyTorch's names, checks, batched, unbatched and packed."""

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _check_arguments(
            mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, proj_size
        )
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._all_weights: list[list[str]] = []
        directions = 2 if bidirectional else 1
        rows, out = _GATES[mode] * hidden_size, proj_size or hidden_size
        for layer in range(num_layers):
            for suffix in ("", "_reverse")[:directions]:
                shapes: dict[str, Any] = {
                    "weight_ih": (rows, input_size if layer == 0 else out * directions),
                    "weight_hh": (rows, out),
                }
                if bias:
                    shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                names = [f"{name}_l{layer}{suffix}" for name in shapes]
                for name, shape in zip(names, shapes.values(), strict=True):
                    setattr(self, name, new_parameter(shape, device, dtype))
                self._all_weights.append(names)
        self.reset_parameters()

    @property
    def _flat_weights(self) -> list[Any]:
        """All weights in the order that ``torch.lstm`` and its kin want."""
        return [getattr(self, name) for name in self._flat_weights_names]

    @property
    def _flat_weights_names(self) -> list[str]:
        """Their names, which are used to initialize weights and biases apart."""
        return [name for names in self._all_weights for name in names]

    @property
    def all_weights(self) -> list[list[Any]]:
        """The weights of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Do nothing: this concerns cuDNN's memory layout."""

    def reset_parameters(self) -> None:
        """Draw all parameters from the uniform distribution on ``±1/sqrt(hidden_size)``."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise ValueError or RuntimeError for an input of another dtype or shape."""
        weight = getattr(self, self._all_weights[0][0])
        if input.dtype is not weight.dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). "
                f"Convert input: input.to({weight.dtype}), or convert model: "
                f"model.to({input.dtype})"
            )
        expected = 3 if batch_sizes is None else 2
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got "
                f"{input.size(-1)}"
            )

    def check_hidden_size(
        self,
        hx: Tensor,
        expected: tuple[int, ...],
        msg: str = "Expected hidden size {}, got {}",
    ) -> None:
        """Raise RuntimeError for a state of another shape."""
        if tuple(hx.shape) != expected:
            raise RuntimeError(msg.format(expected, list(hx.shape)))

    def permute_hidden(self, hx: Tensor, permutation: Tensor | None) -> Tensor:
        """Return the state with its batch in another order."""
        return _permuted(hx, permutation)

    def extra_repr(self) -> str:
        parts = [f"{self.input_size}, {self.hidden_size}"]
        for name, usual in (
            ("proj_size", 0),
            ("num_layers", 1),
            ("bias", True),
            ("batch_first", False),
            ("dropout", 0),
            ("bidirectional", False),
        ):
            value = getattr(self, name)
            if value != usual:
                parts.append(f"{name}={value}")
        return ", ".join(parts)

    # -- forward -----------------------------------------------------------------------------------

    def _state_sizes(self) -> tuple[int, ...]:
        """Return the width of each state: (hidden,), for an LSTM (hidden or projected, cell)."""
        return (self.proj_size or self.hidden_size,)

    def _check_states(self, states: list[Tensor], batch: int) -> None:
        layers = self.num_layers * (2 if self.bidirectional else 1)
        self.check_hidden_size(states[0], (layers, batch, self._state_sizes()[0]))

    def _run(self, given: Any, states: list[Tensor] | None) -> tuple[Any, list[Tensor]]:
        """Compute outputs and last states for a padded, unbatched or packed input."""
        input: Any = given
        order: Any = None
        back: Any = None
        batch_sizes: Any = None
        packed: Any = given if isinstance(given, PackedSequence) else None
        unbatched = False
        if packed is not None:
            input, batch_sizes, order, back = tuple(packed)
            batch = int(batch_sizes._value("a PackedSequence", "padded sequences")[0])
        else:
            if input.dim() not in (2, 3):
                raise ValueError(
                    f"{self._kind()}: Expected input to be 2D or 3D, got {input.dim()}D instead"
                )
            unbatched = input.dim() == 2
            batch_dim = 0 if self.batch_first else 1
            if states is not None:
                self._check_state_dims(states, unbatched)
            if unbatched:
                input = input.unsqueeze(batch_dim)
                states = states and [s.unsqueeze(1) for s in states]
            batch = input.size(batch_dim)
        if states is None:
            layers = self.num_layers * (2 if self.bidirectional else 1)
            states = [input.new_zeros(layers, batch, size) for size in self._state_sizes()]
        else:
            states = [_permuted(s, order) for s in states]
        self.check_input(input, batch_sizes)
        self._check_states(states, batch)
        run = NAMESPACES[""][self.mode.lower()]
        hx = states if self.mode == "LSTM" else states[0]
        settings = (
            self._flat_weights,
            self.bias,
            self.num_layers,
            self.dropout,
            self.training,
            self.bidirectional,
        )
        if packed is None:
            output, *last = run(input, hx, *settings, self.batch_first)
        else:
            output, *last = run(input, batch_sizes, hx, *settings)
            output = PackedSequence(output, batch_sizes, order, back)
        last = [_permuted(s, back) for s in last]
        if unbatched:
            return output.squeeze(batch_dim), [s.squeeze(1) for s in last]
        return output, last

    def _kind(self) -> str:
        return self.mode.split("_")[0]

    def _check_state_dims(self, states: list[Tensor], unbatched: bool) -> None:
        expected = 2 if unbatched else 3
        hx = states[0]
        if hx.dim() != expected:
            kind = "unbatched 2-D" if unbatched else "batched 3-D"
            raise RuntimeError(
                f"For {kind} input, hx should also be {expected}-D but got {hx.dim()}-D tensor"
            )

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        output, (last,) = self._run(input, None if hx is None else [hx])
        return output, last


def _check_arguments(
    mode: str,
    input_size: Any,
    hidden_size: Any,
    num_layers: Any,
    bias: Any,
    batch_first: Any,
    dropout: Any,
    proj_size: Any,
) -> None:
    if mode not in _GATES:
        raise ValueError("Unrecognized RNN mode: " + mode)
    if (
        not isinstance(dropout, numbers.Real)
        or isinstance(dropout, bool)
        or not (
            0 <= dropout <= 1  # type: ignore[operator]
        )
    ):
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element "
            "being zeroed"
        )
    if dropout > 0 and num_layers == 1:  # type: ignore[operator]
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout "
            f"expects num_layers greater than 1, but got dropout={dropout} and "
            f"num_layers={num_layers}",
            stacklevel=4,
        )
    for name, value, kind in (
        ("bias", bias, bool),
        ("batch_first", batch_first, bool),
        ("input_size", input_size, int),
        ("hidden_size", hidden_size, int),
    ):
        if not isinstance(value, kind):
            raise TypeError(
                f"{name} should be of type {kind.__name__}, got: {type(value).__name__}"
            )
        if kind is int and value <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if num_layers <= 0:
        raise ValueError("num_layers must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")


def _check_no_projection(others: dict[str, Any]) -> None:
    """Raise ValueError for ``proj_size``, which an LSTM alone has, and TypeError for unknown
    arguments."""
    if "proj_size" in others:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
    for name in others:
        raise TypeError(f"RNNBase.__init__() got an unexpected keyword argument '{name}'")


class RNN(RNNBase):
    """Compute ``h = act(W_ih x + b_ih + W_hh h + b_hh)`` over a sequence, act tanh or relu.

    Input (T, N, input_size), (N, T, …) with batch_first, (T, …) unbatched, or packed; state
    (layers · directions, N, hidden_size). Gives all outputs and the last states.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
        **others: Any,
    ) -> None:
        _check_no_projection(others)
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        super().__init__(
            f"RNN_{nonlinearity.upper()}",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            0,
            device,
            dtype,
        )
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory over a sequence.

    As RNN, with the state a pair (h, c): h (layers · directions, N, proj_size or hidden_size), c
    (…, hidden_size). ``proj_size`` projects the outputs.

    Example:
      >>> lstm = torch.nn.LSTM(input_size=3, hidden_size=4, batch_first=True)
      >>> output, (h, c) = lstm(torch.ones(2, 5, 3))
      >>> output.shape, h.shape
      (torch.Size([2, 5, 4]), torch.Size([1, 2, 4]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            "LSTM",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            proj_size,
            device,
            dtype,
        )

    def _state_sizes(self) -> tuple[int, ...]:
        return self.proj_size or self.hidden_size, self.hidden_size

    def _check_states(self, states: list[Tensor], batch: int) -> None:
        layers = self.num_layers * (2 if self.bidirectional else 1)
        for i, (state, size) in enumerate(zip(states, self._state_sizes(), strict=True)):
            self.check_hidden_size(
                state, (layers, batch, size), f"Expected hidden[{i}] size {{}}, got {{}}"
            )

    def _check_state_dims(self, states: list[Tensor], unbatched: bool) -> None:
        expected = 2 if unbatched else 3
        if any(s.dim() != expected for s in states):
            kind = "unbatched 2-D" if unbatched else "batched 3-D"
            dims = ", ".join(f"{s.dim()}-D" for s in states)
            raise RuntimeError(
                f"For {kind} input, hx and cx should also be {expected}-D but got ({dims}) tensors"
            )

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, tuple[Tensor, Tensor]]:  # type: ignore[override]
        output, (h, c) = self._run(input, None if hx is None else list(hx))
        return output, (h, c)


class GRU(RNNBase):
    """Gated recurrent units over a sequence; shapes as RNN."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
        **others: Any,
    ) -> None:
        _check_no_projection(others)
        super().__init__(
            "GRU",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            0,
            device,
            dtype,
        )


# -- cells -----------------------------------------------------------------------------------------


class RNNCellBase(Module):
    """What the cells share: weights for one step."""

    weight_ih: Any
    weight_hh: Any
    bias_ih: Any
    bias_hh: Any

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        self.weight_ih = new_parameter((rows, input_size), device, dtype)
        self.weight_hh = new_parameter((rows, hidden_size), device, dtype)
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, new_parameter(rows, device, dtype) if bias else None)
        self.reset_parameters()

    reset_parameters = RNNBase.reset_parameters

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        nonlinearity = getattr(self, "nonlinearity", "tanh")
        return text if nonlinearity == "tanh" else f"{text}, nonlinearity={nonlinearity}"

    def _step(self, kind: str, input: Tensor, states: list[Tensor] | None, n: int) -> list[Tensor]:
        """Compute one step from ``n`` states (zeros when not given), batched or not."""
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        for i, s in enumerate(states or ()):
            if s.dim() not in (1, 2):
                what = "hidden" if n == 1 else f"hx[{i}]"
                raise ValueError(f"{name}: Expected {what} to be 1D or 2D, got {s.dim()}D instead")
        unbatched = input.dim() == 1
        x = input.unsqueeze(0) if unbatched else input
        if states is None:
            states = [x.new_zeros(x.size(0), self.hidden_size)] * n
        elif unbatched:
            states = [s.unsqueeze(0) for s in states]
        hx = states[0] if n == 1 else states
        result = NAMESPACES[""][f"{kind}_cell"](
            x, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh
        )
        made = [result] if n == 1 else list(result)
        return [s.squeeze(0) for s in made] if unbatched else made


class RNNCell(RNNCellBase):
    """One step of RNN: (N, input_size) and (N, hidden_size) to (N, hidden_size)."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        kind = f"rnn_{self.nonlinearity}"
        return self._step(kind, input, None if hx is None else [hx], 1)[0]


class LSTMCell(RNNCellBase):
    """One step of LSTM: (N, input_size) and a pair of (N, hidden_size) to such a pair."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: Any = None) -> tuple[Tensor, Tensor]:
        h, c = self._step("lstm", input, None if hx is None else list(hx), 2)
        return h, c


class GRUCell(RNNCellBase):
    """One step of GRU: (N, input_size) and (N, hidden_size) to (N, hidden_size)."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step("gru", input, None if hx is None else [hx], 1)[0]
