"""What eager code refuses for a value, compiled code refuses: the same error, later."""

import types

import numpy as np
import pytest

import torchlike as torch
from tests.jit.value_check_cases import CASES
from torchlike._core.dispatch.call import run_check
from torchlike._core.dispatch.registry import OPS
from torchlike._ops import value_checks
from torchlike._runtime import late_checks
from torchlike._runtime.value_check import Site


def said(function, *arguments):
    """Return the error of a call and of reading its results: class and words."""

    def read():
        result = function(*arguments)
        for t in result if isinstance(result, (tuple, list)) else (result,):
            t.tolist()
        torch.cpu.synchronize()

    with pytest.raises(Exception) as raised:
        read()
    return raised.type, str(raised.value).partition("\n  Found by")[0]


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize("case", CASES)
def test_the_error_is_that_of_eager_code(case):
    function, *arguments = CASES[case]
    compiled = torch.jit(function)
    wanted = said(function, *arguments)
    assert said(compiled, *arguments) == wanted
    assert not late_checks.queue


def test_every_check_of_an_op_has_a_case(monkeypatch):
    seen = set()

    def seeing(check, arrays, key):
        if isinstance(key, tuple) and key[0] in specs:
            seen.add(key[0])
        return run(check, arrays, key)

    specs = {spec for spec in OPS.values() if spec.check is not None}
    run = value_checks.run
    monkeypatch.setattr(run_check, "function", seeing)
    for function, *arguments in CASES.values():
        said(function, *arguments)
    assert sorted(spec.name for spec in specs - seen) == []


class Word:
    """A stand-in for the array that says which check failed, 0 where none did."""

    def __init__(self, failed, devices, ready):
        self.failed, self.is_ready = failed, lambda: ready
        self.sharding = types.SimpleNamespace(device_set=set(range(devices)))

    def __array__(self, dtype=None, copy=None):
        return np.array([self.failed], dtype)


@pytest.mark.parametrize(("devices", "is_over"), [(1, False), (1, True), (2, False)])
def test_a_read_waits_for_the_word_of_several_devices_and_of_a_call_that_is_over(devices, is_over):
    site = Site(IndexError, "")
    words = late_checks.Words("step", [site], waits=True)
    words.add(Word(0, devices=1, ready=True))  # of a call before, over one device
    words.add(Word(1, devices, ready=False), is_over=is_over)
    try:
        if devices == 1 and not is_over:
            torch.ones(2).numpy()
            torch.ones(()).item()
        else:
            with pytest.raises(IndexError, match="inside step"):
                torch.ones(()).item()
    finally:
        late_checks.queue.clear()
