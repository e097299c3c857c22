"""``torch.distributed.launch``: the older name of ``torch.distributed.run``.

Differs from PyTorch: the local rank is in the environment alone, as with ``--use-env``.
"""

from __future__ import annotations

import sys

from torchlike.distributed import run

if __name__ == "__main__":
    run.main([a for a in sys.argv[1:] if a not in ("--use-env", "--use_env")])
