"""What PyTorch does at the edges of its semantics, area by area, as programs that both run.

A file is an area. Each of its functions without an underscore in front is a *behaviour*: it takes
the library and does one thing at an edge. Result, error and warnings are compared with PyTorch's.
`differences.py` lists the behaviours that differ, with reasons; `python -m tools.semantics` counts.
"""
