"""``torchlike.install_alias()``: ``import torch`` means torchlike in this process."""

from __future__ import annotations

import sys

from torchlike.porting import aliases, children, device_map


def install_alias() -> None:
    """Make ``import torch`` and every ``torch.x.y`` mean torchlike in this process, from now on.

    For notebooks, tests and scripts that ``torchlike run`` does not start; call it before anything
    imports PyTorch. ``import torchlike.as_torch`` does the same. Calls after the first do nothing.
    Processes that this one starts by the same Python inherit it, by their environment.

    Raises:
        RuntimeError: real PyTorch has been imported already.

    Example:
        >>> import subprocess, sys
        >>> code = "import torchlike; torchlike.install_alias(); import torch; torch.ones(1).jax()"
        >>> subprocess.run([sys.executable, "-c", code]).returncode
        0
    """
    install()


def install() -> aliases.AliasFinder:
    """Do ``install_alias`` for the launcher, which also asks the finder for names."""
    real = sys.modules.get("torch")
    if real is not None and real is not sys.modules["torchlike"]:
        raise RuntimeError(
            f"PyTorch itself has been imported already ({getattr(real, '__file__', 'torch')}), so "
            "`import torch` cannot mean torchlike any more. Call torchlike.install_alias() before "
            "anything imports torch: in a notebook restart the kernel and begin with it, under "
            "pytest use `-p torchlike.as_torch`"
        )
    finder = aliases.install()
    alias_functorch()
    children.share_alias()
    device_map.apply()
    return finder


def alias_functorch() -> None:
    """Make ``import functorch``, which comes with PyTorch, mean its names here."""
    aliases.install("functorch", "torchlike.porting.functorch", is_installed=True)
