"""Says what Python objects hold, with their identities: what eager and compiled calls leave."""

import numpy as np

import torchlike as torch


def described(value):
    """Return a text of nested objects; an object that is met again is told by its number."""
    seen = {}

    def walk(x):
        if isinstance(x, float):
            return f"float {x:.5g}"  # of a program that fuses
        if isinstance(x, (int, str, type(None))):
            return f"{type(x).__name__} {x!r}"
        if callable(x) and not isinstance(x, type) and not isinstance(x, torch.nn.Module):
            return walk(x())
        if id(x) in seen and not isinstance(x, tuple):
            return f"<{seen[id(x)][0]}>"
        seen[id(x)] = len(seen), x
        kind = type(x).__name__
        if isinstance(x, torch.Tensor):
            numbers = np.array2string(x.detach().numpy(), precision=4)
            return f"{kind}({numbers}, {x.dtype}, {x.requires_grad}, {x.is_leaf})"
        if isinstance(x, dict):
            return f"{kind}{{{', '.join(f'{walk(k)}: {walk(v)}' for k, v in x.items())}}}"
        if isinstance(x, (set, frozenset)):
            return f"{kind}({sorted(map(walk, x))})"
        if hasattr(x, "__iter__"):
            return f"{kind}({', '.join(map(walk, x))})"
        if isinstance(x, (torch.dtype, torch.device)):
            return str(x)
        space = vars(x)
        if "of" in space and callable(space["of"]):
            return walk(space["of"])
        keys = space.get("keys")
        return f"{kind}({walk({k: space['state'][k] for k in keys} if keys else space)})"

    return walk(value)
