"""Nothing is paid until something exists that could be asked, and objects stay the same."""

import subprocess
import sys

import pytest

import torchlike as torch
from torchlike._core import overrides
from torchlike._extensions.overrides import code_exchange

PROGRAM = """
import torchlike as torch
from torchlike._core import overrides
from torchlike._core.dispatch.call import function_of

held = torch.add, torch.Tensor.add, torch.nn.functional.relu, torch.reshape, torch.Tensor.shape.fget
codes = [f.__code__ for f in held]
x = torch.ones(2)
x.sum().relu().view(1).shape

class Kept(torch.Tensor):
    pass

torch.nn.Parameter(x)
assert not overrides.are_enabled() and codes == [f.__code__ for f in held]
assert type(x.as_subclass(Kept) + 1) is Kept
assert overrides.are_enabled() and not any(a is f.__code__ for a, f in zip(codes, held))
now = (torch.add, torch.Tensor.add, torch.nn.functional.relu, torch.reshape,
       torch.Tensor.shape.fget)
assert all(a is b for a, b in zip(held, now))
assert type(x + 1) is torch.Tensor
"""


@pytest.mark.exhaustive
def test_functions_run_their_own_code_until_a_subclass_has_an_instance():
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)


def test_resting_gives_the_code_back():
    assert not overrides.are_enabled()
    before = torch.add.__code__, torch.Tensor.add.__code__, torch.Tensor.shape.fget.__code__
    overrides.enable()
    assert torch.add.__code__ is not before[0]
    assert (torch.ones(2) + 1).tolist() == [2, 2]
    code_exchange.undo()
    assert (
        torch.add.__code__,
        torch.Tensor.add.__code__,
        torch.Tensor.shape.fget.__code__,
    ) == before
    assert not hasattr(torch.add, "__wrapped__")
    assert (torch.ones(2) + 1).tolist() == [2, 2]


def test_an_instance_wakes_however_it_is_made():
    class Kept(torch.Tensor):
        pass

    x = torch.ones(2)
    for make in (
        lambda: Kept([1.0, 2.0]),
        lambda: x.as_subclass(Kept),
        lambda: torch.Tensor._make_subclass(Kept, x),
        lambda: Kept(x),
    ):
        assert type(make() * 2) is Kept
        code_exchange.undo()


def test_errors_of_functions_are_the_same_awake():
    def said(call):
        try:
            call()
        except (TypeError, RuntimeError, IndexError) as error:
            return type(error), str(error)

    x = torch.ones(2, 3)
    calls = (
        lambda: torch.add(x),
        lambda: x @ x,
        lambda: x.view(5),
        lambda: x[4],
        lambda: x + "a",
        lambda: torch.nn.functional.relu(x, nothing=1),
        lambda: x.sum(dim=7),
    )
    asleep = [said(call) for call in calls]
    overrides.enable()
    assert [said(call) for call in calls] == asleep
    assert None not in asleep


FRAMES = """
import torchlike as torch

class Kept(torch.Tensor):
    pass

x = torch.ones(2).as_subclass(Kept)
codes = [(f, getattr(f, "__code__", None)) for f in vars(torch).values()]
closed = [f for f, code in codes if code is not None and code.co_freevars]
assert len(closed) > 100
seen = set()
for function in closed[:40]:
    try:
        function(x, x, x, x, x, x, x, x, x, no_such_argument=3)
    except Exception as error:
        place = error.__traceback__
        while place is not None:
            seen.update(place.tb_frame.f_locals)  # as a debugger or pytest lists them
            place = place.tb_next
assert {"args", "kwargs"} <= seen
"""


@pytest.mark.exhaustive
def test_debuggers_may_look_into_frames_that_ask():
    """In a process: code that does not take its free variables over ends in a segmentation
    fault."""
    subprocess.run([sys.executable, "-c", FRAMES], check=True)
