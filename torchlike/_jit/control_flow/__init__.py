"""Control flow on tensors' values, rewritten into cond, while_loop and scan."""
