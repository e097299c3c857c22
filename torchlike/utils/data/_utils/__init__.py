"""``torch.utils.data._utils``: where scripts import collating functions and workers from."""

from torchlike.utils.data._utils import collate, worker

__all__ = ["collate", "worker"]
