"""Refuses processes that would take ``torch`` for another package than this process does.

Where ``import torch`` means torchlike (``torchlike run``, ``torchlike.install_alias()``), processes
know by their environment (``torchlike/porting/children.py``). A Python with the flags ``-I``,
``-E`` or ``-S`` hands these on to its children, which then do not look there: they would import the
script's modules again and find real PyTorch, if that is installed, without a word.
"""

from __future__ import annotations

_aliased = False

#: What holds of every such process, and what to write instead.
REASON = (
    "it starts Python anew, where `import torch` is not torchlike but real PyTorch, or nothing, "
    "because it does not heed the environment of this process (PYTHONPATH, TORCHLIKE_CHILDREN). "
    "Instead: Python without -I, -E and -S; threads (concurrent.futures.ThreadPoolExecutor; "
    "DataLoader(multiprocessing_context='thread')), one process for all devices (jax.sharding), or "
    "`import torchlike as torch` in the script and its modules, run with python"
)


def torch_is_an_alias() -> None:
    """Say that ``import torch`` means torchlike in this process, and that none which starts Python
    anew will know."""
    global _aliased
    _aliased = True


def starts_anew(start_method: str | None) -> bool:
    """Return whether ``start_method`` runs a new Python, not a copy of this process and its
    modules."""
    return start_method != "fork"


def refuse_strangers(what: str, start_method: str | None) -> None:
    """Let ``what`` start a process only where ``torch`` will mean there what it means here.

    Raises:
        NotImplementedError: the process starts Python anew, and ``torch`` is an alias.
    """
    if _aliased and starts_anew(start_method):
        raise NotImplementedError(f"{what}, start method {start_method!r}: {REASON}")
