"""What is said of changes to a plan."""

from types import SimpleNamespace

from torchlike.porting.plan.table import of_changes


def plan(change, needed):
    return SimpleNamespace(change=change, needed=needed)


def test_changes_that_take_no_less_memory_are_named():
    plans = [plan("", 10), plan("FSDP over data", 8), plan("rematerialisation", 11), plan("x", 10)]
    assert of_changes(plans) == ["These take no less memory than as it is: rematerialisation, x."]
    assert of_changes(plans[:2]) == []
