"""`RecurrenceListener`: hears what a thread computes, and has it recorded once it recurs.

Calls run by today's ways meanwhile, in each respect; the listener is told of the cells that are
made and written, as a capture and a queue are, and looks at their shapes alone. Of the last fifteen
it keeps a rolling hash, whose older parts are shifted out. A hash that was met before says that a
loop's turn is like one before it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from torchlike._extensions.deferred import prices
from torchlike._extensions.deferred.account import Account

#: Bits by which the hash of the last results is shifted at each, and those that it has.
_SHIFT = 4
_BITS = (1 << 60) - 1
#: Hashes that are kept.
_MOST_HASHES = 1 << 14
#: Attempts to record that may be made in a row.
_ATTEMPTS = 4
#: Results that are waited for an optimizer's step or a module's call to begin a chain with.
_UNTIL_CUT = 64


class RecurrenceListener:
    """What is told of a thread's cells while its calls are not recorded. ``begin()`` is called
    where they should be from now on."""

    defers = False
    is_eager = listens = True

    def __init__(self, account: Account, begin: Callable[[], None]) -> None:
        self._account = account
        self._begin = begin
        #: The part of the hash and the price of a result, by its shape.
        self._shapes: dict[tuple[int, ...], tuple[int, float]] = {}
        #: The price of a multiplication, by the name of the op.
        self._rates: dict[str, float] = {}
        #: The op whose result comes next, where it is a product, and its operands.
        self._product: tuple[float, Sequence[Any]] | None = None
        #: What has to recur until calls are recorded again, as a multiple of what compiling takes.
        self._patience = 1
        self._bought = 0
        self._forget()

    def _forget(self) -> None:
        self._window = 0
        #: The hashes that were met, and whether more than once.
        self._met: dict[int, bool] = {}
        #: The price of results since calls were recorded: of those that were new, and of those that
        #: recurred; and that at which calls are recorded.
        self._new = self._recurred = self._due = 0.0
        #: How many results recur, each by another hash.
        self._distinct = 0
        #: Results to wait for until a chain is begun, or -1.
        self._left = -1
        self._in_module = False

    def listen(self) -> None:
        """Listen from now on, after calls were recorded."""
        account = self._account
        compiling = self._distinct * prices.COMPILING
        if account.bought == self._bought:  # in vain
            self._patience *= 2
            account.rent = 0.0
            self._due = compiling * self._patience
        else:
            self._due = max(account.ready - account.clock, 0.0) or compiling
        self._bought = account.bought
        self._new = self._recurred = 0.0
        self._left, self._in_module = -1, False

    # -- told of cells -----------------------------------------------------------------------------

    def enter_op(self, name: str, arrays: Sequence[Any]) -> None:
        """Hear of an op that is about to run: a product takes longer than its result says."""
        try:
            rate = self._rates[name]
        except KeyError:
            rate = self._rates[name] = prices.rate(name)
        if rate:
            self._product = rate, arrays

    def adopt(self, storage: Any) -> None:
        """Hear of a new storage. (Each result comes here: 0.5 µs.)"""
        cell = storage.cell
        if cell is None:  # a host buffer
            return
        try:
            code, price = self._shapes[cell.shape]
        except KeyError:
            code, price = self._meet(cell.shape)
        if self._product is not None:
            rate, arrays = self._product
            self._product = None
            price += rate * prices.multiplications(arrays, math.prod(cell.shape))
        self._window = window = (self._window << _SHIFT ^ code) & _BITS
        met = self._met
        if window not in met:
            self._new += price
            if len(met) >= _MOST_HASHES:
                self._forget()
            met[window] = False
            return
        self._recurred += price
        if not met[window]:
            met[window] = True
            self._distinct += 1
            self._due += prices.COMPILING * self._patience
        elif self._recurred >= self._due:
            self._wait_or_begin()

    def write(self, storage: Any, array: Any) -> None:
        """Write to a cell, and hear of it."""
        if storage.host is None:
            storage.cell = array
            self.adopt(storage)
        else:
            storage._write_host(array)

    def _meet(self, shape: tuple[int, ...]) -> tuple[int, float]:
        """Return the part of the hash and the price of a result of a new shape."""
        found = self._shapes[shape] = hash(shape) & _BITS, prices.of_result(shape)
        return found

    # -- to record ---------------------------------------------------------------------------------

    def _wait_or_begin(self) -> None:
        """Have calls recorded where a chain is cut next, or after some more results."""
        if self._left < 0:
            self._settle()
            if self._account.allowance < prices.ATTEMPT * self._distinct:
                self._due = self._recurred + prices.COMPILING
            else:
                self._left = _UNTIL_CUT
        elif self._left:
            self._left -= 1
        else:
            self.cut()

    def cut(self) -> None:
        """Take note of a place at which chains are cut; begin to record there, where it pays."""
        self._in_module = False
        if self._left >= 0:
            self._settle()
            self._left = -1
            self._begin()

    def enter_module(self, module: Any) -> None:
        """Take note that a module is called: the first call since the last cut is one, too."""
        if not self._in_module:
            self.cut()
            self._in_module = True

    def _settle(self) -> None:
        """Enter what was heard into the account."""
        account = self._account
        account.heard(self._new + self._recurred, self._recurred)
        account.allowance = min(account.allowance, _ATTEMPTS * prices.ATTEMPT * self._distinct)
        self._due -= self._recurred
        self._new = self._recurred = 0.0
