import random
import threading

import pytest

from torchlike.porting.module_compiler import ModuleCompiler


class NeedsValueError(Exception):
    pass


@pytest.fixture
def world():
    """A module class, and a compiler that counts; forwards that say so cannot be compiled."""

    class Module:
        def __init__(self, *children, fails=False):
            self.children = children
            self.fails = fails

        def __call__(self, x, *, scale=1):
            for child in self.children:
                x = child(x)
            return x + scale

    class World:
        def __init__(self):
            self.compiled = []
            self.calls = []

    world = World()

    def compile_(module):
        world.compiled.append(module)

        def run(*args, **kwargs):
            world.calls.append(module)
            if module.fails:
                random.random()  # the body has run up to where it needs a value
                raise NeedsValueError("needs a value (train.py:3)\n  more about it")
            return module(*args, **kwargs)

        return run

    def save():
        state = random.getstate()
        return lambda: random.setstate(state)

    world.Module = Module
    world.compiler = ModuleCompiler(Module, compile_, (NeedsValueError,), save)
    world.compiler.install()
    return world


def test_outermost_modules_are_compiled_once_and_inner_ones_are_part_of_them(world):
    inner = world.Module()
    outer = world.Module(inner, world.Module(inner))
    assert outer(1) == 5
    assert outer(1, scale=10) == 14
    assert world.compiled == [outer]
    assert world.calls == [outer, outer]


def test_a_module_called_alone_is_outermost(world):
    inner = world.Module()
    world.Module(inner)(1)
    inner(1)
    assert world.compiled[-1] is inner


def test_what_cannot_be_compiled_runs_eager_and_says_why(world):
    module = world.Module(world.Module(), fails=True)
    random.seed(0)
    expected = random.random()
    random.seed(0)
    assert module(1) == 3
    assert random.random() == expected
    assert module(1) == 3
    assert world.calls == [module]
    assert world.compiler.left_eager == {"Module": "needs a value (train.py:3)"}


def test_other_errors_are_the_scripts_own_and_leave_the_next_call_outermost(world):
    module = world.Module()
    with pytest.raises(TypeError):
        module("text")
    assert module(1) == 2
    assert world.compiled == [module]


def test_each_thread_has_its_own_outermost_call(world):
    other = world.Module()
    seen = []

    class Waiting(world.Module):
        def __call__(self, x):
            thread = threading.Thread(target=lambda: seen.append(other(1)))
            thread.start()
            thread.join()
            return x

    assert world.Module(Waiting())(1) == 2
    assert seen == [2]
    assert other in world.compiled
