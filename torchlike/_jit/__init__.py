"""The compiler behind ``torchlike.jit``, in five layers that import downwards only.

From above: `call` (what a user calls), `program` (what was compiled), `trace` (the one run of the
body), `capture` (the record of that run), `guards` (what is compared at each later call). To follow
a first call, begin at ``call/function.py``; docs/design/capture.md names the files on its way. Why
a function was compiled again, ``call/recompile_messages.py`` says. Imports `autograd` and below.
"""
