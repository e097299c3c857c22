"""What was compiled: a program's inputs, outputs, gradient, checks and passes.

May import `trace`, `capture` and `guards`. Begin at ``program.py``, which makes a `Program` of a
trace and runs it; ``generated_call.py`` is what later calls run.
"""
