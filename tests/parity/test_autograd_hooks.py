"""Whom a tensor's hooks follow when its history changes, case by case against PyTorch."""

import pytest

import torchlike

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

EARLY = "x.register_hook(record('early'))"
LATE = "x.register_hook(record('late'))"
#: A leaf that becomes a result of itself.
MOVED = ("x.requires_grad_(False)", "x.add_(y)")

PROGRAMS = {
    "registered after the leaf became a result": ("y = -x", *MOVED, LATE),
    "registered before and after": ("y = -x", EARLY, *MOVED, LATE),
    "registered before": ("y = -x", EARLY, *MOVED),
    "removed again": ("y = -x", *MOVED, LATE.replace("x.", "h = x.", 1), "h.remove()"),
    "replacing the gradient, then seeing it": (
        "y = -x", *MOVED, "x.register_hook(lambda g: g * 2)", LATE),
    "only the former leaf is reached": ("y = -x", *MOVED, LATE, "x = y"),
    "made a result through a view of it": (
        "y = -x", "x.requires_grad_(False)", "x.view(2).add_(y)", LATE),
    "a leaf written to under no_grad": (
        "y = -x", EARLY, "with torch.no_grad(): x.mul_(2)", LATE, "x = x * 3 + y"),
    "a result written to": ("x = x * 2", EARLY, "x.mul_(3)", LATE),
    "a result written to through a view": ("x = x * 2", EARLY, "x[0:1].mul_(3)", LATE),
    "a result that detach_ makes a leaf": (
        "x = x * 2", EARLY, "y = x * 5", "x.detach_()", "x.requires_grad_()", LATE, "x = x * 7 + y",
    ),
    "a detached result that is written to": (
        "x = x * 2", EARLY, "y = x * 5", "x.detach_()", "x.add_(y)", LATE),
}  # fmt: skip


def outcome(lib, lines):
    calls = []
    names = {
        "torch": lib,
        "x": lib.tensor([1.0, 2.0], requires_grad=True),
        "record": lambda name: lambda g: calls.append((name, g.tolist())),
    }
    names["leaf"] = names["x"]
    for line in lines:
        exec(line, names)
    try:
        (names["x"] * 3).sum().backward()
    except RuntimeError as error:
        calls.append(str(error))
    grad = None if names["leaf"].grad_fn is not None else names["leaf"].grad
    return calls, None if grad is None else grad.tolist()


@pytest.mark.parametrize("lines", PROGRAMS.values(), ids=PROGRAMS)
def test_hooks_follow_what_pytorch_lets_them_follow(lines):
    assert outcome(torchlike, lines) == outcome(torch, lines)


def test_hooks_of_a_former_leaf_change_what_reaches_it():
    def reached(lib):
        x = lib.ones(2, requires_grad=True)
        y = x * 2
        edge = lib.autograd.graph.get_gradient_edge(x)
        x.requires_grad_(False)
        x.add_(y)
        x.register_hook(lambda g: g * 10)
        return lib.autograd.grad((x * 3).sum(), edge)[0].tolist()

    assert reached(torchlike) == reached(torch) == [600.0, 600.0]
