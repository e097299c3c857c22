"""The marker of the parity tests, and what the summary of a run says of them.

Without PyTorch (the extra ``parity``) none of them is collected.
"""

import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

HERE = Path(__file__).parent
if importlib.util.find_spec("torch") is None:
    collect_ignore_glob = ["*"]


@pytest.hookimpl(tryfirst=True)  # before pytest takes out what is marked
def pytest_collection_modifyitems(items):
    """All that stands in this folder compares with real PyTorch."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.parity)
            # PyTorch 2.14 scripts functions of its own when the first dual is made.
            item.add_marker(pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated"))


@pytest.fixture(autouse=True, scope="session")
def _seeding_keeps_no_stacks():
    """PyTorch formats the stack of each ``torch.manual_seed`` for three kinds of devices, in case
    they are found to be broken later: with pytest's frames that takes longer than most ops."""
    torch = pytest.importorskip("torch")
    with pytest.MonkeyPatch.context() as patch:
        for devices in (torch.cuda, torch.mtia, torch.xpu):
            patch.setattr(devices, "traceback", SimpleNamespace(format_stack=list))
        yield


def pytest_terminal_summary(terminalreporter):
    """Say how many deviations from PyTorch's tables are listed."""
    listed = sys.modules.get("op_db.deviations")
    if listed is not None:
        count = sum(len(lines) for lines in listed.DEVIATIONS.values())
        terminalreporter.write_line(f"op_db: {count} listed deviations from PyTorch")
