"""Memory that is shared outside of the package, in compiled functions. Figures are PyTorch's."""

import mmap
import warnings

import numpy as np
import pytest

import torchlike as torch


def _file(folder):
    path = folder / "six"
    np.zeros(6, np.float32).tofile(path)
    return path


def _mapped(folder):
    with open(_file(folder), "r+b") as file:
        memory = mmap.mmap(file.fileno(), 0)
    return lambda: torch.frombuffer(memory, dtype=torch.float32)


def _numpy(_):
    array = np.zeros(6, np.float32)
    return lambda: torch.from_numpy(array)


def _buffer(_):
    memory = bytearray(24)
    return lambda: torch.frombuffer(memory, dtype=torch.float32)


def _as_tensor(_):
    array = np.zeros(6, np.float32)
    return lambda: torch.as_tensor(array)


def _dlpack(_):
    array = np.zeros(6, np.float32)
    return lambda: torch.from_dlpack(array)


def _from_file(folder):
    path = str(_file(folder))
    return lambda: torch.from_file(path, shared=True, size=6)


def _memmap(folder):
    path = _file(folder)
    return lambda: torch.from_numpy(np.memmap(path, np.float32, "r+"))


def _shared(_):
    t = torch.zeros(6).share_memory_()
    return lambda: torch.from_numpy(t.numpy())


def _of_a_tensor(_):
    t = torch.zeros(6)
    return lambda: torch.from_numpy(t.numpy())


_WAYS = [_numpy, _buffer, _as_tensor, _dlpack, _from_file, _memmap, _mapped, _shared, _of_a_tensor]


@pytest.fixture(autouse=True)
def _told_or_not():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "torchlike.jit: .* runs eagerly", RuntimeWarning)
        yield


@pytest.mark.parametrize("way", _WAYS)
def test_arguments_over_one_memory(way, tmp_path):
    @torch.compile
    def step(u, v):
        u.add_(1)
        return v * 1

    make = way(tmp_path)
    assert [step(make(), make()).tolist() for _ in range(2)] == [[1] * 6, [2] * 6]


@pytest.mark.parametrize("way", _WAYS)
def test_an_argument_and_a_variable(way, tmp_path):
    make = way(tmp_path)
    other = make()

    @torch.compile
    def step(u):
        u.add_(1)
        return other * 1

    assert [step(make()).tolist() for _ in range(2)] == [[1] * 6, [2] * 6]


def test_two_attributes_of_a_module():
    make = _numpy(None)

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("a", make())
            self.b = make()

        def forward(self):
            self.a.add_(1)
            return self.b * 1

    compiled = torch.compile(Model())
    assert [compiled().tolist() for _ in range(2)] == [[1] * 6, [2] * 6]


def test_a_program_made_for_memory_apart_is_not_used_where_it_is_shared():
    @torch.compile
    def step(u, v):
        u.add_(1)
        return v * 1

    a, b = np.zeros(3, np.float32), np.zeros(3, np.float32)
    u, v = torch.from_numpy(a), torch.from_numpy(b)
    assert step(u, v).tolist() == [0] * 3
    assert step(u, v).tolist() == [0] * 3
    with pytest.warns(RuntimeWarning, match="lie on the same memory outside"):
        assert step(u, torch.from_numpy(a)).tolist() == [3] * 3
    assert step(u, v).tolist() == [0] * 3
    assert not step.ran_eagerly


@pytest.mark.parametrize(
    ("cut", "compiled"),
    [
        (lambda x: (x[:4], x[2:]), False),
        (lambda x: (x[:3], x[3:]), True),
        (lambda x: (x[::2], x[1::2]), True),
        (lambda x: (x[:4], x[:4].view(np.int32)), False),
    ],
)
def test_only_what_overlaps_runs_eagerly(cut, compiled):
    def body(u, v):
        u.add_(1)
        return v * 1

    step, array = torch.compile(body), np.zeros(6, np.float32)
    other = array.copy()
    for _ in range(3):
        found = step(*map(torch.from_numpy, cut(array)))
        assert found.tolist() == body(*map(torch.from_numpy, cut(other))).tolist()
    assert step.ran_eagerly is not compiled


def test_what_the_body_records_it_records_once():
    log = []

    @torch.compile
    def step(u, v):
        log.append(1)
        u.add_(1)
        return v + torch.rand(3)

    array = np.zeros(3, np.float32)
    torch.manual_seed(0)
    found = step(torch.from_numpy(array), torch.from_numpy(array))
    torch.manual_seed(0)
    assert found.tolist() == (torch.rand(3) + 1).tolist()
    assert log == [1]


def test_what_is_only_read_is_compiled():
    step = torch.compile(lambda u, v: u + v)
    array = np.ones(3, np.float32)
    assert step(torch.from_numpy(array), torch.from_numpy(array)).tolist() == [2] * 3
    assert not step.ran_eagerly
