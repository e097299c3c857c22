"""A machine for pickles that does nothing by itself: opcode by opcode, what formats need.

Numbers, text, bytes, lists, dictionaries, sets and tuples are made here. What a file may name, call
or set is decided by the methods of a subclass; those of `Machine` itself refuse. Lengths are
compared with the bytes that are there, and the memo is a dictionary, so that a small file takes
little memory.
"""

from __future__ import annotations

import pickle
import struct
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

_FLOAT = struct.Struct(">d").unpack_from
_INT, _UNSIGNED = struct.Struct("<i").unpack_from, struct.Struct("<I").unpack_from
#: What SETITEM writes into. Subclasses may have methods of their own for that.
MAPPINGS = (dict, OrderedDict, Counter, defaultdict)
#: How many parts a key may have: the same tuple many times over takes no memory, and ages to hash.
_PARTS_OF_A_KEY = 10_000


class Machine:
    """Reads one pickle. ``UnpicklingError`` for what is not allowed; for bytes that are no pickle
    whatever Python raises, which the reader of the file says in its words."""

    def __init__(self, code: bytes, encoding: str = "utf-8", errors: str = "strict") -> None:
        self.code = code
        self.at = 0
        self.encoding, self.errors = encoding, errors
        self.stack: list[Any] = []
        self.below: list[list[Any]] = []
        self.memo: dict[int, Any] = {}
        self.globals: dict[bytes, Any] = {}

    # -- what subclasses allow ---------------------------------------------------------------------

    def find_class(self, module: str, name: str) -> Any:
        """Return the object that a global of the file names. UnpicklingError unless a subclass
        allows some."""
        raise pickle.UnpicklingError(f"{module}.{name} is not allowed here")

    def call(self, function: Any, args: Any) -> Any:
        """Call ``function(*args)`` and return its result. UnpicklingError unless a subclass allows
        it."""
        raise pickle.UnpicklingError(f"a call of {function!r} is not allowed here")

    def new(self, cls: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Make an instance of a class, before it has a state. UnpicklingError unless a subclass
        allows it."""
        raise pickle.UnpicklingError(f"an instance of {cls!r} is not allowed here")

    def build(self, made: Any, state: Any) -> Any:
        """Give ``made`` a state, and return it. UnpicklingError unless a subclass allows it."""
        raise pickle.UnpicklingError(f"a state of {type(made)} is not allowed here")

    def persistent_load(self, pid: Any) -> Any:
        """Return the object that a persistent id stands for. UnpicklingError unless a subclass
        allows it."""
        raise pickle.UnpicklingError("a persistent id is not allowed here")

    def is_filled(self, made: Any) -> bool:
        """True if items may be put into a container that is no list, dictionary or set."""
        return False

    # -- the machine -------------------------------------------------------------------------------

    def load(self) -> Any:
        """Execute the pickle, and return the object that it describes."""
        steps = _STEPS
        code = self.code
        while True:
            opcode = code[self.at]
            self.at += 1
            step = steps[opcode]
            if step is None:
                if opcode == pickle.STOP[0]:
                    return self.stack.pop()
                raise pickle.UnpicklingError(f"Unsupported operand {opcode}")
            step(self)

    def take(self, length: int) -> bytes:
        """Read the next bytes. EOFError where there are fewer."""
        end = self.at + length
        if end > len(self.code):
            raise EOFError(f"{length} bytes are wanted at {self.at} of {len(self.code)}")
        taken = self.code[self.at : end]
        self.at = end
        return taken

    def number(self, width: int, signed: bool = False) -> int:
        """Read the next little-endian number."""
        return int.from_bytes(self.take(width), "little", signed=signed)

    def line(self) -> str:
        """Read the text before the next line feed."""
        end = self.code.index(b"\n", self.at)
        return self.take(end + 1 - self.at)[:-1].decode()

    def since_mark(self) -> list[Any]:
        """Pop what was pushed after the last mark."""
        items = self.stack
        self.stack = self.below.pop()
        return items

    def text(self, raw: bytes) -> Any:
        """Decode a string of Python 2."""
        return raw if self.encoding == "bytes" else raw.decode(self.encoding, self.errors)

    # -- containers --------------------------------------------------------------------------------

    def append(self, items: list[Any]) -> None:
        into = self.stack[-1]
        if type(into) is not list and not self.is_filled(into):
            raise pickle.UnpicklingError(f"Can only append to lists, but got {type(into)}")
        into.extend(items)

    def set_items(self, items: list[Any]) -> None:
        into = self.stack[-1]
        if type(into) not in MAPPINGS and not self.is_filled(into):
            raise pickle.UnpicklingError(
                "Can only SETITEM for dict, collections.OrderedDict, collections.Counter, but got "
                f"{type(into)}"
            )
        for key, value in zip(items[::2], items[1::2], strict=True):
            if type(key) is not str:
                check_key(key)
            into[key] = value

    def add(self, items: list[Any]) -> None:
        into = self.stack[-1]
        if type(into) is not set and not self.is_filled(into):
            raise pickle.UnpicklingError(f"Can only add to sets, but got {type(into)}")
        for item in items:
            check_key(item)
        into.update(items)

    def frozen(self) -> None:
        items = self.since_mark()
        for item in items:
            check_key(item)
        self.stack.append(frozenset(items))

    # -- text and numbers --------------------------------------------------------------------------

    def integer(self) -> int | bool:
        line = self.line()
        return {"00": False, "01": True}[line] if line in ("00", "01") else int(line)

    def floating(self) -> float:
        self.at += 8
        return _FLOAT(self.code, self.at - 8)[0]

    def unicode(self, width: int) -> str:
        return str(self.take(self.number(width)), "utf-8", "surrogatepass")

    def int1(self) -> None:
        self.stack.append(self.code[self.at])
        self.at += 1

    def int4(self) -> None:
        self.stack.append(_INT(self.code, self.at)[0])
        self.at += 4

    def unicode4(self) -> None:
        start = self.at + 4
        end = start + _UNSIGNED(self.code, self.at)[0]
        self.at = start
        if end > len(self.code):
            self.take(end - start)
        self.at = end
        self.stack.append(str(self.code[start:end], "utf-8", "surrogatepass"))

    def int2(self) -> None:
        at = self.at
        self.stack.append(self.code[at] | self.code[at + 1] << 8)
        self.at = at + 2

    # -- memory and marks --------------------------------------------------------------------------

    def mark(self) -> None:
        self.below.append(self.stack)
        self.stack = []

    def pop(self) -> None:
        if self.stack:
            self.stack.pop()
        else:
            self.since_mark()

    def put1(self) -> None:
        self.memo[self.code[self.at]] = self.stack[-1]
        self.at += 1

    def get1(self) -> None:
        self.stack.append(self.memo[self.code[self.at]])
        self.at += 1

    def put4(self) -> None:
        self.memo[_UNSIGNED(self.code, self.at)[0]] = self.stack[-1]
        self.at += 4

    def get4(self) -> None:
        self.stack.append(self.memo[_UNSIGNED(self.code, self.at)[0]])
        self.at += 4

    def put(self, index: int) -> None:
        self.memo[index] = self.stack[-1]

    # -- what subclasses decide --------------------------------------------------------------------

    def resolve(self, module: Any, name: Any) -> Any:
        if type(module) is not str or type(name) is not str:
            raise pickle.UnpicklingError("STACK_GLOBAL requires str")
        return self.find_class(module, name)

    def global_(self) -> None:
        middle = self.code.index(b"\n", self.at)
        end = self.code.index(b"\n", middle + 1)
        key = self.code[self.at : end]
        if key not in self.globals:
            module = self.code[self.at : middle].decode()
            self.globals[key] = self.find_class(module, self.code[middle + 1 : end].decode())
        self.at = end + 1
        self.stack.append(self.globals[key])

    def tuple_(self) -> None:
        items = tuple(self.stack)
        self.stack = self.below.pop()
        self.stack.append(items)

    def persistent(self) -> None:
        self.stack[-1] = self.persistent_load(self.stack[-1])

    def stack_global(self) -> None:
        name = self.stack.pop()
        self.stack.append(self.resolve(self.stack.pop(), name))

    def reduce(self) -> None:
        args = self.stack.pop()
        if type(args) is not tuple:
            raise pickle.UnpicklingError(f"a call needs a tuple of arguments, not {type(args)}")
        self.stack[-1] = self.call(self.stack[-1], args)

    def newobj(self, with_kwargs: bool) -> None:
        kwargs = self.stack.pop() if with_kwargs else {}
        args = self.stack.pop()
        if type(args) is not tuple or type(kwargs) is not dict:
            raise pickle.UnpicklingError("an instance needs a tuple of arguments, and a dictionary")
        self.stack[-1] = self.new(self.stack[-1], args, kwargs)

    def set_state(self) -> None:
        state = self.stack.pop()
        self.stack[-1] = self.build(self.stack[-1], state)


def check_key(key: Any) -> None:
    """Refuse a key or a member of a set whose hash would take ages."""
    if type(key) is not tuple:
        return
    left, parts = [key], 0
    while left:
        inner = left.pop()
        parts += len(inner)
        if parts > _PARTS_OF_A_KEY:
            raise pickle.UnpicklingError("a key of a dictionary or set has too many parts")
        left += [x for x in inner if isinstance(x, tuple)]


def _pushed(value: Callable[[Machine], Any]) -> Callable[[Machine], None]:
    def step(machine: Machine) -> None:
        made = value(machine)  # which may end the part of the stack after a mark
        machine.stack.append(made)

    return step


def _tuple_of(count: int) -> Callable[[Machine], None]:
    def step(machine: Machine) -> None:
        stack = machine.stack
        items = tuple(stack[-count:])
        if len(items) < count:
            raise IndexError("a tuple is made of more than there is")
        stack[-count:] = [items]

    return step


#: What an opcode leaves on the stack.
_PUSHED: dict[bytes, Callable[[Machine], Any]] = {
    pickle.NONE: lambda m: None,
    pickle.NEWTRUE: lambda m: True,
    pickle.NEWFALSE: lambda m: False,
    pickle.LONG1: lambda m: m.number(m.number(1), True),
    pickle.LONG4: lambda m: m.number(m.number(4), True),
    pickle.INT: Machine.integer,
    pickle.LONG: lambda m: int(m.line().removesuffix("L")),
    pickle.BINFLOAT: Machine.floating,
    pickle.SHORT_BINUNICODE: lambda m: m.unicode(1),
    pickle.BINUNICODE8: lambda m: m.unicode(8),
    pickle.SHORT_BINSTRING: lambda m: m.text(m.take(m.number(1))),
    pickle.BINSTRING: lambda m: m.text(m.take(m.number(4))),
    pickle.SHORT_BINBYTES: lambda m: m.take(m.number(1)),
    pickle.BINBYTES: lambda m: m.take(m.number(4)),
    pickle.BINBYTES8: lambda m: m.take(m.number(8)),
    pickle.BYTEARRAY8: lambda m: bytearray(m.take(m.number(8))),
    pickle.EMPTY_TUPLE: lambda m: (),
    pickle.EMPTY_LIST: lambda m: [],
    pickle.EMPTY_DICT: lambda m: {},
    pickle.EMPTY_SET: lambda m: set(),
}
#: What else an opcode does.
_DONE: dict[bytes, Callable[[Machine], Any]] = {
    pickle.BININT1: Machine.int1,
    pickle.BININT2: Machine.int2,
    pickle.BINPUT: Machine.put1,
    pickle.BINGET: Machine.get1,
    pickle.LONG_BINPUT: Machine.put4,
    pickle.LONG_BINGET: Machine.get4,
    pickle.BININT: Machine.int4,
    pickle.BINUNICODE: Machine.unicode4,
    pickle.TUPLE: Machine.tuple_,
    pickle.GLOBAL: Machine.global_,
    pickle.BINPERSID: Machine.persistent,
    pickle.MEMOIZE: lambda m: m.put(len(m.memo)),
    pickle.PROTO: lambda m: m.take(1),
    pickle.FRAME: lambda m: m.take(8),
    pickle.MARK: Machine.mark,
    pickle.POP: Machine.pop,
    pickle.POP_MARK: lambda m: m.since_mark(),
    pickle.TUPLE1: _tuple_of(1),
    pickle.TUPLE2: _tuple_of(2),
    pickle.TUPLE3: _tuple_of(3),
    pickle.APPEND: lambda m: m.append([m.stack.pop()]),
    pickle.APPENDS: lambda m: m.append(m.since_mark()),
    pickle.SETITEM: lambda m: m.set_items([m.stack.pop(), m.stack.pop()][::-1]),
    pickle.SETITEMS: lambda m: m.set_items(m.since_mark()),
    pickle.ADDITEMS: lambda m: m.add(m.since_mark()),
    pickle.FROZENSET: Machine.frozen,
    pickle.STACK_GLOBAL: Machine.stack_global,
    pickle.REDUCE: Machine.reduce,
    pickle.NEWOBJ: lambda m: m.newobj(False),
    pickle.NEWOBJ_EX: lambda m: m.newobj(True),
    pickle.BUILD: Machine.set_state,
}


def _steps() -> list[Callable[[Machine], None] | None]:
    """Return the function of each opcode, by its number. None for those that formats do not
    need."""
    table: list[Callable[[Machine], None] | None] = [None] * 256
    for opcode, value in _PUSHED.items():
        table[opcode[0]] = _pushed(value)
    for opcode, step in _DONE.items():
        table[opcode[0]] = step
    return table


_STEPS = _steps()
