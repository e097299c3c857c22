"""Ctrl-C ends a program whenever it comes, and nothing where the signal is ignored."""

import os
import random
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from tests import interruptions
from torchlike._runtime import interrupts

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")

#: The module, which needs nothing but the standard library, without the package around it.
HEAD = f"""
import gc, os, signal, sys, threading, time, types, weakref
bare = sys.modules["torchlike"] = types.ModuleType("torchlike")
bare.__path__ = [{os.path.dirname(os.path.dirname(interrupts.__file__))!r}]
from torchlike._runtime import interrupts
assert "jax" not in sys.modules and "numpy" not in sys.modules
interrupts.keep()

def interrupt(*_):
    gc.callbacks.clear()
    signal.raise_signal(signal.SIGINT)
    time.sleep(0)

class Some:
    pass
"""

#: Where Python drops what is raised.
PLACES = {
    "collector": "gc.callbacks.append(interrupt); gc.collect()",
    "weak reference": "x = Some(); r = weakref.ref(x, interrupt); del x",
    "destructor": "Some.__del__ = interrupt; Some()",
    "fork": "os.register_at_fork(before=interrupt)\nif os.fork() == 0: os._exit(0)",
    "generator": "def f():\n    try: yield\n    finally: interrupt()\ng = f(); next(g); del g",
}


def ended(*lines):
    """A program that hears of interruptions: its exit code, output and errors."""
    code = HEAD + "\n".join(map(textwrap.dedent, lines))
    with interruptions.heard():
        done = subprocess.run(
            [sys.executable, "-S", "-c", code], capture_output=True, text=True, timeout=20
        )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("then", ["time.sleep(30)", "while True: pass"])
def test_an_interruption_that_python_drops_comes_again(place, then):
    code, _, errors = ended(PLACES[place], then)
    assert code == -signal.SIGINT, errors
    assert "ignored" not in errors
    assert errors.count("Traceback") == 1
    assert errors.endswith("KeyboardInterrupt\n")


def test_a_handler_of_the_programs_own_is_asked_again():
    lines = """
        seen = []
        def handler(*_):
            seen.append(1)
            if len(seen) == 1:
                raise KeyboardInterrupt
        signal.signal(signal.SIGINT, handler)
        gc.callbacks.append(interrupt); gc.collect()
        time.sleep(0.1)
        print(len(seen))
    """
    assert ended(lines) == (0, "2\n", "")


def test_other_errors_and_other_threads_are_told_as_before():
    lines = """
        def wrong(*_): raise KeyError("not ours")
        def stops(*_): raise KeyboardInterrupt("of a thread")
        def of_a_thread():
            x = Some(); r = weakref.ref(x, stops); del x
        x = Some(); r = weakref.ref(x, wrong); del x
        t = threading.Thread(target=of_a_thread); t.start(); t.join()
        time.sleep(0.1)
        print("went on")
    """
    _, output, errors = ended(lines)
    assert output == "went on\n"
    assert errors.count("Exception ignored") == 2
    assert "not ours" in errors
    assert "of a thread" in errors


def test_exit_functions_are_dropped_by_one_interruption_each():
    """Python goes on with the others: none of them is interrupted by what another one lost."""
    lines = """
        import atexit
        atexit.register(lambda: (time.sleep(0.1), print("saved")))
        atexit.register(interrupt)
    """
    _, output, errors = ended(lines)
    assert output == "saved\n"
    assert errors.count("KeyboardInterrupt") == 1


def test_an_interruption_is_held_and_comes_at_the_end():
    seen = []

    def hold():
        with interrupts.deferred():
            signal.raise_signal(signal.SIGINT)
            seen.append("not yet")

    with interruptions.heard(), pytest.raises(KeyboardInterrupt):
        hold()
    assert seen == ["not yet"]


def test_what_is_ignored():
    with interruptions.heard():
        assert not interrupts.ignored()
    with interruptions.ignored():
        assert interrupts.ignored()


#: It starts workers again and again.
LOADING = """
import torchlike as torch
from torchlike.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __len__(self): return 64
    def __getitem__(self, i): return torch.tensor(float(i))

print("imported", flush=True)
while True:
    for batch in DataLoader(Rows(), batch_size=4, num_workers=2):
        (batch * 2).sum().item()
"""


@pytest.mark.parametrize("times", [1, pytest.param(60, marks=pytest.mark.full)])
def test_a_script_ends_at_whichever_moment_of_its_start(times, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(LOADING)
    moments = random.Random(times)
    for _ in range(times):
        with interruptions.heard():
            process = subprocess.Popen(
                [sys.executable, str(script)],
                start_new_session=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        try:
            # Most moments lie where workers start; others while this library is imported.
            if moments.random() < 0.75:
                assert process.stdout.readline() == "imported\n"
            time.sleep(moments.uniform(0, 1.5))
            os.killpg(process.pid, signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
        assert process.returncode != 0
        # Before Python has its handler the signal itself ends the process, which says nothing.
        assert "KeyboardInterrupt" in errors or process.returncode == -signal.SIGINT
