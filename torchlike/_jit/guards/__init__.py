"""What a program depends on: keys of calls, guards, and where a call finds its inputs.

Imports no other layer of the compiler. Begin at ``guard.py``: `Guard`, of which all others are,
and `GuardSet`, which checks, generates source and explains.
"""
