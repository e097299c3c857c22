"""Whom a tensor's hooks follow when its history changes, case by case against PyTorch."""

import pytest

import torchlike

torch = pytest.importorskip("torch")

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
        "y = -x",
        *MOVED,
        "x.register_hook(lambda g: g * 2)",
        LATE,
    ),
    "only the former leaf is reached": ("y = -x", *MOVED, LATE, "x = y"),
    "made a result through a view of it": (
        "y = -x",
        "x.requires_grad_(False)",
        "x.view(2).add_(y)",
        LATE,
    ),
    "a leaf written to under no_grad": (
        "y = -x",
        EARLY,
        "with torch.no_grad(): x.mul_(2)",
        LATE,
        "x = x * 3 + y",
    ),
    "a result written to": ("x = x * 2", EARLY, "x.mul_(3)", LATE),
    "a result written to through a view": ("x = x * 2", EARLY, "x[0:1].mul_(3)", LATE),
    "a result that detach_ makes a leaf": (
        "x = x * 2",
        EARLY,
        "y = x * 5",
        "x.detach_()",
        "x.requires_grad_()",
        LATE,
        "x = x * 7 + y",
    ),
    "a detached result that is written to": (
        "x = x * 2",
        EARLY,
        "y = x * 5",
        "x.detach_()",
        "x.add_(y)",
        LATE,
    ),
}


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


def of_a_view(*lines):
    return ("z = x * 2", "v = z[:2]", *lines)


TIMES_TEN = "v.register_hook(lambda g: (seen.append(g.tolist()), g * 10)[1])"
#: Views with hooks that are written to afterwards.
VIEWS = {
    "multiplied": of_a_view(TIMES_TEN, "v.mul_(3)", "out = z"),
    "hooked again": of_a_view(TIMES_TEN, "v.mul_(3)", TIMES_TEN, "out = z * v[0]"),
    "used before": of_a_view(TIMES_TEN, "w = v.exp()", "v.mul_(3)", "out = z * w[0]"),
    "a view of the hooked one": of_a_view(TIMES_TEN, "v[0].mul_(3)", "out = z * z"),
    "an element of it": of_a_view(TIMES_TEN, "v[0] = x[1]", "out = z * z"),
    "copied into": of_a_view(TIMES_TEN, "v.copy_(x[1:] * 4)", "out = z * z"),
    "another view of its base": of_a_view(TIMES_TEN, "z[1:].mul_(3)", "out = z * v[0]"),
    "a hook on the node": of_a_view(
        "v.grad_fn.register_hook(lambda gi, go: (gi[0] * 10,))", "v.mul_(3)", "out = z"
    ),
    "a retained gradient": of_a_view("v.retain_grad()", TIMES_TEN, "v.mul_(3)", "out = v * 2"),
    "hooks of the base": of_a_view(TIMES_TEN.replace("v.", "z.", 1), "v.mul_(3)", "out = z"),
}


@pytest.mark.parametrize("lines", VIEWS.values(), ids=VIEWS)
def test_hooks_of_a_view_that_is_written_to(lines):
    def gradients(lib):
        x, seen = lib.tensor([1.0, 2.0, 3.0], requires_grad=True), []
        names = {"x": x, "seen": seen}
        for line in lines:
            exec(line, names)
        names["out"].sum().backward()
        v = names["v"]
        return x.grad.tolist(), seen, v.grad.tolist() if v.retains_grad else None

    found, wanted = gradients(torchlike), gradients(torch)
    assert found[1:] == wanted[1:]
    assert found[0] == pytest.approx(wanted[0], rel=1e-6)


@pytest.mark.parametrize("result", ["the leaf", "its gradient", 3])
def test_what_a_hook_after_a_gradient_returns(result):
    said = []
    for t in (torchlike, torch):
        p = t.ones(2, requires_grad=True)
        given = {"the leaf": lambda p: p, "its gradient": lambda p: p.grad}
        p.register_post_accumulate_grad_hook(given.get(result, lambda p: result))
        try:
            p.sum().backward()
            said.append(p.grad.tolist())
        except (RuntimeError, TypeError) as error:
            said.append((type(error), str(error)))
    assert said[0] == said[1]


@pytest.mark.parametrize("leaf", [True, False])
def test_a_hook_keeps_the_dtype(leaf):
    said = []
    for t in (torchlike, torch):
        p = t.ones(2, requires_grad=True)
        out = p * 2
        (p if leaf else out).register_hook(lambda g: g.double())
        with pytest.raises(RuntimeError) as caught:
            out.sum().backward()
        said.append(str(caught.value))
    assert said[0] == said[1]


def two_hooks(lib):
    """A leaf and its clone: a tensor hook trebles the gradient, then a node hook doubles it."""
    a = lib.tensor(1.0, requires_grad=True)
    b = a.clone()
    b.register_hook(lambda g: g * 3)
    b.grad_fn.register_prehook(lambda gs: tuple(g * 2 for g in gs))
    return a, b


KEPT = {
    "retained": "b.retain_grad(); b.sum().backward()",
    "as inputs of backward": "b.sum().backward(inputs=(b,))",
    "beside what it leads to": "b.sum().backward(inputs=(a, b))",
    "retained, others as inputs": "b.retain_grad(); b.sum().backward(inputs=(a,))",
    "asked for": "found = torch.autograd.grad(b.sum(), b)",
    "asked for beside what it leads to": "found = torch.autograd.grad(b.sum(), (a, b))",
    "asked for and retained": "b.retain_grad(); found = torch.autograd.grad(b.sum(), b)",
}


@pytest.mark.parametrize("script", KEPT.values(), ids=KEPT)
def test_which_hooks_a_kept_gradient_has_passed(script):
    def kept(lib):
        a, b = two_hooks(lib)
        names = {"torch": lib, "a": a, "b": b, "found": ()}
        exec(script, names)
        grads = [a.grad, b.grad if b.retains_grad else None, *names["found"]]
        return [None if g is None else g.item() for g in grads]

    assert kept(torchlike) == kept(torch)


def test_hooks_of_a_tensor():
    def hooks(lib):
        x = lib.ones(2, requires_grad=True)
        y = x * 2
        found = [x._backward_hooks, y._backward_hooks]
        handles = [t.register_hook(print) for t in (x, y)]
        found += [list(t._backward_hooks.values()) for t in (x, y)]
        for handle in handles:
            handle.remove()
        return [*found, *(not t._backward_hooks for t in (x, y))]

    assert hooks(torchlike) == hooks(torch)


#: What a hook on a node gives for the gradients it was shown.
GIVEN = {
    "fewer": lambda x, grads: grads[:-1],
    "more": lambda x, grads: (*grads, x.detach()),
    "a tensor": lambda x, grads: grads[0],
    "a list": lambda x, grads: [grads[0]],
    "numbers": lambda x, grads: (3,),
    "another shape": lambda x, grads: (grads[0][0],),
    "another dtype": lambda x, grads: (grads[0].double(),),
    "nothing for it": lambda x, grads: (None,),
    "another gradient": lambda x, grads: (grads[0] * 2,),
}


@pytest.mark.parametrize("register", ["register_hook", "register_prehook"])
@pytest.mark.parametrize("given", GIVEN)
def test_what_a_hook_on_a_node_gives_is_checked(given, register):
    def gradient(t):
        x = t.ones(2, 2, requires_grad=True)
        y = x.exp()

        def hook(grads, *_):
            return GIVEN[given](x, grads)

        getattr(y.grad_fn, register)(hook)
        try:
            y.sum().backward()
        except (RuntimeError, TypeError) as error:
            return type(error), str(error)
        return None if x.grad is None else [round(v, 5) for v in x.grad.flatten().tolist()]

    assert gradient(torchlike) == gradient(torch)
