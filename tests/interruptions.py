"""How tests and what they start are interrupted, whether or not they were started to hear of it."""

import contextlib
import signal


@contextlib.contextmanager
def heard(by=signal.default_int_handler):
    """A region in which this process hears of SIGINT, and what it starts has Python's default, as
    in a terminal. Tests that run in the background of a shell have it ignored, and hand that on."""
    before = signal.signal(signal.SIGINT, by)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def ignored():
    """A region in which SIGINT is ignored, as in what nohup starts, and in what this starts."""
    return heard(by=signal.SIG_IGN)
