"""``torch.Generator``: a seedable source of random numbers with PyTorch's CPU stream."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from torchlike._core import devices, modes
from torchlike._core.storage import Storage
from torchlike.random.engine import DEFAULT_SEED, Engine
from torchlike.tensor import Tensor


class _OfThread(threading.local):
    """The default generator's stream in this thread, or None where it is the process's."""

    engine: Engine | None = None


_of_thread = _OfThread()


@contextlib.contextmanager
def drawing_from(engine: Engine) -> Iterator[None]:
    """Have the default generator of this thread draw from (and seed) ``engine`` in a `with`
    block."""
    before = _of_thread.engine
    _of_thread.engine = engine
    try:
        yield
    finally:
        _of_thread.engine = before


class Generator:
    """A stream of random numbers. Made without a seed it always starts the same.

    Differs from PyTorch: accelerators draw on the host from the same CPU stream, so a seed gives
    the CPU's numbers everywhere.

    Example:
      >>> a, b = torch.Generator().manual_seed(7), torch.Generator().manual_seed(7)
      >>> torch.equal(torch.rand(3, generator=a), torch.rand(3, generator=b))
      True
    """

    __module__ = "torchlike"

    def __init__(self, device: Any = "cpu") -> None:
        self.device = devices.device(device)
        self._engine = Engine(DEFAULT_SEED)

    @property
    def engine(self) -> Engine:
        """The stream that is drawn from."""
        if self is default_generator and _of_thread.engine is not None:
            return _of_thread.engine
        return self._engine

    def to_be_undone(self) -> None:
        """Register with a capture that is running, before the stream moves, that its failure puts
        the stream back."""
        if modes.is_capturing():
            engine, state = self.engine, self.engine.get_state()
            modes.the_capture().undo_on_failure(self, lambda: engine.set_state(state))

    def manual_seed(self, seed: Any) -> Generator:
        """Start over from ``seed``, and return the generator. RuntimeError unless it is an integer
        of 64 bits."""
        self.to_be_undone()
        self.engine.seed(seed)
        return self

    def seed(self) -> int:
        """Start over from a number of the operating system's, and return that number."""
        self.to_be_undone()
        return self.engine.seed_from_entropy()

    def initial_seed(self) -> int:
        """Return the seed that the stream started from."""
        return self.engine.initial_seed()

    def get_state(self) -> Tensor:
        """Return the state as a uint8 tensor of 5056 bytes."""
        return Tensor._on(Storage(None, self.engine.get_state()))

    def set_state(self, new_state: Tensor) -> Generator:
        """Restore a state. TypeError unless it is a uint8 tensor."""
        if not isinstance(new_state, Tensor) or new_state.dtype.name != "uint8":
            raise TypeError("RNG state must be a torch.ByteTensor")
        values = new_state._value("Generator.set_state")
        self.to_be_undone()
        self.engine.set_state(values)
        return self

    def clone_state(self) -> Generator:
        """Return a generator that goes on from the same state independently."""
        return Generator(self.device).set_state(self.get_state())

    def get_offset(self) -> int:
        raise RuntimeError("CPU Generator does not use offset")

    def set_offset(self, offset: int) -> None:
        raise RuntimeError("CPU Generator does not use offset")

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (str(self.device), self.engine.get_state())

    def __deepcopy__(self, memo: dict[int, Any]) -> Generator:
        return self.clone_state()

    def __repr__(self) -> str:
        return f"<torch._C.Generator object at {id(self):#x}>"


def _rebuild(device: str, state: Any) -> Generator:
    made = Generator(device)
    made.engine.set_state(state)
    return made


#: The generator used where none is given; a fresh process seeds it from the operating system.
default_generator = Generator()
default_generator.seed()
