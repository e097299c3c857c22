"""What is looked for among all objects is found though ``gc.freeze()`` hid it."""

import gc
import logging
import subprocess
import sys

import torchlike as torch
from torchlike._runtime.collector import AtRest, functions_of


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


def test_it_is_at_rest_while_the_package_is_imported():
    code = (
        "import gc, torchlike\n"
        "print(gc.isenabled(), gc.get_stats()[2]['collections'], gc.get_freeze_count() > 100_000)"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert out.stdout.split() == ["True", "0", "True"]


def test_it_runs_again_where_an_import_fails():
    rest = AtRest()
    assert not gc.isenabled()
    del rest
    assert gc.isenabled()
    gc.unfreeze()


def test_it_stays_off_where_it_was_off():
    gc.disable()
    try:
        AtRest().end()
        assert not gc.isenabled()
    finally:
        gc.enable()
