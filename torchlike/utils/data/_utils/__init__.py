"""``torch.utils.data._utils``: where scripts import collating functions and workers from."""

from torchlike.utils.data._utils import collate, pin_memory, worker

__all__ = ["collate", "pin_memory", "worker"]
