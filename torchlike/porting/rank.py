"""One worker of ``torchlike launch``: it takes its place among JAX's processes, then runs the
script, which may so compute before ``init_process_group``. Processes that it starts take no place.
"""

from __future__ import annotations

import os
import signal
import sys

from torchlike._runtime.environment_variables import LAUNCHER
from torchlike._runtime.parents import ends_with_parent
from torchlike._runtime.rendezvous import coordination
from torchlike._runtime.rendezvous.secret import of_environment
from torchlike._runtime.rendezvous.server import Client
from torchlike.distributed.elastic.multiprocessing.errors import write_error
from torchlike.porting import launcher

#: Seconds for the launcher to start JAX's coordination service.
_SERVICE = 300.0


def join() -> None:
    """Take the place that the launcher's variables name. Nothing in a world of one."""
    size = int(os.environ["WORLD_SIZE"])
    if size == 1:
        return
    store = Client(
        os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), _SERVICE, of_environment()
    )
    attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
    address = store.get(_SERVICE, f"launch/{attempt}/coordinator")[0].decode()
    store.close()
    coordination.join(
        address, int(os.environ["RANK"]), size, int(os.environ["LOCAL_RANK"]), _SERVICE
    )


def explain(error: BaseException) -> None:
    """Tell the launcher of the error that ends the script."""
    launcher.explain_missing(error)
    if isinstance(error, Exception):
        write_error(error)


def main() -> None:
    """Run the script that the arguments name. SystemExit as of ``launcher.run``."""
    ends_with_parent(int(os.environ[LAUNCHER.name]), signal.SIGKILL)
    argv = sys.argv[1:]
    as_module = argv[0] == "-m"
    join()
    launcher.run(argv[1:] if as_module else argv, as_module=as_module, explain=explain)


if __name__ == "__main__":
    main()
