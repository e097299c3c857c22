"""Objects among the arguments: guarded by class and contents where each call is given others."""

import dataclasses
import warnings

import numpy as np
import pytest

import torchlike as torch
from tests.jit.effects_state import described

pytestmark = pytest.mark.filterwarnings("ignore:torchlike.jit")


class Layer:
    def __init__(self):
        self.held, self.is_made = None, False

    def update(self, x):
        if not self.is_made:
            self.held, self.device, self.is_made = torch.zeros(4), x.device, True
            self.at = torch.zeros(1, dtype=torch.int64)
        self.held.index_copy_(0, self.at, x)
        self.at += 1
        return self.held


class Cache:
    def __init__(self, n=2):
        self.layers = [Layer() for _ in range(n)]
        self.seen = 0

    def update(self, x, i):
        return self.layers[i].update(x)


@dataclasses.dataclass
class Batch:
    x: torch.Tensor
    more: dict = dataclasses.field(default_factory=dict)
    scale: float = 1.0


def decode(x, cache):
    return sum(cache.update(x * (i + 1), i) for i in range(2)).sum(), cache


def test_a_fresh_cache_fits_the_program_of_the_one_before():
    f = torch.compile(decode)
    for i in range(3):
        ours, theirs = Cache(), Cache()
        for k in range(3):
            x = torch.full((1,), float(k + 1))
            (y, found), (expected, _) = f(x, ours), decode(x, theirs)
            assert y.item() == expected.item()
            assert found is ours
            assert described(vars(ours)) == described(vars(theirs))
            assert f.ran_eagerly == (i == k == 0)  # makes what later calls write to
    assert f.compiles == 2


def test_batches_of_one_form_are_one_program():
    def loss(batch, weight):
        batch.more["y"] = batch.x * weight
        return (batch.more["y"] * batch.scale).sum()

    f, weight = torch.compile(loss), torch.ones(3, requires_grad=True)
    for k in range(6):
        batch, other = (Batch(torch.full((3,), float(k)), {"n": "a"}) for _ in range(2))
        y, expected = f(batch, weight), loss(other, weight)
        assert y.item() == expected.item()
        assert batch.more["y"].tolist() == other.more["y"].tolist()
        (ours,), (theirs,) = (torch.autograd.grad(out, weight) for out in (y, expected))
        assert ours.tolist() == theirs.tolist()
        assert not f.ran_eagerly
    assert f.compiles == 2  # by the object itself, until another came


def rebinds(x, a, b):
    b.x = a.x * 2
    a.x, a.more = x, {"old": a.more, "now": [x]}
    a.scale = 3.0
    return b.x


def shares(x, a, b):
    a.x = x + 1
    return a.x is b.x, b.x * 2


def deletes(x, a, b):
    del a.scale
    b.new = x * 3
    return b.new


def nests(x, a, b):
    a.more["b"], b.more["a"] = b, a
    return x + 1


KEPT = []


def keeps(x, a, b):
    KEPT.append(a)
    return x + a.x


@pytest.mark.parametrize("body", [rebinds, shares, deletes, nests, keeps])
@pytest.mark.parametrize("is_one", [False, True])
def test_what_is_changed_is_the_callers(body, is_one):
    f = torch.compile(body)
    for k in range(5):
        x, found = torch.full((2,), float(k)), []
        for function in (f, body):
            a = Batch(torch.ones(2))
            b = a if is_one else Batch(torch.zeros(2))
            found.append(described((function(x, a, b), a, b)))
            if body is keeps:
                assert KEPT.pop() is a
        assert found[0] == found[1]
    # By the object itself until another came, unless it was given without what it gets.
    assert (f.compiles, f.ran_eagerly) == (1 if body is deletes else 2, False)


def test_an_object_that_is_also_reached_otherwise_is_itself():
    held = Batch(torch.ones(2))

    def f(x, batch):
        batch.x = batch.x + x
        return held.x * 2

    compiled = torch.compile(f)
    for k in range(4):
        batch = held if k % 2 else Batch(torch.zeros(2))
        before = held.x.clone()
        expected = (before + 1) * 2 if k % 2 else before * 2
        assert compiled(torch.ones(2), batch).tolist() == expected.tolist()


def test_what_no_key_describes_is_itself():
    def f(x, batch):
        return x + float(batch.more["n"][0])

    compiled = torch.compile(f)
    for k in range(4):
        assert compiled(torch.zeros(1), Batch(None, {"n": np.array([k])})).item() == k


def test_a_key_of_a_dictionary_outside_is_the_callers():
    seen = {}

    def f(x, obj):
        seen[obj] = x * 2
        return x + obj.n

    class Key:
        def __init__(self, n):
            self.n = n

    compiled, keys = torch.compile(f), [Key(k) for k in range(5)]
    for k, key in enumerate(keys):
        assert compiled(torch.zeros(1), key).item() == k
    assert list(seen) == keys


def test_parameters_in_an_object_get_their_gradients():
    class Held:
        def __init__(self, k):
            self.weight = torch.nn.Parameter(torch.full((2,), float(k)))

    @torch.compile
    def step(x, held):
        loss = (held.weight * held.weight * x).sum()
        loss.backward()
        return loss.detach()

    for k in range(4):
        held = Held(k)
        for n in (1, 2):
            assert step(torch.ones(2), held).item() == 2 * k * k
            assert held.weight.grad.tolist() == [2.0 * k * n] * 2


class Growing:
    def __init__(self):
        self.keys = None

    def update(self, x):
        self.keys = x if self.keys is None else torch.cat([self.keys, x])
        return self.keys


def test_a_cache_that_grows_is_compiled_for_no_length_but_its_first():
    f = torch.compile(lambda x, cache: cache.update(x * 2).sum())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for i in range(3):
            cache, kept = Growing(), []
            for k in range(6):
                kept.append(2.0 * k)
                assert f(torch.full((1,), float(k)), cache).item() == sum(kept)
                assert cache.keys.tolist() == kept
                assert f.ran_eagerly == (i == 0 or k > 0)
    assert f.compiles == 1
    (message,) = [str(w.message) for w in caught if "no more" in str(w.message)]
    assert "leaves larger tensors or counts in an object" in message


def test_a_list_that_grows_in_an_object_is_compiled_for_no_length():
    class Keys:
        def __init__(self):
            self.layers, self.latest = [], None

    def f(x, cache):
        cache.layers.append(x)
        cache.latest = x * 2
        return sum(cache.layers)

    compiled = torch.compile(f)
    for _ in range(3):
        ours = Keys()
        for k in range(5):
            assert compiled(torch.full((1,), float(k)), ours).item() == sum(range(k + 1))
            assert len(ours.layers) == k + 1
            assert ours.latest.item() == 2 * k
    assert compiled.compiles == 0


def test_ever_other_attributes_are_not_compiled_for_without_end():
    def f(x, batch, k):
        setattr(batch, f"x{k}", None)
        batch.more = x
        return x + k

    compiled = torch.compile(f)
    for i in range(3):
        batch = Batch(torch.ones(1))
        for k in range(12):
            assert compiled(torch.ones(1), batch, f"{i}{k}" and k).item() == k + 1
            assert hasattr(batch, f"x{k}")
    assert compiled.compiles <= 32


def test_an_error_of_the_body_leaves_the_programs():
    def f(x, cache):
        return cache.update(x, 0).sum() if x.dim() == 1 else x @ x

    compiled = torch.compile(f)
    for _ in range(3):
        cache = Cache(1)
        for _ in range(3):
            compiled(torch.ones(1), cache)
        with pytest.raises(RuntimeError):
            compiled(torch.ones(2, 3), cache)
    assert compiled.compiles == 2


def test_a_long_chain_of_objects_is_itself():
    class Link:
        def __init__(self, of):
            self.of, self.x = of, 1.0

    def chain():
        link = None
        for _ in range(3000):
            link = Link(link)
        return link

    compiled = torch.compile(lambda x, link: x + link.x)
    for _ in range(3):
        assert compiled(torch.ones(1), chain()).item() == 2


def test_a_counter_that_is_needed_in_python_is_compiled_for_few_values():
    class Window:
        def __init__(self):
            self.n, self.held = 0, torch.zeros(4)

    def f(x, window):
        window.n += 1
        window.held = torch.roll(window.held, 1) + x
        return window.held[: min(window.n, 3)].sum()

    compiled = torch.compile(f)
    for i in range(3):
        window, other = Window(), Window()
        for k in range(8):
            x = torch.full((1,), float(k))
            assert compiled(x, window).item() == f(x, other).item()
            assert described(vars(window)) == described(vars(other))
            assert compiled.ran_eagerly or i < 2
    assert compiled.compiles <= 8


def test_a_class_with_its_own_way_to_attributes():
    class Config:
        def __init__(self):
            self.scale, self.more = 2.0, 1

        def __getattribute__(self, name):
            found = object.__getattribute__(self, "__dict__")
            names = [key for key in found if key == name]
            return found[names[0]] if names else object.__getattribute__(self, name)

    config = Config()

    class Layer:
        def __init__(self):
            self.config, self.held = config, None

        def update(self, x):
            self.held = x * self.config.scale
            return self.held

    compiled = torch.compile(lambda x, layer: layer.update(x) + config.more)
    for _ in range(3):
        layer = Layer()
        for _ in range(2):
            assert compiled(torch.ones(1), layer).item() == 3
    assert not compiled.ran_eagerly


def test_a_module_of_what_cannot_be_compiled_changes_an_object():
    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = torch.nn.Linear(1, 1), torch.nn.Linear(1, 1)
            for p in self.parameters():
                torch.nn.init.ones_(p)

        def forward(self, x, cache):
            cache.update(self.first(x), 0)
            return self.second(x)

    block = Block()

    @torch.compile
    def f(x, cache):
        y = block(x, cache)
        return y * 2 if y.sum().item() > 0 else y

    with torch.no_grad():
        for _ in range(4):
            cache = Cache(1)
            for k in range(3):
                assert f(torch.full((1,), float(k)), cache).item() == 2 * (k + 1)
            assert cache.layers[0].held.tolist() == [1, 2, 3, 0]
