"""``torch._functorch``: where libraries look for what is behind ``torch.func`` and ``functorch``.

They replace functions of ``torch._functorch.vmap`` to let containers of their own through ``vmap``.
"""

from torchlike._functorch import config as config
