"""Notes what a run of a training script does, in digests: what each module is given and gives, what
gradients, parameters and options of optimizers are."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from torchlike.porting.divergence.digests import Digest, digest, of_tensor
from torchlike.porting.divergence.framework import WatchedFramework
from torchlike.porting.divergence.scope import EventScope, resolved
from torchlike.porting.divergence.watch import EnoughSeen, EventWatch
from torchlike.porting.step_finder import StepFinder

#: Options of optimizers that say how an update is computed, not what it is.
_ONLY_HOW = ("params", "foreach", "fused", "capturable", "differentiable", "param_names")

#: Part of a step's largest gradient that an element's stands out from.
_ROUNDING = 1e-3

#: Part of a parameter that a change is told relative to, where it is less: it is as exact as that.
_PART = 1e-2

#: Backward passes for each update that is asked for, after which a script without any is ended.
_PASSES = 10

#: Packages whose modules may be computed without calling the modules that they hold.
_LIBRARY = ("torch.nn.", "torchlike.nn.")


class EventObserver(EventWatch):
    """Notes the events of the first ``steps`` updates, and ends the script then.

    ``finder`` is told of what a step consists of.
    """

    def __init__(
        self,
        framework: WatchedFramework,
        steps: int | None = None,
        finder: StepFinder | None = None,
    ) -> None:
        super().__init__(framework)
        self._steps = steps
        self._finder = finder or StepFinder(looking=False)
        #: Outermost modules by their label: kept, so that an identity stays one module's.
        self._roots: dict[str, Any] = {}
        self._names: dict[int, tuple[str, str]] = {}
        self._structure: dict[str, list[dict[str, str]]] = {}
        #: The optimizers that step in programs, by their ids, and their options before the call
        #: that is under way: a program takes the learning rate anew at each.
        self._captured: dict[int, Any] = {}
        self._options_now: dict[int, list[dict[str, Any]]] = {}

    @contextlib.contextmanager
    def around_compiled(self) -> Iterator[None]:
        self._options_now = {key: _options(each) for key, each in self._captured.items()}
        yield

    def result(self) -> dict[str, Any]:
        """Return everything that was noted: numbers and words fit for JSON."""
        for event in self.scope.noted:
            for name in ("was", "is"):  # of an update that has not ended
                event.pop(name, None)
        return {
            "framework": self.framework.name,
            "steps": self.scope.updates,
            "programs": self.programs,
            "seed": self.framework.initial_seed(),
            "structure": self._structure,
            "events": self.scope.noted,
            "step_function": self._finder.result(),
        }

    def call(self, module: Any, number: int, proceed: Callable[[], Any], given: Any) -> Any:
        self._finder.forward()
        event = self.quietly(lambda: self._beginning(module, number, given))
        self._siblings().append(event)
        self.scope.open.append(event)
        try:
            result = proceed()
        finally:
            self.scope.open.pop()
        event["outputs"] = self.digests(result)
        return result

    def _siblings(self) -> list[dict[str, Any]]:
        scope = self.scope
        return scope.open[-1]["children"] if scope.open else scope.noted

    def unseen(self) -> None:
        if self.scope.open:
            self.scope.open[-1]["hides"] = True

    def _beginning(self, module: Any, number: int, given: Any) -> dict[str, Any]:
        root, name = self._name(module)
        own = [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]
        return {
            "kind": "call",
            "step": self.scope.updates + 1,
            "number": number,
            "line": self.line(),
            "root": root,
            "name": name,
            "class": type(module).__qualname__,
            "library": f"{type(module).__module__}.".startswith(_LIBRARY),
            "training": module.training,
            "inputs": self.digests(given),
            "state": {key: self._digest(value) for key, value in own},
            "children": [],
        }

    def backward(self, loss: Any, proceed: Callable[[], None]) -> None:
        self._finder.backward()
        event = {
            "kind": "backward",
            "step": self.scope.updates + 1,
            "line": self.line(),
            "before": self._gradients(),
            "loss": self.digests(loss),
        }
        self.scope.noted.append(event)
        proceed()
        event["after"] = self._gradients()
        if self.scope.capture is None:
            self._end()

    def update_begins(self, optimizer: Any) -> None:
        parameters = self._optimized(optimizer)
        event = {
            "kind": "update",
            "step": self.scope.updates + 1,
            "line": self.line(),
            "optimizer": type(optimizer).__qualname__,
            "options": _options(optimizer),
            "gradients": self._gradients(parameters),
            "had": self._states(optimizer, parameters),
            "was": self.quietly(lambda: self._values(parameters)),
        }
        if self.scope.capture is not None:
            event["of"] = id(optimizer)
            self._captured[id(optimizer)] = optimizer
        self.scope.noted.append(event)

    def update_ends(self, optimizer: Any) -> None:
        self._finder.update()
        event = next(e for e in reversed(self.scope.noted) if e["kind"] == "update")
        parameters = self._optimized(optimizer)
        event["parameters"] = {key: self._digest(p) for key, p in parameters.items()}
        event["has"] = self._states(optimizer, parameters)
        event["is"] = self.quietly(
            lambda: {key: self.array(parameters[key]) for key in event["was"]}
        )
        if self.scope.capture is None:
            _fill(event)
            self._end()

    def _end(self) -> None:
        """End the script where enough was seen."""
        if self._steps is None:
            return
        noted = self.scope.noted
        passes = 0 if self.scope.updates else sum(e["kind"] == "backward" for e in noted)
        if self.scope.updates >= self._steps or passes >= _PASSES * self._steps:
            raise EnoughSeen

    def program_ran(self, program: EventScope, arrays: list[np.ndarray | None]) -> None:
        for event in resolved(program.noted, arrays):
            self._place(event)
            self._siblings().append(event)

    def after_program(self) -> None:
        self._end()

    def _place(self, event: dict[str, Any]) -> None:
        """Let an event of a program be one of the script's, now."""
        event["step"] += self.scope.updates
        if event["kind"] == "update":
            event["options"] = self._options_now.get(event.pop("of"), event["options"])
            _fill(event)
        if event["kind"] == "call":
            event["within"] = event["number"]
            event["number"] += self.scope.calls
            for child in event["children"]:
                self._place(child)

    def _values(self, parameters: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
        """Copy the values and the gradients of the parameters that have both."""
        found = {}
        for key, p in parameters.items():
            if p.grad is not None:
                pair = self.array(p), self.array(p.grad)
                if pair[0] is not None and pair[1] is not None:
                    found[key] = _copy(pair[0]), _copy(pair[1])
        return found

    def _states(self, optimizer: Any, parameters: dict[str, Any]) -> dict[str, Digest]:
        """Return digests of what an optimizer keeps of each parameter."""
        return {
            f"{name} of {key}": self._digest(value)
            for key, p in parameters.items()
            for name, value in optimizer.state.get(p, {}).items()
            if isinstance(value, self.framework.tensor)
        }

    # --- names

    def _name(self, module: Any) -> tuple[str, str]:
        stack = self.scope.stack
        if id(module) not in self._names and stack:
            self._register(self._names[id(stack[0])][0], stack[0])  # it may be new there
        if id(module) not in self._names:
            label = kind = type(module).__qualname__
            others = 1
            while label in self._roots:
                others += 1
                label = f"{kind}#{others}"
            self._roots[label] = module
            self._register(label, module)
        return self._names[id(module)]

    def _register(self, label: str, root: Any) -> None:
        for name, module in root.named_modules():
            if id(module) not in self._names:
                self._names[id(module)] = (label, name)
                self._structure.setdefault(label, []).append(
                    {
                        "name": name,
                        "class": type(module).__qualname__,
                        "options": module.extra_repr(),
                    }
                )

    def _parameters(self) -> dict[str, Any]:
        """Return parameters of the modules seen, by the label of the outermost and their name in
        it."""
        seen: set[int] = set()
        found = {}
        for label, root in self._roots.items():
            for name, parameter in root.named_parameters():
                if id(parameter) not in seen:
                    seen.add(id(parameter))
                    found[f"{label}:{name}"] = parameter
        return found

    def _optimized(self, optimizer: Any) -> dict[str, Any]:
        names = {id(parameter): name for name, parameter in self._parameters().items()}
        return {
            names.get(id(p), f":param_groups[{i}]['params'][{j}]"): p
            for i, group in enumerate(optimizer.param_groups)
            for j, p in enumerate(group["params"])
        }

    # --- digests

    def _digest(self, tensor: Any) -> Digest:
        return self.quietly(lambda: of_tensor(tensor, self.array))

    def _gradients(self, parameters: dict[str, Any] | None = None) -> dict[str, Digest | None]:
        parameters = self._parameters() if parameters is None else parameters
        return {
            name: None if p.grad is None else self._digest(p.grad) for name, p in parameters.items()
        }


def _options(optimizer: Any) -> list[dict[str, Any]]:
    """Return what says how an optimizer updates, of each group of parameters."""
    return [
        {key: _plain(value) for key, value in group.items() if key not in _ONLY_HOW}
        for group in optimizer.param_groups
    ]


def _fill(event: dict[str, Any]) -> None:
    """Say by how much each parameter was changed, where its gradient was more than rounding.

    Adam and its like divide a gradient by its own size: where the gradient is rounding, so is the
    direction of the update. Elements count by how far their gradients stand out.
    """
    was = {key: (_copy(p), _copy(gradient)) for key, (p, gradient) in event.pop("was").items()}
    is_ = event.pop("is")
    gradients = [np.abs(gradient) for _, gradient in was.values()]
    level = _ROUNDING * max((float(g.max()) for g in gradients if g.size), default=0.0)
    event["updates"] = {}
    for key, (before, gradient) in was.items():
        after = is_[key]
        if after is None:
            continue
        change = after - before
        size = np.abs(gradient) ** 2
        weight = np.divide(size, size + level**2, out=np.zeros_like(size), where=size > 0)
        event["updates"][key] = {
            "weighted": digest(change * weight),
            "scale": max(_norm(change), _PART * _norm(before)),
        }


def _copy(values: Any) -> Any:
    if isinstance(values, dict):  # a program's, which are not there yet
        return values
    return np.array(values, np.complex128 if values.dtype.kind == "c" else np.float64)


def _norm(values: np.ndarray) -> float:
    return float(np.linalg.norm(values.reshape(-1)))


def _plain(value: Any) -> Any:
    """Convert an option's value to a form that two processes can compare."""
    if isinstance(value, (tuple, list)):
        return [_plain(part) for part in value]
    if value is None or isinstance(value, (bool, str)):
        return value
    return float(value) if hasattr(value, "__float__") else repr(type(value).__qualname__)
