"""``torch.__future__``: how a module's conversion puts what it made where the parameters were.

Three ways: the parameters' ``.data`` (the default), new parameters in the module, or
``torch.utils.swap_tensors``.
"""

from __future__ import annotations

from torchlike._core.modes import Switch

_overwrite = Switch("torch.__future__.set_overwrite_module_params_on_conversion()")
_swap = Switch("torch.__future__.set_swap_module_params_on_conversion()")


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Set whether ``Module.to``, ``float``, ``cuda``, ``to_empty`` and kin give the module new
    parameters, and leave the ones there were as they are."""
    _overwrite.set(value)


def get_overwrite_module_params_on_conversion() -> bool:
    """Return whether conversions give a module new parameters; False unless it is set."""
    return _overwrite.get()


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Set whether conversions of a module, and ``Module.load_state_dict``, exchange each parameter
    for what was made of it by ``torch.utils.swap_tensors``.

    Loading then makes the new tensor by ``parameter.module_load(given, assign)``. Goes before
    ``set_overwrite_module_params_on_conversion``.
    """
    _swap.set(value)


def get_swap_module_params_on_conversion() -> bool:
    """Return whether conversions and loading exchange tensors; False unless it is set."""
    return _swap.get()
