"""``custom_op``: a Python function as an operator that autograd and transforms see as one."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from torchlike._ops.aten import custom
from torchlike._ops.aten.tags import Tag
from torchlike.library import registration
from torchlike.library.infer import infer_schema
from torchlike.ops._aten.schema_language import parse


class CustomOpDef:
    """An operator made by ``custom_op``: call it, and register what it lacks."""

    def __init__(self, operator: Any, function: Callable[..., Any]) -> None:
        self.operator = operator
        self._opoverload = custom.overload_of(operator)
        self._init_fn = function
        self.__name__ = operator.name
        self.__doc__ = function.__doc__

    @property
    def _qualname(self) -> str:
        return self.operator.qualname

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Register what the operator does with meta tensors: empty tensors of the right shapes."""
        registration.set_kernel(self.operator, "meta", fn)
        return fn

    def register_kernel(self, device_types: Any, fn: Callable[..., Any] | None = None, /) -> Any:
        """Register another kernel for some device types, None for all; without ``fn`` return a
        decorator."""
        _check_placed(self.operator, device_types)
        registered = registration.register_kernel(self.operator.qualname, device_types, fn)
        return registered if fn is None else fn

    def register_autograd(
        self,
        backward: Callable[..., Any],
        /,
        *,
        setup_context: Callable[..., Any] | None = None,
    ) -> None:
        """Register the autograd formula: ``backward(ctx, *grads)`` gives a gradient for each input
        (a list for a list), ``setup_context(ctx, inputs, output)`` keeps what that needs.
        RuntimeError for an operator that writes into its arguments."""
        registration.set_formula(self.operator, backward, setup_context)

    def register_vmap(self, func: Callable[..., Any] | None = None) -> Any:
        """Register ``func(info, in_dims, *args) -> (outputs, out_dims)``; without it return a
        decorator."""
        registered = registration.register_vmap(self.operator.qualname, func)
        return registered if func is None else func

    def register_autocast(self, device_type: str, cast_inputs: Any) -> None:
        """Cast floating arguments to a dtype under autocast."""
        registration.register_autocast(self.operator.qualname, device_type, cast_inputs)

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """Use the kernel registered for a device type, or not, in a ``with`` block."""
        disabled = self.operator.disabled
        before = set(disabled)
        (disabled.discard if enabled else disabled.add)(device_type)
        try:
            yield
        finally:
            disabled.clear()
            disabled.update(before)


def _check_mutates(schema: str, mutates_args: str | Iterable[str]) -> None:
    written = {a.name for a in parse(schema).arguments if a.is_written}
    if mutates_args != "unknown" and written != set(mutates_args):
        raise ValueError(
            f"Attempted to create a custom op with `mutates_args={mutates_args}` and "
            f"`schema={schema}. The schema suggests that the op mutates {written}which is "
            "different from what was provided to us in `mutates_args`. Please make these "
            "consistent."
        )


def _check_placed(operator: Any, device_types: Any) -> None:
    """Raise ValueError where nothing says on which device an operator with kernels for some
    runs."""
    arguments = operator.schema.arguments
    if device_types is not None and not any(
        a.type.holds_tensors or (a.type.base == "Device" and a.name == "device") for a in arguments
    ):
        raise ValueError(
            "Functions without tensor inputs are required to have a `device: torch.device` argument"
        )


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """Make a function the operator ``namespace::name``; without ``fn`` a decorator.

    Args:
      mutates_args: names of the tensors it changes in place, or "unknown".
      device_types: which devices the function is for; None for all.
      schema: "(Tensor x) -> Tensor"; from the function's annotations unless given.
      tags: what it says of itself, of ``torch.Tag``.

    Gives a CustomOpDef. ValueError for a name without namespace, or annotations that a schema
    cannot have, and for a schema that writes other arguments than ``mutates_args``.
    NotImplementedError for keyword-only tensors. A result that shares memory with an argument is a
    RuntimeError.

    Differs from PyTorch: under ``torchlike.jit`` the function itself is traced and becomes part of
    the program, so it must consist of operators; under ``vmap`` without a rule it is mapped.
    """
    namespace, colons, short = name.partition("::")
    if not (namespace and colons and short) or "::" in short:
        raise ValueError(
            f"custom_op(name, ...): expected a name of the form 'namespace::name', got {name!r}"
        )

    def make(function: Callable[..., Any]) -> CustomOpDef:
        if schema is None:
            text = infer_schema(function, mutates_args=mutates_args)
        else:
            text = schema
            _check_mutates(schema, mutates_args)
        parsed = parse(short + text)
        if any(a.keyword_only and a.type.holds_tensors for a in parsed.arguments):
            raise NotImplementedError(
                "custom_op with kwarg-only Tensor args. Please make your tensors not kwarg-only. "
                f"Got: {parsed}"
            )
        if name in registration.OPERATORS:  # defined again, as in a notebook
            registration.forget(name)
        operator = registration.define_operator(name, text, True, function.__doc__)
        _check_placed(operator, device_types)
        registration.set_kernel(operator, device_types, function)
        operator.tags = (Tag.pt2_compliant_tag, *registration.tags_of(tags))
        return CustomOpDef(operator, function)

    return make if fn is None else make(fn)
