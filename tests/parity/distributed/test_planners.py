"""Checkpoints that lack names, as the default planners are told."""

import pytest
import torch.distributed.checkpoint  # noqa: F401

import torchlike
import torchlike.distributed.checkpoint
from tests.parity.oracle import compare


def test_a_partial_load(tmp_path):
    def of(t):
        dcp = t.distributed.checkpoint
        folder = str(tmp_path / t.__name__)
        plan = dcp.default_planner
        dcp.save(
            {"m": {"a": t.arange(3.0), "n": 4}},
            checkpoint_id=folder,
            no_dist=True,
            planner=plan.DefaultSavePlanner(dedup_save_to_lowest_rank=True),
        )
        found = []
        for partial in (True, False):
            wanted = {"m": {"a": t.zeros(3), "b": t.ones(2), "n": 1, "o": 7}}
            planner = plan.DefaultLoadPlanner(allow_partial_load=partial)
            try:
                dcp.load(wanted, checkpoint_id=folder, no_dist=True, planner=planner)
            except BaseException as error:  # PyTorch's is no Exception
                found.append("Missing key in checkpoint state_dict: m." in str(error))
            if partial:
                found.append(wanted)
        return found

    compare(of)


def test_another_size(tmp_path):
    def of(t):
        dcp = t.distributed.checkpoint
        folder = str(tmp_path / t.__name__)
        dcp.save({"a": t.zeros(3)}, checkpoint_id=folder, no_dist=True)
        planner = dcp.default_planner.DefaultLoadPlanner(allow_partial_load=True)
        with pytest.raises(BaseException, match="Size mismatch"):
            dcp.load({"a": t.zeros(2)}, checkpoint_id=folder, no_dist=True, planner=planner)

    compare(of)


def test_the_old_names_hear_a_planner(tmp_path):
    dcp = torchlike.distributed.checkpoint
    dcp.save_state_dict(
        {"a": torchlike.ones(1)},
        dcp.FileSystemWriter(tmp_path),
        no_dist=True,
        planner=dcp.DefaultSavePlanner(),
    )
    wanted = {"a": torchlike.zeros(1), "b": torchlike.zeros(1)}
    reader = dcp.FileSystemReader(tmp_path)
    with pytest.raises(dcp.CheckpointException, match="Missing key"):
        dcp.load_state_dict(wanted, reader)
    dcp.load_state_dict(wanted, reader, planner=dcp.DefaultLoadPlanner(allow_partial_load=True))
    assert (wanted["a"].item(), wanted["b"].item()) == (1, 0)
    with pytest.raises(NotImplementedError, match="DefaultSavePlanner is all"):
        dcp.save_state_dict(wanted, dcp.FileSystemWriter(tmp_path), planner=object())


def test_what_planners_refuse(tmp_path):
    dcp = torchlike.distributed.checkpoint

    class Own(dcp.DefaultLoadPlanner):
        pass

    with pytest.raises(NotImplementedError, match="flatten_state_dict=False"):
        dcp.DefaultSavePlanner(flatten_state_dict=False)
    with pytest.raises(NotImplementedError, match="DefaultLoadPlanner is all"):
        dcp.load({}, checkpoint_id=str(tmp_path), planner=Own())
