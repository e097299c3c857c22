"""How deferred calls are run in these tests: each piece compiled at once, or none."""

import pytest

import torchlike as torch
from torchlike._core import modes
from torchlike._extensions.deferred import calls, policy


@pytest.fixture(autouse=True)
def tree(monkeypatch):
    """Begin with a tree that knows nothing, and at once."""
    monkeypatch.setattr(policy._Tree, "root", calls.DeferredCall(None, None, None, (), None))
    monkeypatch.setattr(policy._Tree, "nodes", 0)
    with torch.deferred(False):
        yield


@pytest.fixture(params=[policy.AtOnce, policy.OneByOne], ids=["at once", "one by one"])
def deferring(request, tree, monkeypatch):
    """Defer the test's calls, and give the queue."""
    monkeypatch.setattr(policy, "current", request.param())
    with torch.deferred(True):
        yield modes.current.queue


@pytest.fixture
def compiling(tree, monkeypatch):
    """Defer the test's calls, compile each piece at once, and give the queue."""
    monkeypatch.setattr(policy, "current", policy.AtOnce())
    with torch.deferred(True):
        yield modes.current.queue
