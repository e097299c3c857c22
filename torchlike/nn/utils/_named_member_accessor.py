"""``torch.nn.utils._named_member_accessor``: tensors and submodules of a module by dotted name.

What libraries run a module with that hold its parameters elsewhere: they swap them in and out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from torchlike.nn.modules.module import Module
from torchlike.tensor import Tensor

__all__ = ["NamedMemberAccessor", "set_tensor", "swap_submodule", "swap_tensor"]

#: In the place of a tensor: there was none, or there shall be none.
_MISSING: Any = object()


def _check(module: Any, name: str, value: Any) -> None:
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if not (value is None or value is _MISSING or isinstance(value, Tensor)):
        raise TypeError(f"{value} is not an instance of torch.Tensor")
    if "." in name:
        raise KeyError('tensor name can\'t contain "."')
    if name == "":
        raise KeyError('tensor name can\'t be empty string ""')


def _table(module: Module, name: str) -> dict[str, Any] | None:
    """Return the table that holds a name: the parameters or the buffers, or None for a plain
    attribute."""
    return next((t for t in (module._parameters, module._buffers) if name in t), None)


def set_tensor(module: Module, name: str, tensor: Tensor | None) -> None:
    """Have a module hold ``tensor`` under ``name``: as parameter or buffer where it has one of that
    name, whatever class the tensor is of, else as an attribute.

    TypeError for what is no module or tensor; KeyError for a dotted or an empty name.
    """
    _check(module, name, tensor)
    table = _table(module, name)
    if table is None:
        setattr(module, name, tensor)
        return
    module._rebind_tensor(name)
    table[name] = tensor


def swap_tensor(module: Module, name: str, tensor: Any, allow_missing: bool = False) -> Any:
    """Set a tensor as ``set_tensor`` does, and return what the module held before.

    allow_missing: a name that the module lacks gives a marker, which removes what it stands for
    when it is swapped in.

    AttributeError for a name that is missing; errors of ``set_tensor``.
    """
    _check(module, name, tensor)
    table = _table(module, name)
    if table is not None:
        before = table[name]
    else:
        before = getattr(module, name, _MISSING)
        if before is _MISSING and not allow_missing:
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        if not (before is _MISSING or before is None or isinstance(before, Tensor)):
            raise TypeError(f"attribute `{name}`: {before} is not an instance of torch.Tensor")
    if tensor is not _MISSING:
        set_tensor(module, name, tensor)
    elif before is not _MISSING:
        delattr(module, name)
    return before


def swap_submodule(module: Module, name: str, submodule: Module) -> Module:
    """Replace the submodule of a module under a name, and return the one it held.

    TypeError for what is no module; KeyError for a name without one.
    """
    for given in (module, submodule):
        if not isinstance(given, Module):
            raise TypeError(f"{given} is not an instance of torch.nn.Module")
    if "." in name:
        raise KeyError('submodule name can\'t contain "."')
    if name == "":
        raise KeyError('submodule name can\'t be empty string ""')
    if name not in module._modules:
        raise KeyError(f"submodule {name} does not exist")
    before = module._modules[name]
    if not isinstance(before, Module):
        raise TypeError(f"{name} attribute is not an instance of torch.nn.Module")
    module._table_changes("_modules")
    module._modules[name] = submodule
    return before


class NamedMemberAccessor:
    """The tensors and submodules of ``module`` by dotted names; submodules are looked up once.

    Differs from PyTorch: after ``swap_submodule``, names below it are of the new submodule.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.memo: dict[str, Module] = {"": module}

    def get_submodule(self, name: str) -> Module:
        """Return a submodule. Raises AttributeError where there is none, TypeError where something
        else is."""
        found = self.memo.get(name)
        if found is None:
            prefix, _, last = name.rpartition(".")
            owner = self.get_submodule(prefix)
            value = getattr(owner, last, _MISSING)
            if value is _MISSING:
                raise AttributeError(f"{type(owner).__name__} has no attribute `{last}`")
            if not isinstance(value, Module):
                raise TypeError(
                    f"submodule `{name}`: {value} is not an instance of torch.nn.Module"
                )
            found = self.memo[name] = value
        return found

    def _owner(self, path: str) -> tuple[Module, str]:
        prefix, _, name = path.rpartition(".")
        return self.get_submodule(prefix), name

    def swap_submodule(self, path: str, value: Module) -> Module:
        """Replace the submodule at a path, and return the one before."""
        owner, name = self._owner(path)
        self.memo = {p: m for p, m in self.memo.items() if f"{p}.".startswith(f"{path}.") is False}
        return swap_submodule(owner, name, value)

    def get_tensor(self, name: str) -> Tensor:
        """Return a tensor. Raises AttributeError where there is none, TypeError where something
        else is."""
        owner, last = self._owner(name)
        found = getattr(owner, last, _MISSING)
        if found is _MISSING:
            raise AttributeError(f"{type(owner).__name__} has no attribute `{name}`")
        if not (found is None or isinstance(found, Tensor)):
            raise TypeError(f"{found} is not an instance of torch.Tensor")
        return found  # type: ignore[return-value]

    def set_tensor(self, name: str, value: Tensor | None) -> None:
        """Set a tensor by path, as ``set_tensor`` does."""
        set_tensor(*self._owner(name), value)

    def del_tensor(self, name: str) -> None:
        """Remove a tensor. AttributeError where there is none."""
        owner, last = self._owner(name)
        if not hasattr(owner, last):
            raise AttributeError(f"{type(owner).__name__} has no attribute `{last}`")
        delattr(owner, last)

    def swap_tensor(self, name: str, value: Any, allow_missing: bool = False) -> Any:
        """Swap a tensor by path, as ``swap_tensor`` does."""
        return swap_tensor(*self._owner(name), value, allow_missing)

    def get_tensors(self, names: Iterable[str]) -> list[Tensor]:
        """Return the tensors of several names."""
        return [self.get_tensor(name) for name in names]

    def set_tensors(self, names: Iterable[str], values: Iterable[Tensor | None]) -> None:
        """Set several tensors. Raises ValueError unless there are as many names as values."""
        for name, value in zip(names, values, strict=True):
            self.set_tensor(name, value)

    def set_tensors_dict(self, named_tensors: dict[str, Tensor]) -> None:
        """Set several tensors, by name."""
        self.set_tensors(named_tensors.keys(), named_tensors.values())

    def del_tensors(self, names: Iterable[str]) -> None:
        """Remove several tensors."""
        for name in names:
            self.del_tensor(name)

    def swap_tensors(
        self, names: Iterable[str], values: Iterable[Any], allow_missing: bool = False
    ) -> list[Any]:
        """Swap several tensors. Raises ValueError unless there are as many names as values."""
        return [
            self.swap_tensor(name, value, allow_missing)
            for name, value in zip(names, values, strict=True)
        ]

    def swap_tensors_dict(
        self, named_tensors: dict[str, Any], allow_missing: bool = False
    ) -> tuple[dict[str, Any], list[str]]:
        """Swap several tensors by name, and return what was there before and the names that were
        missing.

        RuntimeError for a missing name unless they are allowed. After any error the module is as it
        was.
        """
        before: dict[str, Any] = {}
        missing: list[str] = []
        try:
            for name, value in named_tensors.items():
                before[name] = self.swap_tensor(name, value, allow_missing=True)
                if before[name] is _MISSING:
                    missing.append(name)
            if missing and not allow_missing:
                raise RuntimeError(f"Missing key(s): {', '.join(map(repr, missing))}.")
        except Exception:
            for name, value in before.items():
                self.swap_tensor(name, value, allow_missing=True)
            raise
        return before, missing

    def check_keys(self, keys: Iterable[str]) -> tuple[list[str], list[str]]:
        """Return the names of tensors that ``keys`` lack, and the keys that name no tensor."""
        given = set(keys)
        own = {name for name, _ in self.named_tensors(remove_duplicate=False)}
        return sorted(own - given), sorted(given - own)

    def named_parameters(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Yield the module's parameters with their names."""
        yield from self.module.named_parameters(remove_duplicate=remove_duplicate)

    def named_buffers(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Yield the module's buffers with their names."""
        yield from self.module.named_buffers(remove_duplicate=remove_duplicate)

    def named_tensors(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Yield the module's parameters, then its buffers, with their names."""
        yield from self.named_parameters(remove_duplicate)
        yield from self.named_buffers(remove_duplicate)

    def named_modules(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]:
        """Yield the module and all below it with their names."""
        yield from self.module.named_modules(remove_duplicate=remove_duplicate)
