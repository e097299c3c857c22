"""``torch.ops.namespace.name``: operators that users register, found where PyTorch has them."""

from __future__ import annotations

import importlib
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from torchlike._core import overrides
from torchlike._extensions.overrides import protocol
from torchlike._ops.aten.tags import Tag
from torchlike._runtime.provided import Provided

#: namespace -> name -> packet.
NAMESPACES: dict[str, OpNamespace] = {}
#: Compiled libraries whose operators are written here: (package, library) -> the module that
#: defines them, named rather than imported: it is of an upper room.
_WRITTEN = {
    ("torchvision", "_C"): "torchlike.library.vision",
    ("torchvision", "_C_stable"): "torchlike.library.vision",  # its name in newer releases
    ("torchaudio", "_torchaudio"): "torchlike.library.audio",
    ("torchaudio", "libtorchaudio"): "torchlike.library.audio",
}
#: Namespaces of PyTorch's own whose operators a module of an upper room defines.
_OWN: dict[str, str] = {
    "_c10d_functional": "torchlike.library.collectives",
    "c10d_functional": "torchlike.library.collectives",
    "c10d": "torchlike.library.collectives",
    "quantized_decomposed": "torchlike.ao.quantization.fx._decomposed",
    "higher_order": "torchlike._higher_order_ops.operators",
}


handler = Provided("handles (overload, args, kwargs) for a class or mode with __torch_dispatch__")
decomposition = Provided("finds what stands for an overload that is made of others, or None")


def _named(namespace: str, name: str, overload: str) -> Any:
    """Unpickle an overload."""
    return getattr(getattr(find(namespace), name), overload)


def _packet(namespace: str, name: str) -> Any:
    """Unpickle a packet."""
    return getattr(find(namespace), name)


class OpNamespace:
    """``torch.ops.namespace``: its operators are attributes."""

    def __init__(self, name: str) -> None:
        self.__name__ = f"torch.ops.{name}"
        self._name = name

    def __getattr__(self, name: str) -> Any:
        kind = "'_OpNamespace'"
        raise AttributeError(f"{kind} '{self._name}' object has no attribute '{name}'", name=name)

    def __repr__(self) -> str:
        return f"<module '{self.__name__}' from 'torch.ops'>"


def _asked_of(args: Any, kwargs: Any) -> list[Any]:
    """Return the arguments whose classes have a ``__torch_function__`` that is asked of operators
    too."""
    if not overrides.are_enabled():
        return []
    return protocol.overloaded((*args, *kwargs.values()), depth=1)


class OpOverload:
    """``torch.ops.namespace.name.overload``: one operator."""

    def __init__(self, operator: Any, packet: OpOverloadPacket) -> None:
        self.operator = operator
        self.overloadpacket = packet
        self.namespace = operator.namespace
        self._overloadname = operator.overload or "default"
        self.__name__ = f"{operator.name}.{self._overloadname}"
        self.__module__ = f"torch._ops.{operator.namespace}"
        self.__doc__ = operator.__doc__

    @property
    def _schema(self) -> Any:
        return self.operator.schema

    def name(self) -> str:
        """Return ``namespace::name``, and ``.overload`` where it has one."""
        return self.operator.qualname

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if found := _asked_of(args, kwargs):
            return protocol.ask(self, found, args, kwargs)
        if handler.is_provided and (
            overrides.state.dispatch_modes or protocol.handlers((*args, *kwargs.values()))
        ):
            return handler(self, args, kwargs)
        return self.operator(*args, **kwargs)

    @property
    def op(self) -> Any:
        """What computes it."""
        return self.operator

    @property
    def _overloadpacket(self) -> OpOverloadPacket:
        return self.overloadpacket

    @property
    def _opname(self) -> str:
        return self.operator.name

    def decompose(self, *args: Any, **kwargs: Any) -> Any:
        """Return the result of the operators that the operator is made of in PyTorch;
        NotImplemented where it is not made of others."""
        rule = decomposition(self) if decomposition.is_provided else None
        return NotImplemented if rule is None else rule(*args, **kwargs)

    @property
    def is_view(self) -> bool:
        """Whether its result shares memory with an argument that it does not write."""
        infos = [a.alias_info for a in self._schema.arguments]
        return any(i is not None and not i.is_write for i in infos)

    @property
    def tags(self) -> list[Tag]:
        """What it says of itself, as PyTorch's does; none of an operator of torchlike's own."""
        return list(getattr(self.operator, "tags", ()))

    def has_kernel_for_dispatch_key(self, key: Any) -> bool:
        """Return whether the operator is computed on that backend: all are, by XLA."""
        return True

    def __deepcopy__(self, memo: Any) -> OpOverload:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _named, (self.namespace, self.operator.name, self._overloadname)

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"

    def __repr__(self) -> str:
        of = f"{self.namespace}.{self.operator.name}"
        return f"<OpOverload(op='{of}', overload='{self._overloadname}')>"


class OpOverloadPacket:
    """``torch.ops.namespace.name``: calls the first of its overloads that takes the arguments."""

    def __init__(self, namespace: str, name: str) -> None:
        self._qualified = f"{namespace}.{name}"
        self.__name__ = name
        self.__module__ = f"torch._ops.{namespace}"
        self._overloads: dict[str, OpOverload] = {}

    @property
    def _qualified_op_name(self) -> str:
        """``namespace::name``."""
        return self._qualified.replace(".", "::")

    def __deepcopy__(self, memo: Any) -> OpOverloadPacket:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        namespace, _, name = self._qualified.partition(".")
        return _packet, (namespace, name)

    def _add(self, operator: Any) -> None:
        self._overloads[operator.overload or "default"] = OpOverload(operator, self)
        self.__doc__ = operator.__doc__

    @property
    def op(self) -> OpOverloadPacket:
        """What is called: itself."""
        return self

    def overloads(self) -> list[str]:
        """Return the names of the overloads."""
        return list(self._overloads)

    def __getattr__(self, name: str) -> OpOverload:
        found = self.__dict__.get("_overloads", {}).get(name)
        if found is None:
            raise AttributeError(
                f"The underlying op of '{self.__dict__.get('_qualified')}' has no overload name "
                f"'{name}'",
                name=name,
            )
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if found := _asked_of(args, kwargs):
            return protocol.ask(self, found, args, kwargs)
        *others, last = self._overloads.values()
        for overload in others:
            if overload.operator.schema.takes(args, kwargs):
                return overload(*args, **kwargs)
        return last(*args, **kwargs)

    def __str__(self) -> str:
        return self._qualified

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self._qualified}')>"


def _higher_order(name: str) -> Any:
    """Unpickle an operator that takes functions."""
    return getattr(find("higher_order"), name)


class HigherOrderOperator:
    """``torch.ops.higher_order.name``: an operator that takes functions. Subclasses compute it.

    RuntimeError for an instance of this class itself.
    """

    namespace = "higher_order"

    def __init__(self, name: str, *, cacheable: bool = False) -> None:
        if type(self) is HigherOrderOperator:
            raise RuntimeError(
                "Direct instantiation of HigherOrderOperator is not allowed. Please subclass it."
            )
        self.__name__ = self._name = self.__qualname__ = name
        self.__module__ = "torch.ops.higher_order"
        self._cacheable = cacheable
        setattr(find("higher_order"), name, self)

    def name(self) -> str:
        """Return the operator's name."""
        return self._name

    def cacheable(self) -> bool:
        """Return whether the operator was declared cacheable when it was made."""
        return self._cacheable

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no __call__")

    def __deepcopy__(self, memo: Any) -> HigherOrderOperator:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _higher_order, (self._name,)

    def __str__(self) -> str:
        return self._name

    __repr__ = __str__


def find(name: str) -> OpNamespace:
    """Return the namespace of that name; it is made, without operators, if nobody registered
    any."""
    if name in _OWN and name not in NAMESPACES:
        importlib.import_module(_OWN[name])
    return NAMESPACES.setdefault(name, OpNamespace(name))


def overload_of(operator: Any) -> OpOverload:
    """Return the overload by which an operator is called."""
    return _named(operator.namespace, operator.name, operator.overload or "default")


def exists(name: str) -> bool:
    """Return whether a namespace has operators."""
    return name in NAMESPACES or name in _OWN


def add(operator: Any) -> None:
    """Make an operator (``namespace``, ``name``, ``overload``, ``schema``) known. ValueError where
    the namespace has something else of that name."""
    place: Any = NAMESPACES.setdefault(operator.namespace, OpNamespace(operator.namespace))
    packet = place.__dict__.get(operator.name)
    if packet is None:
        packet = OpOverloadPacket(operator.namespace, operator.name)
        setattr(place, operator.name, packet)
    elif not isinstance(packet, OpOverloadPacket):
        raise ValueError(
            f"{operator.qualname}: torchlike has something of that name itself. Use another "
            "namespace."
        )
    packet._add(operator)


def remove(operator: Any) -> None:
    """Forget an operator."""
    place: Any = find(operator.namespace)
    packet = place.__dict__.get(operator.name)
    if isinstance(packet, OpOverloadPacket):
        packet._overloads.pop(operator.overload or "default", None)
        if not packet._overloads:
            delattr(place, operator.name)


#: Paths of the libraries that `load_library` was asked for.
loaded_libraries: set[str] = set()


def load_library(path: str | PathLike[str]) -> None:
    """Make the operators of a compiled library known, where they are written for XLA: so far those
    of ``torchvision`` and ``torchaudio``. OSError for every other library, as for one that cannot
    be loaded.
    """
    file = Path(fspath(path))
    library = file.name.partition(".")[0]
    packages = (folder.name for folder in file.parents)  # torchaudio's lies in a folder lib
    module = next((_WRITTEN[p, library] for p in packages if (p, library) in _WRITTEN), None)
    if module is None and not file.exists():
        raise OSError(f"Could not load this library: {path}")
    if module is None:
        raise OSError(
            f"Could not load this library: {path}. It is compiled for PyTorch's C++ library; "
            "operators for torchlike are registered by torch.library.custom_op."
        )
    importlib.import_module(module)
    loaded_libraries.add(str(file.resolve()))
