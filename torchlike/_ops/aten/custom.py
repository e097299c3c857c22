"""``torch.ops.namespace.name``: operators that users register, found where PyTorch has them."""

from __future__ import annotations

import importlib
from os import PathLike, fspath
from pathlib import Path
from typing import Any

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


class OpOverload:
    """``torch.ops.namespace.name.overload``: one operator."""

    def __init__(self, operator: Any, packet: OpOverloadPacket) -> None:
        self.operator = operator
        self.overloadpacket = packet
        self.namespace = operator.namespace
        self._overloadname = operator.overload or "default"
        self.__name__ = f"{operator.name}.{self._overloadname}"
        self.__doc__ = operator.__doc__

    @property
    def _schema(self) -> Any:
        return self.operator.schema

    def name(self) -> str:
        """``namespace::name``, and ``.overload`` where it has one."""
        return self.operator.qualname

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.operator(*args, **kwargs)

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
        self._overloads: dict[str, OpOverload] = {}

    def _add(self, operator: Any) -> None:
        self._overloads[operator.overload or "default"] = OpOverload(operator, self)
        self.__doc__ = operator.__doc__

    def overloads(self) -> list[str]:
        """Their names."""
        return list(self._overloads)

    def __getattr__(self, name: str) -> OpOverload:
        found = self.__dict__.get("_overloads", {}).get(name)
        if found is None:
            raise AttributeError(
                f"The underlying op of '{self.__dict__.get('_qualified')}' has no overload name "
                f"'{name}'", name=name,
            )  # fmt: skip
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        *others, last = self._overloads.values()
        for overload in others:
            if overload.operator.schema.takes(args, kwargs):
                return overload(*args, **kwargs)
        return last(*args, **kwargs)

    def __str__(self) -> str:
        return self._qualified

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self._qualified}')>"


def find(name: str) -> OpNamespace:
    """The namespace of that name, without operators if nobody registered any."""
    return NAMESPACES.setdefault(name, OpNamespace(name))


def add(operator: Any) -> None:
    """Make an operator (``namespace``, ``name``, ``overload``, ``schema``) known. ValueError where
    the namespace has something else of that name."""
    place: Any = find(operator.namespace)
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


def load_library(path: str | PathLike[str]) -> None:
    """Make the operators of a compiled library known, where they are written for XLA: so far those
    of ``torchvision`` and ``torchaudio``. OSError for every other library, as for one that cannot
    be loaded.
    """
    file = Path(fspath(path))
    library = file.name.partition(".")[0]
    packages = (folder.name for folder in file.parents)  # torchaudio's lies in a folder lib
    module = next((_WRITTEN[p, library] for p in packages if (p, library) in _WRITTEN), None)
    if module is None:
        raise OSError(
            f"Could not load this library: {path}. It is compiled for PyTorch's C++ library; "
            "operators for torchlike are registered by torch.library.custom_op."
        )
    importlib.import_module(module)
