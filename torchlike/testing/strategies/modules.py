"""A strategy for modules, each with inputs that it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from torchlike import nn
from torchlike._core import dtypes as _dtypes
from torchlike.random import default_generator
from torchlike.testing.strategies.hypothesis_package import st
from torchlike.testing.strategies.tensors import LAYOUTS, tensors


class ModuleCase(NamedTuple):
    """A module, and the arguments of one call: ``case.module(*case.inputs)``.

    Attributes:
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

    def __repr__(self) -> str:  # no Python, so that hypothesis prints the call that made it
        return f"<ModuleCase: {self.module}>"


def _mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))


def _with_dropout() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 2))


def _convolutional() -> nn.Module:
    return nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.GELU())


def _numbers(*size: int) -> Callable[[int], Any]:
    return lambda batch: tensors(shape=(batch, *size), layouts=LAYOUTS[:1], special=False)


def _tokens(batch: int) -> Any:
    kind, contiguous = _dtypes.int64, LAYOUTS[:1]
    return tensors(kind, (batch, 3), layouts=contiguous, special=False, low=0, high=6)


_rows, _sequences, _images = _numbers(4), _numbers(3, 4), _numbers(2, 5, 5)

#: How modules are made, and a strategy for one input of theirs, by the size of its batch; the
#: simplest first.
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

    Inputs are drawn as by `tensors`; weights follow from a seed that is drawn. The default
    generator is left alone.

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
        _known(name)
    modes = st.booleans() if training is None else st.just(training)
    return _modules(st.sampled_from(names or tuple(_CASES)), modes)


@st.composite
def _modules(draw: Any, names: Any, modes: Any) -> ModuleCase:
    name, batch = draw(names), draw(st.sampled_from((2, 3)))
    inputs = _CASES[name][1](batch)
    # hypothesis prints the case as this call of ``module_case``.
    case = st.builds(module_case, st.just(name), inputs, training=modes, seed=st.integers(0, 255))
    return draw(case)


def module_case(name: str, *inputs: Any, training: bool = False, seed: int = 0) -> ModuleCase:
    """Return a module of `modules` with inputs: what a falsifying example prints, to be pasted.

    The default generator is left alone.

    Args:
      name: one of the kinds of `modules`.
      inputs: tensors that the module takes.
      training: the mode of the module.
      seed: that its weights follow from.

    Returns:
      the module and the inputs.

    Raises:
      ValueError: another name.

    Example:
      >>> from torchlike.testing import strategies
      >>> case = strategies.module_case("linear", torch.ones(2, 4))
      >>> case.module(*case.inputs).shape
      torch.Size([2, 3])
    """
    before = default_generator.get_state()
    default_generator.manual_seed(seed)
    try:
        return ModuleCase(_known(name)().train(training), inputs)
    finally:
        default_generator.set_state(before)


def _known(name: str) -> Callable[[], nn.Module]:
    if name not in _CASES:
        raise ValueError(f"unknown module {name!r}: one of {', '.join(_CASES)}")
    return _CASES[name][0]
