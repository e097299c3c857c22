"""``torch.fx.passes.dialect.common``: the CSE pass."""
