"""What decides how ``torch.load`` unpickles, and from which files, against PyTorch."""

import collections
import io
import pickle
import sys
import types
import warnings
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torchlike  # noqa: E402

BOTH = (torch, torchlike)
zipped = pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])


class Renaming:
    """A pickle module that knows what has become of a class."""

    load = pickle.load

    class Unpickler(pickle.Unpickler):
        def find_class(self, module, name):
            return collections.OrderedDict if name == "Gone" else super().find_class(module, name)


def written(t, obj, zipped=True):
    file = io.BytesIO()
    t.save(obj, file, _use_new_zipfile_serialization=zipped)
    file.seek(0)
    return file


@zipped
def test_classes_are_found_by_the_pickle_that_is_given(zipped, monkeypatch):
    gone = types.ModuleType("gone")
    kind = type("Gone", (dict,), {"__module__": "gone"})
    gone.Gone = kind  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "gone", gone)
    for t in BOTH:
        file = written(t, [kind(x=t.ones(2))], zipped)
        for options in ({"weights_only": False}, {}):
            file.seek(0)
            (found,) = t.load(file, pickle_module=Renaming, **options)
            assert type(found) is collections.OrderedDict
            assert found["x"].tolist() == [1, 1]
        file.seek(0)
        with pytest.raises(RuntimeError, match="explicit pickle_module"):
            t.load(file, pickle_module=Renaming, weights_only=True)


def test_a_path_keeps_the_pickle(tmp_path):
    for t in BOTH:
        t.save([print], tmp_path / "f.pt")
        assert t.load(tmp_path / "f.pt", pickle_module=pickle) == [print]
        assert t.load(str(tmp_path / "f.pt"), None, pickle) == [print]


@pytest.mark.parametrize("asked", [{}, {"weights_only": True}, {"weights_only": False}])
@pytest.mark.parametrize(
    "names", [("WEIGHTS_ONLY",), ("NO_WEIGHTS_ONLY",), ("WEIGHTS_ONLY", "NO_WEIGHTS_ONLY")]
)
def test_environment_variables(names, asked, monkeypatch):
    for name in names:
        monkeypatch.setenv(f"TORCH_FORCE_{name}_LOAD", "1")

    answers = []
    for t in BOTH:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                answer = t.load(written(t, [print]), **asked)
            except Exception as error:
                answer = type(error)
        answers.append((answer, len(caught)))
    assert answers[0] == answers[1]


@zipped
def test_a_file_that_is_read_by_its_name_before_it_is_closed(zipped, tmp_path):
    for t in BOTH:
        with open(tmp_path / "f.pt", "wb") as file:
            t.save(t.ones(3), file, _use_new_zipfile_serialization=zipped)
            assert t.load(tmp_path / "f.pt").tolist() == [1, 1, 1]


@zipped
def test_files_that_have_only_what_is_needed(zipped):
    for t in BOTH:
        whole = io.BytesIO()
        names = ("read", "readline", "seek", "tell", "write", "flush")
        file: Any = types.SimpleNamespace(**{name: getattr(whole, name) for name in names})
        t.save(t.ones(3), file, _use_new_zipfile_serialization=zipped)
        file.seek(0)
        assert t.load(file).tolist() == [1, 1, 1]


def test_safetensors(tmp_path):
    path = tmp_path / "w.safetensors"
    torchlike.serialization.save_safetensors({"w": torchlike.ones(2)}, path)
    for t in BOTH:
        for place in (None, "cpu", t.device("cpu")):
            assert t.load(path, map_location=place)["w"].tolist() == [1, 1]
        with pytest.raises(RuntimeError, match="dict map_location is not supported"):
            t.load(path, map_location={"cuda": "cpu"})


def test_files_are_mapped_alike(tmp_path):
    path = tmp_path / "f.pt"
    base = torch.arange(6.0).reshape(2, 3)
    torch.save({"base": base, "t": base.t(), "half": base.bfloat16(), "empty": base[:0]}, path)
    before = path.read_bytes()
    theirs, ours = (t.load(path, mmap=True) for t in BOTH)
    for found in (theirs, ours):
        found["base"][0, 1] = 9
        found["half"].add_(1)
    assert {name: t.tolist() for name, t in ours.items()} == {
        name: t.tolist() for name, t in theirs.items()
    }
    assert path.read_bytes() == before


@pytest.mark.parametrize("case", ["legacy", "legacy, by its name", "empty", "file", "zip file"])
def test_what_cannot_be_mapped_is_refused_alike(tmp_path, case):
    path = tmp_path / "f.pt"
    path.write_bytes(
        written(torch, torch.ones(1), zipped=False).read() if case == "legacy" else b""
    )
    said = []
    for t in BOTH:
        with pytest.raises((RuntimeError, ValueError)) as raised, open(path, "rb") as file:
            t.load({"file": file, "zip file": file, "legacy": path}.get(case, str(path)), mmap=True)
        said.append((raised.type, str(raised.value)))
    assert said[0] == said[1]
