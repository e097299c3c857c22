"""Planted faults, each found: a script does otherwise compiled than eager."""

import contextlib
import json

import pytest

import torchlike
from tests.porting.divergence.planted import HALVED, IMPORTS, NET, TOLERANCE, begun, check, command
from torchlike.optim import optimizer
from torchlike.porting.divergence import framework, programs
from torchlike.porting.divergence.command import narrow
from torchlike.porting.divergence.comparing import Comparison
from torchlike.porting.divergence.observer import EventObserver
from torchlike.porting.divergence.tracer import OperationTracer

UPDATING = """

class Descent(torch.optim.Optimizer):
    def __init__(self, parameters, lr):
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                change = p.grad * group["lr"]
                p.sub_(change)


model = Net()
optimizer = Descent(model.parameters(), lr=0.05)
x, y = torch.randn(16, 4), torch.randn(16, 2)
"""
#: A faulty script asks `ours()` where the fault is: is this being compiled?
SCRIPT = begun("torch.compiler.is_compiling") + HALVED + NET + UPDATING

#: The loop, in each way in which something is compiled.
LOOPS = {
    "step": """
@torch.compile
def step(x, y):
    optimizer.zero_grad()
    loss = F.mse_loss(model(x), y)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 10.0)
    optimizer.step()
    return loss.detach()


for i in range(4):
    step(x, y)
""",
    "model": """
compiled = torch.compile(model)
for i in range(4):
    optimizer.zero_grad()
    loss = F.mse_loss(compiled(x), y)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 10.0)
    optimizer.step()
""",
}

#: What a file says is asked once for each program.
COUNTING = """
        file = folder / "count"
        file.write_text("1")

        class Counting(nn.Module):
            def forward(self, x):
                count = int(file.read_text())
                file.write_text(str(count + 1))
                return x / count

        self.drop = Counting()
"""

#: By name: what the script has, what it has instead, and what is found: step, kind, module or
#: optimizer, operation, and the text that stands where it is told.
FAULTS = {
    "a factor": (
        "return x @ self.weight",
        "return x @ self.weight * (1.01 if ours() else 1.0)",
        (1, "forward", "mix", "torch.Tensor.mul", "outputs"),
    ),
    "a transposed product": (
        "return x @ self.weight",
        "return x @ (self.weight.T if ours() else self.weight)",
        (1, "forward", "mix", "torch.Tensor.T.__get__", "here only"),
    ),
    "a cast in one layer": (
        "return x @ self.weight",
        "return (x.bfloat16().float() if ours() else x) @ self.weight",
        (1, "forward", "mix", "torch.Tensor.bfloat16", "there only"),
    ),
    "an activation": (
        "self.act(self.mix(x))",
        "(F.gelu if ours() else F.relu)(self.mix(x))",
        (1, "forward", "", "torch.nn.functional.relu", "there"),
    ),
    "a frozen number": (
        "self.drop = nn.Dropout(0.5)",
        COUNTING,
        (2, "forward", "drop", "torch.Tensor.div", "outputs"),
    ),
    "a lost write to a buffer": (
        "self.seen += 1",
        "self.seen = self.seen if ours() else self.seen + 1",
        (2, "state", "mix", None, "seen differs"),
    ),
    "a wrong gradient": (
        "return g / 2",
        "return g / (2.5 if ours() else 2)",
        (1, "backward", "mix", "Halved", "same gradient of its result"),
    ),
    "a gradient cut off": (
        "self.right(Halved.apply(x))",
        "self.right(Halved.apply(x.detach() if ours() else x))",
        (1, "backward", "mix", "torch.Tensor.detach", "there only"),
    ),
    "another loss": (
        "F.mse_loss(",
        "(F.l1_loss if ours() else F.mse_loss)(",
        (1, "loss", "", "torch.nn.functional.mse_loss", "the loss"),
    ),
    "another clipping": (
        "model.parameters(), 10.0",
        "model.parameters(), 0.1 if ours() else 10.0",
        (1, "gradients", "head", "torch.Tensor.__rtruediv__", "between backward() and step()"),
    ),
    "another update": (
        "p.sub_(change)",
        "p.sub_(change * (0.5 if ours() else 1.0))",
        (1, "optimizer", "Descent", "torch.Tensor.mul", "same gradients and options"),
    ),
    "a missing zero_grad": (
        "    optimizer.zero_grad()",
        "    _ = ours() or optimizer.zero_grad()",
        (2, "zero_grad", "head", None, "before backward()"),
    ),
}

#: Faults that lie in what a compiled model is not.
OF_THE_STEP = ("another loss", "another clipping", "another update", "a missing zero_grad")


def faulty(name, loop):
    source = SCRIPT + LOOPS[loop]
    before, after, expected = FAULTS[name]
    if (name, loop) == ("a wrong gradient", "model"):  # backward is inside of the model's program
        expected = (1, "backward", "mix", None, "gradient of _orig_mod.mix.weight")
    assert source.count(before) == 1
    return source.replace(before, after), expected


def seen_by(source, watch, mode, folder):
    """Execute a script under a watch, compiled or not."""
    text = source.replace(IMPORTS, "")
    file = folder / "script.py"
    file.write_text(text)  # loops on values are rewritten from it
    names = {"torch": torchlike, "nn": torchlike.nn, "F": torchlike.nn.functional}
    torchlike.jit.set_mode(mode)
    try:
        with watch, contextlib.suppress(SystemExit):
            exec(
                compile(text, str(file), "exec"),
                {**names, "__name__": "__main__", "folder": folder},
            )
    finally:
        torchlike.jit.set_mode("on")
    return json.loads(json.dumps(watch.result()))


def compared(source, folder):
    """The first difference, and its operation, found in this process."""
    torchlikes = framework.of_torchlike(torchlike, optimizer, torchlike.overrides, programs)
    modes = ("off", "on")
    runs = [seen_by(source, EventObserver(torchlikes), mode, folder) for mode in modes]
    assert runs[0]["programs"] == 0 < runs[1]["programs"]
    found = Comparison(*runs, TOLERANCE).first()
    if found is not None and found.trace is not None:
        trace = found.trace

        def traced(*more):
            return [
                seen_by(source, OperationTracer(torchlikes, **wanted, **one), mode, folder)
                for mode, wanted, one in zip(modes, trace, more, strict=True)
            ]

        narrow(found, traced, TOLERANCE)
    return runs, None if found is None else found.as_json()


QUICK = (("a wrong gradient", "step"),)
CASES = [
    pytest.param(name, loop, marks=() if (name, loop) in QUICK else pytest.mark.full)
    for name in FAULTS
    for loop in LOOPS
    if loop == "step" or name not in OF_THE_STEP
]


@pytest.mark.parametrize(("name", "loop"), CASES)
def test_a_planted_fault_is_named(tmp_path, name, loop):
    source, expected = faulty(name, loop)
    check(compared(source, tmp_path)[1], expected)


SCHEDULED = """
torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.9)
x, y = torch.arange(8.0).reshape(2, 4), torch.ones(2, 1)

@torch.jit
def step(x, y):
    optimizer.zero_grad()
    loss = F.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    return loss

for _ in range(4):
    step(x, y)
    scheduler.step()
"""


def test_a_rate_that_a_scheduler_changes_outside_of_the_program_is_no_difference(tmp_path):
    (eager, compiled), found = compared(IMPORTS + SCHEDULED, tmp_path)
    assert found is None
    rates = [
        [event["options"][0]["lr"] for event in run["events"] if event["kind"] == "update"]
        for run in (eager, compiled)
    ]
    assert rates[0] == rates[1] == pytest.approx([0.01 * 0.9**k for k in range(4)])


@pytest.mark.parametrize("loop", ["model", pytest.param("step", marks=pytest.mark.full)])
def test_where_nothing_differs_all_is_seen_and_nothing_named(tmp_path, loop):
    (eager, compiled), found = compared(SCRIPT + LOOPS[loop], tmp_path)
    assert found is None
    assert eager["steps"] == compiled["steps"] == 4
    assert [e["kind"] for e in compiled["events"]] == ["call", "backward", "update"] * 4

    def calls(events):
        return sum(1 + calls(e["children"]) for e in events if e["kind"] == "call")

    assert calls(eager["events"]) == calls(compiled["events"])


PARTS = """
left, right = nn.Linear(3, 4), nn.Linear(3, 4)
x = torch.randn(8, 3)


@torch.compile
def step():
    parts = torch.cat([left(x), right(x)], 1)
    small = 1e-3 * (1.01 if ours() else 1.0)
    loss = (parts * torch.tensor([1.0] * 4 + [small] * 4)).sum()
    loss.backward()
    return loss


for _ in range(3):
    step()
"""

EDGE = """
layer = nn.Linear(3, 4)
with torch.no_grad():
    layer.weight[1] = layer.bias[1] = 0.0
x = torch.randn(8, 3)


@torch.compile
def step():
    moved = layer(x) + (1e-9 if ours() else -1e-9)
    loss = F.relu(moved).sum()
    loss.backward()
    return loss


for _ in range(3):
    step()
"""


@pytest.mark.parametrize(
    ("source", "operation", "says"),
    [(PARTS, "torch.cat", "no fault of it: in float64"), (EDGE, "relu", "a kink: results agree")],
    ids=["a small part of a gradient", "a kink"],
)
def test_an_operation_is_acquitted_by_its_float64_runs(tmp_path, source, operation, says):
    found = compared(begun("torch.compiler.is_compiling") + source, tmp_path)[1]
    assert found["kind"] == "backward"
    assert found["operation"]["name"].endswith(operation), found
    assert says in found["operation"]["says"], found


#: A script that marks nothing: its step is a function, or no function is a step.
UNMARKED = {
    "step compiled": LOOPS["step"].replace("@torch.compile\n", ""),
    "deferred": LOOPS["model"].replace("torch.compile(model)", "model"),
}


@pytest.mark.full
@pytest.mark.parametrize("label", UNMARKED)
def test_the_command_compiles_what_it_can(tmp_path, label):
    done = command(tmp_path, SCRIPT + UNMARKED[label])
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert f" {label} " in done.stdout
    assert done.stdout.endswith("no difference found in 4 steps, 11 modules\n")
    if label == "deferred":
        return  # whose Python is what it is eagerly, so no fault can be put there
    before, after, expected = FAULTS["a factor"]
    done = command(tmp_path, (SCRIPT + UNMARKED[label]).replace(before, after))
    assert done.returncode == 3, done.stdout + done.stderr
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["runs"] == ["eager", label]
    check(found["divergence"], expected)
    assert "train.py:" in found["divergence"]["operation"]["line"]


@pytest.mark.full
def test_the_command_says_that_nothing_was_compiled(tmp_path):
    done = command(tmp_path, "import torch\ntorch.ones(2, requires_grad=True).sum().backward()")
    assert done.returncode == 2
    assert "Nothing was compiled" in done.stdout


LOOP = """
class Grow(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        while x.square().sum() < 100.0:
            x = x + self.layer(x).abs() + 1.0
        return x * (2.0 if fault and torch.compiler.is_compiling() else 1.0)


torch.manual_seed(0)
model = torch.compile(Grow(), fullgraph=True)
for i in range(3):
    model(torch.ones(2, 3))
"""


@pytest.mark.full
@pytest.mark.parametrize("fault", [False, True])
def test_calls_in_a_loop_of_a_program_are_not_seen_and_not_missed(tmp_path, fault):
    (_, compiled), found = compared(f"fault = {fault}{LOOP}", tmp_path)
    grow = compiled["events"][0]["children"][0]
    assert (grow["class"], grow["hides"], grow["children"]) == ("Grow", True, [])
    if fault:
        check(found, (1, "forward", "", "torch.Tensor.mul", "arguments (1.0) and (2.0)"))
    else:
        assert found is None


WITHOUT_OPTIMIZER = """
import torch
{seed}
layer = torch.compile(torch.nn.Linear(3, 1))
for i in range(50):
    layer.zero_grad()
    layer(torch.ones(2, 3)).square().mean().backward()
    for p in layer.parameters():
        p.data -= (0.2 if {fault} else 0.1) * p.grad
"""


@pytest.mark.full
def test_steps_without_an_optimizer_are_backward_passes(tmp_path):
    source = WITHOUT_OPTIMIZER.format(seed="torch.manual_seed(0)", fault=False)
    done = command(tmp_path, source, "--steps", "2")
    assert done.stdout.endswith("no difference found in 20 backward passes, 2 modules\n")
    fault = "i == 2 and not hasattr(layer.forward, 'compiles')"
    source = WITHOUT_OPTIMIZER.format(seed="torch.manual_seed(0)", fault=fault)
    assert command(tmp_path, source).returncode == 3
    found = json.loads((tmp_path / "found.json").read_text())["divergence"]
    assert (found["step"], found["kind"]) == (4, "state")


@pytest.mark.full
def test_a_missing_seed_is_told(tmp_path):
    done = command(tmp_path, WITHOUT_OPTIMIZER.format(seed="", fault=False))
    assert done.returncode == 3
    assert "call torch.manual_seed()" in done.stdout
