"""``torch.utils.model_zoo``: the old name of torch.hub's loading."""

from typing import Any

from torchlike import hub
from torchlike.hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]


def __getattr__(name: str) -> Any:
    """Return ``tqdm``, as torch.hub has it."""
    if name != "tqdm":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return hub.tqdm
