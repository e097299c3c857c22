"""What a user calls: `JitFunction` finds the program that fits a call, or has one made.

May import all layers of the compiler. Begin at ``function.py``; ``tracer.py`` makes a program,
``programs.py`` keeps it, ``recompile_messages.py`` says why there is one more,
``captured_program.py`` shows a program.
"""
