"""``torch._dynamo.exc``: the errors that programs catch by PyTorch's names."""

from __future__ import annotations

from enum import Enum, auto

from torchlike._jit.call.recompile_limit import (
    FailOnRecompileLimitHit,
    InternalTorchDynamoError,
    TorchDynamoException,
)

__all__ = [
    "FailOnRecompileLimitHit",
    "InternalTorchDynamoError",
    "TorchDynamoException",
    "Unsupported",
    "UserError",
    "UserErrorType",
]


class Unsupported(TorchDynamoException):
    """Code that a captured program cannot have."""


class UserErrorType(Enum):
    """What a UserError is about."""

    DYNAMIC_CONTROL_FLOW = auto()
    ANTI_PATTERN = auto()
    STANDARD_LIBRARY = auto()
    CONSTRAINT_VIOLATION = auto()
    DYNAMIC_DIM = auto()
    INVALID_INPUT = auto()
    INVALID_OUTPUT = auto()
    UNSUPPORTED_ALIASED_MUTATED_DYNAMIC_INPUTS = auto()


class UserError(Unsupported):
    """What the caller said of a program, and does not hold."""

    def __init__(self, error_type: UserErrorType, msg: str, case_name: str | None = None) -> None:
        super().__init__(msg)
        self.error_type = error_type
        self.message = msg
