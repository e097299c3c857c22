"""Nested tensors as what both libraries can be compared by."""

from __future__ import annotations

import warnings


def described(result):
    """A nested tensor as its kind, size and parts; anything else as it is."""
    if (
        isinstance(result, (tuple, list))
        and not hasattr(result, "_fields")
        and (type(result).__name__ != "Size")
    ):
        return [described(r) for r in result]
    if isinstance(result, tuple) and type(result).__name__ != "Size":
        return [described(r) for r in result]
    if type(result).__name__ == "Size" or type(result).__name__ in ("SymInt", "NestedInt"):
        return _sizes(result)
    if not getattr(result, "is_nested", False):
        return result.detach() if hasattr(result, "detach") else result
    if str(result.layout) != "torch.jagged":
        return ["strided", *(part.detach() for part in result.unbind())]
    lengths = result.lengths()
    return [
        "jagged",
        _sizes(result.shape),
        result.values().detach(),
        result.offsets(),
        lengths,
        _sizes(result.stride()),
        result.storage_offset(),
        result.is_contiguous(),
        result.requires_grad,
    ]


def _sizes(sizes):
    """Sizes without the numbers that name ragged ones."""
    return "".join(c if not (c.isdigit() and b == "j") else "" for b, c in _pairs(str(sizes)))


def _pairs(text):
    before, counting = "", False
    for c in text:
        counting = c.isdigit() and (before == "j" or counting)
        yield ("j" if counting else ""), c
        before = c


def run(text, scope):
    """A function of the library that evaluates an expression, whatever it warns of."""

    def function(t):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return described(eval(text, {}, scope(t)))
            except Exception as error:
                raise type(error)(_sizes(error)) from None

    return function
