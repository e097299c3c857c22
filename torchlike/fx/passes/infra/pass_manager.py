"""Runs passes one after the other, until nothing changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike.fx.passes.infra.pass_base import PassResult

__all__ = ["PassManager", "pass_result_wrapper", "this_before_that_pass_constraint"]


def pass_result_wrapper(fn: Any) -> Callable[..., PassResult] | None:
    """A function of a module as a pass: one that gives nothing has changed it."""
    if fn is None:
        return None

    def wrapped(gm: Any) -> PassResult:
        result = fn(gm)
        if result is None:
            return PassResult(gm, True)
        return result if isinstance(result, PassResult) else PassResult(result, True)

    wrapped.__name__ = getattr(fn, "__name__", type(fn).__name__)
    return wrapped


def this_before_that_pass_constraint(this: Any, that: Any) -> Callable[[Any, Any], bool]:
    """A constraint of order."""
    return lambda a, b: not (a == that and b == this)


class PassManager:
    """``PassManager(passes, constraints, steps)(module)``. RuntimeError for an order that breaks a
    constraint."""

    def __init__(
        self, passes: list[Any] | None = None, constraints: list[Any] | None = None,
        steps: int | None = None, run_checks_after_each_pass: bool = False,
        suppress_check_failures: bool = False,
    ) -> None:  # fmt: skip
        self.passes = passes or []
        self.constraints = constraints or []
        self.steps = steps or 1
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures
        self._validated = False

    def add_pass(self, _pass: Any) -> None:
        """Put a pass at the end."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Any) -> None:
        """Add a constraint of order."""
        self.constraints.append(constraint)
        self._validated = False

    def validate_constraints(self) -> None:
        """RuntimeError where the passes are not in an order that the constraints allow."""
        if self._validated:
            return
        for constraint in self.constraints:
            for i, this in enumerate(self.passes):
                for that in self.passes[i + 1 :]:
                    if not constraint(this, that):
                        raise RuntimeError(
                            f"pass schedule constraint violated. Expected {this} before {that} but "
                            "found it after"
                        )
        self._validated = True

    def check(self, module: Any) -> None:
        """What subclasses check after the passes."""

    def add_checks(self, check: Callable[[Any], None]) -> None:
        """Have a function check the module."""
        self.check = check  # type: ignore[method-assign]

    def __call__(self, module: Any) -> PassResult:
        self.validate_constraints()
        self.check(module)
        ever = False
        for _ in range(self.steps):
            modified = False
            for apply in self.passes:
                result = apply(module)
                if not isinstance(result, PassResult):
                    raise TypeError(
                        f"The result of the pass {apply} should be type PassResult. Please wrap it "
                        "with pass_result_wrapper()"
                    )
                module, changed = result
                modified = modified or changed
                if self.run_checks_after_each_pass:
                    self.check(module)
            ever = ever or modified
            if not modified:
                break
        return PassResult(module, ever)
