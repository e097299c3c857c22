"""``torch.export.graph_signature``: what each input and output of an exported graph is."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping
from enum import Enum, auto
from typing import Any

__all__ = [
    "ArgumentSpec",
    "ConstantArgument",
    "CustomObjArgument",
    "ExportBackwardSignature",
    "ExportGraphSignature",
    "InputKind",
    "InputSpec",
    "OutputKind",
    "OutputSpec",
    "SymBoolArgument",
    "SymFloatArgument",
    "SymIntArgument",
    "TensorArgument",
    "TokenArgument",
]


@dataclasses.dataclass
class TensorArgument:
    """A tensor, by the name of its node."""

    name: str


@dataclasses.dataclass
class TokenArgument:
    """A token that orders effects. (Graphs here have none.)"""

    name: str


@dataclasses.dataclass
class SymIntArgument:
    """A number made of sizes."""

    name: str


@dataclasses.dataclass
class SymFloatArgument:
    """A float made of sizes."""

    name: str


@dataclasses.dataclass
class SymBoolArgument:
    """A bool made of sizes. (Comparisons are decided here: graphs have none.)"""

    name: str


@dataclasses.dataclass
class CustomObjArgument:
    """An object of a class that C++ registered. (Graphs here have none.)"""

    name: str
    class_fqn: str
    fake_val: Any = None


@dataclasses.dataclass
class ConstantArgument:
    """A plain value."""

    name: str
    value: int | float | complex | bool | str | None


ArgumentSpec = (
    TensorArgument
    | SymIntArgument
    | SymFloatArgument
    | SymBoolArgument
    | ConstantArgument
    | CustomObjArgument
    | TokenArgument
)


class InputKind(Enum):
    """Where an input of the graph comes from."""

    USER_INPUT = auto()
    PARAMETER = auto()
    BUFFER = auto()
    CONSTANT_TENSOR = auto()
    CUSTOM_OBJ = auto()
    TOKEN = auto()


class OutputKind(Enum):
    """What an output of the graph is for."""

    USER_OUTPUT = auto()
    LOSS_OUTPUT = auto()
    BUFFER_MUTATION = auto()
    PARAMETER_MUTATION = auto()
    GRADIENT_TO_PARAMETER = auto()
    GRADIENT_TO_USER_INPUT = auto()
    USER_INPUT_MUTATION = auto()
    TOKEN = auto()


@dataclasses.dataclass
class InputSpec:
    """An input: ``target`` is the name in the module; ``persistent`` is of buffers alone.

    AssertionError for a buffer of which that is not said.
    """

    kind: InputKind
    arg: ArgumentSpec
    target: str | None
    persistent: bool | None = None

    def __post_init__(self) -> None:
        if self.kind is InputKind.BUFFER and self.persistent is None:
            raise AssertionError("Failed to specify persistent flag on BUFFER.")
        if not isinstance(self.arg, ArgumentSpec):
            raise AssertionError(f"expected a valid ArgumentSpec type, got {type(self.arg)}")

    def __str__(self) -> str:
        said = f"{self.arg.name}: {self.kind.name}"
        said += "" if self.target is None else f" target='{self.target}'"
        return said + ("" if self.persistent is None else f" persistent={self.persistent}")


@dataclasses.dataclass
class OutputSpec:
    """An output: ``target`` is the name of what it is the new value of."""

    kind: OutputKind
    arg: ArgumentSpec
    target: str | None

    def __post_init__(self) -> None:
        if not isinstance(self.arg, ArgumentSpec):
            raise AssertionError(f"expected a valid ArgumentSpec type, got {type(self.arg)}")

    def __str__(self) -> str:
        said = f"{self.arg.name}: {self.kind.name}"
        return said + ("" if self.target is None else f" target='{self.target}'")


@dataclasses.dataclass
class ExportBackwardSignature:
    """What the gradients among the outputs are of. (Graphs here have no backward pass.)"""

    gradients_to_parameters: dict[str, str]
    gradients_to_user_inputs: dict[str, str]
    loss_output: str


def _shown(arg: Any) -> Any:
    """Return the name of an input or output, or the value of a constant one."""
    return arg.value if isinstance(arg, ConstantArgument) else arg.name


@dataclasses.dataclass
class ExportGraphSignature:
    """What each input and output of a graph is, in order: parameters, buffers, constants and the
    caller's arguments; new values of state, and results."""

    input_specs: list[InputSpec]
    output_specs: list[OutputSpec]

    def _inputs(self, kind: InputKind) -> list[InputSpec]:
        return [s for s in self.input_specs if s.kind is kind]

    def _written(self, kind: OutputKind) -> Mapping[str, str]:
        return {
            s.arg.name: s.target
            for s in self.output_specs
            if s.kind is kind and s.target is not None
        }

    @property
    def parameters(self) -> Collection[str]:
        """The names of the parameters in the module."""
        return tuple(s.target for s in self._inputs(InputKind.PARAMETER) if s.target)

    @property
    def buffers(self) -> Collection[str]:
        """The names of the buffers in the module."""
        return tuple(s.target for s in self._inputs(InputKind.BUFFER) if s.target)

    @property
    def non_persistent_buffers(self) -> Collection[str]:
        """Those that are no part of the state_dict."""
        return tuple(
            s.target for s in self._inputs(InputKind.BUFFER) if s.target and s.persistent is False
        )

    @property
    def lifted_tensor_constants(self) -> Collection[str]:
        """The names of tensors that are neither."""
        return tuple(s.target for s in self._inputs(InputKind.CONSTANT_TENSOR) if s.target)

    @property
    def lifted_custom_objs(self) -> Collection[str]:
        """The names of objects of C++ classes: none."""
        return tuple(s.target for s in self._inputs(InputKind.CUSTOM_OBJ) if s.target)

    @property
    def user_inputs(self) -> Collection[Any]:
        """The caller's arguments: names of nodes, and plain values."""
        return tuple(_shown(s.arg) for s in self._inputs(InputKind.USER_INPUT))

    @property
    def user_outputs(self) -> Collection[Any]:
        """The results: names of nodes, and plain values."""
        kinds = (OutputKind.USER_OUTPUT, OutputKind.LOSS_OUTPUT)
        return tuple(_shown(s.arg) for s in self.output_specs if s.kind in kinds)

    @property
    def inputs_to_parameters(self) -> Mapping[str, str]:
        """Input -> the parameter's name."""
        return {s.arg.name: s.target for s in self._inputs(InputKind.PARAMETER) if s.target}

    @property
    def inputs_to_buffers(self) -> Mapping[str, str]:
        """Input -> the buffer's name."""
        return {s.arg.name: s.target for s in self._inputs(InputKind.BUFFER) if s.target}

    @property
    def inputs_to_lifted_tensor_constants(self) -> Mapping[str, str]:
        """Input -> the constant's name."""
        return {s.arg.name: s.target for s in self._inputs(InputKind.CONSTANT_TENSOR) if s.target}

    @property
    def inputs_to_lifted_custom_objs(self) -> Mapping[str, str]:
        """Input -> the object's name: none."""
        return {s.arg.name: s.target for s in self._inputs(InputKind.CUSTOM_OBJ) if s.target}

    @property
    def buffers_to_mutate(self) -> Mapping[str, str]:
        """Output -> the buffer that it is the new value of."""
        return self._written(OutputKind.BUFFER_MUTATION)

    @property
    def parameters_to_mutate(self) -> Mapping[str, str]:
        """Output -> the parameter that it is the new value of."""
        return self._written(OutputKind.PARAMETER_MUTATION)

    @property
    def user_inputs_to_mutate(self) -> Mapping[str, str]:
        """Output -> the argument that it is the new value of."""
        return self._written(OutputKind.USER_INPUT_MUTATION)

    @property
    def backward_signature(self) -> ExportBackwardSignature | None:
        """None: graphs have no backward pass."""
        return None

    @property
    def assertion_dep_token(self) -> None:
        """None: graphs have no tokens."""
        return None

    @property
    def input_tokens(self) -> Collection[str]:
        """No tokens."""
        return tuple(s.arg.name for s in self._inputs(InputKind.TOKEN))

    @property
    def output_tokens(self) -> Collection[str]:
        """No tokens."""
        return tuple(s.arg.name for s in self.output_specs if s.kind is OutputKind.TOKEN)

    def replace_all_uses(self, old: str, new: str) -> None:
        """Rename a node in the signature. Raises AssertionError unless both are names."""
        if not isinstance(old, str) or not isinstance(new, str):
            raise AssertionError(f"expected str names, got {type(old)} and {type(new)}")
        named = (TensorArgument, SymIntArgument, SymFloatArgument, SymBoolArgument)
        for spec in (*self.output_specs, *self.input_specs):
            if isinstance(spec.arg, named) and spec.arg.name == old:
                spec.arg.name = new

    def get_replace_hook(self, replace_inputs: bool = False) -> Callable[..., None]:
        """Return a hook for ``GraphModule._set_replace_hook``: outputs follow nodes that are
        replaced."""

        def replaced(old: Any, new: str, user: Any) -> None:
            if user.op == "output":
                self._renamed(self.output_specs, old.name, new)
            if replace_inputs and old.op == "placeholder":
                self._renamed(self.input_specs, old.name, new)

        return replaced

    @staticmethod
    def _renamed(specs: Collection[InputSpec | OutputSpec], old: str, new: str) -> None:
        for spec in specs:
            if spec.arg.name == old:
                spec.arg.name = new

    def __str__(self) -> str:
        lines = [
            "",
            "# inputs",
            *map(str, self.input_specs),
            "",
            "# outputs",
            *map(str, self.output_specs),
            "",
        ]
        return "\n".join(lines)
