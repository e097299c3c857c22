"""Runs passes one after the other, until nothing changes."""

from __future__ import annotations

import functools
import inspect
from collections import deque
from collections.abc import Callable
from typing import Any

from torchlike.fx.passes.infra.pass_base import PassResult
from torchlike.nn.modules.module import Module

__all__ = ["PassManager", "pass_result_wrapper", "this_before_that_pass_constraint"]


def pass_result_wrapper(fn: Any) -> Callable[..., PassResult] | None:
    """Wrap a function of a module as a pass: one that gives nothing has changed it."""
    if fn is None:
        return None

    def wrapped(gm: Any) -> PassResult:
        result = fn(gm)
        if result is None:
            return PassResult(gm, True)
        return result if isinstance(result, PassResult) else PassResult(result, True)

    if inspect.isfunction(fn):
        functools.update_wrapper(wrapped, fn)
    else:
        wrapped.__name__ = type(fn).__name__
    return wrapped


def this_before_that_pass_constraint(this: Any, that: Any) -> Callable[[Any, Any], bool]:
    """Return the constraint that one pass runs before another."""
    return lambda a, b: not (a == that and b == this)


def _topological_sort_passes(passes: list[Any], constraints: list[Any]) -> list[Any]:
    """Sort the passes into an order that the constraints allow, the given one as far as it goes.
    Raises RuntimeError where there is none."""
    if not constraints:
        return passes
    later: dict[Any, list[Any]] = {p: [] for p in passes}
    waiting = dict.fromkeys(passes, 0)
    for this in passes:
        for that in passes:
            if this is not that and not all(c(that, this) for c in constraints):
                later[this].append(that)
                waiting[that] += 1
    ready = deque(p for p in passes if not waiting[p])
    order = []
    while ready:
        order.append(ready.popleft())
        for user in later[order[-1]]:
            waiting[user] -= 1
            if not waiting[user]:
                ready.append(user)
    circle = [p for p in passes if waiting[p]]
    if circle:
        raise RuntimeError(f"Circular dependency detected within the following passes: {circle}")
    return order


class PassManager:
    """``PassManager(passes, constraints, steps)(module)``. RuntimeError for an order that breaks a
    constraint; an Exception that names the pass, and those before it, where one fails."""

    def __init__(
        self,
        passes: list[Any] | None = None,
        constraints: list[Any] | None = None,
        steps: int | None = None,
        run_checks_after_each_pass: bool = False,
        suppress_check_failures: bool = False,
    ) -> None:
        self.passes = passes or []
        self.constraints = constraints or []
        self.steps = steps or 1
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures
        self._validated = False

    def add_pass(self, _pass: Any) -> None:
        """Add a pass at the end."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Any) -> None:
        """Add a constraint on the order of passes."""
        self.constraints.append(constraint)
        self._validated = False

    def validate_constraints(self) -> None:
        """Raise RuntimeError where the passes are not in an order that the constraints allow."""
        if self._validated:
            return
        for constraint in self.constraints:
            for i, this in enumerate(self.passes):
                for j, that in enumerate(self.passes[i + 1 :], i + 1):
                    if not constraint(this, that):
                        raise RuntimeError(
                            f"pass schedule constraint violated. Expected {this} before {that} but "
                            f"found {this} at index {i} and {that} at index {j} in pass list."
                        )
        self._validated = True

    def solve_constraints(self) -> None:
        """Put the passes in an order that the constraints allow. RuntimeError where there is
        none."""
        self.passes = _topological_sort_passes(self.passes, self.constraints)
        self._validated = True

    def check(self, module: Any) -> None:
        """Check the module after the passes: subclasses override it."""

    def add_checks(self, check: Callable[[Any], Any]) -> None:
        """Have a function check the module. TypeError for one that takes more than it."""
        if len(inspect.signature(check).parameters) != 1:
            raise TypeError("PassManager check function should only take in one variable, a module")
        self.check = check  # type: ignore[method-assign]

    def __call__(self, module: Any) -> PassResult:
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        ever = False
        for _ in range(self.steps):
            modified = False
            for i, apply in enumerate(self.passes):
                module, changed = self._applied(i, apply, module)
                modified = modified or changed
                if self.run_checks_after_each_pass:
                    self.check(module)
            ever = ever or modified
            if not modified:
                break
        return PassResult(module, ever)

    def _applied(self, i: int, apply: Any, module: Module) -> PassResult:
        name = _name(apply)
        try:
            result = apply(module)
            if not isinstance(result, PassResult):
                raise TypeError(
                    f"The result of the pass {name} should be type PassResult. Please wrap it "
                    "with pass_result_wrapper()"
                )
        except Exception as error:
            before = [_name(p) for p in self.passes[:i]]
            raise Exception(
                f"An error occurred when running the {name!r} pass after the following passes: "
                f"{before}"
            ) from error
        return result


def _name(apply: Any) -> str:
    return apply.__name__ if inspect.isfunction(apply) else type(apply).__name__
