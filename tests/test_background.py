"""A thread in the background: order, errors, who waits, the end of a process, forked processes."""

import os
import subprocess
import sys
import threading
import weakref

import pytest

from torchlike._runtime import background


class Gate:
    """Holds the thread until it is opened, with a task."""

    def __init__(self):
        self.begun, self.opened = threading.Event(), threading.Event()
        self.task = background.submit(self._wait, "gate")
        assert self.begun.wait(30)

    def _wait(self):
        self.begun.set()
        assert self.opened.wait(30)
        return "open"


@pytest.fixture
def gate():
    held = Gate()
    yield held
    held.opened.set()
    held.task.result()


def test_tasks_run_in_their_order_in_another_thread(gate):
    ran = []

    def work(i):
        ran.append((i, threading.current_thread().name))
        return i * i

    tasks = [background.submit(lambda i=i: work(i), f"task {i}") for i in range(4)]
    last = threading.Event()
    end = background.submit(last.set, "end")
    assert not any(t.is_done for t in tasks)
    gate.opened.set()
    assert last.wait(30)
    assert [t.result() for t in tasks] == [0, 1, 4, 9]
    assert ran == [(i, "torchlike.background") for i in range(4)]
    end.result()


def test_who_waits_does_what_is_not_begun(gate):
    task = background.submit(threading.current_thread, "mine")
    assert task.result() is threading.current_thread()
    assert task.is_done
    assert not gate.task.is_done


def test_many_wait_for_one(gate):
    found = []
    threads = [threading.Thread(target=lambda: found.append(gate.task.result())) for _ in range(3)]
    for t in threads:
        t.start()
    gate.opened.set()
    for t in threads:
        t.join()
    assert found == ["open"] * 3


def test_an_error_is_raised_by_each_who_waits_and_stops_nobody_else():
    def broken():
        raise KeyError("no code for this")

    task, next_one = background.submit(broken, "broken"), background.submit(lambda: 3, "next")
    for _ in range(2):
        with pytest.raises(KeyError, match="no code for this"):
            task.result()
    assert next_one.result() == 3


def test_work_is_let_go_once_it_is_done():
    class Held:
        pass

    held = Held()
    gone = weakref.ref(held)
    task = background.submit(lambda held=held: 1, "holds")
    del held
    assert task.result() == 1
    assert gone() is None


_CODE = """
import os, sys, threading, time
from torchlike._runtime import background
begun = threading.Event()
def slow():
    begun.set()
    time.sleep(0.3)
    print("slow is done", flush=True)
    return os.getpid()
tasks = [background.submit(slow, "slow"), background.submit(lambda: print("never"), "next")]
begun.wait()
"""


def run(code):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", _CODE + code],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr == ""
    return done.returncode, done.stdout.split("\n")[:-1]


@pytest.mark.parametrize("ending", ["", "raise SystemExit(3)"])
def test_a_process_that_ends_waits_for_the_one_task_that_is_begun(ending):
    assert run(ending) == (3 if ending else 0, ["slow is done"])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_forked_process_does_what_it_waits_for_and_has_a_thread_of_its_own():
    code = """
import warnings
warnings.simplefilter("ignore")  # JAX warns of forks
child = os.fork()
if not child:
    assert tasks[0].result() == os.getpid()
    assert background.submit(lambda: threading.current_thread().name, "x").result()
    tasks.append(background.submit(begun.is_set, "y"))
    sys.exit(not tasks[2].result())
assert os.waitpid(child, 0)[1] == 0
assert tasks[0].result() == os.getpid()
tasks[1].result()
"""
    code, said = run(code)
    assert (code, sorted(said)) == (0, ["never", "slow is done", "slow is done"])
