"""``torch._library``: where libraries import ``infer_schema`` from."""
