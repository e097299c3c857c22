"""Records of checkpoints' archives, read and written by PyTorch's classes; files of Python 2."""

import io
import pickle
import zipfile

import pytest

torch = pytest.importorskip("torch")

import torchlike  # noqa: E402
from tests.parity import oracle  # noqa: E402

CALLS = {
    "records": lambda t, r: sorted(r.get_all_records()),
    "has_record": lambda t, r: (r.has_record("data.pkl"), r.has_record("none")),
    "get_record": lambda t, r: (r.get_record("version"), r.get_record("byteorder")),
    "no_record": lambda t, r: r.get_record("none"),
    "digits": lambda t, r: len(r.serialization_id()),
}


def saved(t, value):
    file = io.BytesIO()
    t.save(value, file)
    file.seek(0)
    return file


@pytest.mark.parametrize("call", CALLS)
def test_reading(call):
    def read(t):
        with t.serialization._open_zipfile_reader(saved(t, t.ones(2))) as reader:
            return CALLS[call](t, reader)

    oracle.compare(read)


def test_a_file_that_is_no_archive():
    refused = oracle.refused(lambda t: t._C.PyTorchFileReader(io.BytesIO(bytes(99))), words=59)
    assert refused.words.startswith("PytorchStreamReader failed reading zip archive")


@pytest.mark.parametrize("content", [b"PK\3\4", b"PK", b""])
def test_is_zipfile(content):
    file = io.BytesIO(b"before" + content)
    file.seek(6)
    oracle.compare(lambda t: (t.serialization._is_zipfile(file), file.tell()))


@pytest.mark.parametrize("named", [True, False])
def test_writing(tmp_path, named):
    def written(t):
        file = tmp_path / "made.pt" if named else io.BytesIO()
        with t.serialization._open_zipfile_writer(str(file) if named else file) as writer:
            writer.write_record("text", "abc", 2)
            writer.write_record("folder/bytes", b"abc", 3)
            writer.write_record("storage", t.arange(3, dtype=t.uint8).untyped_storage(), 3)
        with zipfile.ZipFile(file) as archive:
            names = sorted(archive.namelist())
            return names, [archive.read(n) for n in names if "serialization_id" not in n]

    oracle.compare(written)


def test_what_cannot_be_written_to(tmp_path):
    oracle.refused(lambda t: t.serialization._open_zipfile_writer(str(tmp_path / "no" / "a.pt")))
    oracle.refused(lambda t: t.serialization._open_zipfile_writer(3))


def test_pytorch_reads_the_records():
    file = io.BytesIO()
    writer = torchlike._C.PyTorchFileWriter(file)
    writer.write_record("data.pkl", pickle.dumps([1, 2], 2))
    writer.write_end_of_file()
    file.seek(0)
    assert torch.load(file) == [1, 2]


#: {'k': 'v\xe9'} as Python 2 pickles it.
PYTHON_2 = b"\x80\x02}q\x00U\x01kq\x01U\x02v\xe9q\x02s."


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("encoding", ["bytes", "latin1"])
def test_files_of_python_2(encoding, weights_only):
    sizes = {"short": 2, "int": 4, "long": 4}
    system = {"protocol_version": 1001, "little_endian": True, "type_sizes": sizes}
    parts = [pickle.dumps(x, 2) for x in (0x1950A86A20F9469CFC6C, 1001, system)]
    content = b"".join([*parts, PYTHON_2, pickle.dumps([], 2)])
    found = oracle.compare(
        lambda t: t.load(io.BytesIO(content), encoding=encoding, weights_only=weights_only)
    )
    assert list(found) == [b"k" if encoding == "bytes" else "k"]


class Reader:
    """Have ``read`` and ``readinto``, and no more of a file than what is asked for."""

    def __init__(self, file):
        self.read, self.readline = file.read, file.readline
        self.seek, self.tell, self.readinto = file.seek, file.tell, file.readinto


def test_files_of_other_libraries():
    oracle.compare(lambda t: t.load(Reader(saved(t, t.arange(3.0)))))


def test_onto_the_meta_device():
    def loaded(t):
        value = [t.arange(6.0).reshape(2, 3).t(), t.ones(4)[1:]]
        found = t.load(saved(t, value), map_location="meta")
        return [(x.device.type, x.shape, x.stride(), x.dtype is t.float32) for x in found]

    oracle.compare(loaded)


def test_how_devices_are_named():
    oracle.compare(
        lambda t: [
            t.serialization.location_tag(t.ones(1, device=d).untyped_storage())
            for d in ("cpu", "meta")
        ]
    )
