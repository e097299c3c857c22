"""What a spawned process does before its function runs."""

import importlib
import os
import signal

import pytest

from tests import interruptions
from torchlike._runtime.environment_variables import SECRET

spawn = importlib.import_module("torchlike.multiprocessing.spawn")  # beside a function of that name


@pytest.mark.parametrize(
    ("started", "by"),
    [(interruptions.heard, signal.SIGINT), (interruptions.ignored, signal.SIGTERM)],
)
def test_it_ends_with_its_parent_by_a_signal_that_it_hears(started, by, monkeypatch):
    asked = []
    monkeypatch.setattr(spawn, "ends_with_parent", lambda by: asked.append(by))
    monkeypatch.setenv(SECRET.name, "")
    with started():
        spawn._run(lambda i: asked.append(os.environ[SECRET.name]), 0, (), "no file", "known")
    assert asked == [by, "known"]
