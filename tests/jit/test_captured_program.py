"""``torchlike.jit(f).programs()``: what a compiled function has, seen from outside."""

import torchlike as torch
from torchlike import nn
from torchlike._jit.guards.sources import ArgumentCell, FixedCell, PerCallValue


def _trained():
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    @torch.jit
    def step(x, scale=2.0):
        optimizer.zero_grad()
        loss = (model(x) * scale).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return step


def test_a_program_tells_its_inputs_outputs_guards_and_cost():
    step = _trained()
    assert step.programs() == []
    step(torch.ones(4, 3), 3.0)
    (program,) = step.programs()
    by_name = {entry.name: entry for entry in program.inputs}
    assert by_name["x"].role == "argument"
    assert by_name["x"].shape == (4, 3)
    assert by_name["Linear.weight"].donated
    assert by_name["lr"].role == "per-call value"
    kinds = [type(source) for source in program.sources]
    assert kinds == sorted(kinds, key=[FixedCell, ArgumentCell, PerCallValue].index)
    assert [e.name for e in program.outputs if e.role == "hidden output"][:2] == [
        "Linear.weight",
        "Linear.bias",
    ]
    assert [e.shape for e in program.outputs if e.role == "result"] == [()]
    assert program.static_arguments == {"scale": "3.0"}
    assert any("`model` is Linear" in guard for guard in program.guards)
    assert program.updates
    assert not program.has_backward
    assert program.not_kept == ""
    assert program.cost().flops > 0
    assert len(program.jaxpr().in_avals) == len(program.avals) == len(program.inputs)
    assert "module @" in program.stablehlo()


def test_the_program_that_ran_last_comes_first():
    step = _trained()
    for n in (4, 5, 4):
        step(torch.ones(n, 3))
    shapes = [[e.shape for e in p.inputs if e.name == "x"] for p in step.programs()]
    assert shapes == [[(4, 3)], [(5, 3)]]
    ran = step.program_that_ran()
    assert [e.shape for e in ran.inputs if e.name == "x"] == [(4, 3)]


def test_a_program_that_is_not_kept_says_why():
    kept = []

    @torch.jit
    def f(x):
        kept.append(x + 1)
        return x * 2

    f(torch.ones(3))
    (program,) = f.programs()
    assert "kept outside" in program.not_kept


def test_a_program_that_checks_values_gives_a_word():
    @torch.jit
    def pick(table, index):
        return table[index]

    pick(torch.ones(3), torch.tensor([0, 2]))
    (program,) = pick.programs()
    assert [e.role for e in program.outputs] == ["result", "checks of values"]
