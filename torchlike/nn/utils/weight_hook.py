"""What the older normalizations share: one hook a parameter, which can be taken off again."""

from __future__ import annotations

from typing import Any


class WeightHook:
    """A forward pre-hook that makes the parameter ``name`` before each forward."""

    #: The function that puts the hook on, as errors call it.
    _function: str
    name: str

    @classmethod
    def _found(cls, module: Any, name: str) -> tuple[Any, Any] | None:
        """Return the key and the hook of a parameter, or None if it has no such hook."""
        for key, hook in module._forward_pre_hooks.items():
            if isinstance(hook, cls) and hook.name == name:
                return key, hook
        return None

    @classmethod
    def refuse_second(cls, module: Any, name: str) -> None:
        """Raise RuntimeError where the parameter has such a hook already."""
        if cls._found(module, name) is not None:
            raise RuntimeError(
                f"Cannot register two {cls._function} hooks on the same parameter {name}"
            )

    @classmethod
    def take_off(cls, module: Any, name: str) -> None:
        """Call the hook's ``remove`` and take the hook off the module. Raises ValueError where
        there is none."""
        found = cls._found(module, name)
        if found is None:
            raise ValueError(f"{cls._function} of '{name}' not found in {module}")
        key, hook = found
        hook.remove(module)
        del module._forward_pre_hooks[key]

    def remove(self, module: Any) -> None:
        """Put a plain parameter in the place of what the hook uses."""
        raise NotImplementedError
