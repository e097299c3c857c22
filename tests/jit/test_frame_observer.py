"""The watch's profile function: on where user code runs, off where JAX traces library code."""

import sys

import pytest

from torchlike._jit.capture.frame_observer import FrameObserver


@pytest.fixture
def no_profiler():
    before = sys.getprofile()
    sys.setprofile(None)
    yield
    sys.setprofile(before)


@pytest.fixture
def watch(no_profiler):
    watch = FrameObserver()
    watch.start()
    yield watch
    watch.stop()
    assert sys.getprofile() is None


def entered(watch):
    return {e.code.co_name for e in list(watch._entered.values())}


def unseen():
    return seen()


def seen():
    return 1


def test_paused_is_off_inside_and_on_after(watch):
    on = sys.getprofile()
    assert on == watch._event
    with watch.paused():
        assert sys.getprofile() is None
        unseen()
    assert sys.getprofile() == on
    assert not {"seen", "unseen"} & entered(watch)
    seen()
    assert "seen" in entered(watch)


def test_paused_nests(watch):
    on = sys.getprofile()
    with watch.paused():
        with watch.paused():
            assert sys.getprofile() is None
        assert sys.getprofile() is None
    assert sys.getprofile() == on


def test_paused_ends_with_an_error_too(watch):
    on = sys.getprofile()
    with pytest.raises(ZeroDivisionError), watch.paused():
        raise ZeroDivisionError
    assert sys.getprofile() == on


def test_a_users_profiler_set_meanwhile_is_left_alone(watch):
    def mine(frame, event, arg):
        pass

    ours = sys.getprofile()
    sys.setprofile(mine)
    with watch.paused():
        assert sys.getprofile() is mine
    assert sys.getprofile() is mine
    sys.setprofile(ours)


def test_a_users_profiler_of_before_is_chained_and_comes_back(no_profiler):
    names = []

    def mine(frame, event, arg):
        if event == "call":
            names.append(frame.f_code.co_name)

    sys.setprofile(mine)
    watch = FrameObserver()
    watch.start()
    with watch.paused():
        assert sys.getprofile() is None
        unseen()
    seen()
    watch.stop()
    assert sys.getprofile() is mine
    assert "unseen" not in names
    assert names.count("seen") == 1
    assert "seen" in entered(watch)


def test_a_watch_that_was_not_started_pauses_nothing(no_profiler):
    with FrameObserver().paused():
        assert sys.getprofile() is None
    assert sys.getprofile() is None
