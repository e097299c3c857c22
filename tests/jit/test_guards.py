"""Guards: check, generated source and explanation agree, for every kind and for a new one."""

import numpy as np
import pytest

import torchlike as torch
from torchlike._core import modes
from torchlike._jit.capture import capture as collect
from torchlike._jit.guards import containers, modules, objects, tensors, weak
from torchlike._jit.guards import guard as basic
from torchlike._jit.guards.guard import Guard, GuardSet
from torchlike._jit.program.generated_call import generate_guard

ROOMS = (containers, basic, modules, objects, tensors, weak)


class Weather(Guard):
    """A kind of guard that the library does not have."""

    def __init__(self, sky, has_source):
        self.sky, self.before, self.has_source = sky, sky["now"], has_source

    def check(self, arguments=()):
        return self.sky["now"] == self.before

    def expression(self, name):
        return f"{name(self.sky)}['now'] == {self.before!r}" if self.has_source else None

    def explain(self, arguments=()):
        return f"the weather changed: {self.before} → {self.sky['now']}"


class Season(Weather):
    follows_epoch = True


class Umbrella(Guard):
    """One that looks at the arguments."""

    of_arguments = True

    def check(self, arguments=()):
        return len(arguments) == 1

    def explain(self, arguments=()):
        return f"there are {len(arguments)} umbrellas"


@pytest.mark.parametrize("has_source", [True, False])
def test_a_new_kind_of_guard_is_one_class(has_source):
    sky = {"now": "rain"}
    guards = GuardSet([Weather(sky, has_source)])
    generated = generate_guard(guards)
    assert guards.check([])
    assert generated([])
    assert guards.explain([]) == ""
    sky["now"] = "sun"
    assert not guards.check([])
    assert not generated([])
    assert guards.explain([]) == "the weather changed: rain → sun"


def test_a_new_kind_of_guard_of_a_program(monkeypatch, caplog):
    sky, of_tensors = {"now": 2.0}, collect._of_tensors

    def with_weather(capture):
        yield from of_tensors(capture)
        yield Weather(sky, True)

    monkeypatch.setattr(collect, "_of_tensors", with_weather)
    jitted, x = torch.jit(lambda x: x * 2), torch.ones(1)
    jitted(x)  # in which nothing tells of the weather
    jitted(x)
    assert jitted.compiles == 1
    sky["now"] = 3.0
    with caplog.at_level("INFO", logger="torchlike.recompiles"):
        jitted(x)
    assert jitted.compiles == 2
    assert caplog.messages[0].endswith("the weather changed: 2.0 → 3.0")


def test_guards_that_follow_the_epoch_are_compared_only_when_it_moved():
    sky = {"now": "winter"}
    guards = GuardSet([Season(sky, True)])
    generated = generate_guard(guards)
    sky["now"] = "spring"
    assert guards.check([])
    assert generated([])
    modes.epoch.advance()
    assert not generated([])
    assert not guards.check([])
    assert guards.explain([]) == "the weather changed: winter → spring"
    sky["now"] = "winter"
    assert guards.check([])
    assert generated([])  # the check has seen this epoch


def test_guards_of_arguments_get_them():
    guards = GuardSet([Umbrella()])
    generated = generate_guard(guards)
    one = torch.ones(1)
    assert (guards.check([one]), generated([one])) == (True, True)
    assert (guards.check([one, one]), generated([one, one])) == (False, False)
    assert guards.explain([one, one]) == "there are 2 umbrellas"
    assert guards.explain(None) == ""  # of all but the arguments


def test_the_first_that_changed_is_the_one_told_of():
    first, second = {"now": 1}, {"now": 1}
    guards = GuardSet([Season(first, True), Weather(second, True)])
    first["now"], second["now"] = 2, 3
    assert guards.explain([]) == "the weather changed: 1 → 3"  # compared at each call


def test_every_kind_of_guard_has_its_three_methods():
    kinds = {
        kind
        for room in ROOMS
        for kind in vars(room).values()
        if isinstance(kind, type) and issubclass(kind, Guard) and kind.__module__ == room.__name__
    }
    assert len(kinds) > 25
    bases = {Guard, basic.ValueGuard, basic.VariableGuard, tensors._MemoryGuard}
    for kind in kinds - bases:
        assert kind.check is not Guard.check, kind
        assert kind.explain is not Guard.explain, kind
        assert hasattr(kind, "__slots__"), kind
        assert kind.__doc__, kind


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)
        self.norm = torch.nn.BatchNorm1d(3)
        self.sizes = [1.0, 2.0]
        self.table = {"a": 2.0}

    def forward(self, x):
        return self.norm(self.layer(x)) * self.sizes[0] * self.table["a"] * SCALE


SCALE = 2.0
NUMBERS = np.ones(3, np.float32)


def _programs():
    """Programs that have guards of many kinds, with the arguments of a call."""
    net, x, extra = Net(), torch.ones(4, 3), torch.ones(3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

    def step(x):
        loss = (net(x) + torch.from_numpy(NUMBERS) + extra).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    def compared(x):
        return x * 2 if x is extra else x * 3

    def written(x, y):
        x.add_(y)
        extra.mul_(2)
        return y

    for f, arguments in ((step, [x]), (compared, [torch.ones(3)]), (written, [x, x.clone()])):
        jitted = torch.jit(f)
        for _ in range(4):
            jitted(*arguments)
        yield jitted.latest, arguments


def test_check_and_generated_guard_agree():
    seen = set()
    for program, arguments in _programs():
        guards, generated = program.guards, program.state.guard
        seen |= set(map(type, guards.guards))
        guards.check(arguments)  # which sees the epoch
        assert guards.explain(arguments) == ""
        assert generated(arguments) is True
        for guard in guards.guards:
            source = GuardSet([guard])
            assert source.check(arguments)
            assert generate_guard(source)(arguments), guard
    assert len(seen) > 15


def test_each_guard_on_a_value_sees_it_change():
    """Values are exchanged one by one: exactly then do check and generated guard say no."""
    program, arguments = next(iter(_programs()))
    n = 0
    for guard in program.guards.of(basic.NameGuard):
        if not isinstance(guard.space, dict):
            continue
        generated = generate_guard(GuardSet([guard]))
        guard.put("another")
        try:
            assert not guard.check()
            assert not generated(arguments)
            assert guard.explain() == f"`{guard.label}` changed: " + (
                f"{basic.describe(guard.before())} → 'another'"
            )
        finally:
            guard.restore()
        assert guard.check()
        assert generated(arguments)
        n += 1
    assert n >= 2
