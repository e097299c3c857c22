"""Finds the first difference of two runs that an ``Observer`` has noted.

A difference is where it arises: a module that is given the same and gives another, gradients that
differ although the losses agree, parameters that differ although the gradients agree. What follows
from it is not told.

Rounding is no difference. Two values agree that are within the tolerance relative to the larger
norm; gradients, relative to a hundredth of the largest of their pass where that is more. Where a
gradient is next to nothing beside the others of its pass (of a bias before a normalisation, say,
which is rounding alone), an optimizer may make a large update of it: neither
that gradient nor what the parameter is from then on is judged, nor what its module gives alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from torchlike.porting.divergence.digests import all_apart, apart, describe, norm
from torchlike.porting.divergence.narrowing import NOISE, PART_OF_WHOLE

#: What a module gives is as exact as what it was given: an output far smaller than the input is
#: what is left of larger numbers.
_CANCELLED = 1e-3


@dataclass
class Divergence:
    """The first difference of two runs."""

    #: The step, counted from 1.
    step: int
    #: What differs first: "state", "forward", "calls", "input", "loss", "zero_grad", "backward",
    #: "gradients", "optimizer", "structure" or "script".
    kind: str
    #: The qualified name of the module in ``root``, the outermost; "" is the outermost itself.
    module: str | None = None
    root: str | None = None
    #: The module's class, or the optimizer's.
    of: str = ""
    says: str = ""
    details: list[str] = field(default_factory=list)
    #: Whether an update begins with the same options, gradients and state.
    same_before: bool = False
    #: The user's line where it happens, and what is known of the operation.
    line: str = ""
    operation: dict[str, Any] | None = None
    #: What to trace in each of the two runs to find the operation (the arguments of a ``Tracer``);
    #: None where none is to be found.
    trace: tuple[dict[str, Any], dict[str, Any]] | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the divergence as a dictionary, without what is to be traced."""
        internal = ("trace", "same_before")
        return {name: value for name, value in asdict(self).items() if name not in internal}


class Comparison:
    """Compares run ``a`` with run ``b``, event by event."""

    def __init__(self, a: dict[str, Any], b: dict[str, Any], tolerance: float) -> None:
        self._a = a
        self._b = b
        self._tolerance = tolerance
        #: Parameters whose gradients were rounding once, at least in some elements.
        self._noisy: set[str] = set()
        #: Modules that were given what differs, by nothing but such parameters.
        self._given_noise: set[tuple[str, str]] = set()
        #: Calls of the last forward, innermost first: the order in which backward does not come.
        self._called: list[dict[str, Any]] = []

    @property
    def modules(self) -> int:
        """How many modules the runs had."""
        return sum(len(modules) for modules in self._a["structure"].values())

    @property
    def steps(self) -> int:
        return min(self._a["steps"], self._b["steps"])

    @property
    def passes(self) -> int:
        """How many backward passes both runs made."""
        runs = (self._a["events"], self._b["events"])
        return min(sum(e["kind"] == "backward" for e in events) for events in runs)

    def first(self) -> Divergence | None:
        """Return the first difference; None where there is none."""
        events = zip(self._a["events"], self._b["events"], strict=False)
        for i, (a, b) in enumerate(events):
            found = self._event(a, b, i)
            if found is not None:
                if not self._a["steps"]:  # no optimizer: a backward pass ends a step
                    before = self._a["events"][:i]
                    found.step = 1 + sum(event["kind"] == "backward" for event in before)
                self._add_structure(found)
                return found
        return self._different_ends() or self._other_structure()

    def _event(self, a: dict[str, Any], b: dict[str, Any], i: int) -> Divergence | None:
        if _title(a) != _title(b):
            return self._at(a, "script", says=f"{_title(a)} here, {_title(b)} there")
        found: Divergence | None
        match a["kind"]:
            case "call":
                found = self._call(a, b) or self._given(a, b)
            case "backward":
                found = self._backward(a, b)
            case _:
                found = self._update(a, b)
        if found is None:
            return None
        wanted: dict[str, Any] | None = None
        match found.kind:
            case "input" | "loss" | "gradients":
                wanted = {"before": i}
            case "backward":
                passes = [n for n in range(i) if self._a["events"][n]["kind"] == "backward"]
                wanted = {"backward": i, "since": max(passes, default=-1)}
            case "optimizer" if found.same_before:
                wanted = {"update": i}
            case _:
                pass
        if wanted is not None:
            found.trace = (wanted, wanted)
        return found

    def _different_ends(self) -> Divergence | None:
        a, b = self._a["events"], self._b["events"]
        if len(a) == len(b):
            return None
        longer, where = (a, "here") if len(a) > len(b) else (b, "there")
        event = longer[min(len(a), len(b))]
        return self._at(event, "script", says=f"{_title(event)} {where} only")

    # --- forward

    def _call(self, a: dict[str, Any], b: dict[str, Any]) -> Divergence | None:
        """Compare a module's call, and note it: return the first difference within it; None where
        it comes from outside."""
        if a["step"] == 1 or not self._called or self._called[-1]["step"] != a["step"]:
            self._called = [one for one in self._called if one["step"] == a["step"]]
        if self._evaluates_noise(a):
            return None
        found = self._state(a, b) or self._children(a, b)
        self._called.append(a)
        if found is not None:
            return found
        if not self._same(a["inputs"], b["inputs"]):
            self._given_noise.add((a["root"], a["name"]))
            return None
        if any(_prefix(a) + name in self._noisy for name in a["state"]):
            return None
        outputs = a.get("outputs", []), b.get("outputs", [])
        if self._same(*outputs, floor=_CANCELLED * norm(a["inputs"])):
            return None
        found = self._at(a, "forward", says=f"same inputs, outputs {describe(*outputs)}")
        found.trace = (_where(a), _where(b))
        if a["training"] != b["training"]:
            found.details.append(f"training: {a['training']} and {b['training']}")
        return found

    def _evaluates_noise(self, call: dict[str, Any]) -> bool:
        """Return whether a call uses running statistics, behind which such parameters have moved
        on."""
        return not call["training"] and any(
            root == call["root"]
            and f"{name}.".startswith(f"{call['name']}." if call["name"] else "")
            for root, name in self._given_noise
        )

    def _state(self, a: dict[str, Any], b: dict[str, Any]) -> Divergence | None:
        """Return a difference of a module's own parameters and buffers."""
        if (a["root"], a["name"]) in self._given_noise:
            return None
        if a["state"].keys() != b["state"].keys():
            names = f"{', '.join(a['state']) or 'none'} and {', '.join(b['state']) or 'none'}"
            return self._at(a, "state", says=f"parameters and buffers: {names}")
        for name, one in a["state"].items():
            other = b["state"][name]
            if _prefix(a) + name not in self._noisy and apart(one, other) > self._tolerance:
                when = "as it is made or filled" if a["step"] == 1 else "since the last update"
                says = f"{name} differs {when}: {describe([one], [other])}"
                return self._at(a, "state", says=says)
        return None

    def _children(self, a: dict[str, Any], b: dict[str, Any]) -> Divergence | None:
        names = [[child["name"] for child in one["children"]] for one in (a, b)]
        if names[0] != names[1] and (a["library"] or a.get("hides") or b.get("hides")):
            return None  # the framework's own, which may compute it another way, or not all seen
        for child, other in zip(a["children"], b["children"], strict=False):
            if child["name"] != other["name"]:
                break
            found = self._call(child, other)
            if found is not None:
                return found
        if names[0] == names[1] or not self._same(a["inputs"], b["inputs"]):
            return None
        says = f"it calls {', '.join(names[0]) or 'none'} and {', '.join(names[1]) or 'none'}"
        return self._at(a, "calls", says=says)

    def _given(self, a: dict[str, Any], b: dict[str, Any]) -> Divergence | None:
        if self._same(a["inputs"], b["inputs"]):
            return None
        says = f"what the script gives to it differs: {describe(a['inputs'], b['inputs'])}"
        return self._at(a, "input", says=says)

    # --- backward and update

    def _backward(self, a: dict[str, Any], b: dict[str, Any]) -> Divergence | None:
        left = self._gradients(a["before"], b["before"])
        if left is not None:
            name, says = left
            found = self._at(a, "zero_grad", name, says=f"before backward(), gradient {says}")
            found.details.append("A gradient of an earlier step was left: zero_grad() ran once.")
            return found
        if not self._same(a["loss"], b["loss"]):
            return self._at(a, "loss", says=f"the loss: {describe(a['loss'], b['loss'])}")
        wrong = self._gradients(a.get("after", {}), b.get("after", {}))
        if wrong is None:
            return None
        name, says = wrong
        return self._at(a, "backward", name, says=f"same loss, gradient {says}")

    def _update(self, a: dict[str, Any], b: dict[str, Any]) -> Divergence | None:
        options = list(_different_options(a["options"], b["options"]))
        if options:
            found = self._at(a, "optimizer", says=options[0])
            found.details += options[1:]
            return found
        wrong = self._gradients(a["gradients"], b["gradients"])
        if wrong is not None:
            name, says = wrong
            return self._at(
                a, "gradients", name, says=f"between backward() and step(), gradient {says}"
            )
        kept = self._states(a.get("had", {}), b.get("had", {}))
        if kept is not None:
            return self._at(a, "optimizer", says=f"before the step, {kept}")
        after = a.get("parameters", {}), b.get("parameters", {})
        if after[0].keys() != after[1].keys():
            return self._at(a, "optimizer", says="it updates other parameters")
        for name, one in after[0].items():
            other = after[1][name]
            if name in self._noisy or apart(one, other) <= self._tolerance:
                continue
            changes = a["updates"].get(name), b["updates"].get(name)
            if changes[0] is not None and changes[1] is not None:
                floor = max(change["scale"] for change in changes if change is not None)
                weighted = changes[0]["weighted"], changes[1]["weighted"]
                if apart(*weighted, floor) <= self._tolerance:
                    self._noisy.add(name)
                    continue
            says = f"same gradients and options, {_short(name)} {describe([one], [other])}"
            found = self._at(a, "optimizer", says=says)
            found.same_before = True
            kept = self._states(a.get("has", {}), b.get("has", {}))
            if kept is not None:
                found.details.append(f"after the step, {kept}")
            return found
        return None

    def _states(self, a: dict[str, Any], b: dict[str, Any]) -> str | None:
        """Describe the first difference in the state that an optimizer keeps for parameters that
        are judged."""
        for name, one in a.items():
            other = b.get(name)
            of = name.partition(" of ")[2]
            if other is None or of in self._noisy or one["dtype"] != other["dtype"]:
                continue
            if apart(one, other) > self._tolerance:
                kind, _, parameter = name.partition(" of ")
                return f"{kind} of {_short(parameter)}: {describe([one], [other])}"
        return None

    def _gradients(self, a: dict[str, Any], b: dict[str, Any]) -> tuple[str, str] | None:
        """Compare gradients, and note those that are noise: return the parameter, and what is
        different, of the gradient that backward comes to first."""
        both = [one for one in (*a.values(), *b.values()) if one is not None]
        largest = norm(both)
        wrong = {}
        for name in a.keys() | b.keys():
            one, other = a.get(name), b.get(name)
            if (one is None) != (other is None):
                wrong[name] = "is none here" if one is None else "is none there"
            elif one is not None and other is not None:
                if max(norm([one]), norm([other])) <= NOISE * largest:
                    self._noisy.add(name)
                elif apart(one, other, PART_OF_WHOLE * largest) > self._tolerance:
                    wrong[name] = describe([one], [other])
        if not wrong:
            return None
        order = [f"{call['root']}:{call['name']}" for call in self._called]
        first = max(wrong, key=lambda name: _last(order, _owner(name)))
        return first, f"of {_short(first)} {wrong[first]}"

    # --- structure

    def _add_structure(self, found: Divergence) -> None:
        """Say of what the difference is found in whether it is another module altogether."""
        if found.module is None or found.root is None:
            return
        for root, a, b in self._pairs():
            if root == found.root and a["name"] == found.module and a != b:
                found.details.append(_other_module(a, b))

    def _other_structure(self) -> Divergence | None:
        for root, a, b in self._pairs():
            if a != b:
                return Divergence(
                    step=1,
                    kind="structure",
                    module=a["name"],
                    root=root,
                    of=a["class"],
                    says=f"{_other_module(a, b)}; no value differs by it",
                )
        return None

    def _pairs(self) -> Iterable[tuple[str, dict[str, str], dict[str, str]]]:
        for root, modules in self._a["structure"].items():
            others = {one["name"]: one for one in self._b["structure"].get(root, [])}
            for one in modules:
                if one["name"] in others:
                    yield root, one, others[one["name"]]

    # --- helpers

    def _same(self, a: Any, b: Any, floor: float = 0.0) -> bool:
        return all_apart(a, b, floor) <= self._tolerance

    def _at(
        self, event: dict[str, Any], kind: str, parameter: str | None = None, *, says: str
    ) -> Divergence:
        root, name, of = event.get("root"), event.get("name"), event.get("class", "")
        if parameter is not None:
            root, _, name = _owner(parameter).partition(":")
            of = self._class(root, name)
        elif event["kind"] == "update":
            of = event["optimizer"]
        return Divergence(
            event["step"], kind, module=name, root=root, of=of, says=says, line=event["line"]
        )

    def _class(self, root: str, name: str) -> str:
        modules = self._a["structure"].get(root, [])
        return next((one["class"] for one in modules if one["name"] == name), "")


def _where(call: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments that tell a ``Tracer`` of a module's call."""
    return {"call": call["number"], "within": call.get("within")}


def _title(event: dict[str, Any]) -> str:
    if event["kind"] == "call":
        return f"call of {event['root']}{'.' if event['name'] else ''}{event['name']}"
    return "backward()" if event["kind"] == "backward" else f"{event['optimizer']}.step()"


def _prefix(call: dict[str, Any]) -> str:
    """Return the text before the names of a module's own parameters."""
    return f"{call['root']}:{call['name']}." if call["name"] else f"{call['root']}:"


def _owner(parameter: str) -> str:
    """Return ``root:module`` of ``root:module.weight``."""
    root, _, name = parameter.partition(":")
    return f"{root}:{name.rpartition('.')[0]}"


def _short(parameter: str) -> str:
    return parameter.partition(":")[2]


def _last(order: list[str], name: str) -> int:
    return max((i for i, one in enumerate(order) if one == name), default=-1)


def _different_options(a: list[dict[str, Any]], b: list[dict[str, Any]]) -> Iterable[str]:
    if len(a) != len(b):
        yield f"{len(a)} and {len(b)} groups of parameters"
    for i, (group, other) in enumerate(zip(a, b, strict=False)):
        for name in group.keys() & other.keys():
            if group[name] != other[name]:
                yield f"param_groups[{i}]['{name}'] is {group[name]} and {other[name]}"


def _other_module(a: dict[str, str], b: dict[str, str]) -> str:
    return f"{a['class']}({a['options']}) and {b['class']}({b['options']})"
