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
from programs.jitted import check_jitted, compiles  # noqa: E402
from programs.program import Program, Run, programs  # noqa: E402
from programs.statements import EVERYTHING  # noqa: E402


def saving_copies():
    return real.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t)


def check(program: Program) -> None:
    ours, theirs = Run(torchlike, contextlib.nullcontext), Run(real, saving_copies)
    Comparison(program, ours, theirs, autograd=True).run()


COMMON = {
    "deadline": None,
    "database": None,
    "derandomize": True,
    "print_blob": False,
    "suppress_health_check": list(HealthCheck),
}
#: The long form draws other programs each time; `--hypothesis-seed=1` repeats a run.
LONG = {**COMMON, "derandomize": False}
PROGRAMS = programs(real, saving_copies, EVERYTHING)
COMPILABLE = programs(real, saving_copies, EVERYTHING, suits=compiles)


@settings(max_examples=100, **COMMON)
@given(PROGRAMS)
def test_random_programs(program):
    check(program)


@pytest.mark.full
@settings(max_examples=5000, **LONG)
@given(PROGRAMS)
def test_many_random_programs(program):
    check(program)


@settings(max_examples=10, **COMMON)
@given(COMPILABLE)
def test_random_programs_jitted(program):
    check_jitted(program)


@pytest.mark.full
@settings(max_examples=1000, **LONG)
@given(COMPILABLE)
def test_many_random_programs_jitted(program):
    check_jitted(program)
