"""What a function of the module says, PyTorch's or ours, in a form that can be compared."""

import warnings

import numpy as np


def shown(value, module):
    """Tensors by dtype, size, stride, values and flag; arrays by what NumPy knows of them."""
    if isinstance(value, tuple):
        return tuple(shown(v, module) for v in value)
    if isinstance(value, module.Tensor):
        return (
            "tensor", str(value.dtype), tuple(value.shape), value.stride(), value.tolist(),
            value.requires_grad,
        )  # fmt: skip
    if isinstance(value, np.ndarray):
        return (
            "array", str(value.dtype), value.shape, value.strides, value.tolist(),
            value.flags.writeable,
        )  # fmt: skip
    return type(value).__name__, repr(value)


def answer(function, module, *, words=False):
    """``shown`` of what the function gives, or the type of its error (and its words)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return shown(function(module), module)
        except Exception as error:
            said = str(error) if words else bool(str(error))  # an error has to have some
            return "raised", type(error).__name__, said


def source(line):
    """A line of Python on ``t``, the module, as a function: the last of its statements, after a
    semicolon, is what it gives."""
    *before, last = line.split("; ")

    def function(t):
        names = {"t": t, "np": np}
        for statement in before:
            exec(statement, names)
        return eval(last, names)

    return function
