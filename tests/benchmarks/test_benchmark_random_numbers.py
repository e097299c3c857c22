"""The benchmark of a GPU's random numbers runs, and both of a case make as many."""

from __future__ import annotations

import pytest

from benchmarks import random_numbers


@pytest.mark.parametrize("name", random_numbers.cases(8))
def test_cases_make_the_same_kind_of_numbers(name):
    ours, theirs = (f() for f in random_numbers.cases(1000)[name])
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    assert abs(float(ours.mean()) - float(theirs.mean())) < 0.1 * max(1.0, float(theirs.std()))


def test_a_line_a_case(capsys):
    random_numbers.main(["--rounds", "1", "--elements", "1000"])
    assert len(capsys.readouterr().out.splitlines()) == len(random_numbers.cases(8))
