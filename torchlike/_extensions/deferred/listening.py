"""`RecurrenceListener`: hears what a thread computes, and has it recorded once it recurs.

Calls run by today's ways meanwhile, in each respect; the listener is told of the cells that are
made and written, as a capture and a queue are, and looks at their shapes alone, of many results at
once. Of the last fifteen
it keeps a rolling hash, whose older parts are shifted out. A hash that was met before says that a
loop's turn is like one before it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from torchlike._extensions.deferred import prices
from torchlike._extensions.deferred.account import Account

#: Bits by which the hash of the last results is shifted at each, and those that it has.
_SHIFT = 2
_BITS = (1 << 30) - 1
#: Results that are looked at together; and those that are waited for an optimizer's step or a
#: module's call to begin a chain with.
_AT_ONCE = 64
#: Hashes that are kept.
_MOST_HASHES = 1 << 14
#: Attempts to record that may be made in a row.
_ATTEMPTS = 4
#: Attempts that forms which are due are worth, and how much dearer than others.
_GRANTS, _GRANT = 3, 3
#: What is heard until it is asked again whether to record.
_A_WHILE = 10e3
#: Results of a loop's turn that is short: a program of it takes about as long to compile as its
#: forms do one by one. (In long ones many calls share a form.)
_SHORT = 100


class RecurrenceListener:
    """What is told of a thread's cells while its calls are not recorded. ``begin()`` is called
    where they should be from now on."""

    defers = defers_reads = False
    is_eager = True

    def __init__(self, account: Account, begin: Callable[[], None]) -> None:
        self._account = account
        self._begin = begin
        #: The shapes of results that have come since they were looked at.
        self._unheard: list[tuple[int, ...]] = []
        #: The part of the hash, the price of a result and what would be saved of it, by its shape.
        self._shapes: dict[tuple[int, ...], tuple[int, float, float]] = {}
        #: What has to recur until calls are recorded again, as a multiple of what compiling takes.
        self._patience = 1
        self._bought = 0
        #: How often calls may still be recorded because a form is due, whatever the allowance is.
        self._grants = _GRANTS
        self._forget()

    def _forget(self) -> None:
        self._window = 0
        #: The hashes that were met, and whether more than once.
        self._met: dict[int, bool] = {}
        #: The price of results since they were entered into the account; what would be saved of
        #: those that recurred since then; and how much that has to be until calls are recorded.
        self._heard = self._saved = 0.0
        self._due = prices.compiling_heard(0) * self._patience
        #: How many results recur, each by another hash.
        self._distinct = 0
        #: Whether calls are recorded from the next cut on.
        self._awaits_cut = False
        self._in_module = False

    def listen(self) -> None:
        """Listen from now on, after calls were recorded."""
        account = self._account
        compiling = prices.compiling_heard(self._distinct)
        if account.waits:
            self._due = 0.0
        elif account.bought > self._bought:
            self._due = compiling * self._patience
        elif account.missing < math.inf:
            self._due = account.missing
        else:  # in vain
            self._patience *= 2
            account.rent = 0.0
            self._due = compiling * self._patience
        self._bought, account.missing = account.bought, math.inf
        self._awaits_cut = self._in_module = False

    def is_near(self) -> bool:
        """Return whether a program may soon be compiled in the place of a form that is due: that
        is part of what recurs, which is short. Have it recorded then."""
        self._hear()
        if not self._met.get(self._window) or self._distinct > _SHORT:
            return False
        if not self._awaits_cut:
            if not self._grants:
                return False
            self._grants -= 1
            self._settle()
            account = self._account
            grant = _GRANT * prices.ATTEMPT * self._distinct
            account.allowance = max(account.allowance, grant)
            self._awaits_cut = True
        return True

    # -- told of cells -----------------------------------------------------------------------------

    def adopt(self, storage: Any) -> None:
        """Hear of a new storage. (Each result comes here.)"""
        cell = storage.cell
        heard = self._unheard
        try:
            heard.append(cell.shape)
        except AttributeError:  # a host buffer, or what is no array
            return
        if len(heard) >= _AT_ONCE:
            self._hear()
            if self._saved >= self._due or self._awaits_cut:
                self._wait_or_begin()

    def write(self, storage: Any, array: Any) -> None:
        """Write to a cell, and hear of it."""
        if storage.host is None:
            storage.cell = array
            self.adopt(storage)
        else:
            storage._write_host(array)

    def _hear(self) -> None:
        """Look at the results that have come."""
        shapes, met, window = self._shapes, self._met, self._window
        heard = saved = 0.0
        waits = self._account.waits
        unheard, self._unheard = self._unheard, []
        for shape in unheard:
            of_shape = shapes.get(shape)
            if of_shape is None:
                if not all(type(n) is int for n in shape):  # symbols, in a trace of JAX's
                    continue
                of_shape = shapes[shape] = hash(shape) & _BITS, *prices.of_result(shape)
            code, price, won = of_shape
            window = (window << _SHIFT ^ code) & _BITS
            heard += price
            again = met.get(window)
            if again is None:
                met[window] = False
                continue
            saved += won
            if not again:
                met[window] = True
                self._distinct += 1
                if not waits:
                    self._due += prices.COMPILING_RESULT * self._patience
        self._window = window
        self._heard += heard
        self._saved += saved
        if len(met) >= _MOST_HASHES:
            self._forget()

    # -- to record ---------------------------------------------------------------------------------

    def _wait_or_begin(self) -> None:
        """Have calls recorded where a chain is cut next, or after the results that come now."""
        if self._awaits_cut:
            self.cut()
            return
        self._settle()
        account = self._account
        if account.waits or account.allowance < prices.ATTEMPT * self._distinct:
            self._due = _A_WHILE
        else:
            self._awaits_cut = True

    def cut(self) -> None:
        """Take note of a place at which chains are cut; begin to record there, where it pays."""
        self._in_module = False
        if self._awaits_cut:
            self._settle()
            self._awaits_cut = False
            self._begin()

    def enter_module(self, module: Any) -> None:
        """Take note that a module is called: the first call since the last cut is one, too."""
        if not self._in_module:
            self.cut()
            self._in_module = True

    def _settle(self) -> None:
        """Enter what was heard into the account."""
        account = self._account
        account.heard(self._heard, self._saved)
        account.allowance = min(account.allowance, _ATTEMPTS * prices.ATTEMPT * self._distinct)
        self._due -= self._saved
        self._heard = self._saved = 0.0
