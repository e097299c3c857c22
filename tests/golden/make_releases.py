"""What differs between PyTorch's releases, recorded of the one that is installed:

    python tests/golden/make_releases.py torch 2.14 > part.json

tests/golden/releases.json holds the parts by release. With "torchlike" for torch it prints what
torchlike gives, following the release that ``TORCHLIKE_TORCH_VERSION`` names.
"""

import importlib
import itertools
import json
import math
import sys

NAN = math.nan
VALUES = (0.0, 1.0, 2.0, NAN)


def gradients(t, function, operands):
    """Return the values, and the gradients of all operands, as lists."""
    leaves = [t.tensor(o, dtype=t.float64, requires_grad=True) for o in operands]
    out = function(*leaves)
    out.sum().backward()
    return [out.tolist(), *(leaf.grad.tolist() for leaf in leaves)]


def columns(n):
    return [list(c) for c in zip(*itertools.product(VALUES, repeat=n), strict=True)]


def refusal(call):
    """Return what a call gives, or which error it raises."""
    try:
        return call().tolist()
    except Exception as error:
        return type(error).__name__


def probes(t):
    """Return name of a change -> what shows it."""
    numbers = [(0, 1), (1, 1), (2, 1), (NAN, 1), (1, NAN), (0, None), (None, 1), (None, NAN)]
    lengths = [(0, 5, 1.5), (0, 1, 0.3), (1, 0, -0.3), (0.9, 5, 1), (-2.5, 2.5, 0.7), (0, 3.9)]
    return {
        "clamp shares ties": {
            "both": gradients(t, t.clamp, columns(3)),
            "min": gradients(t, lambda x, low: t.clamp(x, min=low), columns(2)),
            "max": gradients(t, lambda x, high: t.clamp(x, max=high), columns(2)),
            "clamp_min": gradients(t, t.clamp_min, columns(2)),
            "numbers": [gradients(t, lambda x, b=b: t.clamp(x, *b), [VALUES]) for b in numbers],
            "spread": gradients(t, lambda x, a: t.clamp(x, a, a + 1), [[[1.0], [2.0]], [1.0, 2.0]]),
        },
        "fmax shares ties": {
            "fmax": gradients(t, t.fmax, columns(2)),
            "fmin": gradients(t, t.fmin, columns(2)),
        },
        "arange counts before it truncates": [
            refusal(lambda b=b, d=d: t.arange(*b, dtype=getattr(t, d)))
            for b in lengths
            for d in ("int64", "int32", "float32")
        ],
        "cholesky and qr are gone": [
            refusal(lambda f=f: f(t.eye(2)))
            for f in (t.cholesky, t.Tensor.cholesky, lambda x: t.qr(x)[1], lambda x: x.qr()[1])
        ],
    }


if __name__ == "__main__":
    library = importlib.import_module(sys.argv[1])
    json.dump(probes(library), sys.stdout)
