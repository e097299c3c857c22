"""aten: PyTorch's operators with their overloads and schemas, and who handles them.

``__torch_dispatch__`` and its modes are told of calls in these terms, below autograd. Imports
`_ops` and what it stands on, and `autograd`. Begin with ``packets.py``.
"""
