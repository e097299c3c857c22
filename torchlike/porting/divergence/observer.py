"""Notes what a run of a training script does, in digests: what each module is given and gives, what
gradients, parameters and options of optimizers are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from torchlike.porting.divergence.digests import Digest, digest, digests, of_tensor
from torchlike.porting.divergence.framework import Framework
from torchlike.porting.divergence.watch import EnoughSeen, Watch

#: Options of optimizers that say how an update is computed, not what it is.
_ONLY_HOW = ("params", "foreach", "fused", "capturable", "differentiable", "param_names")

#: Part of a step's largest gradient that an element's stands out from.
_ROUNDING = 1e-3

#: Part of a parameter that a change is told relative to, where it is less: it is as exact as that.
_PART = 1e-2

#: Packages whose modules may be computed without calling the modules that they hold.
_LIBRARY = ("torch.nn.", "torchlike.nn.")


class Observer(Watch):
    """Notes the events of the first ``steps`` updates, and ends the script then."""

    def __init__(self, framework: Framework, steps: int | None = None) -> None:
        super().__init__(framework)
        self._steps = steps
        self._noted: list[dict[str, Any]] = []
        #: Parameters and gradients as an update begins.
        self._before: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        self._open: list[dict[str, Any]] = []
        #: Outermost modules by their label: kept, so that an identity stays one module's.
        self._roots: dict[str, Any] = {}
        self._names: dict[int, tuple[str, str]] = {}
        self._structure: dict[str, list[dict[str, str]]] = {}

    def result(self) -> dict[str, Any]:
        """All that was noted: numbers and words fit for JSON."""
        return {
            "framework": self.framework.name,
            "steps": self.updates,
            "structure": self._structure,
            "events": self._noted,
        }

    def call(self, module: Any, number: int, proceed: Callable[[], Any], given: Any) -> Any:
        event = self.quietly(lambda: self._beginning(module, number, given))
        (self._open[-1]["children"] if self._open else self._noted).append(event)
        self._open.append(event)
        try:
            result = proceed()
        finally:
            self._open.pop()
        event["outputs"] = self._digests(result)
        return result

    def _beginning(self, module: Any, number: int, given: Any) -> dict[str, Any]:
        root, name = self._name(module)
        own = [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]
        return {
            "kind": "call", "step": self.updates + 1, "number": number, "line": self.line(),
            "root": root, "name": name, "class": type(module).__qualname__,
            "library": f"{type(module).__module__}.".startswith(_LIBRARY),
            "training": module.training,
            "inputs": self._digests(given),
            "state": {key: self._digest(value) for key, value in own},
            "children": [],
        }  # fmt: skip

    def backward(self, loss: Any, proceed: Callable[[], None]) -> None:
        event = {
            "kind": "backward", "step": self.updates + 1, "line": self.line(),
            "before": self._gradients(), "loss": self._digests(loss),
        }  # fmt: skip
        self._noted.append(event)
        proceed()
        event["after"] = self._gradients()

    def update_begins(self, optimizer: Any) -> None:
        parameters = self._optimized(optimizer)
        self._noted.append(
            {
                "kind": "update", "step": self.updates + 1, "line": self.line(),
                "optimizer": type(optimizer).__qualname__,
                "options": [
                    {key: _plain(value) for key, value in group.items() if key not in _ONLY_HOW}
                    for group in optimizer.param_groups
                ],
                "gradients": self._gradients(parameters),
            }
        )  # fmt: skip
        self._before = self.quietly(lambda: self._values(parameters))

    def update_ends(self, optimizer: Any) -> None:
        event = next(e for e in reversed(self._noted) if e["kind"] == "update")
        parameters = self._optimized(optimizer)
        event["parameters"] = {key: self._digest(p) for key, p in parameters.items()}
        event["updates"] = self.quietly(lambda: self._updates(parameters))
        if self.updates == self._steps:
            raise EnoughSeen

    def _values(self, parameters: dict[str, Any]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Copies of the values and of the gradients of the parameters that have both."""
        found = {}
        for key, p in parameters.items():
            pair = self.framework.array(p), p.grad is not None and self.framework.array(p.grad)
            if isinstance(pair[0], np.ndarray) and isinstance(pair[1], np.ndarray):
                found[key] = _copy(pair[0]), _copy(pair[1])
        return found

    def _updates(self, parameters: dict[str, Any]) -> dict[str, Digest]:
        """By how much each parameter was changed, where its gradient was more than rounding.

        Adam and its like divide a gradient by its own size: where the gradient is rounding, so is
        the direction of the update. Elements count by how far their gradients stand out.
        """
        gradients = [np.abs(gradient) for _, gradient in self._before.values()]
        level = _ROUNDING * max((float(g.max()) for g in gradients if g.size), default=0.0)
        made = {}
        for key, (before, gradient) in self._before.items():
            after = self.framework.array(parameters[key])
            if after is None:
                continue
            change = after - before
            size = np.abs(gradient) ** 2
            weight = np.divide(size, size + level**2, out=np.zeros_like(size), where=size > 0)
            made[key] = {
                "weighted": digest(change * weight),
                "scale": max(_norm(change), _PART * _norm(before)),
            }
        self._before = {}
        return made

    # --- names

    def _name(self, module: Any) -> tuple[str, str]:
        if id(module) not in self._names and self.stack:
            self._register(self._names[id(self.stack[0])][0], self.stack[0])  # it may be new there
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
        """Parameters of the modules seen, by the label of the outermost and their name in it."""
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
        return self.quietly(lambda: of_tensor(tensor, self.framework.array))

    def _digests(self, value: Any) -> list[Digest]:
        return self.quietly(lambda: digests(value, self.framework.tensor, self.framework.array))

    def _gradients(self, parameters: dict[str, Any] | None = None) -> dict[str, Digest | None]:
        parameters = self._parameters() if parameters is None else parameters
        return {
            name: None if p.grad is None else self._digest(p.grad) for name, p in parameters.items()
        }


def _copy(values: np.ndarray) -> np.ndarray:
    return np.array(values, np.complex128 if values.dtype.kind == "c" else np.float64)


def _norm(values: np.ndarray) -> float:
    return float(np.linalg.norm(values.reshape(-1)))


def _plain(value: Any) -> Any:
    """An option's value in a form that two processes can compare."""
    if isinstance(value, (tuple, list)):
        return [_plain(part) for part in value]
    if value is None or isinstance(value, (bool, str)):
        return value
    return float(value) if hasattr(value, "__float__") else repr(type(value).__qualname__)
