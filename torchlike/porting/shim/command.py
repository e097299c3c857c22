"""``torchlike shim install | status | remove``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from torchlike.porting.shim import changes, companions, contents
from torchlike.porting.shim.environment import Environment, here

_HINT = (
    "Before packages that require torchvision (timm): `torchlike shim install --with torchvision`. "
    "pip would take the newest, which wants a later torch, and fetch PyTorch."
)


def run(action: str, *, names: Sequence[str] = (), anywhere: bool = False) -> int:
    """Do what was asked for, say what was done; return the exit code.

    That is 1 where the shim was refused, and of ``status`` where there is none, half of one, or a
    second torch.
    """
    environment = here()
    doing: dict[str, Callable[[], int]] = {
        "install": lambda: _install(environment, names, anywhere),
        "status": lambda: _status(environment),
        "remove": lambda: _remove(environment),
    }
    try:
        return doing[action]()
    except (changes.ShimRefusedError, OSError) as error:
        print(f"torchlike: {error}", file=sys.stderr)
        return 1


def _install(environment: Environment, names: Sequence[str], anywhere: bool) -> int:
    new = changes.install(environment, anywhere=anywhere)
    try:
        brought = companions.install(environment, names)
    except BaseException:
        if new:
            changes.remove(environment)
        raise
    kept = changes.read_brought(environment.packages)
    changes.write_brought(environment.packages, [*kept, *brought])
    done = "is" if new else "was already"
    print(f"torch {contents.VERSION} {done} in {environment.packages}; `import torch` is torchlike")
    if brought:
        print(f"with {', '.join(brought)}")
    if not environment.distributions("torchvision"):
        print(_HINT)
    return 0


def _status(environment: Environment) -> int:
    torches = environment.torches()
    for found in torches:
        print(found)
    if not torches:
        print(f"no torch in {environment.packages}")
    brought = changes.read_brought(environment.packages)
    if brought:
        print(f"came with it: {', '.join(brought)}")
    shim = any(found.is_shim for found in torches)
    whole = shim and changes.is_whole(environment)
    if shim and not whole:
        print("it is not whole, or of another torchlike: `torchlike shim install` renews it")
    if len(torches) > 1:
        print("more than one torch: the first is imported, and they may corrupt each other")
    left = changes.leftovers(environment)
    for path in left:
        print(f"left by a process that was killed: {path} (install and remove take it away)")
    return 0 if whole and len(torches) == 1 and not left else 1


def _remove(environment: Environment) -> int:
    staying = companions.remove(environment, changes.read_brought(environment.packages))
    removed = changes.remove(environment)
    for name, askers in staying.items():
        print(f"{name} stays: {', '.join(askers)} {'want' if len(askers) > 1 else 'wants'} it")
    for folder in removed:
        print(f"removed {folder}")
    if not removed:
        print(f"torchlike's torch was not in {environment.packages}")
    return 0
