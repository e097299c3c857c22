"""``torch.Generator``: a seedable source of random numbers with PyTorch's CPU stream."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import jax

from torchlike._core import devices, modes
from torchlike._core.storage import Storage
from torchlike._runtime import platforms
from torchlike.random.cuda import fills as _fills  # noqa: F401  (by which its stream is drawn)
from torchlike.random.cuda.stream import PhiloxEngine
from torchlike.random.engine import DEFAULT_SEED, Engine
from torchlike.tensor import Tensor


class _OfThread(threading.local):
    """The default generator's stream in this thread, or None where it is the process's."""

    engine: Engine | None = None


_of_thread = _OfThread()


@contextlib.contextmanager
def drawing_from(engine: Any) -> Iterator[None]:
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

    One for the CPU gives the numbers of PyTorch's there; one for an accelerator those that PyTorch
    has on CUDA, on the card that ``TORCHLIKE_CARD`` names.

    Differs from PyTorch: one for "cuda" can be had without a GPU, and either may fill tensors on
    the other device, with the same numbers.

    Example:
      >>> a, b = torch.Generator().manual_seed(7), torch.Generator().manual_seed(7)
      >>> torch.equal(torch.rand(3, generator=a), torch.rand(3, generator=b))
      True
    """

    __module__ = "torchlike"

    def __init__(self, device: Any = "cpu") -> None:
        named = devices.device(device)
        self.device = devices.device("cuda", 0) if str(named) == "cuda" else named
        self._engine: Any = (Engine if named.type == "cpu" else PhiloxEngine)(DEFAULT_SEED)

    @property
    def engine(self) -> Any:
        """The stream that is drawn from: an `Engine`, or for an accelerator a `PhiloxEngine`."""
        if self is default_generator and _of_thread.engine is not None:
            return _of_thread.engine
        return self._engine

    @property
    def is_of_gpu(self) -> bool:
        """Whether the numbers are those of a GPU."""
        return self.engine.fills is not None

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
        """Return the state as a uint8 tensor: of 5056 bytes, or for an accelerator of 16, the seed
        and the offset."""
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
        """Return how far an accelerator's stream has moved since its seed, in words of one thread.
        RuntimeError for the CPU's."""
        if not self.is_of_gpu:
            raise RuntimeError("CPU Generator does not use offset")
        return self.engine.offset

    def set_offset(self, offset: int) -> None:
        """Move an accelerator's stream to an offset. RuntimeError for the CPU's, and for an offset
        that is no multiple of 4."""
        if not self.is_of_gpu:
            raise RuntimeError("CPU Generator does not use offset")
        self.to_be_undone()
        self.engine.offset = int(offset)

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


class _Accelerators:
    """The default generators of accelerators, made when one is first asked for."""

    def __init__(self) -> None:
        self._made: dict[int, Generator] = {}
        #: What all were seeded with last; None where nobody has.
        self._seed: int | None = None

    def of(self, index: int) -> Generator:
        """Return the generator of an accelerator; made anew it is seeded as all were last, else
        from the operating system."""
        found = self._made.get(index)
        if found is None:
            found = self._made.setdefault(index, Generator(devices.device("cuda", index)))
            if self._seed is None:
                found.seed()
            else:
                found.manual_seed(self._seed)
        return found

    def seed_all(self, seed: int) -> None:
        """Start all over from a seed, also those that are not made yet."""
        for generator in self._made.values():
            generator.manual_seed(seed)
        self._seed = seed

    def states(self) -> dict[int, Any]:
        """Return the states of all that there are, by index."""
        if platforms.started() and not platforms.cpu_is_default():
            for index in range(jax.local_device_count()):
                self.of(index)
        return {index: made.get_state() for index, made in self._made.items()}

    def restore(self, states: dict[int, Any]) -> None:
        """Put those back that were made when the states were taken."""
        for index, state in states.items():
            self._made[index].set_state(state)


accelerators = _Accelerators()


def default_of(device: devices.device) -> Generator:
    """Return the generator that is drawn from for a device where none is given."""
    return default_generator if device.type == "cpu" else accelerators.of(device.index or 0)


#: The generator used where none is given; a fresh process seeds it from the operating system.
default_generator = Generator()
default_generator.seed()
