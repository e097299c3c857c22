"""GPUs: how many threads one has, which says where the numbers of large tensors come from.

PyTorch starts at most as many threads as a GPU holds at once. Up to that many elements the numbers
are the same on every card.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from torchlike._core import devices
from torchlike._runtime.environment_variables import CARD

#: Threads of a block.
BLOCK = 256


class Card(NamedTuple):
    """A GPU, by what its kernels' grids depend on.

    Attributes:
      name: as `named` takes it.
      multiprocessors: how many it has.
      threads_each: how many threads a multiprocessor holds.
    """

    name: str
    multiprocessors: int
    threads_each: int

    @property
    def threads(self) -> int:
        """The most threads of one kernel."""
        return self.multiprocessors * (self.threads_each // BLOCK) * BLOCK


#: Multiprocessors from NVIDIA's white papers and data sheets; threads by compute capability, from
#: the CUDA programming guide. Of cards sold in several sizes the size is part of the name.
CARDS = {
    card.name: card
    for card in (
        Card("K80", 13, 2048),  # one of its two GPUs
        Card("P4", 20, 2048),
        Card("P100", 56, 2048),
        Card("GTX 1080 Ti", 28, 2048),
        Card("TITAN Xp", 30, 2048),
        Card("V100", 80, 2048),
        Card("TITAN V", 80, 2048),
        Card("T4", 40, 1024),
        Card("RTX 2060 SUPER", 34, 1024),
        Card("RTX 2070", 36, 1024),
        Card("RTX 2080", 46, 1024),
        Card("RTX 2080 Ti", 68, 1024),
        Card("TITAN RTX", 72, 1024),
        Card("RTX 8000", 72, 1024),
        Card("A100", 108, 2048),
        Card("A30", 56, 2048),
        Card("A10", 72, 1536),
        Card("A10G", 80, 1536),
        Card("A16", 10, 1536),
        Card("A40", 84, 1536),
        Card("A2000", 26, 1536),
        Card("A4000", 48, 1536),
        Card("A5000", 64, 1536),
        Card("A6000", 84, 1536),
        Card("RTX 3060", 28, 1536),
        Card("RTX 3060 Ti", 38, 1536),
        Card("RTX 3070", 46, 1536),
        Card("RTX 3080", 68, 1536),
        Card("RTX 3080 Ti", 80, 1536),
        Card("RTX 3090", 82, 1536),
        Card("RTX 3090 Ti", 84, 1536),
        Card("L4", 58, 1536),
        Card("L40", 142, 1536),
        Card("L40S", 142, 1536),
        Card("RTX 4060", 24, 1536),
        Card("RTX 4060 Ti", 34, 1536),
        Card("RTX 4070", 46, 1536),
        Card("RTX 4070 Ti", 60, 1536),
        Card("RTX 4080", 76, 1536),
        Card("RTX 4090", 128, 1536),
        Card("RTX 6000 Ada", 142, 1536),
        Card("H100", 132, 2048),  # SXM, NVL
        Card("H100 PCIe", 114, 2048),
        Card("H200", 132, 2048),
        Card("H20", 78, 2048),
        Card("GH200", 132, 2048),
        Card("B200", 148, 2048),
        Card("RTX 5090", 170, 1536),
    )
}

#: What is meant where nobody says a card and there is no GPU to ask.
DEFAULT = CARDS["A100"]

#: Threads of a multiprocessor, by compute capability; others hold 2048.
_THREADS = {(7, 5): 1024, (8, 6): 1536, (8, 7): 1536, (8, 9): 1536, (12, 0): 1536, (12, 1): 1536}


def named(name: str) -> Card:
    """Return the card of a name, in whatever case and with or without spaces.

    ``SMSxTHREADS`` (``60x2048``) is a card that the table does not have. ValueError for others.
    """
    wanted = _plain(name)
    for card in CARDS.values():
        if _plain(card.name) == wanted:
            return card
    sms, _, threads = wanted.partition("x")
    if sms.isdecimal() and threads.isdecimal() and int(sms) and int(threads) >= BLOCK:
        return Card(name, int(sms), int(threads))
    raise ValueError(
        f"no card {name!r} is known: one of {', '.join(CARDS)}, or its multiprocessors and the "
        "threads that each holds, such as 108x2048"
    )


def _plain(name: str) -> str:
    text = name.lower().replace(" ", "").replace("-", "").replace("_", "")
    for maker in ("nvidia", "geforce", "tesla", "quadro"):
        text = text.replace(maker, "")
    return text


_chosen: list[Card] = []


def set_card(name: str | None) -> None:
    """Draw accelerators' random numbers as a GPU of this name does, from now on.

    That matters for tensors of more elements than the GPU has threads. It goes before
    ``TORCHLIKE_CARD``.

    Args:
      name: a card such as "A100", "RTX 3090" or "T4", in whatever case; its multiprocessors and the
        threads that each holds, such as "108x2048"; None: the GPU that is here, else an A100.

    Returns:
      None.

    Raises:
      ValueError: no card of that name is known.

    Example:
      >>> torchlike.set_card("T4")
      >>> torch.rand(40961, generator=torch.Generator("cuda").manual_seed(0))[40960]
      tensor(0.8805)
      >>> torchlike.set_card("A100")
      >>> torch.rand(40961, generator=torch.Generator("cuda").manual_seed(0))[40960]
      tensor(0.1450)
      >>> torchlike.set_card(None)
    """
    _chosen[:] = [] if name is None else [named(name)]


def current() -> Card:
    """Return the card whose numbers are drawn: the one chosen, that of ``TORCHLIKE_CARD``, the GPU
    that is here, else `DEFAULT`."""
    if _chosen:
        return _chosen[0]
    said = CARD.get()
    if said:
        set_card(said[0])
        return _chosen[0]
    found = devices.available("cuda")
    return DEFAULT if not found else _of_device(found[0]) or DEFAULT


def _of_device(device: Any) -> Card | None:
    """Return a GPU's card, from what JAX tells of it; None where it tells too little."""
    count = getattr(device, "core_count", 0)
    capability = str(getattr(device, "compute_capability", ""))
    if not count or not capability:
        return None
    major, _, minor = capability.partition(".")
    held = _THREADS.get((int(major), int(minor or 0)), 2048)
    return Card(str(device.device_kind), int(count), held)
