"""Tests that need a GPU or a TPU; elsewhere they are not even collected.

``TORCHLIKE_STAND_IN=1`` has them run on a second device of the CPU's (see stand_in.py), as
test_stand_in.py does with some of them.
"""

from __future__ import annotations

import os

import pytest

from torchlike._core import devices
from torchlike._runtime import platforms

if os.environ.get("TORCHLIKE_STAND_IN"):
    import stand_in

    stand_in.install()
elif platforms.only_cpu():
    collect_ignore_glob = ["test_*_there.py"]


@pytest.fixture(scope="session")
def device() -> str:
    """The device type of this machine's accelerator."""
    found = [kind for kind in ("cuda", "xla") if devices.available(kind)]
    if not found:
        pytest.skip("needs a GPU or a TPU")
    return found[0]
