"""``torch.utils.tensorboard``: event files for TensorBoard.

Needs the package tensorboard (``pip install 'torchlike[tensorboard]'``), whose protocol buffers and
file writer it uses; ModuleNotFoundError without it, which is what scripts look for.
"""

import importlib.util as _importlib_util

if _importlib_util.find_spec("tensorboard") is None:
    raise ModuleNotFoundError(
        "torch.utils.tensorboard needs the package tensorboard: "
        "pip install 'torchlike[tensorboard]'",
        name="tensorboard",
    )

from torchlike.utils.tensorboard._protos import RecordWriter
from torchlike.utils.tensorboard.writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]
