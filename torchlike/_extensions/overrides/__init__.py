"""``__torch_function__`` and ``__torch_dispatch__``: who is asked, and how.

``protocol.py`` asks classes and modes; ``code_exchange.py`` has public functions come to it, once
there is anybody; ``python_signatures.py`` says what they pass on. What the heart knows of it, and
what is on and off, stands in ``torchlike/_core/overrides.py``.
"""
