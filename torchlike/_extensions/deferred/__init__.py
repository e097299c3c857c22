"""Deferred calls: what a thread's script calls is recorded, and runs when a value is asked for.

A call of a compiled form gives *deferred values*, a kind of cell: shape and dtype are known, the
array is not there yet. What recurs becomes one XLA program. docs/design/deferred.md says why it is
as it is. Imports `_core` and `_runtime`. Begin with `value.py`; then `calls.py` (what is known of a
call, and the tree of them), `queue.py` (recording, and the flush), `listening.py` (until something
recurs), `liveness.py`, `pieces.py` (how the calls between two flushes are run), `policy.py`,
`account.py` and `prices.py` (when a program pays), `switch.py`.
"""
