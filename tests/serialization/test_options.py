"""What holds for all checkpoints: byte orders that files do not name, storages without bytes."""

import io
import zipfile

import pytest

import torchlike as torch
from torchlike.serialization import (
    LoadEndianness,
    get_default_load_endianness,
    set_default_load_endianness,
    skip_data,
)


def saved(value, **options):
    file = io.BytesIO()
    torch.save(value, file, **options)
    file.seek(0)
    return file


def in_order(values, order):
    """A checkpoint whose storage is big-endian, and which says ``order`` of it, or nothing."""
    made = io.BytesIO()
    tensor = torch.tensor(values)
    with zipfile.ZipFile(saved(tensor)) as source, zipfile.ZipFile(made, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            if name.endswith("/byteorder"):
                if order is None:
                    continue
                content = order
            if "/data/" in name:
                content = tensor.numpy().astype(">f4").tobytes()
            target.writestr(name, content)
    made.seek(0)
    return made


@pytest.fixture(autouse=True)
def told_nothing():
    yield
    set_default_load_endianness(None)


def test_what_was_told():
    assert get_default_load_endianness() is None
    set_default_load_endianness(LoadEndianness.NATIVE)
    assert get_default_load_endianness() is LoadEndianness.NATIVE
    with pytest.raises(TypeError, match="set_default_load_endianness"):
        set_default_load_endianness("big")
    assert [kind.name for kind in LoadEndianness] == ["NATIVE", "LITTLE", "BIG"]


def test_a_file_that_names_no_order():
    values = [1.0, 2.5]
    assert torch.load(in_order(values, None)).tolist() != values
    set_default_load_endianness(LoadEndianness.BIG)
    assert torch.load(in_order(values, None)).tolist() == values
    assert torch.load(saved(torch.tensor(values))).tolist() == values  # says that it is little
    set_default_load_endianness(LoadEndianness.LITTLE)
    assert torch.load(in_order(values, b"big")).tolist() == values


def test_an_order_that_is_none():
    with pytest.raises(ValueError, match="Unknown endianness type: odd"):
        torch.load(in_order([1.0], b"odd"))


def test_saving_without_bytes():
    whole = saved(value := {"a": torch.arange(1, 5), "b": torch.ones(2, 3).t(), "n": 3})
    with skip_data() as region:
        hollow = saved(value)
    assert region is None
    assert [(i.filename, i.file_size) for i in zipfile.ZipFile(hollow).infolist()] == [
        (i.filename, i.file_size) for i in zipfile.ZipFile(whole).infolist()
    ]
    hollow.seek(0)
    found = torch.load(hollow)
    assert found["a"].tolist() == [0] * 4
    assert (found["b"].stride(), found["b"].count_nonzero().item(), found["n"]) == ((1, 3), 0, 3)


@pytest.mark.parametrize("zipped", [True, False])
def test_loading_without_bytes(zipped):
    value = {"w": torch.nn.Parameter(torch.ones(2, 2)), "v": torch.arange(6)[2:4]}
    file = saved(value, _use_new_zipfile_serialization=zipped)
    with skip_data(materialize_fake_tensors=True):
        found = torch.load(file)
    assert (found["w"].shape, found["w"].requires_grad) == ((2, 2), True)
    assert (found["v"].dtype, found["v"].storage_offset()) == (torch.int64, 2)
    assert found["v"].untyped_storage().nbytes() == 48
    file.seek(0)
    assert torch.load(file)["v"].tolist() == [2, 3]


def test_the_old_format_has_all_bytes():
    with skip_data(), pytest.raises(RuntimeError, match="Cannot use skip_data=True"):
        saved(torch.ones(1), _use_new_zipfile_serialization=False)


def test_regions_end():
    with skip_data():
        with skip_data():
            pass
        assert torch.load(saved(torch.ones(1))).item() == 0
    assert torch.load(saved(torch.ones(1))).item() == 1
