"""For all tests: nothing is left behind, long tables are sampled, memory is given back, and
collections stay short."""

import collections
import gc
import os
import resource
import shutil
import sys
import tempfile
import threading
import zlib
from pathlib import Path

import byte_code  # noqa: F401  # isort: skip - before this package is imported

import immediate
import jax
import pytest
from jax import monitoring

from torchlike._core import modes, overrides
from torchlike._extensions.deferred import switch
from torchlike._extensions.overrides import code_exchange
from torchlike._runtime import collector, late_checks
from torchlike._runtime.first_calls.settings import set_first_calls, settings

from process_state import Snapshot  # isort: skip - tests/ is on the path (pyproject.toml)

# Errors of NumPy rules would otherwise only be logged, and the form compiled. Each program made
# from a trace of other sizes is compared with a trace of its own.
settings.strict = settings.check = True

#: A process that ran every test held 10 GB of compiled programs; past this they are dropped (and
#: come back from the persistent cache). What the allocator keeps then is no reason to do so again.
_MOST = 3 << 30
_most = [_MOST]


#: How often frozen objects had come back into the collector's sight, and after how many tests.
_unhidden = {"times": 0, "tests": 0}


#: Of this process alone, so that what a test leaves there is seen.
_TEMPORARY = tempfile.mkdtemp(prefix="test-run-")
os.environ["TMPDIR"] = tempfile.tempdir = _TEMPORARY
#: Which ONNX Runtime would keep in files of the user's.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"


def pytest_sessionfinish(exitstatus):
    """Temporary files are kept where a test has failed."""
    if exitstatus == 0:
        shutil.rmtree(_TEMPORARY, ignore_errors=True)


@pytest.fixture(autouse=True)
def at_once(request):
    """Run at once, whatever TORCHLIKE_EAGER says, what looks at what deferral changes."""
    name = request.node.nodeid.partition("tests/")[2]
    if modes.current.queue is None or not immediate.reason(name):
        yield
        return
    with switch.deferred(False):
        yield


@pytest.fixture(autouse=True)
def what_a_test_leaves(at_once):
    """A test that leaves something behind has failed: see process_state.py.

    ``__torch_function__`` costs nothing until something could be asked: nor do other tests.

    Objects stay frozen. A capture looks for functions among all of them, and the next collection
    would walk through millions. Of the garbage what is young goes, the rest each hundredth time.
    """
    before = Snapshot()
    yield
    late_checks.look(wait=True)  # what compiled code still has to say is said in its test
    for thread in threading.enumerate():  # and what it still compiles, compiled
        if thread.name == "torchlike.background":
            thread.join()
    if overrides.are_enabled():
        code_exchange.undo()
    switch.forget_asked()  # what a function asked for that could not be compiled
    # Counting what is frozen would tell as well, and walks through all of it.
    if collector.times_unhidden != _unhidden["times"]:
        _unhidden.update(times=collector.times_unhidden, tests=_unhidden["tests"] + 1)
        gc.collect(1 if _unhidden["tests"] % 100 else 2)
        gc.freeze()
    left = before.left()
    assert not left, "this test left behind:\n" + "\n".join(left)


_TESTS = Path(__file__).parent
_LINES = (_TESTS / "smoke.txt").read_text().splitlines()
_SMOKE = frozenset(_TESTS / line for line in _LINES if not line.startswith("#"))


def pytest_ignore_collect(collection_path, config):
    """Under ``-m smoke`` files that have no such test are not even imported."""
    if config.option.markexpr == "smoke" and collection_path.suffix == ".py":
        return collection_path not in _SMOKE or None
    return None


def pytest_addoption(parser):
    parser.addoption(
        "--share",
        type=int,
        default=1,
        metavar="N",
        help="of the tests marked exhaustive run one in N, by the seed of pytest-randomly, and of"
        " what the plain run takes of each table by number one in three",
    )


@pytest.hookimpl(tryfirst=True)  # before pytest takes out what is marked
def pytest_collection_modifyitems(config, items):
    """Mark what the long runs alone take, and then what the shortest run takes."""
    tables = _sample(items)
    _take_share(config, items, tables)
    for item in items:
        long = item.get_closest_marker("exhaustive") or item.get_closest_marker("full")
        if item.path in _SMOKE and not long:
            item.add_marker("smoke")


def _sample(items):
    """Of a table marked ``sampled`` the plain run takes a part; the rest becomes ``exhaustive``, or
    ``full`` with ``rest="full"``: where the cases left out take the path of others.

    ``every=n`` takes every nth case; ``per=key`` the first of those that ``key``, a function of the
    dictionary of parameters, takes for the same. With ``of``, such a function too, cases for which
    it is false all stay: ``every=5, of=lambda p: p["jitted"]``. Counted in the order in which the
    cases are written: pytest-randomly has shuffled ``items`` by now, and the plain run takes the
    same always. Returns what it takes of each table by number.
    """
    counts, tables = collections.Counter(), collections.defaultdict(list)
    marked = [(item, mark) for item in items if (mark := item.get_closest_marker("sampled"))]
    for item, mark in sorted(marked, key=lambda pair: tuple(pair[0].callspec.indices.values())):
        every, per, of = (mark.kwargs.get(name) for name in ("every", "per", "of"))
        if of and not of(item.callspec.params):
            continue
        table = item.nodeid.partition("[")[0]
        key = (table, per(item.callspec.params)) if per else table
        place = counts[key]
        counts[key] += 1
        if place % every if every else place:
            item.add_marker(mark.kwargs.get("rest", "exhaustive"))
        elif every and not (
            item.get_closest_marker("full") or item.get_closest_marker("exhaustive")
        ):
            tables[table].append(item)
    return tables


def _take_share(config, items, tables):
    """Of what is marked ``exhaustive`` deselect all but one in ``--share``, and of what is sampled
    by number all but one in three: others by another seed, so that every test has its turn."""
    seed, parts = config.getoption("randomly_seed", 0), config.option.share

    def lot(item):
        return zlib.crc32(f"{seed} {item.nodeid}".encode())

    resting = set()
    for table in tables.values() if parts > 1 else ():
        resting.update(sorted(table, key=lot)[-(-len(table) // 3) :])
    kept, left = [], []
    for item in items:
        is_long = item.get_closest_marker("exhaustive") is not None
        (left if item in resting or (is_long and lot(item) % parts) else kept).append(item)
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = kept


def _resident() -> int:
    """Bytes of memory this process holds, or ever held where the system does not say."""
    try:
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * resource.getpagesize()
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def pytest_collection_finish():
    """Python's collector leaves alone what was imported and collected until now.

    These are millions of objects, and looking at all of them takes a second: as long as many tests
    that ask for a collection, of which some ask twice.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def what_a_module_leaves():
    """Compiled programs are dropped where they are many; others the collector leaves alone."""
    yield
    if _resident() > _most[0]:
        jax.clear_caches()
        gc.unfreeze()
        gc.collect()
        _most[0] = max(_MOST, _resident() + _MOST // 4)
    else:
        gc.collect()
    gc.freeze()


@pytest.fixture
def compiled_at_once():
    """Operations are compiled at their first call: for what only compiled forms do, such as writing
    a result into the memory of an operand."""
    with set_first_calls("compiled"):
        yield


@pytest.fixture
def compilations():
    """Collect the events of XLA's compilations."""
    seen = []

    def listener(event, *_, **__):
        if "backend_compile" in event:
            seen.append(event)

    monitoring.register_event_duration_secs_listener(listener)
    yield seen
    monitoring.unregister_event_duration_listener(listener)
