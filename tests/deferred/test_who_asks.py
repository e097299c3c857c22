"""Whoever asks for a value gets it: all that was recorded before is run then."""

import copy
import gc
import io
import os
import pickle
import subprocess
import sys
import threading
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import torchlike as torch
from torchlike._extensions.deferred import pieces
from torchlike._extensions.deferred.value import Deferred


def made():
    """Return a tensor of [1, 3, 5] that is not computed yet."""
    t = torch.arange(3.0) * 2 + 1
    assert type(t._storage.cell) is Deferred
    assert t._storage.cell.array is None
    return t


def saved_and_loaded(t):
    file = io.BytesIO()
    torch.save({"t": t}, file)
    file.seek(0)
    return torch.load(file)["t"]


ASKING = {
    "item": lambda t: [x.item() for x in t],
    "tolist": lambda t: t.tolist(),
    "numpy": lambda t: t.numpy(),
    "numpy.asarray": np.asarray,
    "jax": lambda t: t.jax(),
    "float": lambda t: [float(x) for x in t],
    "int": lambda t: [int(x) for x in t],
    "iteration": lambda t: [x.item() for x in t],
    "pickle": lambda t: pickle.loads(pickle.dumps(t)).tolist(),
    "save": saved_and_loaded,
    "deepcopy": lambda t: copy.deepcopy(t).tolist(),
    "dlpack": lambda t: np.from_dlpack(t),
    "torch.from_dlpack": lambda t: torch.from_dlpack(t).tolist(),
    "jax.numpy": lambda t: jnp.asarray(t._read()) + 0,
    "jax.jit": lambda t: jax.jit(lambda x: x + 0)(t.jax()),
    "nonzero": lambda t: [t[i].item() for i in (t > 0).nonzero()[:, 0].tolist()],
    "mask": lambda t: t[t > 0].tolist(),
    "unique": lambda t: torch.unique(t).tolist(),
    "a view": lambda t: [*t[:2].tolist(), t[-1].item()],
    "data_ptr": lambda t: t.tolist() if t.data_ptr() else None,
    "share_memory_": lambda t: t.share_memory_().tolist(),
    "sparse": lambda t: t.to_sparse().to_dense().tolist(),
    "untyped_storage": lambda t: np.frombuffer(bytes(t.untyped_storage().tolist()), np.float32),
}


@pytest.mark.parametrize("ask", ASKING)
def test_values(deferring, ask):
    assert list(np.asarray(ASKING[ask](made()))) == [1, 3, 5]


def test_texts_and_decisions(deferring):
    assert str(made()) == "tensor([1., 3., 5.])"
    assert f"{made().sum():.1f}" == "9.0"
    assert bool(made().sum() > 8)
    assert torch.equal(made(), made())
    assert torch.allclose(made(), torch.tensor([1.0, 3, 5]))
    assert 3.0 in made()
    assert len(made()) == 3


def test_numpy_shares_memory(deferring):
    t = made()
    array = t.numpy()
    t.add_(1)
    assert array.tolist() == [2, 4, 6]
    array[0] = 7
    assert (t * 1).tolist() == [7, 4, 6]


def test_a_jitted_function_gets_arrays(deferring):
    compiled = torch.jit(lambda x: x * 2)
    assert compiled(made()).tolist() == [2, 6, 10]
    t = made()
    assert (compiled(t) + t).tolist() == [3, 9, 15]
    assert compiled(made()).tolist() == [2, 6, 10]
    assert torch.compiler.is_compiling() is False


def test_a_capture_reads_what_was_deferred(deferring):
    outside = made()

    @torch.jit
    def add(x):
        return x + outside

    assert add(torch.ones(3)).tolist() == [2, 4, 6]
    outside.mul_(2)
    assert add(torch.ones(3)).tolist() == [3, 7, 11]


def test_transforms(deferring):
    t = made()
    assert torch.vmap(lambda x: x * 2)(t).tolist() == [2, 6, 10]
    assert torch.func.grad(lambda x: (x * x).sum())(t).tolist() == [2, 6, 10]
    out, tangent = torch.func.jvp(lambda x: x * x, (t,), (made(),))
    assert (out.tolist(), tangent.tolist()) == ([1, 9, 25], [2, 18, 50])


def test_a_trace_of_jax(deferring):
    kept = []

    def traced(x):
        kept.append(made())  # no part of the program
        return torch.from_jax(x).mul(kept[0])._read() + kept[0].sum().item()

    assert jax.jit(traced)(jnp.ones(3)).tolist() == [10, 12, 14]
    assert kept[0].tolist() == [1, 3, 5]


def test_other_kinds_of_tensors(deferring):
    class Named(torch.Tensor):
        pass

    assert type(made().as_subclass(Named) + 1) is Named
    assert (made().as_subclass(Named) + 1).tolist() == [2, 4, 6]
    dense = torch.diag(made())
    assert (dense.to_sparse() @ made().reshape(3, 1)).flatten().tolist() == [1, 9, 25]
    nested = torch.nested.nested_tensor([made(), made()[:2]], layout=torch.jagged)
    assert [t.tolist() for t in nested.unbind()] == [[1, 3, 5], [1, 3]]
    assert (made().to("meta") * 2).shape == (3,)


def test_another_thread_takes_over(deferring):
    t, found = made(), []

    def other():
        found.append((t * 2).tolist())
        found.append(t.tolist())

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert found == [[2, 6, 10], [1, 3, 5]]
    assert (t + 1).tolist() == [2, 4, 6]


def test_a_threads_values_outlive_it(deferring):
    made_there = []

    def other():
        with torch.deferred(True):
            made_there.append(made())
            made_there.append(made_there[0] + 1)

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert [t.tolist() for t in made_there] == [[1, 3, 5], [2, 4, 6]]


def test_what_is_pending_when_deferring_ends(deferring):
    t = made()
    with torch.deferred(False):
        assert type(t._storage.cell) is not Deferred
        assert (t + 1).tolist() == [2, 4, 6]
    later = made()
    assert later.tolist() == [1, 3, 5]


def worked():
    """Do what is recorded: operands met before and not, calls known and not, long chains."""
    torch.manual_seed(0)
    kept = [torch.rand(3) for _ in range(2)]
    for i in range(24):
        a, b = kept[-1], kept[i % 2]
        if i % 4 == 3:
            b.mul_(0.9)
        kept.append([a + b, a.tanh() * 0.5, torch.where(a > b, a, b) - i / 50][i % 3])
    return kept


INTERFERING = {
    "read": lambda t: t.tolist(),
    "record": lambda t: t * 2 + torch.ones(3),
    "flush": lambda t: torch.cpu.synchronize(),
}


@pytest.mark.parametrize("name", INTERFERING)
def test_who_asks_while_a_call_is_recorded(name, deferring, monkeypatch):
    """As finalizers, signals' handlers and debuggers do, between any two lines of the queue's."""
    with torch.deferred(False):
        expected = [t.tolist() for t in worked()]
    t, interfering, lines = made(), False, 0
    held = []

    def trace(frame, event, arg):
        nonlocal interfering, lines
        if "deferred" not in frame.f_code.co_filename or frame.f_code.co_filename == __file__:
            return None
        lines += 1
        if not interfering and lines % 31 == 0:
            interfering = True
            try:
                held.append(INTERFERING[name](t.add_(0) if lines % 2 else t))
            finally:
                interfering = False
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        found = worked()
    finally:
        sys.settrace(before)
    assert held
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a.tolist(), b, rtol=1e-5)


def test_a_handler_asks_for_what_is_being_computed(deferring, monkeypatch):
    t, asked, run = made(), [], pieces.DeferredPiece.run

    def running(piece, *args):
        asked.append(t.tolist())
        return run(piece, *args)

    monkeypatch.setattr(pieces.DeferredPiece, "run", running)
    assert (t + 1).tolist() == [2, 4, 6]
    assert asked == [[1, 3, 5]]


def test_debuggers_see_the_values_of_variables(deferring):
    seen = []

    def work():
        a = torch.arange(3.0) * 2
        b = a + 1
        a.mul_(2)
        return b

    def trace(frame, event, arg):
        if frame.f_code is work.__code__:
            seen.extend((n, v.tolist()) for n, v in frame.f_locals.items())
            return trace
        return None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    a, b, later = ("a", [0, 2, 4]), ("b", [1, 3, 5]), ("a", [0, 4, 8])
    assert seen == [a, a, b, later, b, later, b]


def test_an_exception_in_flight(deferring):
    with pytest.raises(KeyError) as caught:
        raise KeyError(torch.ones(2) * 3)
    assert caught.value.args[0].tolist() == [3, 3]


def test_generators(deferring):
    def counting():
        x = torch.zeros(2)
        while True:
            x = x + 1
            yield x

    numbers = counting()
    first, found = next(numbers), []
    thread = threading.Thread(target=lambda: found.append(next(numbers)))
    thread.start()
    thread.join()
    assert [x.tolist() for x in (first, *found, next(numbers))] == [[1, 1], [2, 2], [3, 3]]


def test_a_cycle_is_collected_with_what_is_pending(deferring):
    held = []
    held.append(held)
    held.append(made())
    gone = weakref.ref(held[1])
    del held
    gc.collect()
    assert gone() is None
    assert made().tolist() == [1, 3, 5]


def test_hooks_look(deferring):
    w, looked = torch.ones(2, requires_grad=True), []
    y = w * 3
    y.register_hook(lambda g: looked.append(g.tolist()))
    module = torch.nn.Linear(2, 1)
    module.register_forward_hook(lambda module, args, out: looked.append(out.numel()))
    module.register_full_backward_hook(lambda module, i, o: looked.append(o[0].item()))
    module(y).sum().backward()
    assert looked == [1, 1.0, module.weight.detach()[0].tolist()]
    assert w.grad.tolist() == pytest.approx([3 * x for x in looked[2]])


def test_threads_write_by_turns(deferring):
    shared, lock = torch.zeros(2), threading.Lock()

    def add():
        with torch.deferred(True):
            for _ in range(20):
                with lock:
                    shared.add_(1)

    threads = [threading.Thread(target=add) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert shared.tolist() == [60, 60]


@pytest.mark.parametrize("workers", [0, pytest.param(1, marks=pytest.mark.exhaustive)])
def test_a_loader(deferring, workers):
    data = torch.utils.data.TensorDataset(torch.arange(4.0) * 2)
    loader = torch.utils.data.DataLoader(data, 2, num_workers=workers)
    assert [batch.tolist() for (batch,) in loader] == [[0, 2], [4, 6]]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")
def test_fork(deferring):
    t = made()
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(write, bytes([int(x) for x in t.numpy()]))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert list(os.read(read, 3)) == [1, 3, 5]
    os.close(read)
    os.close(write)
    assert t.tolist() == [1, 3, 5]


def test_a_process_in_which_every_call_is_deferred():
    text = (
        "import torchlike as torch\n"
        "t = torch.ones(3) * 2\n"
        "print(type(t._storage.cell).__name__, t.sum().item())\n"
        "with torch.deferred(False): print(type((t + 1)._storage.cell).__name__)\n"
        "import atexit; atexit.register(lambda: print(t.tolist())); t = t + 1\n"
    )
    environment = {**os.environ, "TORCHLIKE_EAGER": "deferred-at-once"}
    ran = subprocess.run(
        [sys.executable, "-c", text], env=environment, capture_output=True, text=True, check=True
    )
    first, second, at_exit = ran.stdout.splitlines()
    assert at_exit == "[3.0, 3.0, 3.0]"
    assert first == "Deferred 6.0"
    assert second != "Deferred"
