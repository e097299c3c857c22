"""``torchlike.install_alias()``: ``import torch`` means torchlike, in this process or in a part of
it, for good or for a while."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from types import ModuleType

from torchlike._runtime.patches import in_processes
from torchlike.porting import aliases, children, device_map, partial_alias


def install_alias(*, only: Sequence[str] = (), except_: Sequence[str] = ()) -> None:
    """Make ``import torch`` and every ``torch.x.y`` mean torchlike in this process, from now on; or
    in some packages alone, while all others get what is installed as torch.

    For notebooks, tests and scripts that ``torchlike run`` does not start; call it before anything
    imports PyTorch. ``import torchlike.as_torch`` does the same. Calls after the first do nothing.
    Processes that this one starts by the same Python inherit it, by their environment. Bounded to
    some packages, it may be called with PyTorch imported already, and processes do not inherit it.

    Args:
        only: names of packages or modules whose imports of torch are meant, with all below them.
        except_: names of those that are not meant.

    Raises:
        RuntimeError: without ``only`` and ``except_``, real PyTorch has been imported already.

    Example:
        >>> import subprocess, sys
        >>> code = "import torchlike; torchlike.install_alias(); import torch; torch.ones(1).jax()"
        >>> subprocess.run([sys.executable, "-c", code]).returncode
        0
    """
    if only or except_:
        partial_alias.install(partial_alias.PortedPackages(tuple(only), tuple(except_)))
    else:
        install()


def remove_alias() -> None:
    """Let ``import torch`` mean again what is installed under that name, whatever had changed it.

    What has been imported meanwhile keeps what it has: a module with ``torch`` among its names goes
    on with torchlike. Without an alias this does nothing.
    """
    in_processes.PARTIAL_ALIAS.restore()
    in_processes.ALIAS.restore()
    children.unshare_alias()


@contextlib.contextmanager
def alias() -> Iterator[None]:
    """``with torchlike.alias():`` what the block imports gets torchlike for torch.

    Real PyTorch may have been imported before; it is back behind the block. Meant for a few imports
    and not for running PyTorch: what that imports while it runs is torchlike's too. Where torch
    means torchlike already, it stays so. Started processes do not inherit it.

    Returns:
        the context manager.

    Example:
        >>> with torchlike.alias():
        ...     import torch.nn.functional as F
        >>> F is torchlike.nn.functional
        True
    """
    if sys.modules.get("torch") is sys.modules["torchlike"]:
        yield
        return
    aside = _taken_out(("torch", "functorch"))
    aliases.install()
    alias_functorch()
    try:
        yield
    finally:
        in_processes.ALIAS.restore()
        sys.modules.update(aside)


def _taken_out(roots: Sequence[str]) -> dict[str, ModuleType]:
    """Take modules out of ``sys.modules``, and all below them; return them by name."""
    names = [name for name in sys.modules if name.partition(".")[0] in roots]
    return {name: sys.modules.pop(name) for name in names}


def install() -> aliases.AliasFinder:
    """Do ``install_alias`` for the launcher, which also asks the finder for names."""
    real = sys.modules.get("torch")
    if real is not None and real is not sys.modules["torchlike"]:
        raise RuntimeError(
            f"PyTorch itself has been imported already ({getattr(real, '__file__', 'torch')}), so "
            "`import torch` cannot mean torchlike any more. Call torchlike.install_alias() before "
            "anything imports torch: in a notebook restart the kernel and begin with it, under "
            "pytest use `-p torchlike.as_torch`; or let some packages alone import torchlike, with "
            "install_alias(only=...)"
        )
    finder = aliases.install()
    alias_functorch()
    children.share_alias()
    device_map.apply()
    return finder


def alias_functorch() -> aliases.AliasFinder:
    """Make ``import functorch``, which comes with PyTorch, mean its names here."""
    return aliases.install("functorch", "torchlike.porting.functorch", is_installed=True)
