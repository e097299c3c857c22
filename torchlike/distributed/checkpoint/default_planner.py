"""``torch.distributed.checkpoint.default_planner``: what ``load`` and ``save`` can be told."""

from __future__ import annotations

from typing import Any


def _flat(flatten_state_dict: bool, flatten_sharded_tensors: bool) -> None:
    if not (flatten_state_dict and flatten_sharded_tensors):
        raise NotImplementedError(
            "a planner with flatten_state_dict=False or flatten_sharded_tensors=False: names in a "
            "checkpoint are joined keys. Use instead: a state dict of one level"
        )


class DefaultSavePlanner:
    """How ``save`` names what it writes: by the joined keys of the state dict. Each value is
    written once, whatever is said of copies. NotImplementedError for names that are not joined."""

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        dedup_replicated_tensors: bool | None = None,
        dedup_save_to_lowest_rank: bool = False,
        enable_plan_caching: bool = False,
    ) -> None:
        _flat(flatten_state_dict, flatten_sharded_tensors)


class DefaultLoadPlanner:
    """What ``load`` does with names that the checkpoint lacks: an error, or with
    ``allow_partial_load=True`` their values stay. NotImplementedError as of
    ``DefaultSavePlanner``."""

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        allow_partial_load: bool = False,
    ) -> None:
        _flat(flatten_state_dict, flatten_sharded_tensors)
        self.allow_partial_load = allow_partial_load


def check(planner: Any, kind: type) -> None:
    """Raise NotImplementedError for a planner of a script's own."""
    if planner is not None and type(planner) is not kind:
        raise NotImplementedError(
            f"planner=: checkpoints have one layout here, and a {kind.__name__} is all that can be "
            "said of it; use the keys of the state dict"
        )
