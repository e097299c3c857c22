"""``torch.fx.passes.dialect``: passes over graphs of aten's operators."""
