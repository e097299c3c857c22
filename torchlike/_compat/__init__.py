"""Names of PyTorch's that are only names, or older: places, absences, typed storages, switches.

``places.py`` is the table of PyTorch's places whose code lives elsewhere, ``unsupported.py`` that
of what is refused, with the reason and an alternative. ``core/`` answers for ``torch._C``,
``devices/`` for ``torch.cpu``, ``xpu`` and kin. Files stand as high as what they speak of
(tests/test_package.py says where).
"""
