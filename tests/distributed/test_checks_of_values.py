"""A value that is not allowed on one rank of a compiled step: all are told, none has stepped."""

import pytest

from tests.distributed.launching import results


def check(found, least):
    for rank, cases in enumerate(found):
        assert len(cases) >= least
        assert {name: said for name, said in cases.items() if said is not None} == {}, rank


@pytest.mark.exhaustive
def test_fully_shard_and_plain_tensors_beside_dtensors(tmp_path):
    only = ["case_fully_shard", "case_plain_tensors_beside_dtensors"]
    check(results("check_cases.py", tmp_path, 4, only=only), 2)


@pytest.mark.exhaustive
def test_a_backward_that_runs_by_itself(tmp_path):
    ends = ("with_collectives", "over_lines", "beside_dtensors")
    only = [f"case_a_backward_{end}" for end in ends]
    check(results("check_cases.py", tmp_path, 4, only=only), 3)


@pytest.mark.full
def test_all_cases(tmp_path):
    check(results("check_cases.py", tmp_path, 4), 12)
