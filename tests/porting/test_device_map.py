"""``torchlike run --device-map``, and ``import torch_xla``: scripts that name a device."""

import os
import subprocess
import sys
import textwrap

import jax
import pytest

import torchlike as torch
from torchlike._core import devices
from torchlike.porting import device_map

CUDA = """
import torch
assert torch.cuda.is_available() and torch.cuda.device_count() == 1
print(torch.cuda.get_device_name(0), torch.cuda.get_device_properties(0).name)
torch.cuda.set_device(0)
torch.cuda.manual_seed_all(0)
torch.backends.cudnn.benchmark = True
device = torch.device("cuda:0")
model = torch.nn.Linear(4, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cuda")
x = torch.randn(8, 4, device="cuda")
y = torch.zeros(8, 2).to(device, non_blocking=True)
for _ in range(3):
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = torch.nn.functional.mse_loss(model(x).float(), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    torch.cuda.synchronize()
print("trained", loss.item() > 0, torch.cuda.memory_allocated() >= 0)
torch.cuda.empty_cache()
state = {k: v.cpu() for k, v in model.state_dict().items()}
torch.save(state, "model.pt")
model.load_state_dict(torch.load("model.pt", map_location="cuda:0"))
"""

XLA = """
import torch
import torch_xla
assert torch_xla.core.xla_model.xla_device() == torch_xla.device()  # not imported by name yet
assert torch_xla.debug.metrics and torch_xla.utils.utils and torch_xla.distributed.spmd
import torch_xla.core.xla_model as xm
import torch_xla.distributed.parallel_loader as pl
import torch_xla.distributed.spmd as xs
import torch_xla.distributed.xla_multiprocessing as xmp
import torch_xla.runtime as xr
import torch_xla.debug.metrics as met
import numpy as np

def train(index):
    device = xm.xla_device()
    model = torch.nn.Linear(4, 2).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = torch.utils.data.TensorDataset(torch.randn(16, 4), torch.randn(16, 2))
    loader = pl.MpDeviceLoader(torch.utils.data.DataLoader(data, batch_size=8), device)
    for x, y in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        xm.optimizer_step(optimizer)
        xm.mark_step()
    xm.add_step_closure(lambda l: xm.master_print("loss", l.item() > 0), args=(loss,))
    xm.save(model.state_dict(), "model.pt")

xmp.spawn(train, args=())
xr.use_spmd()
n = xr.global_runtime_device_count()
mesh = xs.Mesh(np.arange(n), (n, 1), ("data", "model"))
t = xs.mark_sharding(torch.ones(8, 4), mesh, ("data", None))
print((t * 2).sum().item(), xm.get_ordinal(), xm.xrt_world_size(), bool(met.metrics_report()))
torch_xla.sync(wait=True)
try:
    xmp.spawn(train, nprocs=4)
except NotImplementedError as error:
    print("refused:", error)
try:
    xm.collective_permute
except NotImplementedError as error:
    print("refused:", error)
"""


#: What the examples of pytorch/xla import beyond that.
XLA_EXPERIMENTAL = """
import functools
import torch
import torch_xla
import torch_xla.distributed.parallel_loader as pl
import torch_xla.distributed.spmd as xs
import torch_xla.runtime as xr
from torch_xla.amp import autocast, syncfree
from torch_xla.distributed.fsdp.wrap import transformer_auto_wrap_policy
from torch_xla.experimental.custom_kernel import flash_attention
from torch_xla.experimental.scan_layers import scan_layers
from torch_xla.experimental.spmd_fully_sharded_data_parallel import (
    SpmdFullyShardedDataParallel as FSDPv2,
)

torch_xla.experimental.eager_mode(True)
n = xr.global_runtime_device_count()
mesh = xs.Mesh(list(range(n)), (n,), ("fsdp",))
xs.set_global_mesh(mesh)
device = torch_xla.device()
inner = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
policy = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={torch.nn.Linear})
model = FSDPv2(inner.to(device), auto_wrap_policy=policy)
optimizer = syncfree.SGD(model.parameters(), lr=0.1)
loader = pl.MpDeviceLoader(
    [(torch.randn(8, 4), torch.zeros(8, dtype=torch.long))], device,
    input_sharding=xs.ShardingSpec(mesh, ("fsdp", None)),
)
for x, y in loader:
    before = inner[0].module.weight.detach().clone()
    with autocast(device):
        out = model(x)
    print("wrapped", type(inner[0]).__name__, type(inner[1]).__name__, out.dtype)
    torch.nn.functional.cross_entropy(out.float(), y).backward()
    optimizer.step()
    print("trained", not torch.equal(before, inner[0].module.weight))
print("layers", scan_layers([lambda v: v + 1, lambda v: v * 2], torch.ones(2)).tolist())
q = torch.randn(1, 2, 6, 4)
segments = torch.tensor([[0, 0, 0, 1, 1, 1]])
for causal in (False, True):
    for ab in (None, torch.randn(1, 2, 6, 6)):
        scores = q @ q.mT + (0 if ab is None else ab)
        keep = (segments[:, :, None] == segments[:, None])[:, None]
        if causal:
            keep = keep & torch.ones(6, 6).tril().bool()
        wanted = scores.masked_fill(~keep, float("-inf")).softmax(-1) @ q
        got = flash_attention(q, q, q, causal, segments, segments, ab=ab)
        torch.testing.assert_close(got, wanted)
plain = torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True, scale=1.0)
torch.testing.assert_close(flash_attention(q, q, q, True), plain)
for wrong in (lambda: FSDPv2(model), lambda: FSDPv2(inner, mesh=xs.Mesh([0], (1,), ("data",)))):
    try:
        wrong()
    except (RuntimeError, ValueError) as error:
        print("refused:", error)
"""


def run(tmp_path, source, *options):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(source))
    return subprocess.run(
        [sys.executable, "-m", "torchlike", "run", *options, str(script)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ},
    )


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="says what happens on the CPU")
def test_a_script_that_says_cuda_runs_on_the_cpu(tmp_path):
    done = run(tmp_path, CUDA, "--device-map", "cuda=cpu")
    assert done.returncode == 0, done.stderr
    assert "trained True True" in done.stdout
    assert done.stderr.count("cuda means cpu in this script (--device-map)") == 1


#: Workers of a loader and processes of torch.multiprocessing, which import the script anew.
CHILDREN = """
import subprocess, sys
import torch
import torch.multiprocessing as mp

class Squares(torch.utils.data.Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, i):
        return torch.tensor(float(i), device="cuda") ** 2

def work(rank, queue):
    queue.put((torch.ones(2, device="cuda").device.type, torch.cuda.is_available()))

if __name__ == "__main__":
    queue = mp.get_context("spawn").SimpleQueue()
    mp.spawn(work, args=(queue,), nprocs=1)
    print("spawned", queue.get())
    loader = torch.utils.data.DataLoader(
        Squares(), batch_size=4, num_workers=1, multiprocessing_context="spawn"
    )
    print("loaded", [x.tolist() for x in loader])
    code = "import torch; print('started', torch.device('cuda:0'))"
    subprocess.run([sys.executable, "-c", code], check=True)
"""


@pytest.mark.full
@pytest.mark.skipif(jax.default_backend() != "cpu", reason="says what happens on the CPU")
def test_processes_of_a_script_inherit_the_map(tmp_path):
    done = run(tmp_path, CHILDREN, "--device-map", "cuda=cpu")
    assert done.returncode == 0, done.stderr
    assert "spawned ('cpu', True)" in done.stdout
    assert "loaded [[0.0, 1.0, 4.0, 9.0]]" in done.stdout
    assert "started cpu" in done.stdout
    assert done.stderr.count("cuda means cpu") == 1


def test_the_environment_says_the_map(monkeypatch):
    try:
        monkeypatch.setenv("TORCHLIKE_DEVICE_MAP", "cuda=cpu, xla=cpu")
        device_map.apply()
        assert devices.mapping() == {"cuda": "cpu", "xla": "cpu"}
        monkeypatch.setenv("TORCHLIKE_DEVICE_MAP", "cuda")
        with pytest.raises(ValueError, match="TORCHLIKE_DEVICE_MAP says 'cuda'; write it as"):
            device_map.apply()
    finally:
        devices.map_types({})


@pytest.mark.exhaustive
def test_a_script_of_torch_xla(tmp_path):
    done = run(tmp_path, XLA)
    assert done.returncode == 0, done.stderr
    assert "loss True" in done.stdout
    assert "64.0 0 1 True" in done.stdout
    assert "refused: xmp.spawn with 4 processes" in done.stdout
    assert "torch_xla.core.xla_model.collective_permute is not supported" in done.stdout


@pytest.mark.exhaustive
@pytest.mark.skipif(jax.default_backend() != "cpu", reason="says what happens on the CPU")
def test_a_script_of_torch_xlas_experimental_names(tmp_path):
    done = run(tmp_path, XLA_EXPERIMENTAL)
    assert done.returncode == 0, done.stderr
    assert "wrapped SpmdFullyShardedDataParallel ReLU torch.bfloat16" in done.stdout
    assert "trained True" in done.stdout
    assert "layers [4.0, 4.0]" in done.stdout
    assert "refused: Cannot wrap a module that is already wrapped with FSDP." in done.stdout
    assert "refused: The mesh must have an axis named 'fsdp'." in done.stdout


PROFILED = """
import torch
import torch_xla.debug.profiler as xp
xp.trace_detached("localhost:9012", "profile", duration_ms=60_000)
with xp.StepTrace("train", step_num=1), xp.Trace("forward"):
    print(torch.ones(3).sum().item())
try:
    xp.no_such_name
except NotImplementedError as error:
    print("refused:", error)
"""


@pytest.mark.full
def test_a_script_that_is_profiled(tmp_path):
    """The trace ends with the script."""
    done = run(tmp_path, PROFILED)
    assert done.returncode == 0, done.stderr
    assert "3.0" in done.stdout
    assert "torch_xla.debug.profiler.no_such_name is not supported" in done.stdout
    assert list((tmp_path / "profile").rglob("*.xplane.pb"))


@pytest.mark.exhaustive
def test_wrong_maps_are_refused(tmp_path):
    for text in ("cuda", "cuda=gpu", "cpu=cuda"):
        done = run(tmp_path, "", "--device-map", text)
        assert done.returncode == 2
        assert "write it as cuda=cpu" in done.stderr


def test_a_map_ends():
    devices.map_types({"cuda": "cpu"})
    try:
        assert torch.device("cuda:1") == torch.device("cpu")
        assert torch.ones(2, device="cuda").device.type == "cpu"
    finally:
        devices.map_types({})
    assert torch.device("cuda:1").index == 1
    with pytest.raises(ValueError, match="'gpu' is no device type"):
        devices.map_types({"gpu": "cpu"})


CARD = """
import torch
assert torch.cuda.get_device_properties(0).multi_processor_count == 40
torch.manual_seed(0)
print(torch.rand(2), torch.rand(2, device="cuda"))
x = torch.ones(8).to("cuda:0")
kept = torch.nn.functional.dropout(x, 0.5)
print(kept, torch.cuda.get_rng_state()[8].item(), torch.get_rng_state().numel())
try:
    x + torch.ones(8)
except RuntimeError as error:
    print(error)
torch.manual_seed(0)
torch.rand(1, device="cuda")
again = torch.compile(torch.nn.functional.dropout)(x, 0.5)
print(torch.equal(kept, again))
torch.manual_seed(3)
leaf = torch.ones(64, device="cuda", requires_grad=True)
squares = lambda t: torch.nn.functional.dropout(t, 0.5) ** 2
out = torch.utils.checkpoint.checkpoint(squares, leaf, use_reentrant=False)
out.sum().backward()
print(torch.equal(out * 2, leaf.grad))
"""


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="says what happens on the CPU")
def test_a_script_has_the_random_numbers_that_it_had_on_a_card(tmp_path):
    done = run(tmp_path, CARD, "--device-map", "cuda=cpu", "--card", "T4")
    assert done.returncode == 0, done.stderr
    assert "in this script (--device-map), with the random numbers of T4" in done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "tensor([0.4963, 0.7682]) tensor([0.3990, 0.5167], device='cuda:0')"
    assert lines[1].endswith("], device='cuda:0') 8 5056")
    assert "Expected all tensors to be on the same device" in lines[2]
    assert lines[3:] == ["True", "True"]


def test_a_card_that_is_none(tmp_path):
    done = run(tmp_path, "print(1)", "--card", "A1000")
    assert (done.returncode, done.stdout) == (2, "")
    assert "torchlike: no card 'A1000' is known" in done.stderr
