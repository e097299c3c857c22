"""Names of PyTorch's that are only names, or older: places, absences, typed storages, switches.

Imports `_core`, `_extensions` and `_ops`; files that speak of `autograd`, `amp`, `library` or
`_functorch` (in ``core/`` and ``devices/cpu/``) stand as high as those: FLOORS in
tests/test_package.py has each. Begin with ``places.py``, the table of PyTorch's places whose code
lives elsewhere; ``unsupported.py`` is that of what is refused, with the reason and an alternative.
``core/`` answers for ``torch._C``, ``devices/`` for ``torch.cpu``, ``xpu`` and kin.
"""
