"""Names of PyTorch's that are only names, or older: places, absences, typed storages, switches.

``places.py`` is the table of PyTorch's places whose code lives elsewhere, ``unsupported.py`` that
of what is refused, with the reason and an alternative. ``core/`` answers for ``torch._C``,
``devices/`` for ``torch.cpu``, ``xpu`` and kin. Begin with ``places.py``. Imports what its files
speak of: each stands as high as that (tests/test_package.py says where).
"""
