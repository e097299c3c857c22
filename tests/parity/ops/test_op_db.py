"""Every entry of PyTorch's ``op_db`` against torchlike.

The plain run takes one sample of each entry, in float32 and one other dtype: values and gradients.
``-m full`` takes all samples, dtypes and columns, and there a deviation that is listed but no
longer true is an error. ``python -m tests.parity.op_db.report`` prints the table.
"""

from __future__ import annotations

import warnings
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")  # PyTorch's tables need it

from op_db import deviations  # noqa: E402
from op_db.columns import COLUMNS, Entry, Mismatch, MissingName, NotApplicable, entries  # noqa: E402
from op_db.report import CLEAR_EVERY, clear, crowded  # noqa: E402

ENTRIES = [e for e in entries() if e.name not in deviations.OUT_OF_SCOPE]
_ran = [0]


@pytest.fixture(autouse=True)
def _memory() -> Any:
    """Compiled programs are dropped from time to time: thousands of them would fill the memory."""
    yield
    _ran[0] += 1
    if _ran[0] % CLEAR_EVERY == 0 or crowded():
        clear()


def differs(entry: Entry, column: str, dtype: Any, limit: int | None) -> AssertionError | None:
    """How a cell differs from PyTorch, or None when it agrees (or there is nothing to compare)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            COLUMNS[column][0](entry, dtype, limit)
        except NotApplicable:
            return None
        except Mismatch as difference:
            return difference
        except MissingName as name:
            return AssertionError(f"torchlike has no {name}")
    return None


def check(entry: Entry, column: str, dtypes: Any, limit: int | None) -> list[Any]:
    """Raise how a column differs where no deviation says so; gives the dtypes that deviate."""
    deviating = []
    for dtype in dtypes:
        difference = differs(entry, column, dtype, limit)
        if difference is None:
            continue
        if deviations.deviation(entry.name, column, _name(dtype)) is None:
            raise difference
        deviating.append(dtype)
    return deviating


def _name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


@pytest.mark.sampled(every=12)
@pytest.mark.parametrize("entry", ENTRIES, ids=str)
def test_entry(entry: Entry) -> None:
    """One sample: values in float32 (or the first dtype there is) and in another, the gradient."""
    supported = entry.dtypes()
    check(entry, "values", (*supported[:1], *supported[1:][-1:]), 1)
    check(entry, "gradient", entry.wide()[:1], 1)


@pytest.mark.full
@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("entry", ENTRIES, ids=str)
def test_column(entry: Entry, column: str) -> None:
    """All samples of one column in each of its dtypes; a deviation must be one."""
    deviating = check(entry, column, COLUMNS[column][1](entry), None)
    for key, reason in deviations.DEVIATIONS.get(entry.name, {}).items():
        if key == column:
            assert deviating, f"{key}: no longer deviates ({reason})"
        elif key.rpartition(" ")[0] == column and key not in COLUMNS:
            named = key.rpartition(" ")[2]
            assert named in map(_name, deviating), f"{key}: no longer deviates ({reason})"


def test_deviations_name_entries() -> None:
    """Lists do not keep entries or columns that are not in the table."""
    names = {e.name for e in entries()}
    assert not set(deviations.DEVIATIONS) - names
    assert not set(deviations.OUT_OF_SCOPE) - names
    for lines in deviations.DEVIATIONS.values():
        for key in lines:
            assert any(key == c or key.startswith(f"{c} ") for c in COLUMNS), key
