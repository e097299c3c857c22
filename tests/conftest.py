"""For all tests: the memory that compiled programs take is given back from time to time."""

import resource
import sys

import jax
import pytest

from torchlike.first_calls.settings import set_first_calls, settings

# Errors of NumPy rules would otherwise only be logged, and the form compiled. Each program made
# from a trace of other sizes is compared with a trace of its own.
settings.strict = settings.check = True

#: A process that ran every test held 10 GB of compiled programs; past this they are dropped (and
#: come back from the persistent cache).
_MOST = 3 << 30


def _resident() -> int:
    """Bytes of memory this process holds, or ever held where the system does not say."""
    try:
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * resource.getpagesize()
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


@pytest.fixture(autouse=True, scope="module")
def compiled_programs_are_dropped():
    yield
    if _resident() > _MOST:
        jax.clear_caches()


@pytest.fixture
def compiled_at_once():
    """Operations are compiled at their first call: for what only compiled forms do, such as writing
    a result into the memory of an operand."""
    with set_first_calls("compiled"):
        yield
