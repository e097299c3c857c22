"""PyTorch's random numbers on CUDA, computed on any device.

A GPU's numbers are a function of a seed, an offset and of the place of an element among the threads
of a kernel; so a draw takes 16 bytes from the generator (`stream.PhiloxEngine`) and the rest is
arithmetic that XLA fuses with what uses it. ``philox.py`` is the function, ``layout.py`` which
thread makes which element, ``samplers.py`` how words become numbers, ``fills.py`` the fills of
``torchlike.random.fills`` by these, ``cards.py`` the GPUs. Begin with ``layout.py``.
"""
