"""What the tests of torch.library share: names nobody has used, and answers to compare."""

import itertools

import pytest

import torchlike
import torchlike.library

torch = pytest.importorskip("torch")

BOTH = (torchlike, torch)
_number = itertools.count()


def name():
    """A name that no operator has."""
    return f"parity{next(_number)}::op"


def said(function):
    """The result, or the error and the first line of its words."""
    try:
        return function()
    except Exception as error:
        return type(error).__name__, str(error).split("\n")[0]
