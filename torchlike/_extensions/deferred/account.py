"""What a thread's calls have taken so far, by estimates, and what recording and compiling may take.

By the estimates of `prices`, in microseconds, and never by a clock: two runs of a script decide
alike. A program is bought when running what recurs by today's ways has lost as much as compiling
it takes, less what compiling its calls one by one would take soon. Recording may cost a small part
of what the script takes anyway, and more where programs win it back. So a script that ends before
anything pays takes what it takes at once.
"""

from __future__ import annotations

import math

from torchlike._extensions.deferred import prices

#: What recording may cost, as a part of what runs by today's ways; the most that is kept of what
#: programs won.
_SHARE = 0.03
_MOST_WON = 50e3
#: The most that is kept for compiling.
_MOST_RENT = 30e6
#: How often a program's price has to have been lost before it is bought. A script that ends just
#: then has taken 1 / `_PATIENCE` of that in vain.
_PATIENCE = 1.5
#: The part of what compiling calls one by one would take that is sure to be spared: a script that
#: ends soon would have compiled some of them alone.
_SPARED = 0.85
#: The rent that may be missing for a program to be near: forms that are due wait no longer.
_NEAR = 50e3
#: The most that calls are thought to take, as a multiple of what is heard of them.
_MOST_UNHEARD = 8.0
#: The part of a compilation's processor time that passes by the clock, as XLA has several threads
#: and calls take longer than is estimated (Python's part is not).
_MEANWHILE = 0.3


class Account:
    """The estimates of one thread.

    Attributes:
      clock: all that was run.
      rent: what programs would have saved of what recurred, less the price of those bought.
      allowance: what recording may cost, less what it did.
      bought: how many programs were.
      ready: the clock's time at which the programs that were bought are used.
      known, guessed: what calls took that were run one by one and what a program would have saved,
        by what is known of them, and by what would have been heard of them.
      missing: how much more rent would have bought a program, of those that were asked for since
        calls are recorded.
    """

    __slots__ = ("allowance", "bought", "clock", "guessed", "known", "missing", "ready", "rent")

    def __init__(self) -> None:
        self.clock = self.rent = self.allowance = self.ready = 0.0
        self.known = self.guessed = (0.0, 0.0)
        self.missing = math.inf
        self.bought = 0

    @property
    def waits(self) -> bool:
        """Whether a program was bought that is not used yet."""
        return self.clock < self.ready

    @property
    def is_near(self) -> bool:
        """Whether a program may be bought soon, as far as one was asked for."""
        return self.missing <= _NEAR or self.missing == math.inf

    def heard(self, price: float, saved: float) -> None:
        """Take note of calls that were not recorded, and of what a program would have saved.

        Not all that a call does is heard, so its price is a guess by what is: it is set right by
        what is known of calls that were heard of, too.
        """
        if self.guessed[1]:
            (taken, spared), (guess, guess_spared) = self.known, self.guessed
            price *= min(max(taken / guess, 1.0), _MOST_UNHEARD)
            saved *= min(spared / guess_spared, _MOST_UNHEARD)
        self.allowance += _SHARE * price
        self.ran(price, saved)

    def compare(self, known: prices.Price, guessed: prices.Price) -> None:
        """Take note of what calls took, and of what would have been heard of them."""
        taken, spared = self.known
        self.known = taken + known.one_by_one, spared + known.saved
        taken, spared = self.guessed
        self.guessed = taken + guessed.one_by_one, spared + guessed.saved

    def ran(self, price: float, saved: float) -> None:
        """Take note of calls that were run by today's ways, and of what a program would have
        saved."""
        self.clock += price
        self.rent = min(self.rent + saved, _MOST_RENT)

    def ran_program(self, price: prices.Price) -> None:
        """Take note of a program that was run in the place of calls."""
        self.clock += price.as_program
        self.allowance = max(self.allowance, min(self.allowance + price.saved, _MOST_WON))

    def charge(self, price: float) -> None:
        """Take note of what recording took."""
        self.allowance -= price

    def missing_for(self, compiling: float, due: float) -> float:
        """Return how much more rent makes a program worth compiling: nothing from 0 downwards.
        ``due`` is what compiling its calls one by one would take soon, which is saved."""
        missing = _PATIENCE * (compiling - _SPARED * due) - self.rent
        if missing > 0:
            self.missing = min(self.missing, missing)
        return missing

    def buys(self, compiling: float, due: float) -> bool:
        """Return whether a program is worth compiling now, and pay for it if so."""
        if self.missing_for(compiling, due) > 0:
            return False
        self.rent = max(self.rent - _PATIENCE * compiling, 0.0)
        self.take(compiling)
        return True

    def take(self, compiling: float) -> None:
        """Take note of a program that is compiled from now on, behind those before it."""
        self.bought += 1
        self.ready = max(self.ready, self.clock) + _MEANWHILE * compiling
