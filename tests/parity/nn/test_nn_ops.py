"""The families of nn.functional against PyTorch: values, gradients, in-place, errors."""

import warnings

import pytest

torch = pytest.importorskip("torch")

from nn_op_cases import CASES, ERRORS, INPLACE_CASES  # noqa: E402
from op_harness import Case, compare, compare_error, make, same  # noqa: E402

import torchlike  # noqa: E402
import torchlike.nn.functional  # noqa: E402

# PyTorch's threads spin; beside another test process that costs far more than they bring here.
torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _quiet() -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # both sides warn alike; the words are tested in tests/ops
        yield


@pytest.mark.sampled(per=lambda p: p["case"].name)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_agrees_with_pytorch(case: Case) -> None:
    compare(case, "value grad")


@pytest.mark.parametrize("case", INPLACE_CASES, ids=str)
def test_inplace_argument_writes_into_a_view_and_its_base(case: Case) -> None:
    found = []
    for module in (torchlike, torch):
        side = make(case, module, True)
        leaf, *rest = side.args
        base = leaf * 1
        function = getattr(module.nn.functional, case.name.split(".")[-1])
        out = function(base[:1], *rest, **side.kwargs)
        (base * base).sum().backward()
        found.append((out, base, leaf.grad))
    for ours, theirs in zip(*found, strict=True):
        same(ours, theirs, case.name, 2e-5)


@pytest.mark.parametrize("case", ERRORS, ids=str)
def test_raises_as_pytorch_does(case: Case) -> None:
    compare_error(case)


@pytest.mark.parametrize("momentum", [0.1, 0.0])
def test_batch_norm_moves_its_running_statistics(momentum: float) -> None:
    found = []
    for module in (torchlike, torch):
        x = module.arange(24.0).reshape(4, 2, 3).sin().requires_grad_()
        mean, var = module.zeros(2), module.ones(2)
        module.nn.functional.batch_norm(x, mean, var, training=True, momentum=momentum)
        module.nn.functional.instance_norm(x, mean, var, momentum=0.5)
        found.append((mean, var))
    for ours, theirs in zip(*found, strict=True):
        same(ours, theirs, "running statistics", 1e-5)


def test_embedding_max_norm_renormalizes_in_place() -> None:
    found = []
    for module in (torchlike, torch):
        weight = (module.arange(12.0).reshape(4, 3) / 4).requires_grad_()
        weight = weight.detach().requires_grad_()
        out = module.nn.functional.embedding(module.tensor([3, 0, 3]), weight, max_norm=1.0)
        out.sum().backward()
        found.append((weight, out, weight.grad))
    for ours, theirs in zip(*found, strict=True):
        same(ours, theirs, "max_norm", 1e-5)
