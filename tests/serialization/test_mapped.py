"""`torch.load(mmap=True)`: tensors that lie in the file's map."""

import io
import mmap
import os
import zipfile

import numpy as np
import pytest

import torchlike as torch
from torchlike.serialization import get_default_mmap_options, set_default_mmap_options, skip_data


@pytest.fixture
def path(tmp_path):
    return tmp_path / "checkpoint.pt"


def is_mapped(t):
    return t._storage.host is not None


DTYPES = [
    torch.float32,
    torch.float64,
    torch.bfloat16,
    torch.float16,
    torch.bool,
    torch.int8,
    torch.uint8,
    torch.int64,
    torch.complex64,
]


def test_what_is_loaded_is_what_is_in_the_file(path):
    made = {str(d): torch.arange(6).reshape(2, 3).to(d) for d in DTYPES}
    base = torch.arange(12.0).reshape(3, 4)
    made |= {
        "number": torch.tensor(7),
        "none": torch.ones(0, 3),
        "transposed": base.t(),
        "part": base[1:, 2:],
        "parameter": torch.nn.Parameter(base + 1),
        "conj": torch.ones(2) * 1j,
    }
    torch.save(made, path)
    found, plain = torch.load(path, mmap=True), torch.load(str(path), mmap=False)
    assert found.keys() == plain.keys() == made.keys()
    for name, t in found.items():
        other = plain[name]
        assert (t.dtype, t.shape, t.stride(), t.storage_offset()) == (
            other.dtype,
            other.shape,
            other.stride(),
            other.storage_offset(),
        )
        assert is_mapped(t) == (name != "none"), name
        assert t.untyped_storage().nbytes() == other.untyped_storage().nbytes()
    for name, t in found.items():
        assert t.tolist() == plain[name].tolist(), name
        assert t.equal(plain[name])
    assert type(found["parameter"]) is torch.nn.Parameter
    assert found["parameter"].requires_grad
    assert found["part"].untyped_storage().data_ptr() == found["transposed"].data_ptr()


def test_writes_stay_in_this_process(path):
    torch.save([torch.zeros(2, 3), torch.zeros(3)], path)
    before = path.read_bytes()
    one, two = torch.load(path, mmap=True)
    again = torch.load(path, mmap=True)[0]
    one[0, 1] = 5
    two.numpy()[2] = 7
    one.t()[2] += 1
    assert one.tolist() == [[0, 5, 1], [0, 0, 1]]
    assert two.tolist() == [0, 0, 7]
    assert again.tolist() == [[0] * 3] * 2
    assert path.read_bytes() == before


def test_shared_maps_write_to_the_file(path):
    torch.save(torch.zeros(3), path)
    assert get_default_mmap_options() == mmap.MAP_PRIVATE
    with set_default_mmap_options(mmap.MAP_SHARED):
        one, other = (torch.load(path, mmap=True) for _ in range(2))
        one.add_(1)
        assert other.tolist() == [1, 1, 1]
        assert (other + 1).tolist() == [2, 2, 2]
        one[0] = 5
        assert other.tolist() == [5, 1, 1]  # nobody has a copy
    assert get_default_mmap_options() == mmap.MAP_PRIVATE
    assert torch.load(path, mmap=True).tolist() == [5, 1, 1]
    with pytest.raises(RuntimeError, match="damaged"):  # the checksum is the old one
        torch.load(path)
    with pytest.raises(ValueError, match=r"expected mmap\.MAP_PRIVATE or .* but got 7"):
        set_default_mmap_options(7)


def test_what_is_computed_with_gets_memory_of_its_own(path):
    torch.save([torch.ones(2, 3), torch.ones(3)], path)
    one, two = torch.load(path, mmap=True)
    assert (one + one).sum() == 12
    assert not is_mapped(one)
    array = two.numpy()
    assert (two + 1).sum() == 6
    assert is_mapped(two)  # the NumPy array sees it
    array[0] = 9
    assert two[0] == 9
    del array
    assert (two + 1).sum() == 14
    assert not is_mapped(two)


def test_a_module_lives_on_a_mapped_file_and_is_saved_over_it(path):
    model = torch.nn.Linear(3, 2)
    x = torch.randn(4, 3)
    expected = model(x)
    torch.save(model.state_dict(), path)
    with torch.device("meta"):
        other = torch.nn.Linear(3, 2)
    other.load_state_dict(torch.load(path, mmap=True), assign=True)
    forward = torch.compile(other, fullgraph=True)
    for _ in range(3):
        torch.testing.assert_close(forward(x), expected)
    torch.save(other.state_dict(), path)  # while it is mapped
    mapped = torch.load(path, mmap=True)
    torch.save({name: t + 1 for name, t in mapped.items()}, path)
    torch.save(mapped, path)
    optimizer = torch.optim.SGD(other.parameters(), lr=0.1)
    other(x).sum().backward()
    optimizer.step()
    found = torch.load(path)
    torch.testing.assert_close(found["weight"], model.weight.detach())
    assert not other.weight.equal(model.weight)


def test_nothing_is_read_before_it_is_used(path):
    statm = "/proc/self/statm"
    if not os.path.exists(statm):
        pytest.skip("tells no size of a process")

    def resident():
        with open(statm) as file:
            return int(file.read().split()[1]) * mmap.PAGESIZE

    size = 64 << 20
    torch.save({"w": torch.zeros(size // 4), "b": torch.ones(2)}, path)
    before = resident()
    found = torch.load(path, mmap=True)
    assert found["w"].shape == (size // 4,)
    assert found["w"][:3].tolist() == [0, 0, 0]
    assert (found["b"] + 1).tolist() == [2, 2]
    assert resident() - before < size // 16


def test_refusals_are_pytorchs(path):
    torch.save(torch.ones(2), path, _use_new_zipfile_serialization=False)
    with pytest.raises(RuntimeError, match=r"mmap can only be used with files saved with"):
        torch.load(path, mmap=True)
    assert torch.load(path, mmap=False).tolist() == [1, 1]
    path.write_bytes(b"")
    with pytest.raises(RuntimeError, match=r"mmap can only be used with files saved with"):
        torch.load(path, mmap=True)
    saved = io.BytesIO()
    torch.save(torch.ones(2), saved)
    saved.seek(0)
    with pytest.raises(ValueError, match="f must be a file path in order to use the mmap argument"):
        torch.load(saved, mmap=True)
    with pytest.raises(FileNotFoundError):
        torch.load(path.with_name("none.pt"), mmap=True)
    torch.save(torch.ones(20), path)
    path.write_bytes(path.read_bytes()[:-400])
    with pytest.raises(RuntimeError, match="damaged"):
        torch.load(path, mmap=True)


def rewritten(path, compression=zipfile.ZIP_STORED, order=None):
    """The same records written by Python, at any offset, perhaps compressed or big-endian."""
    with zipfile.ZipFile(path) as source:
        records = {name: source.read(name) for name in source.namelist()}
    with zipfile.ZipFile(path, "w", compression) as target:
        for name, content in records.items():
            if order is not None and name.endswith("/byteorder"):
                content = order
            if order == b"big" and "/data/" in name:
                content = np.frombuffer(content, "<f4").astype(">f4").tobytes()
            target.writestr(name, content)


@pytest.mark.parametrize(
    ("options", "mapped"),
    [
        ({}, True),
        ({"compression": zipfile.ZIP_DEFLATED}, False),
        ({"order": b"big"}, False),
    ],
)
def test_records_that_are_not_the_tensors_memory_are_read(path, options, mapped):
    values = torch.arange(5.0)
    torch.save({"w": values, "odd name": values[1:].clone()}, path)
    rewritten(path, **options)
    found = torch.load(path, mmap=True)
    assert is_mapped(found["w"]) == mapped
    assert found["w"].tolist() == [0, 1, 2, 3, 4]
    assert (found["odd name"] * 2).tolist() == [2, 4, 6, 8]


def test_locations_are_heeded(path):
    torch.save(torch.arange(3.0), path)
    assert is_mapped(torch.load(path, mmap=True, map_location="cpu"))
    assert is_mapped(torch.load(path, map_location=lambda storage, place: storage, mmap=True))
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        torch.load(path, mmap=True, map_location="cuda")
    with skip_data():
        assert torch.load(path, mmap=True).tolist() == [0, 0, 0]
