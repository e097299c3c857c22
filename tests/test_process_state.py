"""What a test leaves behind is found, whatever it is."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading

import process_state
import pytest

import torchlike as torch
from torchlike._runtime import recycling
from torchlike.nn.modules import module


@contextlib.contextmanager
def grad_mode():
    torch._C._set_grad_enabled(False)
    yield "grad_enabled"
    torch._C._set_grad_enabled(True)


@contextlib.contextmanager
def default_dtype():
    torch.set_default_dtype(torch.float64)
    yield "default dtype: torch.float32 is torch.float64 now"
    torch.set_default_dtype(torch.float32)


@contextlib.contextmanager
def default_device():
    torch.set_default_device("meta")
    yield "default device"
    torch.set_default_device(None)


@contextlib.contextmanager
def tuned_allocator():
    recycling._enabled = True
    yield "allocator tuned: (False, False) is (True, False) now"
    recycling._enabled = False


@contextlib.contextmanager
def hook_of_all_modules():
    handle = module.register_module_forward_hook(lambda *given: None)
    yield "module hooks forward"
    handle.remove()


@contextlib.contextmanager
def saved_tensor_hooks():
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        yield "_Saving.hooks"


@contextlib.contextmanager
def patched_function():
    real, torch.ones = torch.ones, torch.zeros
    yield "torch: ['ones'] are other objects now"
    torch.ones = real


@contextlib.contextmanager
def signal_handler():
    former = signal.signal(signal.SIGUSR1, lambda *given: None)
    yield "handler of SIGUSR1"
    signal.signal(signal.SIGUSR1, former)


@contextlib.contextmanager
def environment_variable():
    os.environ["LEFT_BEHIND"] = "1"
    yield "LEFT_BEHIND"
    del os.environ["LEFT_BEHIND"]


@contextlib.contextmanager
def running_thread():
    end = threading.Event()
    thread = threading.Thread(target=end.wait, name="left behind")
    thread.start()
    yield "thread 'left behind' is running"
    end.set()
    thread.join()


@contextlib.contextmanager
def running_child():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield "child process runs"
    child.communicate(b"\n")


@contextlib.contextmanager
def open_file():
    with open(__file__) as file:
        yield f"open file {file.name}"


@contextlib.contextmanager
def temporary_file():
    number, name = tempfile.mkstemp(prefix="left-behind")
    os.close(number)
    yield f"temporary file {os.path.basename(name)}"
    os.remove(name)


@contextlib.contextmanager
def folder_of_work():
    former = os.getcwd()
    os.chdir("/")
    yield "folder"
    os.chdir(former)


LEAKS = (
    grad_mode,
    default_dtype,
    default_device,
    tuned_allocator,
    hook_of_all_modules,
    saved_tensor_hooks,
    patched_function,
    signal_handler,
    environment_variable,
    running_thread,
    running_child,
    open_file,
    temporary_file,
    folder_of_work,
)


@pytest.mark.parametrize("leak", LEAKS, ids=lambda leak: leak.__name__)
def test_what_is_left_is_found(leak, monkeypatch):
    monkeypatch.setattr(process_state, "_PATIENCE", 0.0)
    before = process_state.Snapshot()
    assert before.left() == []
    with leak() as expected:
        left = before.left()
    assert [line for line in left if expected in line]
    assert before.left() == []


def test_children_of_tests_keep_byte_code():
    """See byte_code.py: `.ci/run` unsets the variable, who runs tests by hand may have it."""
    assert not sys.dont_write_bytecode
    assert "PYTHONDONTWRITEBYTECODE" not in os.environ
