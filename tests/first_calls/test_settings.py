"""How the first calls are set, and what is told of them."""

import os
import subprocess
import sys

import pytest

import torchlike as torch


@pytest.fixture(autouse=True)
def _mode():
    yield
    torch.compiler.set_first_calls("numpy")


def test_the_mode_is_set_for_good_or_for_a_block():
    assert torch.compiler.get_first_calls() == "numpy"
    torch.compiler.set_first_calls("compiled")
    assert torch.compiler.get_first_calls() == "compiled"
    with torch.compiler.set_first_calls("numpy"):
        assert torch.compiler.get_first_calls() == "numpy"
    assert torch.compiler.get_first_calls() == "compiled"


def test_another_mode_is_refused():
    with pytest.raises(ValueError, match="'numpy' or 'compiled', got 'fast'"):
        torch.compiler.set_first_calls("fast")
    assert torch.compiler.get_first_calls() == "numpy"


def run(code, **variables):
    return subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.exhaustive
def test_the_environment_says_the_mode_at_the_start():
    code = "import torchlike as t; print(t.compiler.get_first_calls())"
    assert run(code, TORCHLIKE_FIRST_CALLS="compiled").stdout == "compiled\n"
    refused = run(code, TORCHLIKE_FIRST_CALLS="never")
    assert refused.returncode == 1
    assert "TORCHLIKE_FIRST_CALLS is 'never'; it must be one of numpy, comp" in refused.stderr


@pytest.mark.exhaustive
def test_the_log_says_what_is_compiled():
    code = "import torchlike as t; t.tan(t.ones(2, dtype=t.complex64))"
    done = run(code, TORCHLIKE_LOGS="first_calls")
    assert "TanBackward0 is compiled after 0 calls: " in done.stderr
    assert run(code).stderr == ""


def test_the_report_tells_who_computed_what():
    torch.ones(5, 3, 11).asinh()
    with torch.compiler.set_first_calls("compiled"):
        torch.ones(5, 3, 12).acosh()
    report = torch.compiler.report()
    rows = {row.name: row for row in report.rows}
    assert rows["AsinhBackward0"].calls >= 1
    assert "AsinhBackward0" in str(report)
