"""A strategy for modules, each with inputs that it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from torchlike import nn
from torchlike._ops import functions
from torchlike.random import default_generator
from torchlike.testing.strategies.hypothesis_package import st


class ModuleCase(NamedTuple):
    """A module, and the arguments of one call: ``case.module(*case.inputs)``.

    Attributes:
      name: which of the kinds of ``modules`` it is.
      module: the module.
      inputs: a tuple of tensors.

    Example:
      >>> import hypothesis
      >>> from torchlike.testing import strategies
      >>> @hypothesis.settings(max_examples=2, database=None, deadline=None)
      ... @hypothesis.given(strategies.modules("linear"))
      ... def check(case):
      ...     assert isinstance(case.module(*case.inputs), torch.Tensor)
      >>> check()
    """

    module: nn.Module
    inputs: tuple[Any, ...]


def _mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))


def _with_dropout() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 2))


def _convolutional() -> nn.Module:
    return nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.GELU())


def _images(batch: int) -> Any:
    return functions.randn(batch, 2, 5, 5)


def _rows(batch: int) -> Any:
    return functions.randn(batch, 4)


def _sequences(batch: int) -> Any:
    return functions.randn(batch, 3, 4)


def _tokens(batch: int) -> Any:
    return functions.randint(0, 7, (batch, 3))


#: How modules are made, and one input of theirs for a size of batch; the simplest first.
_CASES: dict[str, tuple[Callable[[], nn.Module], Callable[[int], Any]]] = {
    "linear": (lambda: nn.Linear(4, 3), _rows),
    "mlp": (_mlp, _rows),
    "dropout": (_with_dropout, _rows),
    "layer norm": (lambda: nn.LayerNorm(4), _sequences),
    "batch norm": (lambda: nn.BatchNorm1d(4), _rows),
    "convolution": (_convolutional, _images),
    "embedding": (lambda: nn.Embedding(7, 4), _tokens),
    "lstm": (lambda: nn.LSTM(4, 3, batch_first=True), _sequences),
    "transformer": (lambda: nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), _sequences),
}


def modules(*names: str, training: bool | None = None) -> Any:
    """Return a strategy for modules with inputs, as `ModuleCase`: layers and small networks,
    batches of 2 and 3.

    Weights and inputs follow from what hypothesis draws; the default generator is left alone.

    Args:
      names: which of "linear", "mlp", "dropout", "layer norm", "batch norm", "convolution",
        "embedding", "lstm", "transformer"; all by default.
      training: the mode of the module; drawn where it is None.

    Returns:
      the strategy.

    Raises:
      ValueError: another name.

    Example:
      >>> import hypothesis
      >>> from torchlike.testing import strategies
      >>> @hypothesis.settings(max_examples=2, database=None, deadline=None)
      ... @hypothesis.given(strategies.modules("mlp", training=False))
      ... def check(case):
      ...     assert torch.equal(case.module(*case.inputs), case.module(*case.inputs))
      >>> check()
    """
    for name in names:
        if name not in _CASES:
            raise ValueError(f"unknown module {name!r}: one of {', '.join(_CASES)}")
    modes = st.booleans() if training is None else st.just(training)

    def made(name: str, batch: int, mode: bool, seed: int) -> ModuleCase:
        before = default_generator.get_state()
        default_generator.manual_seed(seed)
        try:
            make, inputs = _CASES[name]
            return ModuleCase(make().train(mode), (inputs(batch),))
        finally:
            default_generator.set_state(before)

    return st.builds(
        made,
        st.sampled_from(names or tuple(_CASES)),
        st.sampled_from((2, 3)),
        modes,
        st.integers(0, 255),
    )
