"""``torch._custom_ops``: operators defined by name, as before ``torch.library.custom_op``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from torchlike._subclasses.fake_context import get_ctx
from torchlike.library import registration
from torchlike.library.infer import infer_schema

__all__ = ["custom_op", "get_ctx", "impl", "impl_abstract"]


def custom_op(qualname: str, func_or_schema: Any = None) -> Any:
    """Define an operator by a schema, or decorate the function whose annotations say it.

    ValueError for what is no function, and for a function of another name.
    """
    if func_or_schema is None:
        return lambda func: custom_op(qualname, func)
    if isinstance(func_or_schema, str):
        registration.define(qualname, func_or_schema)
        return None
    if not inspect.isfunction(func_or_schema):
        raise ValueError(
            "custom_op(...)(func): Expected `func` to be a Python function, got: "
            f"{type(func_or_schema)}"
        )
    name = qualname.rpartition("::")[2]
    if func_or_schema.__name__ != name:
        raise ValueError(
            f"custom_op(qualname='{qualname}', ...)(func): expected `func` to have name '{name}' "
            f"but got '{func_or_schema.__name__}'. Please either change the name of `func` or the "
            "qualname that is passed to `custom_op`"
        )
    registration.define(qualname, infer_schema(func_or_schema, mutates_args=()))
    return func_or_schema


def impl(qualname: str, *, device_types: Any = ("cpu", "cuda")) -> Callable[..., Any]:
    """Return a decorator of what an operator computes on devices of these types."""

    def register(func: Callable[..., Any]) -> Callable[..., Any]:
        registration.impl(qualname, device_types, func)
        return func

    return register


def impl_abstract(qualname: str, *, func: Any = None) -> Any:
    """Register, or return a decorator of, what gives an operator's sizes and dtypes."""
    return registration.register_fake(qualname, func)
