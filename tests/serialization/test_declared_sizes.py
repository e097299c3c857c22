"""Small files that declare much: they are refused before memory is taken."""

import io
import pickle
import tracemalloc
import warnings
import zipfile

import pytest

import torchlike as torch
from torchlike.serialization import get_unsafe_globals_in_checkpoint

MOST = 100 << 20


def legacy(value=None):
    file = io.BytesIO()
    torch.save(
        torch.arange(4.0) if value is None else value, file, _use_new_zipfile_serialization=False
    )
    return file.getvalue()


def zipped(change, method=zipfile.ZIP_STORED):
    """A checkpoint of four numbers whose records are ``change(name, bytes)``."""
    file, made = io.BytesIO(), io.BytesIO()
    torch.save({"a": torch.arange(4.0)}, file)
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(made, "w", method) as new:
        for entry in old.infolist():
            for content in change(entry.filename.partition("/")[2], old.read(entry)):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of a name that is there already
                    new.writestr(entry.filename, content)
    return made.getvalue()


def refused(content, words):
    """Nothing but an error, in words, and little memory."""
    tracemalloc.start()
    try:
        with pytest.raises((RuntimeError, EOFError, pickle.UnpicklingError), match=words):
            torch.load(io.BytesIO(content))
        assert tracemalloc.get_traced_memory()[1] < MOST + 3 * len(content)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("count", [1 << 31, 1 << 40, (1 << 64) - 1])
def test_storages_of_the_legacy_format(tmp_path, count):
    content = legacy()
    at = content.rindex((4).to_bytes(8, "little"))
    content = content[:at] + count.to_bytes(8, "little") + content[at + 8 :]
    refused(content, r"truncated: storage \d+ has 16 of")
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(RuntimeError, match="truncated"):
        torch.load(tmp_path / "file")


class _WithoutReadinto:
    """A file of another library's, which reads what it is asked for."""

    def __init__(self, content):
        file = io.BytesIO(content)
        self.read, self.seek, self.tell, self.readline = (
            file.read,
            file.seek,
            file.tell,
            file.readline,
        )


def test_large_storages_of_the_legacy_format_are_read():
    """In several parts, whatever the file can do."""
    value = torch.arange(20 << 20, dtype=torch.int32)
    content = legacy(value)
    for file in (io.BytesIO(content), _WithoutReadinto(content)):
        assert torch.load(file).equal(value)


def test_texts_of_the_legacy_format():
    """A pickle that says how long its text is."""
    content = legacy()
    head = content.index(b"\x80\x02", 2)
    text = b"\x80\x02X" + (0xFFFFFFF0).to_bytes(4, "little") + b"short"
    refused(content[:head] + text, "expected|remain|pickle")


@pytest.mark.parametrize("size", [20, 1 << 28])
@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_records_that_are_larger_than_their_storage(size, method):
    if size > 20 and method == zipfile.ZIP_STORED:
        pytest.skip("such a file is not small")
    content = zipped(lambda name, data: [bytes(size) if name == "data/0" else data], method)
    refused(content, rf"record size \({size} bytes\) does not match expected size \(16 bytes\)")


def test_records_that_are_smaller_than_their_storage():
    refused(
        zipped(lambda name, data: [data[:8] if name == "data/0" else data]),
        "truncated: storage 0 has 8 of 16",
    )


@pytest.mark.exhaustive
def test_pickles_that_unpack_to_much():
    content = zipped(
        lambda name, data: [data + bytes(300 << 20) if name == "data.pkl" else data],
        zipfile.ZIP_DEFLATED,
    )
    assert len(content) < 1 << 20
    refused(content, r"its record data\.pkl has \d+ bytes, more than")
    content = zipped(
        lambda name, data: [bytes(1 << 28) if name == "version" else data], zipfile.ZIP_DEFLATED
    )
    refused(content, "its record version has 268435456 bytes, more than 100")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_ways_of_packing_that_pytorch_lacks(method):
    refused(zipped(lambda name, data: [data], method), "unsupported method")


def test_packed_records_are_read():
    content = zipped(lambda name, data: [data], zipfile.ZIP_DEFLATED)
    assert torch.load(io.BytesIO(content))["a"].tolist() == [0, 1, 2, 3]


def test_a_record_that_says_more_than_the_file_has():
    """In the directory at the end of a file, where sizes are read."""
    content = zipped(lambda name, data: [data])
    at = content.index(b"data/0", content.index(b"PK\x01\x02")) - len("archive/")
    entry = bytearray(content)
    entry[at - 26 : at - 18] = (1 << 31).to_bytes(4, "little") * 2
    with pytest.raises(RuntimeError, match=r"does not match|says that it has"):
        torch.load(io.BytesIO(bytes(entry)))


def test_of_two_records_of_a_name_the_first_counts():
    """For the reader, and for who asks what a file would load."""
    content = zipped(lambda name, data: [data, b"cos\nsystem\n."] if name == "data.pkl" else [data])
    assert torch.load(io.BytesIO(content))["a"].tolist() == [0, 1, 2, 3]
    assert get_unsafe_globals_in_checkpoint(io.BytesIO(content)) == []
    turned = zipped(lambda name, data: [b"cos\nsystem\n.", data] if name == "data.pkl" else [data])
    assert get_unsafe_globals_in_checkpoint(io.BytesIO(turned)) == ["os.system"]
    with pytest.raises(pickle.UnpicklingError, match="system"):
        torch.load(io.BytesIO(turned))
