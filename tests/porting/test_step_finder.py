"""`torchlike.porting.step_finder`, told of steps as the recorder tells it."""

import gc
import weakref

import pytest

from torchlike.porting.step_finder import StepFinder


class Script:
    """Calls as a script makes them; each tells the finder, one frame below, as a hook does."""

    def __init__(self):
        self.finder = StepFinder()

    def forward(self):
        self.finder.forward()

    def backward(self):
        self.finder.backward()

    def update(self):
        self.finder.update()


@pytest.fixture
def script():
    return Script()


def whole(script):
    script.forward()
    script.backward()
    script.update()


def outer(script):
    whole(script)


def loop(script):
    for _ in range(3):
        script.forward()
        script.backward()
        script.update()


def without_forward(script):
    script.backward()
    script.update()


def forward_outside(script):
    script.forward()
    without_forward(script)


def two_updates(script):
    script.forward()
    script.backward()
    script.update()
    script.forward()
    script.backward()
    script.update()


def resumed(script):
    whole_body = script
    whole_body.forward()
    yield
    whole_body.backward()
    whole_body.update()


def by_a_generator(script):
    list(resumed(script))


def found(script):
    result = script.finder.result()
    return None if result is None else result["name"]


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (whole, "whole"),
        (outer, "whole"),
        (loop, None),
        (forward_outside, "forward_outside"),
        (two_updates, None),
        (by_a_generator, "by_a_generator"),
    ],
)
def test_the_innermost_function_that_is_a_step(script, call, name):
    for _ in range(3):
        call(script)
    assert found(script) == name


def test_a_method_has_its_class_and_its_place(script):
    class Trainer:
        def step(self):
            script.forward()
            script.backward()
            script.update()

    for _ in range(2):
        Trainer().step()
    result = script.finder.result()
    assert result["name"].endswith("Trainer.step")
    assert result["file"] == __file__
    assert result["line"] == Trainer.step.__code__.co_firstlineno


def test_another_function_at_the_second_step_is_none(script):
    whole(script)
    loop(script)
    assert found(script) is None


def test_frames_are_let_go(script):
    class Big:
        pass

    seen = []

    def step():
        big = Big()
        seen.append(weakref.ref(big))
        whole(script)

    step()
    assert seen[0]() is not None
    step()
    gc.collect()
    assert [ref() for ref in seen] == [None, None]


def test_a_script_without_steps_is_not_looked_at_for_ever(script):
    for _ in range(20_001):
        script.forward()
    assert not script.finder.looking
