"""State that compiled code reads of Python objects and of the process is compared, or refused."""

import contextlib
import decimal
import gc
import hashlib
import io
import logging
import os
import queue
import threading
import warnings
import weakref

import pytest

import torchlike as torch
from tests.jit.states import MOVING, ROWS
from torchlike.jit import JitCaptureError


def _numbers(compile, name):
    """What a function that reads the row's state gives: twice before the change, and after it."""
    with contextlib.ExitStack() as end:
        read, change = ROWS[name](end)

        def f(t):
            return t + float(read())

        call = compile(f)
        x = torch.zeros((), dtype=torch.float64)
        found = [float(call(x)), float(call(x))]
        change()
        return [*found, float(call(x))]


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("compile", [torch.jit, torch.compile], ids=["jit", "compile"])
def test_state_is_compared_or_refused(compile, name):
    # (XLA's own, which a callback has made Python know, are daemons and never end.)
    before = [t for t in threading.enumerate() if not t.daemon and t is not threading.main_thread()]
    for thread in before:  # what earlier tests have begun ends before threads are counted
        thread.join(timeout=5)
    expected = _numbers(lambda f: f, name)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "torchlike.jit", RuntimeWarning)
        try:
            found = _numbers(compile, name)
        except JitCaptureError:
            assert compile is torch.jit
            return
    if name in MOVING:
        assert len(set(found)) == len(found), f"frozen: {found}"
    else:
        assert expected[2] != expected[0], before
        assert found[1] == found[0]
        # Counts of references and collections begin elsewhere in each process.
        assert found[2] - found[0] == expected[2] - expected[0]


class Thing:
    def __init__(self, value=None):
        self.value = value


def _compiles(f, calls=4):
    """How often a function compiles for calls that are alike."""
    call = torch.jit(f)
    for _ in range(calls):
        call(torch.ones(2))
    return call.compiles


def test_a_module_that_refers_weakly_to_the_one_around_it_stays_compiled():
    class Inner(torch.nn.Linear):
        def forward(self, x):
            return super().forward(x) * self.around().scale

    class Outer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.scale = Inner(2, 2), 3.0
            self.inner.around = weakref.ref(self)

        def forward(self, x):
            return self.inner(x)

    net = Outer()
    call = torch.jit(net)
    assert len({tuple(call(torch.ones(2)).tolist()) for _ in range(4)}) == 1
    assert call.compiles == 1
    before, net.scale = call(torch.ones(2)), 6.0
    torch.testing.assert_close(call(torch.ones(2)), before * 2)


def test_a_proxy_of_a_living_object_costs_no_compilation():
    thing = Thing(2.0)
    proxy = weakref.proxy(thing)
    assert _compiles(lambda t: t * proxy.value) == 1


def test_an_object_that_a_program_knows_weakly_dies_when_the_last_holder_lets_go():
    thing, gone = Thing(2.0), []
    ref = weakref.ref(thing, gone.append)
    call = torch.jit(lambda t: t if ref() is None else t * ref().value)
    assert [float(call(torch.ones(()))) for _ in range(3)] == [2.0] * 3
    assert call.compiles == 1
    del thing
    assert gone == [ref]
    assert float(call(torch.ones(()))) == 1


def test_an_attribute_behind_a_weak_reference_is_compared():
    thing = Thing(Thing(2.0))
    ref = weakref.ref(thing)
    call = torch.jit(lambda t: t * ref().value.value)
    assert float(call(torch.ones(()))) == 2
    thing.value.value = 5.0
    assert float(call(torch.ones(()))) == 5
    thing.value = Thing(7.0)
    assert float(call(torch.ones(()))) == 7
    assert call.compiles == 3


def test_a_lock_around_a_computation_costs_no_compilation():
    lock, other = threading.Lock(), threading.RLock()

    def f(t):
        with lock, other:
            return t * 2

    assert _compiles(f) == 1


def test_what_the_code_makes_itself_has_no_state_from_outside():
    def f(t):
        h = hashlib.sha256(b"1")
        h.update(b"2")
        lines = io.StringIO()
        lines.write("abc")
        lock = threading.Lock()
        q = queue.SimpleQueue()
        q.put(1)
        return t * h.digest()[0] + len(lines.getvalue()) + lock.locked() + q.get()

    assert _compiles(f) == 1


def test_decimal_numbers_are_computed_once():
    third = decimal.Decimal(1) / 3
    assert _compiles(lambda t: t * float(third * 3)) == 1


def test_the_line_is_named_and_told_once():
    path = os.path.abspath(__file__)

    @torch.compile
    def f(t):
        return t + os.stat(path).st_nlink

    with pytest.warns(RuntimeWarning, match=r"calls stat\(\) \(test_states\.py:\d+\)") as told:
        assert len([f(torch.ones(2)) for _ in range(6)]) == 6
    assert len(told) == 1
    assert f.ran_eagerly


def test_what_a_capture_changes_itself_is_refused():
    with pytest.raises(JitCaptureError, match=r"gc\.isenabled\(\) \(test_states\.py:\d+\)"):
        torch.jit(lambda t: t + gc.isenabled())(torch.ones(2))


def test_a_logger_that_logs_costs_no_compilation():
    logger = logging.Logger("states", logging.ERROR)

    def f(t):
        logger.debug("a call")
        return t * 2

    assert _compiles(f) == 1
