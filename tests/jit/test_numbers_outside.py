"""Numbers in Python's objects that change between calls, outside of the compiled function."""

import heapq
import threading

import pytest

import torchlike as torch


class Settings:
    def __init__(self):
        self.table = {"scale": 0.0}
        self.scale = 0.0
        self.list = [1.0, 0.0]

    @property
    def in_the_table(self):
        return self.table["scale"]


def attribute():
    settings = Settings()
    return lambda x: x * settings.scale, lambda v: setattr(settings, "scale", v)


def computed():
    settings = Settings()
    return lambda x: x * settings.in_the_table, lambda v: settings.table.update(scale=v)


def element():
    settings = Settings()
    return lambda x: x * settings.list[1], lambda v: settings.list.__setitem__(1, v)


def closure():
    scale = 0.0

    def put(v):
        nonlocal scale
        scale = v

    return lambda x: x * scale, put


def of_the_thread():
    local = threading.local()
    return lambda x: x * local.scale, lambda v: setattr(local, "scale", v)


def learning_rate():
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=0.0)
    group = optimizer.param_groups[0]
    return lambda x: x * optimizer.param_groups[0]["lr"], lambda v: group.update(lr=v)


@pytest.mark.parametrize(
    "make", [attribute, computed, element, closure, of_the_thread, learning_rate]
)
@pytest.mark.parametrize("of", [float, int])
def test_it_is_an_input_from_its_second_value_on(make, of):
    f, put = make()
    compiled = torch.compile(f)
    for i in range(6):
        put(of(i + 1))
        assert compiled(torch.ones(2)).tolist() == [i + 1, i + 1]
    assert compiled.compiles == 2


def test_what_decides_is_compared():
    settings = Settings()
    compiled = torch.compile(lambda x: x * settings.scale if settings.scale > 3 else -x)
    for i in (1, 2, 3, 4, 5, 2, 6):
        settings.scale = float(i)
        assert compiled(torch.ones(1)).item() == (i if i > 3 else -1)
    assert compiled.compiles <= 4


def test_what_is_a_size_is_compiled_for():
    settings = Settings()
    compiled = torch.compile(lambda x: x.expand(settings.scale))
    for i in (1, 2, 3, 2):
        settings.scale = i
        assert compiled(torch.ones(1)).tolist() == [1.0] * i
    assert compiled.compiles == 3


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
def test_a_heap_keeps_its_plain_numbers():
    heap, known = [3, 1, 2], [3, 1, 2]
    compiled = torch.compile(lambda x: x * (heapq.heappop(heap) if heap else 0))
    for i in range(6):
        heapq.heappush(heap, i + 5)
        heapq.heappush(known, i + 5)
        assert compiled(torch.ones(1)).item() == heapq.heappop(known)
        assert heap == known
        assert {type(x) for x in heap} == {int}
