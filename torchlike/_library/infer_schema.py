"""``torch._library.infer_schema``."""

from torchlike.library.infer import infer_schema

__all__ = ["infer_schema"]
