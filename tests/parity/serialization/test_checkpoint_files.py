"""Checkpoint files that PyTorch writes and torchlike reads, and the other way."""

import io

import pytest

torch = pytest.importorskip("torch")

import torchlike  # noqa: E402


def through_file(writer, reader, obj):
    file = io.BytesIO()
    writer.save(obj, file)
    file.seek(0)
    return reader.load(file)


def both_ways(make):
    """PyTorch's object as torchlike reads it, torchlike's as PyTorch reads it, and both again."""
    theirs, ours = make(torch), make(torchlike)
    return through_file(torch, torchlike, theirs), through_file(torchlike, torch, ours), theirs


def same(mine, theirs):
    assert mine.tolist() == theirs.tolist()
    assert tuple(mine.stride()) == tuple(theirs.stride())
    assert str(mine.dtype) == str(theirs.dtype)
    assert (mine.is_conj(), mine.is_neg()) == (theirs.is_conj(), theirs.is_neg())


def numbers(t):
    return t.view_as_complex(t.arange(12.0).view(2, 3, 2))


@pytest.mark.parametrize(
    "make",
    [
        lambda t: numbers(t).conj(),
        lambda t: numbers(t).conj().t(),
        lambda t: numbers(t)[:, 1].conj(),
        lambda t: numbers(t).conj().imag,
        lambda t: numbers(t).conj().imag[1:],
        lambda t: numbers(t).conj().real,
        lambda t: numbers(t).conj().conj(),
    ],
)
def test_conjugates_and_negatives(make):
    here, there, expected = both_ways(make)
    same(here, expected)
    same(there, expected)
    same(through_file(torchlike, torchlike, here), expected)
    clone = torch.tensor(here.tolist(), dtype=expected.dtype)
    assert (here * 2 + 1).tolist() == (clone * 2 + 1).tolist()
    here.fill_(5)
    assert here.tolist() == torch.full_like(expected, 5).tolist()


def test_a_conjugate_shares_memory_with_its_tensor():
    def pair(t):
        z = numbers(t)
        return {"z": z, "c": z.conj(), "row": z.conj()[1]}

    for back in both_ways(pair)[:2]:
        back["z"][1, 0] = 7 + 3j
        assert back["c"][1, 0].item() == back["row"][0].item() == 7 - 3j
        back["row"][1] = 1 + 1j
        assert back["z"][1, 1].item() == 1 - 1j


def test_one_memory_as_two_dtypes_is_refused():
    def mixed(t):
        z = numbers(t)
        return [z, z.real]

    for t in (torch, torchlike):
        with pytest.raises(RuntimeError, match="view the same data as different types"):
            t.save(mixed(t), io.BytesIO())


@pytest.mark.parametrize(
    "make",
    [
        lambda t: t.tensor([1, 65535], dtype=t.uint16),
        lambda t: t.tensor([[1, 2**32 - 1]], dtype=t.uint32),
        lambda t: t.tensor([1, 2**63], dtype=t.uint64),
        lambda t: t.tensor([1.0, -0.5, 448.0]).to(t.float8_e4m3fn),
        lambda t: t.tensor([[1.0, -0.5], [2.0, 4.0]]).to(t.float8_e5m2).t(),
        lambda t: t.tensor([1, 2, 3, 4], dtype=t.uint16)[1:3],
    ],
)
def test_dtypes_without_a_storage_class(make):
    here, there, expected = both_ways(make)
    for back in (here, there, through_file(torchlike, torchlike, here)):
        assert str(back.dtype) == str(expected.dtype)
        assert tuple(back.stride()) == expected.stride()
        assert back.storage_offset() == expected.storage_offset()
        assert back.to(_home(back).float64).tolist() == expected.double().tolist()


def _home(t):
    return torch if isinstance(t, torch.Tensor) else torchlike


def test_bytes_and_words_on_one_memory():
    words = torch.tensor([1, 258], dtype=torch.uint16)
    for first in (words, words.view(torch.uint8)):
        other = words.view(torch.uint8) if first is words else words
        a, b = through_file(torch, torchlike, [first, other])
        assert (a.tolist(), b.tolist()) == (first.tolist(), other.tolist())


@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
@pytest.mark.filterwarnings("ignore:Validating sparse tensor invariants")  # of PyTorch 2.14
@pytest.mark.parametrize("coalesced", [False, True])
def test_sparse_tensors(coalesced):
    def make(t):
        s = t.sparse_coo_tensor([[0, 1, 1], [1, 0, 0]], [1.0, 2.0, 3.0], (2, 3))
        return s.coalesce() if coalesced else s

    for back in both_ways(make)[:2]:
        assert back.is_coalesced() is coalesced
        assert tuple(back.shape) == (2, 3)
        assert back._nnz() == (2 if coalesced else 3)
        assert back.to_dense().tolist() == [[0, 1, 0], [5, 0, 0]]


@pytest.mark.parametrize("obj", [1 + 2j, bytearray(b"abc"), bytearray(), {1, 2}, {"a": 2j}])
def test_plain_values(obj):
    assert through_file(torch, torchlike, obj) == obj
    assert through_file(torchlike, torch, obj) == obj


def test_layouts():
    assert through_file(torch, torchlike, torch.strided) is torchlike.strided
    assert through_file(torchlike, torch, torchlike.sparse_coo) is torch.sparse_coo


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_storages():
    here, there, _ = both_ways(lambda t: t.tensor([1.0, 2.0]).storage())
    assert here.tolist() == there.tolist() == [1.0, 2.0]
    assert str(here.dtype) == "torch.float32"
    here, there, _ = both_ways(lambda t: t.tensor([1.0, 2.0]).untyped_storage())
    assert here.nbytes() == there.nbytes() == 8
    x = torch.arange(4.0).view(2, 2)
    back = through_file(torch, torchlike, {"s": x.storage(), "x": x})
    back["x"][1, 0] = 9
    assert back["s"].tolist() == [0.0, 1.0, 9.0, 3.0]
