"""``torch._C._distributed_rpc``: there are no other processes to call."""


def _is_current_rpc_agent_set() -> bool:
    """Return False: there are no agents."""
    return False


def is_available() -> bool:
    """Return False: ranks meet in collectives alone. (Of ``torch.distributed.rpc``.)"""
    return False
