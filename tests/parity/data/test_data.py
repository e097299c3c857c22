"""Samplers, collation and DataLoader against PyTorch: results, their types, and errors."""

from __future__ import annotations

import array
import collections
from types import MappingProxyType

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from oracle import compare  # noqa: E402

import torchlike  # noqa: E402

BOTH = (torch, torchlike)


class Tagged(list):
    tag = 1


class Pair(collections.namedtuple("Pair", "a b")):
    pass


def shown(o):
    """A nested result with its types, the same text for both frameworks."""
    if isinstance(o, (torch.Tensor, torchlike.Tensor)):
        return f"T{o.tolist()}{o.dtype}"
    if isinstance(o, (dict, MappingProxyType)):
        inside = {k: shown(v) for k, v in o.items()}
        return f"{type(o).__name__}{getattr(o, 'default_factory', '')}{inside}"
    if isinstance(o, (list, tuple, collections.UserList, collections.deque)):
        return f"{type(o).__name__}[{', '.join(map(shown, o))}]"
    return f"{type(o).__name__}:{o!r}"


def alike(make):
    """Asserts that both give the same, or raise the same; gives it back."""
    return compare(lambda m: shown(make(m)), words=0)


def said(m, make):
    with pytest.raises(Exception) as info:
        make(m)
    return type(info.value).__name__, str(info.value)


SAMPLES = {
    "strings": lambda m: ["a", "b"],
    "tuples of strings": lambda m: [("a", 1), ("b", 2)],
    "lists of strings": lambda m: [["a", 1], ["b", 2]],
    "dictionaries of tuples": lambda m: [{"a": ("x", "y")}, {"a": ("z", "w")}],
    "a subclass of list": lambda m: [Tagged([1, 2]), Tagged([3, 4])],
    "UserList": lambda m: [collections.UserList([1, 2]), collections.UserList([3, 4])],
    "deque": lambda m: [collections.deque([1, 2]), collections.deque([3, 4])],
    "array": lambda m: [array.array("i", [1, 2]), array.array("i", [3, 4])],
    "range": lambda m: [range(2), range(2)],
    "defaultdict": lambda m: [collections.defaultdict(int, a=1), collections.defaultdict(int, a=2)],
    "OrderedDict": lambda m: [collections.OrderedDict(a=1), collections.OrderedDict(a=2)],
    "a read-only mapping": lambda m: [MappingProxyType({"a": 1}), MappingProxyType({"a": 2})],
    "namedtuple": lambda m: [Pair(1, "x"), Pair(2, "y")],
    "np.str_": lambda m: [np.str_("a"), np.str_("b")],
    "np.bytes_": lambda m: [np.bytes_(b"a"), np.bytes_(b"b")],
    "np.float32": lambda m: [np.float32(1), np.float32(2)],
    "np.bool_": lambda m: [np.bool_(True), np.bool_(False)],
    "np.datetime64": lambda m: [np.datetime64("2020"), np.datetime64("2021")],
    "arrays": lambda m: [np.array([1, 2]), np.array([3, 4])],
    "arrays of strings": lambda m: [np.array(["a"]), np.array(["b"])],
    "array and number": lambda m: [np.array([1.0]), 2],
    "tensor and number": lambda m: [m.tensor([1.0]), 2],
    "tensor and array": lambda m: [m.tensor([1]), np.array([3])],
    "tensors of two dtypes": lambda m: [m.ones(2), m.ones(2).long()],
    "tensors of two sizes": lambda m: [m.ones(2), m.ones(3)],
    "numbers": lambda m: [1.0, 2],
    "complex": lambda m: [1j, 2j],
    "unequal lists": lambda m: [[1, 2], [3]],
    "nested": lambda m: [[("a", {"k": np.array([1])})], [("b", {"k": np.array([2])})]],
    "empty tuples": lambda m: [(), ()],
    "None": lambda m: [None, None],
}


@pytest.mark.parametrize("name", SAMPLES)
def test_collating(name):
    alike(lambda m: m.utils.data.default_collate(SAMPLES[name](m)))


@pytest.mark.parametrize("name", SAMPLES)
def test_converting(name):
    alike(lambda m: m.utils.data.default_convert(SAMPLES[name](m)))
    alike(lambda m: m.utils.data.default_convert(SAMPLES[name](m)[0]))


def test_a_collated_mapping_is_a_new_one():
    first = collections.defaultdict(list, a=1)
    made = torchlike.utils.data.default_collate([first, {"a": 2}])
    assert made["missing"] == []
    assert first == {"a": 1}


class Tens:
    """A data set with ``__getitems__``."""

    def __init__(self):
        self.log = []

    def __len__(self):
        return 6

    def __getitem__(self, i):
        return i

    def __getitems__(self, indices):
        self.log.append(list(indices))
        return [10 * i for i in indices]


def numbers_of(m, sized=False):
    class Numbers(m.utils.data.IterableDataset):
        def __iter__(self):
            return iter([1, 2, 3])

    class Sized(Numbers):
        def __len__(self):
            return 3

    return (Sized if sized else Numbers)()


LOADERS = {
    "no batches": lambda m, d: d.DataLoader([np.ones(2), (1, np.array(2)), "a"], batch_size=None),
    "no batches, shuffled": lambda m, d: d.DataLoader(range(5), batch_size=None, shuffle=True),
    "no batches of an iterable": lambda m, d: d.DataLoader(numbers_of(m), batch_size=None),
    "rows of a sampler of lists": lambda m, d: d.DataLoader(
        d.TensorDataset(m.arange(6)),
        batch_size=None,
        sampler=d.BatchSampler(d.SequentialSampler(range(6)), 2, False),
    ),
    "an iterable": lambda m, d: d.DataLoader(numbers_of(m), batch_size=2),
    "an empty list": lambda m, d: d.DataLoader([]),
    "a subset": lambda m, d: d.DataLoader(d.Subset(Tens(), [5, 3, 1, 0]), batch_size=2),
    "a subset of a list": lambda m, d: d.DataLoader(d.Subset([7, 8, 9], [2, 0]), batch_size=2),
    "weighted": lambda m, d: list(d.WeightedRandomSampler(np.array([1.0, 2.0]), 5)),
}


@pytest.mark.parametrize("name", LOADERS)
def test_loaders(name):
    assert isinstance(alike(lambda m: list(LOADERS[name](m, m.utils.data))), str)


def test_the_length_of_a_pass():
    for m in BOTH:
        rows = iter(m.utils.data.DataLoader(list(range(7)), batch_size=2))
        next(rows)
        assert len(rows) == 4
        assert iter(rows) is rows
    alike(lambda m: len(iter(m.utils.data.DataLoader([1, 2], batch_size=None))))
    alike(lambda m: len(iter(m.utils.data.DataLoader(numbers_of(m), batch_size=2))))
    alike(lambda m: len(m.utils.data.DataLoader(numbers_of(m), batch_size=2)))
    alike(lambda m: len(m.utils.data.DataLoader(numbers_of(m, sized=True), batch_size=2)))


def test_a_subset_reads_a_batch_at_once():
    for m in BOTH:
        source = Tens()
        list(m.utils.data.DataLoader(m.utils.data.Subset(source, [5, 3, 1, 0]), batch_size=3))
        assert source.log == [[5, 3, 1], [0]]


REFUSED = {
    "an empty source": lambda m, d: d.DataLoader([], shuffle=True),
    "an empty source's sampler": lambda m, d: d.RandomSampler([]),
    "drop_last of a sampler": lambda m, d: d.BatchSampler([1], 2, "x"),
    "drop_last": lambda m, d: d.DataLoader([1], drop_last=1),
    "no size for an iterable": lambda m, d: d.DataLoader(numbers_of(m), batch_size=0),
    "weights as a matrix": lambda m, d: d.WeightedRandomSampler([[1.0, 2.0]], 3),
    "a weight": lambda m, d: d.WeightedRandomSampler(m.tensor(1.0), 3),
    "replacement": lambda m, d: d.WeightedRandomSampler([1.0], 3, 1),
    "persistent workers without workers": lambda m, d: d.DataLoader([1], persistent_workers=True),
    "prefetch": lambda m, d: d.DataLoader([1], num_workers=1, prefetch_factor=-1),
    "shuffling an iterable": lambda m, d: d.DataLoader(numbers_of(m), shuffle=True),
    "a sampler for an iterable": lambda m, d: d.DataLoader(numbers_of(m), sampler=[0]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    theirs, ours = (said(m, lambda m: REFUSED[name](m, m.utils.data)) for m in BOTH)
    assert ours == theirs


@pytest.mark.parametrize(
    "name",
    [
        "batch_size",
        "batch_sampler",
        "sampler",
        "drop_last",
        "dataset",
        "persistent_workers",
        "collate_fn",
        "num_workers",
    ],
)
def test_what_can_be_set_later(name):
    alike(lambda m: setattr(m.utils.data.DataLoader([1, 2, 3]), name, 3))


def test_half_a_subclass_of_subset_is_refused():
    for m in BOTH:

        class Half(m.utils.data.Subset):
            def __getitem__(self, index):
                return 1

        with pytest.raises(NotImplementedError, match="must also override __getitems__"):
            Half([1], [0])


def test_loaders_and_samplers_say_what_they_give():
    for m in BOTH:
        data = m.utils.data
        for kind in (data.DataLoader, data.DistributedSampler, data.StackDataset):
            assert kind[int].__origin__ is kind


def test_chains_take_iterable_datasets_only():
    for m in BOTH:

        class Numbers(m.utils.data.IterableDataset):
            def __iter__(self):
                return iter(range(2))

        chain = Numbers() + m.utils.data.TensorDataset(m.ones(2))
        with pytest.raises(AssertionError, match="ChainDataset only supports IterableDataset"):
            list(chain)


def test_a_context_that_is_none():
    for m in BOTH:
        with pytest.raises(TypeError, match="should be a valid context object or a string"):
            m.utils.data.DataLoader([1], num_workers=1, multiprocessing_context=object())
