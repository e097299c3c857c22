"""Random programs say the same deferred as immediately: values to rounding, errors and their lines,
which tensors are alive."""

import pytest
import random_programs

import torchlike as torch
from torchlike._extensions.deferred import policy, prices


def check(seed):
    text = random_programs.source(seed)
    expected = random_programs.run(text)
    with torch.deferred(True):
        found = random_programs.run(text)
    assert not random_programs.differences(found, expected), text


@pytest.mark.sampled(every=40, rest="full")
@pytest.mark.parametrize("seed", range(200))
def test_one_by_one(monkeypatch, seed):
    monkeypatch.setattr(policy, "current", policy.OneByOne())
    check(seed)


@pytest.mark.sampled(every=70, rest="full")
@pytest.mark.parametrize("seed", range(200, 400))
def test_programs_at_once(monkeypatch, seed):
    monkeypatch.setattr(policy, "current", policy.AtOnce())
    check(seed)


@pytest.mark.sampled(every=70, rest="full")
@pytest.mark.parametrize("seed", range(400, 600))
def test_from_one_to_the_other(monkeypatch, seed):
    """A turn of the loop runs one by one, the next as a program."""
    monkeypatch.setattr(policy, "current", policy.Policy())
    monkeypatch.setattr(prices, "COMPILING", 10.0)
    monkeypatch.setattr(prices, "_GAIN", 2.0)
    check(seed)
