"""``torch.utils.data._utils``: where scripts import the collating functions from."""

from torchlike.utils.data._utils import collate

__all__ = ["collate"]
