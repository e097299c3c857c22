"""A device that has no memory left: the error names what holds it, and the process goes on."""

import subprocess
import sys

import jax
import pytest

import torchlike as torch
from torchlike._core.dispatch.record import OpNode
from torchlike._jit.program.program import Program
from torchlike._runtime import device_memory, recycling
from torchlike.optim import fused

WORDS = "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8589934592 bytes."


def _refused(*args, **kwargs):
    raise jax.errors.JaxRuntimeError(WORDS)


class _Refusing:
    """Stand for a compiled form that no device has the memory for."""

    __call__ = by_numpy = _refused


@pytest.fixture
def lines():
    """Lines are recorded."""
    torch.cuda.memory._record_memory_history()
    yield
    torch.cuda.memory._record_memory_history(None)


#: On a device of the CPU's that stands for a GPU, where XLA itself refuses 64 TiB.
ON_A_STAND_IN = """
import pytest
import torchlike as torch
torch.jit.set_warmup(0)
x = torch.ones(1, device="cuda")
held = torch.zeros(1000, 100, device="cuda")
torch.cuda.memory._record_memory_history()
named = torch.ones(200, 100, device="cuda")
named.mul_(2)
sort = torch.jit.jit(lambda x: (x.expand(2**44) + x).sort()[0][:3])
wrong = sort(x)  # XLA's CPU backend says so later
tries = [
    lambda: x.expand(2**44) + 1,
    lambda: torch.zeros(2**46, device="cuda"),
    lambda: wrong.tolist(),
    lambda: bool((wrong + 1 > 0).all()),
    lambda: torch.cuda.synchronize(),
    lambda: wrong.cpu().tolist(),
]
for attempt in tries:
    with pytest.raises(torch.cuda.OutOfMemoryError) as raised:
        made = attempt()
        torch.cuda.synchronize()  # calls there are deferred
    text = str(raised.value)
    assert text.startswith("CUDA out of memory. Tried to allocate "), text
    assert "390.62 KiB      1 x [1000, 100] float32\\n" in text, text
    assert "78.12 KiB      1 x [200, 100] float32  <string>:8\\n" in text, text
    del raised
summary = torch.cuda.memory_summary()
assert "1 x [200, 100] float32  <string>:8" in summary, summary
torch.cuda.memory._record_memory_history(None)
assert "<string>" not in torch.cuda.memory_summary()
torch.cuda.empty_cache()
assert (named + 1).sum().item() == 60000 and sort.__name__ is not None
"""


def test_the_error_of_a_device_names_what_holds_its_memory():
    start = "from torchlike._runtime import platforms; platforms.stand_for_gpu()"
    done = subprocess.run(
        [sys.executable, "-c", start + ON_A_STAND_IN], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_a_backward_pass_that_is_refused_can_be_run_again(monkeypatch):
    x = torch.ones(3, requires_grad=True)
    loss = (x * x).sum()
    with monkeypatch.context() as patched:
        patched.setattr(OpNode, "run", _refused)
        with pytest.raises(torch.OutOfMemoryError, match="The backward pass at") as raised:
            loss.backward()
    assert "Tried to allocate 8.00 GiB." in str(raised.value)
    assert x.grad is None
    loss.backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_an_optimizers_step_that_is_refused_leaves_the_parameters(monkeypatch):
    p = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([p], lr=0.5)
    p.sum().backward()
    with monkeypatch.context() as patched:
        patched.setattr(fused, "_functions", lambda *key: (_Refusing(), _Refusing()))
        with pytest.raises(torch.OutOfMemoryError, match=r"SGD.step\(\) failed: RESOURCE_EXH"):
            optimizer.step()
    assert p.tolist() == [1.0, 1.0, 1.0]
    optimizer.step()
    assert p.tolist() == [0.5, 0.5, 0.5]


@pytest.mark.parametrize("calls_before", [0, 3])
def test_a_compiled_step_that_is_refused_leaves_its_state(monkeypatch, calls_before):
    counter = torch.zeros(3)

    class Owner:
        count = 0

    def step(x):
        Owner.count += 1
        return counter.add_(x)

    compiled = torch.jit.jit(step, warmup=0)
    for _ in range(calls_before):
        compiled(torch.ones(3))
    name = "run" if not calls_before else "call"
    with monkeypatch.context() as patched:
        patched.setattr(Program, name, _refused)
        for program in compiled.programs():
            patched.setattr(program._program.state, "call", _refused)
        with pytest.raises(torch.OutOfMemoryError, match=r"step \(compiled\) failed"):
            compiled(torch.ones(3))
    assert counter.tolist() == [calls_before] * 3
    assert compiled(torch.ones(3)).tolist() == [calls_before + 1] * 3
    assert counter.tolist() == [calls_before + 1] * 3


def test_what_is_alive_is_counted_by_shape_and_line(lines):
    kept = [torch.ones(77, 55) for _ in range(3)]
    for x in kept:
        x._read()
    (found,) = [h for h in device_memory.held(jax.devices()[0]) if h.shape == (77, 55)]
    assert (found.nbytes, found.count, found.dtype) == (3 * 77 * 55 * 4, 3, "float32")
    assert found.line.startswith(__file__)
    text = device_memory.table([found] * 12, most=10)
    assert text.count("3 x [77, 55] float32") == 10
    assert text.endswith("6 others")
    del kept


def test_lines_are_of_the_tensor_not_of_the_last_write(lines):
    x = torch.zeros(33, 44)
    made = sys._getframe().f_lineno - 1
    x.add_(1)
    x._read()
    (found,) = [h for h in device_memory.held(jax.devices()[0]) if h.shape == (33, 44)]
    assert found.line == f"{__file__}:{made}"


def test_caches_are_freed(monkeypatch):
    x = torch.arange(10_000.0)
    x._read()
    part = x[::2]
    before = part.sum().item()
    part._read()
    assert part._view.cached is not None
    monkeypatch.setattr(recycling, "_free", recycling.deque([x._read()]))
    torch.cuda.empty_cache()
    assert part._view.cached is None
    assert not recycling._free
    assert part.sum().item() == before


def test_errors_of_other_kinds_stay_what_they_are():
    other = jax.errors.JaxRuntimeError("INTERNAL: something else")
    assert device_memory.out_of_memory(other) is other
    assert not device_memory.is_refused(ValueError("RESOURCE_EXHAUSTED"))


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Out of memory while trying to allocate 8589934592 bytes.", "8.00 GiB"),
        ("Out of memory allocating 1048576 bytes.", "1.00 MiB"),
        ("Out of memory while trying to allocate 1.50GiB.", "1.50 GiB"),
    ],
)
def test_what_was_asked_for_is_told(said, told):
    error = jax.errors.JaxRuntimeError(f"RESOURCE_EXHAUSTED: {said}")
    assert f"Tried to allocate {told}." in str(device_memory.out_of_memory(error))
