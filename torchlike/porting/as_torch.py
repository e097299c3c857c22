"""``import torchlike.as_torch``: from then on ``import torch`` means torchlike in this process.

Also a plugin of pytest (``pytest -p torchlike.as_torch``), which is imported before any test.
RuntimeError where real PyTorch has been imported already.
"""

from torchlike.porting.torch_alias import install_alias

install_alias()
