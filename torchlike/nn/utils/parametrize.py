"""Parametrizations: a parameter that is computed, at each access, from other parameters."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Sequence
from typing import Any

from torchlike.autograd.grad_mode import no_grad
from torchlike.nn.modules.container import ModuleDict, ModuleList
from torchlike.nn.modules.module import M, Module
from torchlike.nn.parameter import Parameter
from torchlike.tensor import Tensor

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]


class _ParametrizationCache:
    """Values kept inside ``cached()``, by (module's id, name)."""

    def __init__(self) -> None:
        self.depth = 0
        self.values: dict[tuple[int, str], Tensor] = {}


_cache = _ParametrizationCache()


@contextlib.contextmanager
def cached() -> Iterator[None]:
    """Keep each parametrized tensor, computed once, until the end of a `with` block."""
    _cache.depth += 1
    try:
        yield
    finally:
        _cache.depth -= 1
        if not _cache.depth:
            _cache.values = {}


def _register(module: Module, name: str, tensor: Any) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _same(what: str, where: str, given: Any, wanted: Any, flag: str) -> None:
    """Raise ValueError unless two dtypes (or shapes) agree."""
    if given != wanted:
        raise ValueError(
            f"Registering a parametrization may not change the {what} of the tensor, unless "
            f"{flag}`unsafe` flag is enabled.\n{where} {what}: {wanted}\n"
            f"parametrized {what}: {given}"
        )


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, in order, and the tensors it is computed from.

    Those are ``original``, or ``original0``, ``original1``, … when the first parametrization's
    ``right_inverse`` gives several.
    """

    def __init__(self, modules: Sequence[Module], original: Any, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with no_grad():
            new = original
            for m in reversed(list(self)):
                if hasattr(m, "right_inverse"):
                    with contextlib.suppress(NotImplementedError):
                        new = m.right_inverse(new)
        if not isinstance(new, (Tensor, Sequence)):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(new).__name__}"
            )
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if isinstance(new, Tensor) else len(new)
        if isinstance(new, Tensor):
            for what in ("dtype", "device"):
                if getattr(original, what) != getattr(new, what):
                    raise ValueError(
                        f"When `right_inverse` outputs one tensor, it may not change the {what}.\n"
                        f"original.{what}: {getattr(original, what)}\n"
                        f"right_inverse(original).{what}: {getattr(new, what)}"
                    )
            _assign(original, new)
            _register(self, "original", original)
        else:
            for i, part in enumerate(new):
                if not isinstance(part, Tensor):
                    raise ValueError(
                        "'right_inverse' must return a Tensor or a Sequence of tensors (list, "
                        f"tuple...). Got element {i} of the sequence with type "
                        f"{type(part).__name__}."
                    )
                if isinstance(original, Parameter):
                    part = Parameter(part, original.requires_grad)
                part.requires_grad_(original.requires_grad)
                _register(self, f"original{i}", part)
        if not unsafe:
            result = self()
            if not isinstance(result, Tensor):
                raise ValueError(
                    f"A parametrization must return a tensor. Got {type(result).__name__}."
                )
            _same("dtype", "unparametrized", result.dtype, dtype, "")
            _same("shape", "unparametrized", result.shape, shape, "")

    def right_inverse(self, value: Any) -> None:
        """Set the originals to values from which ``value`` is computed.

        RuntimeError for a parametrization without ``right_inverse``; ValueError when what it gives
        does not fit the originals.
        """
        with no_grad():
            for m in reversed(list(self)):
                if not hasattr(m, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(m).__name__} does not implement right_inverse."
                    )
                value = m.right_inverse(value)
            if self.is_tensor:
                if not isinstance(value, Tensor):
                    raise ValueError(
                        f"`right_inverse` should return a tensor. Got {type(value).__name__}"
                    )
                if value.dtype != self.original.dtype:
                    raise ValueError(
                        f"The tensor returned by `right_inverse` has dtype {value.dtype} while "
                        f"`original` has dtype {self.original.dtype}"
                    )
                _assign(self.original, value)
                return
            if not isinstance(value, Sequence):
                raise ValueError(
                    "'right_inverse' must return a sequence of tensors. "
                    f"Got {type(value).__name__}."
                )
            if len(value) != self.ntensors:
                raise ValueError(
                    "'right_inverse' must return a sequence of tensors of length "
                    f"{self.ntensors}. Got a sequence of length {len(value)}."
                )
            for i, part in enumerate(value):
                own = getattr(self, f"original{i}")
                if not isinstance(part, Tensor):
                    raise ValueError(
                        "`right_inverse` must return a sequence of tensors. Got element "
                        f"{i} of type {type(part).__name__}"
                    )
                if own.dtype != part.dtype:
                    raise ValueError(
                        f"Tensor {i} returned by `right_inverse` has dtype {part.dtype} while "
                        f"`original{i}` has dtype {own.dtype}"
                    )
                _assign(own, part)

    def forward(self) -> Tensor:
        """Compute the parametrized tensor."""
        first, *rest = list(self)
        if self.is_tensor:
            x = first(self.original)
        else:
            x = first(*[getattr(self, f"original{i}") for i in range(self.ntensors)])
        for m in rest:
            x = m(x)
        return x


def _assign(tensor: Tensor, value: Tensor) -> None:
    """Bind ``value`` to the tensor as its data, also where the shape differs."""
    if value is not tensor:
        tensor.data = value.detach().clone() if value._storage is not tensor._storage else value


def _parametrized_class(module: Module) -> None:
    """Give the module a class of its own, on which properties can stand."""
    kind = type(module)

    def getstate(self: Any) -> Any:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(). See:\n"
            "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
            "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
        )

    def deepcopy(self: Any, memo: dict[int, Any]) -> Any:
        if id(self) in memo:
            return memo[id(self)]
        replica = memo[id(self)] = object.__new__(type(self))
        replica.__dict__ = copy.deepcopy(self.__dict__, memo)
        return replica

    members: dict[str, Any] = {"__getstate__": getstate}
    if not hasattr(kind, "__deepcopy__"):
        members["__deepcopy__"] = deepcopy
    # Module's layout forbids nothing here: the class adds no slots.
    object.__setattr__(module, "__class__", type(f"Parametrized{kind.__name__}", (kind,), members))


def _add_property(module: Module, name: str) -> None:
    def get(self: Any) -> Tensor:
        if not _cache.depth:
            return self.parametrizations[name]()
        key = (id(self), name)
        found = _cache.values.get(key)
        if found is None:
            found = _cache.values[key] = self.parametrizations[name]()
        return found

    def put(self: Any, value: Any) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(get, put))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Compute ``module.tensor_name`` by a parametrization of what it was. Gives the module.

    The parametrization may have ``right_inverse``, which gives the first originals and makes the
    tensor assignable. Several may be registered one after the other.

    Args:
      unsafe: the dtype and shape may change; nothing is checked.

    ValueError for an unknown name, or a parametrization that does not keep dtype and shape.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_another(module, tensor_name, parametrization)
        own: Any = module.parametrizations[tensor_name]  # type: ignore[index]
        own.append(parametrization)
        own.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        made = ParametrizationList([parametrization], original, unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _parametrized_class(module)
            module.parametrizations = ModuleDict()
        _add_property(module, tensor_name)
        module.parametrizations[tensor_name] = made
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element "
            f"with name '{tensor_name}'"
        )
    return module


def _check_another(module: Module, name: str, parametrization: Any) -> None:
    """Raise ValueError unless one more parametrization keeps the tensor's dtype and shape, there
    and back."""
    before = getattr(module, name)
    after = parametrization(before)
    if not isinstance(after, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(after).__name__}.")
    _same("dtype", f"module.{name}", after.dtype, before.dtype, "the ")
    _same("shape", f"module.{name}", after.shape, before.shape, "the ")
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        back = parametrization.right_inverse(after)
    except NotImplementedError:
        return
    if not isinstance(back, Tensor):
        raise ValueError(
            f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}"
        )
    for what in ("dtype", "shape"):
        if getattr(back, what) != getattr(before, what):
            raise ValueError(
                "The tensor returned by parametrization.right_inverse must have the same "
                f"{what} as module.{name}, unless the `unsafe` flag is enabled.\n"
                f"module.{name}.{what}: {getattr(before, what)}\n"
                f"returned {what}: {getattr(back, what)}"
            )


def is_parametrized(module: Any, tensor_name: str | None = None) -> bool:
    """Return whether a module has a parametrization (of that tensor)."""
    found = getattr(module, "parametrizations", None)
    if found is None or not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module: M, tensor_name: str, leave_parametrized: bool = True) -> M:
    """Make the tensor a plain parameter or buffer again. Gives the module.

    Args:
      leave_parametrized: with its present value, otherwise with the original's.

    ValueError when it is not parametrized, or has several originals and ``leave_parametrized`` is
    False.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    own = module.parametrizations[tensor_name]
    if own.is_tensor:
        original = own.original
        if leave_parametrized:
            with no_grad():
                _assign(original, getattr(module, tensor_name))
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value.detach()) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
            "parametrized in terms of a sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        object.__setattr__(module, "__class__", type(module).__bases__[0])
    return module


def type_before_parametrizations(module: Any) -> type:
    """Return the module's own class, parametrized or not."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Any, to_module: Any, tensor_name: str | None = None
) -> Any:
    """Give ``to_module`` the parametrizations of ``from_module`` (of one tensor, or all) and the
    tensors they are computed from. Gives ``to_module``."""
    if not is_parametrized(from_module):
        return to_module
    names = list(from_module.parametrizations) if tensor_name is None else [tensor_name]
    for name in names:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        source = from_module.parametrizations[name]
        for m in source:
            register_parametrization(to_module, name, m)
        target = to_module.parametrizations[name]
        originals = (
            ["original"] if source.is_tensor else [f"original{i}" for i in range(source.ntensors)]
        )
        for key in originals:
            setattr(target, key, getattr(source, key))
    return to_module
