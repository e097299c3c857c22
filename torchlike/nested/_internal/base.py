"""What ragged and strided nested tensors have in common: how functions reach their rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from torchlike._core import overrides
from torchlike._extensions import parts_array
from torchlike._extensions.overrides import protocol
from torchlike._extensions.tensor_of_parts import TensorOfParts
from torchlike._runtime.function_objects import name_of
from torchlike.tensor import Tensor

_INSTEAD = "its values(), or to_padded_tensor()"
#: What public functions do with nested tensors of a class: by its name, and by the function's.
Rules = dict[str, Callable[..., Any]]
#: The key of what finds the rule of a function that has none under its name.
OTHERWISE = ""


class Nested(TensorOfParts):
    """A batch of tensors of different sizes. Public functions reach the class's `rules`."""

    __module__ = "torchlike.nested._internal.base"
    _called = "a nested tensor"
    _instead = "to_padded_tensor()"
    is_nested = True
    rules: ClassVar[Rules]

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> overrides.Result:
        """Apply the rule for the function's name. Raises NotImplementedError where there is
        none."""
        if not all(issubclass(kind, Tensor) for kind in types):
            return NotImplemented
        with overrides.DisableTorchFunctionSubclass():
            rule = cls.rule_for(func)
            if rule is not None:
                return rule(func, *args, **(kwargs or {}))
            if {getattr(func, "__name__", ""), name_of(func)} & _PLAIN:
                return func(*args, **(kwargs or {}))
        name = protocol.name_of(func)
        raise NotImplementedError(parts_array.refusal(f"{name}()", "nested tensors", _INSTEAD))

    @classmethod
    def rule_for(cls, func: Any) -> Callable[..., Any] | None:
        """Return the rule for a public function, or None."""
        own = cls.rules.get(getattr(func, "__name__", "")) or cls.rules.get(name_of(func))
        return own or cls.rules[OTHERWISE](func)

    def _refusal(self, what: str) -> str:
        return parts_array.refusal(what, "nested tensors", _INSTEAD)

    @property
    def _facts(self) -> Any:
        return self._storage.cell.facts

    def backward(
        self,
        gradient: Any = None,
        retain_graph: Any = None,
        create_graph: Any = False,
        inputs: Any = None,
    ) -> None:
        """Accumulate gradients into the leaves, from a gradient that is nested as this is."""
        given = gradient._held if isinstance(gradient, Nested) else gradient
        parts = (
            None
            if inputs is None
            else [
                t._held if isinstance(t, Nested) else t
                for t in (inputs if isinstance(inputs, (tuple, list)) else [inputs])
            ]
        )
        self._held.backward(given, retain_graph, create_graph, parts)

    @property
    def retains_grad(self) -> bool:
        return self._held.retains_grad

    def data_ptr(self) -> int:
        return self._held.data_ptr()

    def element_size(self) -> int:
        """Return the number of bytes of an element."""
        return self._held.element_size()  # type: ignore[attr-defined]

    def tolist(self) -> Any:
        """Raise RuntimeError, as in PyTorch."""
        raise RuntimeError(
            f".tolist() is not supported for tensor subclasses, got {type(self).__name__}"
        )

    def numpy(self, *, force: Any = False) -> np.ndarray:
        """Raise RuntimeError, as in PyTorch."""
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")


#: Functions that ask a tensor what it is, and need no rule.
_PLAIN_TEXT = """
    __get__ __set__ __delete__ is_floating_point is_complex is_tensor element_size type get_device
    is_signed is_inference is_conj is_neg dim ndimension __hash__ __repr__ __str__ __format__
    __bool__ __reduce_ex__ __deepcopy__ requires_grad_ grad backward is_shared share_memory_ item"""
_PLAIN = frozenset(_PLAIN_TEXT.split())


def hooked(func: Callable[..., Any], nested: Nested, hook: Callable[..., Any]) -> Any:
    """Register a hook by ``register_hook``: it sees a gradient that is nested as the tensor is."""

    def on_values(gradient: Tensor) -> Any:
        found = hook(nested._with(gradient))
        return found._held if isinstance(found, Nested) else found

    return func(nested._held, on_values)


def retained(func: Callable[..., Any], nested: Nested) -> None:
    """Apply ``retain_grad`` to the values, which keep the gradient."""
    func(nested._held)
