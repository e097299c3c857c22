"""`torchlike.plan`: steps compiled for machines that are not here. Needs the extra ``plan``."""

import json
import subprocess
import sys
import textwrap
import types
from pathlib import Path

import jax
import numpy as np
import pytest
from jax.sharding import PartitionSpec

import torchlike as torch
from torchlike.distributed.fsdp import fully_shard
from torchlike.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from torchlike.porting.plan import advice, command, device_mesh, hlo, page, table, weightless
from torchlike.porting.plan.command import parse_mesh
from torchlike.porting.plan.leaves import Leaf, default_rule
from torchlike.porting.plan.step import StepReadsValues, captured
from torchlike.porting.plan.topologies import missing, topology

nn = torch.nn
needs_tpu = pytest.mark.skipif(missing("tpu") is not None, reason="needs the extra plan (libtpu)")
needs_cuda = pytest.mark.skipif(missing("cuda") is not None, reason="needs the extra plan (CUDA)")
MACHINES = [pytest.param("v5e:2x2", marks=needs_tpu), pytest.param("h100:4", marks=needs_cuda)]


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.fc2(torch.relu(self.fc1(x)))


def training(width=64, batch=32, device="meta"):
    with torch.device(device):
        model = nn.Sequential(nn.Linear(16, width), Layer(width), Layer(width), nn.Linear(width, 4))
        x, y = torch.zeros(batch, 16), torch.zeros(batch, dtype=torch.long)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step(x, y):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step, x, y, model


@pytest.mark.parametrize("machine", MACHINES)
def test_a_step_without_values(machine):
    step, x, y, model = training()
    plan = torch.plan(step, x, y, topology=machine)
    parameters = 4 * sum(p.numel() for p in model.parameters())
    assert plan.devices == 4
    assert plan.inputs["parameters"] == parameters
    assert plan.inputs["optimizer state"] == 2 * parameters + 4 * len(list(model.parameters()))
    assert plan.inputs["batch"] == (32 * 16 * 4 + 32 * 8) // 4
    matrices = 16 * 64 + 2 * 2 * 64 * 256 + 64 * 4
    # Forward, and two products in backward, but no gradient of the batch.
    assert plan.flops == 2 * 32 * (3 * matrices - 16 * 64)
    assert set(plan.units) == {"f32"}  # PyTorch's default: all bits
    reduced = sum(c.nbytes for c in plan.collectives if c.kind == "all-reduce")
    assert parameters <= reduced <= parameters + 64  # every gradient once, and the loss
    assert plan.fits
    assert plan.aliased >= 3 * parameters  # the update happens in the memory of what it updates
    assert plan.seconds == max(plan.compute_seconds, plan.memory_seconds, plan.interconnect_seconds)
    assert all(p.is_meta for p in model.parameters())
    assert json.loads(plan.to_json())["bound"] == plan.bound


@needs_tpu
def test_parameters_are_sharded():
    step, x, y, model = training()
    parameters = 4 * sum(p.numel() for p in model.parameters())
    whole = torch.plan(step, x, y, topology="v5e:2x2")
    plan = torch.plan(step, x, y, topology="v5e:2x2", fsdp="data")
    assert plan.inputs["parameters"] == parameters // 4
    assert plan.arguments < whole.arguments
    assert {"all-gather"} & {c.kind for c in plan.collectives}
    by_name = torch.plan(
        step,
        x,
        y,
        topology="v5e:2x2",
        mesh={"data": 2, "model": 2},
        shardings={"1.fc1.weight": PartitionSpec("model", None)},
    )
    assert by_name.inputs["parameters"] == parameters - 4 * 256 * 64 // 2


def test_names_are_those_in_the_module_that_the_step_uses():
    larger = nn.Sequential(*[nn.Linear(2, 2) for _ in range(30)])  # alive, and no part of it
    step, x, y, model = training(width=8)
    names = [leaf.name for leaf in captured(step, (x, y), {}, "cpu").leaves]
    assert set(dict(model.named_parameters())) <= set(names)
    assert "exp_avg of 1.fc1.weight" in names
    assert len(larger) == 30


@needs_tpu
def test_rows_that_a_sparsecore_fetches():
    """Their program has what jaxlib cannot read; JAX's own ``as_text`` of it raises."""
    with torch.device("meta"):
        table = nn.Embedding(50304, 768)
        ids = torch.zeros(64, 1024, dtype=torch.long)

    def step(ids):
        return table(ids).tanh().sum()

    plan = torch.plan(step, ids, topology="v5p:2x2x1")
    assert 'async_execution_thread="sparsecore"' in plan.text
    assert [c.kind for c in plan.collectives] == ["all-reduce"]


@needs_tpu
def test_options_of_the_compiler():
    step, x, y, _ = training()
    with pytest.raises(jax.errors.JaxRuntimeError, match="no_such_option"):
        torch.plan(step, x, y, topology="v5e:2x2", compiler_options={"no_such_option": True})
    found = [
        torch.plan(step, x, y, topology="v5e:2x2", compiler_options={"xla_memory_scheduler": by})
        for by in ("list", "post_order")
    ]
    assert found[0].flops == found[1].flops
    assert found[0].text != found[1].text


@needs_tpu
def test_values_that_a_step_reads_are_refused_by_the_line():
    step, x, y, _ = training()

    def reading(x, y):
        return step(x, y).item()

    with pytest.raises(StepReadsValues, match=r"reads the value of a tensor \(.*test_plan.py:\d+"):
        torch.plan(reading, x, y, topology="v5e:2x2")


@needs_tpu
def test_a_model_with_values_may_be_planned():
    step, x, y, model = training(device="cpu")
    plan = torch.plan(step, x, y, topology="v5e:1x1")
    assert plan.inputs["parameters"] == 4 * sum(p.numel() for p in model.parameters())
    assert plan.collectives == []
    assert np.isfinite(step(x, y).item())  # the model is as it was after a step


@pytest.mark.full
@needs_cuda
def test_short_attention_keeps_no_weights_for_backward():
    def temporary(layers):
        with torch.device("meta"):
            x = torch.zeros(8, 8, 256, 64, dtype=torch.bfloat16, requires_grad=True)

        def step(x):
            y = x
            for _ in range(layers):
                y = nn.functional.scaled_dot_product_attention(
                    y, y.roll(1, 0), y.roll(2, 0), is_causal=True
                )
            return torch.autograd.grad(y.float().sum(), [x])

        return torch.plan(step, x, topology="h100:1").temporary

    weights = 8 * 8 * 256 * 256 * 2
    assert (temporary(4) - temporary(2)) / 2 < weights


def test_wrong_requests():
    with pytest.raises(ValueError, match=r"unknown topology 'v9:2x2'. Known: TPUs.*v5e.*h100"):
        topology("v9:2x2")
    with pytest.raises(ValueError, match="unknown topology"):
        topology("v5e:two")
    assert parse_mesh("data=4, model=2") == {"data": 4, "model": 2}
    with pytest.raises(ValueError, match="write it as data=16,model=16"):
        parse_mesh("data:4")


@needs_tpu
def test_meshes_that_do_not_fit():
    step, x, y, _ = training(batch=30)
    with pytest.raises(ValueError, match="3 = 3 devices, but v5e:2x2 has 4"):
        torch.plan(step, x, y, topology="v5e:2x2", mesh={"data": 3})
    with pytest.raises(ValueError, match="of 4 does not divide its dimension 0"):
        torch.plan(step, x, y, topology="v5e:2x2")
    with pytest.raises(ValueError, match="'rows' is no axis of the mesh: data"):
        torch.plan(step, x, y, topology="v5e:2x2", fsdp="rows")
    with pytest.raises(ValueError, match="v5e:3x5 is no topology of TPU v5e"):
        torch.plan(step, x, y, topology="v5e:3x5")


def test_what_is_not_installed(monkeypatch):
    monkeypatch.setattr("torchlike.porting.plan.topologies.missing", lambda platform: "libtpu")
    topology.cache_clear()
    with pytest.raises(ImportError, match=r"needs the package libtpu.*torchlike\[plan\]"):
        topology("v6e:2x2")


def test_arrays_without_memory():
    large = weightless.array((1 << 20, 1 << 12), np.float32)  # 17 GB
    small = weightless.array((3,), jax.numpy.bfloat16)
    assert large.nbytes == 1 << 34
    assert small.dtype == jax.numpy.bfloat16
    assert not np.asarray(large[:2, :2]).any()


TEXT = """\
HloModule jit_step

%body (p: (s32[], f32[8,4])) -> (s32[], f32[8,4]) {
  %p = (s32[], f32[8,4]) parameter(0)
  %g = f32[8,4]{1,0} get-tuple-element(%p), index=1
  %ar = f32[8,4]{1,0} all-reduce(%g), replica_groups={{0,1},{2,3}}, to_apply=%add
}

ENTRY %main (a: f32[8,4]) -> f32[32,4] {
  %a = f32[8,4]{1,0} parameter(0)
  %w = (s32[], f32[8,4]) while(%t), condition=%cond, body=%body, \
backend_config={"known_trip_count":{"n":"5"}}
  %s = (f32[8,4], f32[32,4]) all-gather-start(%a), replica_groups=[1,4]<=[4], dimensions={0}
  ROOT %d = f32[32,4]{1,0} all-gather-done(%s)
  %r = bf16[2,4]{1,0} reduce-scatter(%a), replica_groups=[1,4]<=[4], dimensions={0}
}
"""


def test_collectives_are_read_from_the_text():
    found = {c.kind: c for c in hlo.collectives(TEXT, 4)}
    assert (found["all-reduce"].count, found["all-reduce"].group) == (5, 2)
    assert found["all-reduce"].nbytes == 5 * 8 * 4 * 4
    assert found["all-gather"].nbytes == 32 * 4 * 4
    assert found["all-gather"].sent == 32 * 4 * 4 * 3 / 4
    assert found["reduce-scatter"].nbytes == 8 * 4 * 2


SPREAD = """\
HloModule jit_step

%fused_computation.1 (a: f32[2,4]) -> f32[8,4] {
  %g.1 = f32[8,4] all-gather(%a), channel_id=3, replica_groups=mesh['axis_0'=4,'axis_1'=2] \
{'axis_0'}, dimensions={0}
}

%async_collective_fusion.2 (a: f32[2,4]) -> f32[8,4] {
  %g.2 = f32[8,4] all-gather(%a), channel_id=3, replica_groups=mesh['axis_0'=4,'axis_1'=2] \
{'axis_0'}, dimensions={0}
}

%all-reduce-scatter.3 (a: f32[8,4]) -> f32[2,4] {
  %ar = f32[8,4] all-reduce(%a), channel_id=4, replica_groups=mesh['axis_0'=4,'axis_1'=2] \
{'axis_0':(2)2,'axis_1'}, to_apply=%add
  ROOT %cut = f32[2,4] dynamic-slice(%ar, %i, %z)
}

ENTRY %main (a: f32[2,4]) -> f32[2,4] {
  %x = f32[8,4] fusion(%a), kind=kCustom, calls=%fused_computation.1
  %y = f32[8,4] fusion(%a), kind=kCustom, calls=%async_collective_fusion.2
  ROOT %s = f32[2,4] fusion(%y), kind=kCustom, calls=%all-reduce-scatter.3
}
"""


def test_collectives_that_a_tpu_spreads_are_counted_once():
    found = {c.kind: c for c in hlo.collectives(SPREAD, 8)}
    assert found["all-gather"] == hlo.Collective("all-gather", 4, 1, 8 * 4 * 4)
    assert found["reduce-scatter"] == hlo.Collective("reduce-scatter", 4, 1, 8 * 4 * 4)
    assert len(found) == 2


class Wide(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(64, 256), nn.Linear(256, 64)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))


@needs_tpu
def test_modules_that_were_put_onto_a_described_mesh():
    mesh = device_mesh("v5e:4x4", {"dp": -1, "tp": 2})
    assert mesh.shape == (8, 2)
    with torch.device("meta"):
        model, x = nn.Sequential(Wide(), Wide()), torch.zeros(32, 64)
    for part in model:
        parallelize_module(part, mesh["tp"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
        fully_shard(part, mesh=mesh["dp"])
    fully_shard(model, mesh=mesh["dp"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step(x):
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    plan = torch.plan(step, x, topology="v5e:4x4", mesh=mesh)
    # Weights and the biases of ``up`` are in sixteen parts, those of ``down`` in eight.
    parameters = 2 * ((2 * 64 * 256 + 256) // 16 + 64 // 8) * 4
    assert plan.inputs["parameters"] == parameters
    assert parameters * 2 <= plan.inputs["optimizer state"] <= parameters * 2 + 8 * 4
    kinds = {(c.kind, c.group) for c in plan.collectives}
    assert ("all-gather", 8) in kinds
    assert max(group for _, group in kinds) < 16 or ("all-gather", 16) not in kinds
    with pytest.raises(ValueError, match="does not divide its dimension 0"):
        torch.plan(step, torch.zeros(12, 64, device="meta"), topology="v5e:4x4", mesh=mesh)


def test_rules_of_the_axis_model():
    class Mesh:
        shape = {"data": 2, "model": 4}  # noqa: RUF012

    rule = default_rule(Mesh(), fsdp="data")

    def spec(name, shape, module="Linear"):
        return rule(
            Leaf(f"{name}.weight", "parameters", shape, np.dtype("f4"), f"{name}.weight", module)
        )

    assert spec("h.0.fc1", (256, 64)) == PartitionSpec("model", "data")
    assert spec("h.0.fc2", (64, 256)) == PartitionSpec("data", "model")
    assert spec("h.0.out_proj", (64, 64)) == PartitionSpec("data", "model")
    assert spec("wte", (512, 64), "Embedding") == PartitionSpec("model", "data")
    assert spec("ln", (63,)) == PartitionSpec(None)


SCRIPT = """
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(8, 2).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = torch.utils.data.TensorDataset(torch.randn(64, 8), torch.randint(2, (64,)))

def train():
    seen = 0
    for i, (x, y) in enumerate(torch.utils.data.DataLoader(data, batch_size=16, shuffle=True)):
        x, y = x.to(device), y.to(device)
        if x.shape[0] < 4:
            continue
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        READ
        loss.backward()
        optimizer.step()
        seen += x.shape[0]
        if i % 10 == 0:
            print(loss.item())
    raise AssertionError("a plan ends at the first step")

train()
"""


def planned(tmp_path, read, *options):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT.replace("READ", read))
    return subprocess.run(
        [sys.executable, "-m", "torchlike", "plan", str(script), "--topology", "v5e:2x2", *options],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )


@needs_tpu
def test_the_command_plans_a_scripts_loop(tmp_path):
    done = planned(tmp_path, "pass", "--json", "plan.json", "--html", "plan.html", "--advise")
    assert done.returncode == 0, done.stderr
    assert "It fits" in done.stdout
    assert "What a change gives" in done.stdout
    assert json.loads((tmp_path / "plan.json").read_text())["inputs"]["parameters"] == 4 * 18
    assert "<table>" in (tmp_path / "plan.html").read_text()


@needs_tpu
def test_the_command_says_what_stands_in_the_way(tmp_path):
    done = planned(tmp_path, "assert loss.item() > 0")
    assert done.returncode == 1
    assert "train.py:18" in done.stderr
    assert "example batch" in done.stderr
    assert "With --values" in done.stderr
    done = planned(tmp_path, "pass", "--mesh", "data=3")
    assert done.returncode == 2
    assert "but v5e:2x2 has 4" in done.stderr


DATA = """
import torch

class Numbers(torch.utils.data.Dataset):
    def __init__(self):
        self.rows = [3, 4, 5, 6]
    def __len__(self):
        return 4
    def __getitem__(self, i):
        x = torch.tensor([float(self.rows[i])])
        assert x.item() > 2  # reads a value
        return x, torch.as_tensor(i)

FIRST
model = torch.nn.Linear(1, 2, device="cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in torch.utils.data.DataLoader(Numbers(), batch_size=4):
    loss = torch.nn.functional.cross_entropy(model(x.cuda()), y.cuda())
    loss.backward()
    optimizer.step()
"""


def planned_without_compiling(tmp_path, monkeypatch, text, with_values=False):
    """The command as it is, up to the capture: needs no plugin."""
    found = []

    class Target:
        topology = types.SimpleNamespace(name="v5e:2x2", platform="tpu")

        def capture(self, step, batch, *, has_run=False):
            return captured(step, batch, {}, "tpu", has_run=has_run)

        def plan(self, step):
            found.append(step)
            return types.SimpleNamespace(fits=True, needed=0)

    monkeypatch.setattr(command, "target_of", lambda **options: Target())
    monkeypatch.setattr(command, "require", lambda platform: None)
    monkeypatch.setattr(command.table, "show", lambda plan: None)
    (tmp_path / "train.py").write_text(text)
    code = command.run(
        [str(tmp_path / "train.py")],
        topology_name="v5e:2x2",
        mesh=None,
        fsdp=None,
        with_values=with_values,
        advise=False,
        json_path=None,
        html_path=None,
    )
    assert code == 0
    return found[0]


def test_batches_are_made_with_values(tmp_path):
    """In a process of its own: the command makes torchlike the process' torch."""
    program = f"""
        import sys, pathlib
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        import pytest
        from test_plan import DATA, planned_without_compiling
        step = planned_without_compiling(
            pathlib.Path({str(tmp_path)!r}), pytest.MonkeyPatch(), DATA.replace("FIRST", ""))
        print([(x.kind, x.shape) for x in step.leaves if x.kind == "batch"])
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.stdout.strip() == "[('batch', (4, 1)), ('batch', (4,))]", done.stderr


@pytest.mark.exhaustive
def test_values_that_are_read_before_the_first_step(tmp_path):
    (tmp_path / "train.py").write_text(DATA.replace("FIRST", "print(torch.ones(1).item())"))
    program = """
        import types
        from torchlike.porting.plan import command
        command.require = lambda platform: None
        command.target_of = lambda **options: types.SimpleNamespace(
            topology=types.SimpleNamespace(platform="tpu"))
        command.run(["train.py"], topology_name="", mesh=None, fsdp=None, with_values=False,
                    advise=False, json_path=None, html_path=None)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 1
    assert "on meta tensors" in done.stderr
    assert "With --values the script has them" in done.stderr


def test_units():
    assert table.size(1_500_000) == "1.5 MB"
    assert table.count(2e12) == "2 T"
    assert table.seconds(0.0025) == "2.5 ms"


@needs_tpu
@pytest.mark.full
def test_advice_for_a_step(tmp_path):
    step, x, y, _ = training(width=256, batch=256)
    options = {"topology": "v5e:2x2", "mesh": None, "fsdp": None}
    plans = advice.tried(step, (x, y), options)
    changes = [p.change for p in plans]
    assert changes == [
        "",
        "FSDP over data",
        "rematerialisation of 2 layers",
        "both",
        "half the batch",
    ]
    assert plans[1].arguments < plans[0].arguments
    assert plans[2].flops > plans[0].flops
    assert plans[4].flops * 2 == plans[0].flops
    assert "What a change gives" in page.html(plans)
