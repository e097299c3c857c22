"""Random programs of views, in-place writes and autograd do what they do in PyTorch.

Documented difference: where PyTorch's backward refuses because a saved tensor "has been modified by
an inplace operation", torchlike gives the right gradient. So PyTorch is made to save copies, which
gives it the same answer.
"""

import contextlib

import pytest
from hypothesis import HealthCheck, given, settings

import torchlike

real = pytest.importorskip("torch")

from programs.compare import Comparison  # noqa: E402
from programs.program import Program, Run, programs  # noqa: E402
from programs.statements import EVERYTHING  # noqa: E402

pytestmark = pytest.mark.parity


def saving_copies():
    return real.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t)


def check(program: Program) -> None:
    ours, theirs = Run(torchlike, contextlib.nullcontext), Run(real, saving_copies)
    Comparison(program, ours, theirs, autograd=True).run()


COMMON = {
    "deadline": None, "database": None, "derandomize": True, "print_blob": False,
    "suppress_health_check": list(HealthCheck),
}  # fmt: skip
PROGRAMS = programs(real, saving_copies, EVERYTHING)


@settings(max_examples=250, **COMMON)
@given(PROGRAMS)
def test_random_programs(program):
    check(program)


@pytest.mark.full
@settings(max_examples=2500, **COMMON)
@given(PROGRAMS)
def test_many_random_programs(program):
    check(program)
