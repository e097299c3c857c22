"""The compiler behind ``torchlike.jit``: capture, guards, control flow, compilation, fallback."""
