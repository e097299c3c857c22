"""The op table and the modules on an accelerator, against PyTorch on the CPU."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import torchlike

pytest.importorskip("torch")
import torch
from gpu_stream import drawing_as_on
from module_cases import CASES as MODULES
from module_cases import values_of
from op_harness import compare, make, resolve, tensors_in
from op_table import ALL
from oracle import as_numpy

#: Kernels of accelerators take their own approximations of transcendental functions.
RTOL = 5e-5


pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of names that are deprecated
#: Of several values written into one place a GPU keeps any, PyTorch's too.
ANY_OF_SEVERAL = {"scatter-0", "scatter-1", "scatter-7", "index_put-2"}


@pytest.fixture(autouse=True)
def _without_tf32():
    """Convolutions with all their bits: PyTorch's default for cuDNN has ten."""
    with torchlike.backends.cudnn.flags(allow_tf32=False):
        yield


@pytest.mark.parametrize("case", [c for c in ALL if str(c) not in ANY_OF_SEVERAL], ids=str)
def test_op(case, device):
    if not hasattr(torch.nn.functional, case.name.rsplit(".", 1)[-1]) and "nn." in case.name:
        pytest.skip("a name that this PyTorch has not")
    with torchlike.device(device):
        compare(dataclasses.replace(case, rtol=max(case.rtol, RTOL)))
        side = make(case, torchlike, False)
        results = tensors_in(resolve(torchlike, case.name)(*side.args, **side.kwargs))
    assert {t.device.type for t in results} <= {device}


@pytest.mark.parametrize("case", ALL, ids=str)
def test_op_of_the_cpu_where_there_is_an_accelerator(case, device):
    compare(case, parts="value grad")
    side = make(case, torchlike, False)
    results = tensors_in(resolve(torchlike, case.name)(*side.args, **side.kwargs))
    assert {t.device.type for t in results} <= {"cpu"}


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("name", [n for n in MODULES if "RReLU" not in n])  # draws by values
def test_module(name, jitted, device):
    build, specs = MODULES[name]
    rng = np.random.default_rng(0)
    inputs = [values_of(spec, rng) for spec in specs]
    torchlike.manual_seed(0)
    here = build(torchlike.nn)
    state = here.state_dict()
    torchlike.manual_seed(0)
    there = build(torchlike.nn).to(device)
    there.load_state_dict(state)
    found = _outputs_and_gradients(there, inputs, device, jitted)
    with drawing_as_on("cpu"):
        expected = _outputs_and_gradients(here, inputs, "cpu", False)
    for ours, theirs in zip(found, expected, strict=True):
        # The loss is a sum of all outputs' squares: what is small beside it has its roundings.
        np.testing.assert_allclose(ours, theirs, rtol=RTOL, atol=2e-5)


def _outputs_and_gradients(module, inputs, device, jitted):
    torchlike.manual_seed(0)
    given = [torchlike.from_numpy(x.copy()).to(device) for x in inputs]
    leaves = [t.requires_grad_() for t in given[:1] if t.is_floating_point()]
    leaves += [p for p in module.parameters() if p.requires_grad]

    def run():
        outputs = _tensors(module(*given))
        loss = sum((y * y).sum() for y in outputs if y.is_floating_point())
        if leaves and torchlike.is_tensor(loss) and loss.requires_grad:
            loss.backward()
        return outputs

    outputs = (torchlike.jit(run) if jitted else run)()
    assert all(t.device.type == device for t in outputs)
    grads = [t.grad for t in leaves if t.grad is not None]
    assert all(g.device.type == device for g in grads)
    return [as_numpy(t) for t in (*outputs, *grads)]


def _tensors(tree):
    if isinstance(tree, torchlike.nn.utils.rnn.PackedSequence):
        return [tree.data]
    return tensors_in(tree)
