"""Changes of modules' tables, hooks and parameter groups inside a jitted function."""

import itertools
import types

import pytest

import torchlike as torch
from torchlike._core.errors import JitCaptureError

WAYS = pytest.mark.parametrize("compile", [torch.jit, torch.compile], ids=["jit", "compile"])


class Running(torch.nn.Module):
    """Sums up what it sees, in a buffer that it makes at its first call."""

    def forward(self, x):
        if not hasattr(self, "run"):
            self.register_buffer("run", x * 0)
        self.run = self.run + x
        return self.run * 1


class Named(Running):
    def forward(self, x):
        if "run" not in self._buffers:
            self._buffers["run"] = x * 0
        self.run = self.run + x
        return self.run * 1


class Always(Running):
    def forward(self, x):
        before = self.run if hasattr(self, "run") else x * 0
        self.register_buffer("run", before + x)
        return self.run * 1


@WAYS
@pytest.mark.parametrize("kind", [Running, Named, Always])
def test_a_buffer_made_at_the_first_call_compiles_at_the_second(kind, compile):
    net = kind()
    f = compile(lambda x: net(x))
    assert [f(torch.ones(1)).item() for _ in range(6)] == [1, 2, 3, 4, 5, 6]
    assert f.compiles == 2
    assert not f.fell_back


@WAYS
def test_an_optimizer_made_in_the_first_step_compiles_at_the_second(compile):
    net, state = torch.nn.Linear(1, 1), types.SimpleNamespace(opt=None)

    @compile
    def step(x):
        if state.opt is None:
            state.opt = torch.optim.Adam(net.parameters(), lr=0.1)
        loss = net(x).sum()
        state.opt.zero_grad()
        loss.backward()
        state.opt.step()
        return loss.detach()

    losses = [step(torch.ones(1)).item() for _ in range(6)]
    assert all(b < a for a, b in itertools.pairwise(losses))
    assert step.compiles == 2
    assert not step.fell_back


@WAYS
def test_caches_by_length_compile_twice_for_each(compile):
    net = torch.nn.Identity()

    @compile
    def f(x):
        name = f"mask{len(x)}"
        if not hasattr(net, name):
            net.register_buffer(name, torch.arange(len(x)) * 1.0, persistent=False)
        return (x * getattr(net, name)).sum()

    for _ in range(3):
        assert [f(torch.ones(n)).item() for n in (1, 2, 3, 4, 5)] == [0, 1, 3, 6, 10]
    assert not f.fell_back
    # Each new buffer is another structure to the programs of the other lengths.
    n = f.compiles
    assert [f(torch.ones(n)).item() for n in (1, 2, 3, 4, 5)] == [0, 1, 3, 6, 10]
    assert f.compiles == n


@pytest.mark.usefixtures("compiled_at_once")
@WAYS
def test_a_hook_for_the_time_of_the_call_compiles_once(compile):
    net = torch.nn.Linear(2, 2)

    @compile
    def features(x):
        found = []
        handle = net.register_forward_hook(lambda m, args, y: found.append(y))
        net(x)
        handle.remove()
        return found[0]

    x = torch.ones(2)
    for _ in range(4):
        assert features(x).tolist() == net(x).tolist()
    assert features.compiles == 1


def test_what_changes_at_each_call_is_compiled_anew_with_a_warning():
    net = torch.nn.Sequential()

    @torch.jit
    def f(x):
        net.append(torch.nn.Identity())
        return x * len(net)

    found = [f(torch.ones(1)).item() for _ in range(2)]
    with pytest.warns(
        RuntimeWarning, match=r"the children of Sequential \(test_structure.py:\d+\)"
    ):
        found.append(f(torch.ones(1)).item())
    found += [f(torch.ones(1)).item() for _ in range(2)]
    assert found == [1, 2, 3, 4, 5]
    assert f.compiles == 5


def test_what_changes_at_each_call_runs_eagerly_where_that_may_be():
    net = torch.nn.Linear(1, 1)

    @torch.compile
    def f(x):
        net.register_forward_hook(lambda m, args, y: y)
        return x * len(net._forward_hooks)

    found = [f(torch.ones(1)).item() for _ in range(2)]
    with pytest.warns(RuntimeWarning, match="runs eagerly.*the hooks of Linear"):
        found.append(f(torch.ones(1)).item())
    found += [f(torch.ones(1)).item() for _ in range(2)]
    assert found == [1, 2, 3, 4, 5]
    assert f.compiles == 3


def _tables(net, opt):
    hooks = {n: list(t.values()) for n, t in vars(net).items() if n.endswith("_hooks")}
    groups = [list(g["params"]) for g in opt.param_groups]
    tables = {n: dict(vars(net)[n]) for n in ("_parameters", "_buffers", "_modules")}
    plain = {n: v for n, v in vars(net).items() if isinstance(v, (bool, torch.Tensor, set))}
    return tables, hooks, groups, {**plain, "set": set(net._non_persistent_buffers_set)}


CHANGES = {
    "register_buffer": lambda net, opt, x: net.register_buffer("new", x * 1, persistent=False),
    "rebind": lambda net, opt, x: setattr(net, "b", x * 1),
    "plain": lambda net, opt, x: setattr(net, "h", x * 1),
    "parameter": lambda net, opt, x: setattr(net, "b", torch.nn.Parameter(x * 1)),
    "child": lambda net, opt, x: setattr(net, "c", torch.nn.Linear(1, 1)),
    "child for a buffer": lambda net, opt, x: setattr(net, "b", torch.nn.Linear(1, 1)),
    "parameter for a tensor": lambda net, opt, x: setattr(net, "t", torch.nn.Parameter(x * 1)),
    "del": lambda net, opt, x: delattr(net, "b"),
    "del of a tensor": lambda net, opt, x: delattr(net, "t"),
    "del of a child": lambda net, opt, x: delattr(net, "0"),
    "append": lambda net, opt, x: net.append(torch.nn.ReLU()),
    "del of an element": lambda net, opt, x: net.__delitem__(0),
    "hook": lambda net, opt, x: net.register_forward_hook(print),
    "backward hook": lambda net, opt, x: net.register_full_backward_hook(print),
    "group": lambda net, opt, x: opt.add_param_group({"params": [torch.nn.Parameter(x * 1)]}),
    "state": lambda net, opt, x: opt.load_state_dict(opt.state_dict()),
    "requires_grad": lambda net, opt, x: net.requires_grad_(False),
}


def _net():
    net = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.Tanh())
    net.register_buffer("b", torch.ones(1), persistent=False)
    net.t = torch.ones(1)
    return net, torch.optim.SGD(net.parameters(), lr=0.1)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_body_that_raises_leaves_all_as_it_was(change):
    net, opt = _net()
    before = _tables(net, opt)

    @torch.jit
    def f(x):
        change(net, opt, x)
        raise ZeroDivisionError

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            f(torch.ones(1))
        assert str(_tables(net, opt)) == str(before)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_body_that_is_traced_twice_changes_once(change):
    """An argument that is also reached from outside has it captured once more."""
    (net, opt), (other, other_opt) = _net(), _net()
    x = torch.ones(1)

    def body(net, opt):
        def f(t):
            change(net, opt, t)
            return t + x

        return f

    assert torch.jit(body(net, opt))(x).tolist() == body(other, other_opt)(x).tolist()
    found, expected = _tables(net, opt), _tables(other, other_opt)
    assert [list(t) for t in found[0].values()] == [list(t) for t in expected[0].values()]
    assert {n: len(t) for n, t in found[1].items()} == {n: len(t) for n, t in expected[1].items()}
    assert list(map(len, found[2])) == list(map(len, expected[2]))
    assert found[3].keys() == expected[3].keys()
    assert found[3]["set"] == expected[3]["set"]


@pytest.mark.sampled(every=9)
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_branch_on_a_value_may_not_change_them(change):
    net, opt = _net()
    before = _tables(net, opt)

    @torch.jit
    def f(x):
        if x.sum() > 0:
            change(net, opt, x)
            x = x * 2
        return x

    with pytest.raises(JitCaptureError):
        f(torch.ones(1))
    assert str(_tables(net, opt)) == str(before)


def test_a_module_made_in_a_branch_is_its_own():
    class Twice(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.act = torch.nn.ReLU()
            self.more = torch.nn.Sequential(torch.nn.Tanh())

        def forward(self, x):
            return self.more(self.act(x)) * 2

    @torch.jit
    def f(x):
        return Twice()(x) if x.sum() > 0 else x

    assert f(torch.zeros(1) - 1).item() == -1
    assert f(torch.ones(1)).item() == pytest.approx(2 * torch.tanh(torch.ones(1)).item())


def test_other_programs_see_what_one_has_changed():
    net = torch.nn.Sequential()
    counts = torch.jit(lambda x: x * len(list(net.children())))

    @torch.jit
    def grows(x):
        net.add_module("first", torch.nn.Identity())
        return x

    for expected in (0, 0):
        assert counts(torch.ones(1)).item() == expected
    grows(torch.ones(1))
    for expected in (1, 1):
        assert counts(torch.ones(1)).item() == expected
    assert counts.compiles == 2


def test_a_slot_that_is_missing_is_not_one_that_is_none():
    net = torch.nn.Identity()

    @torch.jit
    def f(x):
        known = hasattr(net, "h")
        net.h = x * 2
        return x * (2 if known else 1)

    assert [f(torch.ones(1)).item() for _ in range(3)] == [1, 2, 2]
    net.h = None
    assert f(torch.ones(1)).item() == 2
    del net.h
    assert [f(torch.ones(1)).item() for _ in range(3)] == [1, 2, 2]
    assert f.compiles == 3


def test_the_first_result_is_the_object_that_was_kept():
    kept = []

    @torch.jit
    def f(x, w):
        y = (x * w) ** 2
        kept.append(y)
        return y

    w = torch.ones(1, requires_grad=True)
    y = f(torch.ones(1) * 3, w)
    assert y is kept[0]
    kept[0].backward()
    assert w.grad.tolist() == [18]


def test_leaves_that_a_body_lets_require_grad_get_gradients():
    w = torch.ones(1)

    @torch.jit
    def f(x):
        w.requires_grad_(not w.requires_grad)
        return x * w

    for i in range(1, 7):
        y = f(torch.ones(1) * i)
        assert y.requires_grad is bool(i % 2)
        if i % 2:
            y.backward()
            assert w.grad.tolist() == [i]
            w.grad = None


def test_a_module_compiled_in_place_and_modules_of_a_function_that_runs_eagerly():
    net, other = Running(), Running()
    net.compile()
    assert [net(torch.ones(1)).item() for _ in range(6)] == [1, 2, 3, 4, 5, 6]
    assert net._compiled_call_impl.compiles == 2

    @torch.compile
    def f(x):
        return x * other(x).item()  # a value: the function runs eagerly, its module compiled

    with pytest.warns(RuntimeWarning, match="runs eagerly"):
        found = [f(torch.ones(1)).item()]
    assert [*found, *(f(torch.ones(1)).item() for _ in range(5))] == [1, 2, 3, 4, 5, 6]
