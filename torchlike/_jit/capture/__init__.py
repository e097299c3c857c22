"""The record of a run: cells, slots and per-call values, what Python code read, what was refused.

May import `guards`. Begin at ``capture.py``, to which tensors report, and at
``frame_observer.py``, which sees the user's code run; `guards_of` makes guards of both.
"""
