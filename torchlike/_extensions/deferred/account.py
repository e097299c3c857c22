"""What a thread's calls have taken so far, by estimates, and what recording and compiling may take.

By the estimates of `prices`, in microseconds, and never by a clock: two runs of a script decide
alike. A program is bought when what recurs has cost as much as its compilation; recording may cost
a small part of what the script takes anyway, and more where programs win it back. So a script that
ends before anything pays takes what it takes at once.
"""

from __future__ import annotations

from torchlike._extensions.deferred import prices

#: What recording may cost, as a part of what runs by today's ways; the most that is kept of what
#: programs won.
_SHARE = 0.03
_MOST_WON = 50e3
#: The most that is kept for compiling.
_MOST_RENT = 3e6


class Account:
    """The estimates of one thread.

    Attributes:
      clock: all that was run.
      rent: what recurred and was run by today's ways, less the price of what was compiled.
      allowance: what recording may cost, less what it did.
      bought: how many programs were.
      ready: the clock's time at which the programs that were bought are used.
    """

    __slots__ = ("allowance", "bought", "clock", "ready", "rent")

    def __init__(self) -> None:
        self.clock = self.rent = self.allowance = self.ready = 0.0
        self.bought = 0

    def heard(self, price: float, recurred: float) -> None:
        """Take note of calls that were not recorded, of which some recurred."""
        self.allowance += _SHARE * price
        self.ran(price, recurred)

    def ran(self, price: float, recurred: float) -> None:
        """Take note of calls that were run by today's ways, of which some recurred."""
        self.clock += price
        self.rent = min(self.rent + recurred, _MOST_RENT)

    def ran_program(self, price: prices.Price) -> None:
        """Take note of a program that was run in the place of calls."""
        self.clock += price.as_program
        won = price.one_by_one - price.as_program
        self.allowance = max(self.allowance, min(self.allowance + won, _MOST_WON))

    def charge(self, price: float) -> None:
        """Take note of what recording took."""
        self.allowance -= price

    def buys(self, compiling: float) -> bool:
        """Return whether a program is worth compiling now, and pay for it if so."""
        if self.rent < compiling:
            return False
        self.rent -= compiling
        self.bought += 1
        self.ready = max(self.ready, self.clock) + compiling
        return True
