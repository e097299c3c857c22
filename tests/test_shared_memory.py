"""Tensors in shared memory: one block for many, seen by forked processes, never left behind."""

import copy
import errno
import gc
import os
import pickle
import resource
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import torchlike as torch
from torchlike import nn
from torchlike._runtime import shared_memory

pytestmark = pytest.mark.skipif(
    not hasattr(os, "memfd_create"), reason="counts blocks by what Linux tells of them"
)


def open_blocks():
    """How many files of blocks this process has open, and how many it has mapped."""
    names = [os.readlink(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd") if _is_open(n)]
    with open("/proc/self/maps") as maps:
        mapped = sum("memfd:torchlike" in line for line in maps)
    return sum("memfd:torchlike" in name for name in names), mapped


def _is_open(n):
    return os.path.lexists(f"/proc/self/fd/{n}")


@pytest.fixture(autouse=True)
def nothing_is_left():
    gc.collect()
    before = open_blocks()
    yield
    gc.collect()
    assert open_blocks() == before


def test_a_tensor_moves_with_all_on_its_memory():
    x = torch.arange(6.0)
    row, turned = x[2:], x.view(2, 3).t()
    assert not x.is_shared()
    assert x.share_memory_() is x
    assert x.is_shared()
    assert row.is_shared()
    row[0] = 9
    assert turned.tolist() == [[0, 3], [1, 4], [9, 5]]
    before = x.data_ptr()
    x.add_(1)
    assert x.data_ptr() == before
    assert x.share_memory_().data_ptr() == before


def test_memory_order_is_kept():
    x = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)
    twin = x.clone().numpy()
    x.share_memory_()
    assert x.stride() == (60, 1, 15, 3)
    np.testing.assert_array_equal(x.numpy(), twin)
    x.numpy()[1, 2, 3, 4] = 7
    assert x[1, 2, 3, 4] == 7
    assert x.is_shared()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.bool, torch.complex64, torch.int64])
def test_dtypes_and_shapes(dtype):
    for shape in ((), (0,), (2, 0), (3, 1)):
        x = torch.ones(shape, dtype=dtype).share_memory_()
        assert x.is_shared()
        assert x.dtype is dtype
        assert torch.equal(x, torch.ones(shape, dtype=dtype))


def test_a_numpy_array_from_before_is_left_alone():
    a = np.zeros(3)
    t = torch.from_numpy(a).share_memory_()
    t[0] = 5
    assert a.tolist() == [0, 0, 0]


def test_views_that_numpy_cannot_show_are_read_afresh():
    a = np.ones(2, np.complex64)
    turned = torch.from_numpy(a).conj()
    assert turned.resolve_conj().tolist() == [1, 1]
    a[0] = 5j
    assert turned.resolve_conj().tolist() == [-5j, 1]


VIEWS = {
    "element": lambda x, v: x.__setitem__((0, 1), v),
    "row": lambda x, v: x[0].fill_(v),
    "column": lambda x, v: x[:, 1].add_(v),
    "turned": lambda x, v: x.t()[1, :2].mul_(v),
    "bits": lambda x, v: x.view(torch.int32)[0, 1:2].fill_(v),
    "reshaped": lambda x, v: x.reshape(-1)[1:2].copy_(torch.tensor([v])),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_is_written_and_nothing_beside_it(name, monkeypatch):
    """Another process may be writing the rest at the same time."""
    x = torch.ones(3, 4).share_memory_()
    twin = torch.ones(3, 4)
    buffer = x._storage.host

    def read(*args):
        buffer[2, 3] = 8  # as another process may do it, after this one has read
        return before(*args)

    before = np.copyto
    monkeypatch.setattr(np, "copyto", read)
    VIEWS[name](x, 5)
    monkeypatch.undo()
    VIEWS[name](twin, 5)
    twin[2, 3] = 8
    assert torch.equal(x, twin)


def test_a_module_is_one_block():
    net = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
    net(torch.rand(4, 3)).sum().backward()
    before = open_blocks()
    assert net.share_memory() is net
    assert open_blocks() == (before[0] + 1, before[1] + 1)
    shared = [*net.parameters(), *net.buffers(), *(p.grad for p in net.parameters())]
    assert all(t.is_shared() for t in shared)


def test_steps_write_into_the_block():
    layer = nn.Linear(2, 2)
    twin = nn.Linear(2, 2)
    twin.load_state_dict(layer.state_dict())
    layer.share_memory()
    before = layer.weight.data_ptr()
    for net in (layer, twin):
        optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)

        @torch.compile
        def step(net=net, optimizer=optimizer):
            optimizer.zero_grad()
            loss = (net(torch.ones(1, 2)) ** 2).sum()
            loss.backward()
            optimizer.step()
            return loss

        for _ in range(3):
            step()
    assert torch.equal(layer.weight, twin.weight)
    assert layer.weight.is_shared()
    assert layer.weight.data_ptr() == before


def test_copies_are_not_shared():
    x = torch.ones(3).share_memory_()
    for other in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x.clone(), x + 0):
        assert not other.is_shared()


def test_storages():
    assert torch.UntypedStorage._new_shared(10).is_shared()
    x = torch.ones(4)
    assert x.untyped_storage().share_memory_() == x.untyped_storage()
    assert x.is_shared()
    room = x._typed_storage()._new_shared(6)
    y = x.new(room).resize_(2, 3)
    torch.stack([x[:3], x[1:]], 0, out=y)
    assert y.is_shared()
    assert y.tolist() == [[1, 1, 1], [1, 1, 1]]


def test_a_sum_of_squares_is_shared():
    w = torch.ones(3, requires_grad=True)
    adagrad = torch.optim.Adagrad([w])
    adagrad.share_memory()
    assert adagrad.state[w]["sum"].is_shared()


def test_what_cannot_be_shared():
    with pytest.raises(RuntimeError, match="only available on CPU"):
        torch.ones(3, device="meta").share_memory_()
    assert not torch.ones(3, device="meta").is_shared()
    for ask in (torch.Tensor.share_memory_, torch.Tensor.is_shared):
        with pytest.raises(NotImplementedError, match="storage of SparseTensorImpl"):
            ask(torch.eye(2).to_sparse())
    with pytest.raises(RuntimeError, match="share memory on an uninitialized parameter"):
        nn.LazyLinear(3).share_memory()
    with pytest.raises(torch.jit.JitCaptureError, match=r"share_memory_\(\)"):
        torch.jit(lambda x: x.share_memory_())(torch.ones(2))


def test_the_same_block_is_mapped_once():
    x = torch.ones(3).share_memory_()
    block = shared_memory.block_of(x._storage.host)
    assert shared_memory.attach(os.dup(block.descriptor)) is block


# -- where there is no memory, or no file ----------------------------------------------------------


def refused_size():
    return torch.UntypedStorage._new_shared(1 << 50)


def refused_file():
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, before[1]))
    try:
        torch.zeros(1 << 18).share_memory_()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def refused_number():
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.dup(0)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, before[1]))
    try:
        torch.zeros(3).share_memory_()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize(
    ("ask", "code"),
    [(refused_size, errno.ENOMEM), (refused_file, errno.EFBIG), (refused_number, errno.EMFILE)],
)
def test_the_systems_refusals_are_told(ask, code):
    with pytest.raises(RuntimeError, match=rf"unable to allocate shared memory .*\({code}\)"):
        ask()


def test_a_full_file_system_is_told(monkeypatch):
    def full(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(RuntimeError, match="shared memory of 64 bytes: No space left on device"):
        torch.zeros(3).share_memory_()


# -- other processes -------------------------------------------------------------------------------

FORKS = """
    import os, signal, sys, time
    import torchlike as torch
    x = torch.UntypedStorage._new_shared(4)
    if (child := os.fork()) == 0:
        x.memory()[1] = 7
        if sys.argv[1] == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        os._exit(0)
    os.waitpid(child, 0)
    print(x.tolist(), flush=True)
    if sys.argv[1] == "parent killed":
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("how", ["ends", "killed", "parent killed"])
def test_a_forked_process_writes_and_leaves_nothing(how):
    before = set(os.listdir("/dev/shm"))
    command = [sys.executable, "-c", textwrap.dedent(FORKS), how]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "[0, 7, 0, 0]\n", done.stderr
    assert done.returncode == (-signal.SIGKILL if how == "parent killed" else 0)
    assert {n for n in os.listdir("/dev/shm") if "torchlike" in n} <= before
