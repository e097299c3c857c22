"""The table of failures: what counts as good, and (in full) that every row is."""

import pytest

from benchmarks import failures
from benchmarks.failures import Row


def test_a_row_is_good_when_it_was_said_in_time_and_nobody_is_left():
    good = Row("raises", 3.0, 30, "an error", 0, "")
    assert good.is_good
    bad = [
        Row("raises", 31.0, 30, "an error", 0, ""),
        Row("raises", 3.0, 30, None, 0, ""),
        Row("raises", 3.0, 30, "an error", 1, ""),
    ]
    assert not any(row.is_good for row in bad)
    lines = failures.table([good, *bad]).splitlines()
    assert lines[1].split() == ["raises", "3.0", "30", "0", "an", "error"]
    assert lines[3].split() == ["raises", "3.0", "30", "0", "NOTHING"]


@pytest.mark.full
@pytest.mark.parametrize("way", failures.WAYS)
def test_what_goes_wrong_is_said_and_nobody_is_left(way):
    row = failures.tried(way)
    assert row.said is not None, row.output[-3000:]
    assert row.is_good, row
