"""Containers: modules and parameters in order or by key."""

from __future__ import annotations

import operator
import warnings
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Self, overload

from torchlike._core import modes
from torchlike.nn.modules.module import Module, _indented
from torchlike.nn.parameter import Parameter
from torchlike.tensor import Tensor


def _position(index: Any, length: int) -> int:
    """Return a non-negative index. Raises IndexError when it is out of range."""
    at = operator.index(index)
    if not -length <= at < length:
        raise IndexError(f"index {at} is out of range")
    return at % length


class Container(Module):
    """Submodules by name: a Module to which they are added one by one. Deprecated, for Module."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()
        warnings.warn(
            "`nn.Container` is deprecated. All of its functionality is now implemented in "
            "`nn.Module`. Subclass that instead.",
            FutureWarning,
            stacklevel=2,
        )
        for name, module in kwargs.items():
            self.add_module(name, module)


class _Ordered(Module):
    """What Sequential and ModuleList share: modules under the names "0", "1", …"""

    def _name_at(self, index: Any) -> str:
        at = _position(index, len(self._modules))
        return next(islice(self._modules, at, None))

    def _renumber(self, modules: Iterable[Any]) -> None:
        self._table_changes("_modules")
        renumbered = {str(i): m for i, m in enumerate(modules)}
        self._modules.clear()
        self._modules.update(renumbered)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __dir__(self) -> list[str]:
        return [n for n in super().__dir__() if not n.isdigit()]


class Sequential(_Ordered):
    """Call modules one after the other: ``Sequential(a, b)`` or an OrderedDict of them.

    Indexing gives a module, a slice another Sequential of the same modules.

    Raises:
      TypeError: an argument is no module.

    Example:
      >>> model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
      >>> model(torch.ones(3, 4)).shape, len(model), model[1]
      (torch.Size([3, 2]), 3, ReLU())
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            named = args[0].items()
        else:
            named = ((str(i), m) for i, m in enumerate(args))
        for name, module in named:
            self.add_module(name, module)

    def forward(self, input: Any) -> Tensor:
        for module in self._modules.values():
            input = module(input)
        return input

    @overload
    def __getitem__(self, index: slice) -> Self: ...
    @overload
    def __getitem__(self, index: int) -> Module: ...
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._name_at(index)]

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._name_at(index), module)

    def __delitem__(self, index: Any) -> None:
        names = list(self._modules)[index] if isinstance(index, slice) else [self._name_at(index)]
        for name in names:
            delattr(self, name)
        self._renumber(list(self._modules.values()))

    def append(self, module: Module) -> Sequential:
        """Add a module at the end. Gives itself."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: Module) -> Sequential:
        """Add a module before position ``index``. IndexError out of range. Gives itself."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        n = len(self)
        if not -n <= index <= n:
            raise IndexError(f"Index out of range: {index}")
        modules = list(self._modules.values())
        modules.insert(index + n if index < 0 else index, module)
        self._renumber(modules)
        return self

    def extend(self, sequential: Iterable[Module]) -> Sequential:
        """Add modules at the end. Gives itself."""
        for module in list(sequential):
            self.append(module)
        return self

    def pop(self, key: Any) -> Module:
        """Take a module out."""
        module = self[key]
        del self[key]
        return module

    def __add__(self, other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(
                "add operator supports only objects of Sequential class, but "
                f"{type(other)} is given."
            )
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(
                "add operator supports only objects of Sequential class, but "
                f"{type(other)} is given."
            )
        return self.extend(other)

    def _times(self, n: Any) -> list[Module]:
        if not isinstance(n, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(n)}")
        if n <= 0:
            raise ValueError(f"Non-positive multiplication factor {n} for {type(self)}")
        return list(self) * n

    def __mul__(self, other: int) -> Sequential:
        return Sequential(*self._times(other))

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Sequential:
        return self.extend(self._times(other)[len(self) :])


class ModuleList(_Ordered):
    """Hold modules in a list, so that their parameters are the owner's; it cannot be called itself.

    Example:
      >>> layers = torch.nn.ModuleList(torch.nn.Linear(2, 2) for _ in range(3))
      >>> len(layers), len(list(layers.parameters()))
      (3, 6)
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    @overload
    def __getitem__(self, index: slice) -> Self: ...
    @overload
    def __getitem__(self, index: int) -> Module: ...
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self._modules.values())[index])
        return self._modules[self._name_at(index)]

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._name_at(index), module)

    def __delitem__(self, index: Any) -> None:
        modules = list(self._modules.values())
        del modules[index if isinstance(index, slice) else _position(index, len(modules))]
        self._renumber(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def __iadd__(self, modules: Iterable[Module]) -> ModuleList:
        return self.extend(modules)

    def insert(self, index: int, module: Module) -> None:
        """Add a module before position ``index``."""
        modules = list(self._modules.values())
        modules.insert(index, module)
        self._renumber(modules)

    def append(self, module: Module) -> ModuleList:
        """Add a module at the end. Gives itself."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: Any) -> Module:
        """Take a module out."""
        module = self[key]
        del self[key]
        return module

    def extend(self, modules: Iterable[Module]) -> ModuleList:
        """Add modules at the end. TypeError for what cannot be iterated. Gives itself."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleList.extend should be called with an iterable, but got "
                + type(modules).__name__
            )
        for module in list(modules):
            self.append(module)
        return self

    def __repr__(self) -> str:
        """Write equal neighbours once, with their range: ``(0-2): 3 x Linear(...)``."""
        runs: list[list[Any]] = []
        for i, text in enumerate(repr(m) for m in self):
            if runs and runs[-1][2] == text:
                runs[-1][1] = i
            else:
                runs.append([i, i, text])
        if not runs:
            return f"{self._get_name()}()"
        lines = [
            f"({first}): {text}"
            if first == last
            else f"({first}-{last}): {last - first + 1} x {text}"
            for first, last, text in runs
        ]
        return f"{self._get_name()}(\n" + "".join(f"  {_indented(t)}\n" for t in lines) + ")"


class ModuleDict(Module):
    """Hold modules by key, in the order of insertion, so that their parameters are the owner's.

    Example:
      >>> heads = torch.nn.ModuleDict({"a": torch.nn.Linear(2, 1), "b": torch.nn.Identity()})
      >>> list(heads), "a" in heads
      (['a', 'b'], True)
    """

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        self._table_changes("_modules")
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: Any) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Take all modules out."""
        self._table_changes("_modules")
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Take a module out. KeyError when there is none."""
        module = self[key]
        del self[key]
        return module

    def keys(self) -> Any:
        return self._modules.keys()

    def items(self) -> Any:
        return self._modules.items()

    def values(self) -> Any:
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Add modules from a mapping, another ModuleDict or an iterable of pairs."""
        _update(self, modules, "ModuleDict")


def _update(target: Any, given: Any, name: str) -> None:
    if not isinstance(given, Iterable):
        raise TypeError(
            f"{name}.update should be called with an iterable of key/value pairs, but got "
            + type(given).__name__
        )
    if isinstance(given, (Mapping, ModuleDict, ParameterDict)):
        pairs: Any = given.items()
    else:
        pairs = []
        for i, pair in enumerate(given):
            if not isinstance(pair, Iterable):
                raise TypeError(
                    f"{name} update sequence element #{i} should be Iterable; is "
                    + type(pair).__name__
                )
            pair = tuple(pair)
            if len(pair) != 2:
                raise ValueError(
                    f"{name} update sequence element #{i} has length {len(pair)}; 2 is required"
                )
            pairs.append(pair)
    for key, value in pairs:
        target[key] = value


def _described(name: str, value: Any, type_name: str) -> str:
    """Return a line of a parameter container's repr."""
    if not isinstance(value, Tensor):
        return f"  ({name}): Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    size = "x".join(str(n) for n in value.shape)
    device = f" (GPU {value.get_device()})" if value.is_cuda else ""
    return f"  ({name}): {kind} containing: [{type_name} of size {size}{device}]"


def _type_name(value: Any) -> str:
    return str(value.type()) if isinstance(value, Tensor) else ""


class ParameterList(Module):
    """A list of parameters; plain tensors become parameters, other values are kept as they are."""

    _attributes_by_key = True

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            made = type(self)()
            made.extend(getattr(self, str(i)) for i in range(*index.indices(len(self))))
            return made
        return getattr(self, str(_position(index, len(self))))

    def __setitem__(self, index: int, value: Any) -> None:
        if isinstance(value, Tensor) and not isinstance(value, Parameter):
            value = Parameter(value)
        setattr(self, str(_position(index, len(self))), value)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter(self[i] for i in range(len(self)))

    def __iadd__(self, values: Iterable[Any]) -> ParameterList:
        return self.extend(values)

    def append(self, value: Any) -> ParameterList:
        """Add a value at the end. Gives itself."""
        at = len(self)
        self._size += 1
        self[at] = value
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Add values at the end. TypeError for a tensor or a non-iterable. Gives itself."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(
                "ParameterList.extend should be called with an iterable, but got "
                + type(values).__name__
            )
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(
            _described(str(i), v, str(v.dtype) if isinstance(v, Parameter) else _type_name(v))
            for i, v in enumerate(self)
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """Parameters by key; plain tensors become parameters, other values are kept as they are."""

    _attributes_by_key = True

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    @staticmethod
    def _attribute(key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string (type "
                f"is '{type(key).__name__}'). Open an issue on github if you need non-string keys."
            )
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._attribute(key))

    def _keys_change(self) -> None:
        modes.table_changes(self, self._keys, f"the keys of {type(self).__name__}")
        modes.epoch.advance_if_eager()

    def __setitem__(self, key: str, value: Any) -> None:
        name = self._attribute(key)
        self._keys_change()
        self._keys[name] = None
        if isinstance(value, Tensor) and not isinstance(value, Parameter):
            value = Parameter(value)
        setattr(self, name, value)

    def __delitem__(self, key: str) -> None:
        self._keys_change()
        del self._keys[key]
        delattr(self, self._attribute(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """Return another ParameterDict with the same parameters."""
        return ParameterDict(OrderedDict((k, self[k]) for k in self._keys))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return the value of ``key``, after setting it to ``default`` if there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Take everything out."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Take a value out. AttributeError when there is none."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Take out the last key and its value."""
        self._keys_change()
        key, _ = self._keys.popitem()
        self._keys[key] = None
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> int:
        """Return the value of ``key``, or ``default``."""
        return getattr(self, key) if key in self._keys else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """Return a new ParameterDict with these keys and one value."""
        return ParameterDict((k, default) for k in keys)

    def keys(self) -> Any:
        return self._keys.keys()

    def items(self) -> Any:
        return ((k, self[k]) for k in self._keys)

    def values(self) -> Any:
        return (self[k] for k in self._keys)

    def update(self, parameters: Any) -> None:
        """Add values from a mapping, another ParameterDict or an iterable of pairs; those of a
        mapping without an order of its own sorted by their keys, which is the order of
        ``parameters()``."""
        if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):
            parameters = sorted(parameters.items())
        _update(self, parameters, "ParameterDict")

    def extra_repr(self) -> str:
        return "\n".join(_described(k, v, _type_name(v)) for k, v in self.items())

    def __call__(self, input: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: ParameterDict) -> ParameterDict:
        return ParameterDict([*self.items(), *other.items()])

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        return ParameterDict([*other.items(), *self.items()])

    def __ior__(self, other: Any) -> ParameterDict:
        self.update(other)
        return self
