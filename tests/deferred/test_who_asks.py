"""Whoever asks for a value gets it: all that was recorded before is run then."""

import copy
import io
import os
import pickle
import subprocess
import sys
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import torchlike as torch
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
    )
    environment = {**os.environ, "TORCHLIKE_EAGER": "deferred-at-once"}
    ran = subprocess.run(
        [sys.executable, "-c", text], env=environment, capture_output=True, text=True, check=True
    )
    first, second = ran.stdout.splitlines()
    assert first == "Deferred 6.0"
    assert second != "Deferred"
