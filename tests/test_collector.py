"""What is looked for among all objects is found though ``gc.freeze()`` hid it."""

import gc
import logging

import torchlike as torch
from torchlike._runtime.collector import functions_of


def by_sign(x):
    return x * 2 if x.sum() > 0 else x * 3


def test_functions_are_found(caplog):
    caplog.set_level(logging.INFO, "torchlike.collector")
    gc.freeze()
    assert functions_of([by_sign.__code__]) == [by_sign]
    assert "gc.freeze() is undone" in caplog.text
    assert not gc.get_freeze_count()


def test_branches_of_frozen_functions_are_compiled():
    gc.freeze()
    jitted = torch.jit(by_sign)
    assert jitted(torch.ones(2)).tolist() == [2, 2]
    assert jitted(-torch.ones(2)).tolist() == [-3, -3]
    assert jitted.compiles == 1
