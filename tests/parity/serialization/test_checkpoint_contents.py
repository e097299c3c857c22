"""What checkpoints keep besides values, and PyTorch's format before 1.6, both ways."""

import io
import pickle

import pytest

torch = pytest.importorskip("torch")

import torchlike  # noqa: E402

BOTH = pytest.mark.parametrize(
    ("writer", "reader"), [(torch, torchlike), (torchlike, torch), (torchlike, torchlike)]
)
FORMATS = pytest.mark.parametrize("new", [True, False], ids=["zip", "legacy"])


def through(writer, reader, obj, new=True, **how):
    file = io.BytesIO()
    writer.save(obj, file, _use_new_zipfile_serialization=new)
    file.seek(0)
    return reader.load(file, **how)


@BOTH
@FORMATS
def test_attributes_of_tensors(writer, reader, new):
    p = writer.nn.Parameter(writer.arange(3.0), requires_grad=False)
    p.partition = {"rank": 1}
    t = writer.ones(2)
    t.tag = "mine"
    found = through(writer, reader, [p, t], new)
    assert isinstance(found[0], reader.nn.Parameter)
    assert not found[0].requires_grad
    assert found[0].partition == {"rank": 1}
    assert found[0].tolist() == [0, 1, 2]
    assert type(found[1]) is reader.Tensor
    assert found[1].tag == "mine"


@BOTH
@FORMATS
def test_tensors_without_values(writer, reader, new):
    t = writer.empty(3, 2, device="meta", dtype=writer.float64).t().requires_grad_()
    found = through(
        writer, reader, {"t": t, "p": writer.nn.Linear(2, 3, device="meta").state_dict()}, new
    )
    assert found["t"].is_meta
    assert (tuple(found["t"].shape), found["t"].stride()) == ((2, 3), (1, 2))
    assert found["t"].dtype is reader.float64
    assert found["t"].requires_grad
    assert found["p"]["weight"].is_meta


@BOTH
def test_the_legacy_format(writer, reader):
    base = writer.arange(6, dtype=writer.int16)
    obj = {
        "base": base,
        "part": base[2:5],
        "turned": base.view(2, 3).t(),
        "n": [1, "a", None],
        "half": writer.ones(3, dtype=writer.bfloat16),
        "flags": writer.tensor([True, False]),
        "complex": writer.tensor([1 + 2j]),
        "number": writer.tensor(2.5),
        "empty": writer.empty(0),
        "state": writer.nn.BatchNorm1d(2).state_dict(),
    }
    found = through(writer, reader, obj, new=False)
    assert list(found) == list(obj)
    assert found["base"].tolist() == list(range(6))
    assert found["base"].dtype is reader.int16
    assert found["turned"].stride() == (1, 3)
    assert found["half"].dtype is reader.bfloat16
    assert found["flags"].tolist() == [True, False]
    assert found["complex"].tolist() == [1 + 2j]
    assert found["number"].item() == 2.5
    assert found["empty"].shape == (0,)
    assert list(found["state"]) == list(obj["state"])
    found["base"][2] = 50
    assert found["part"].tolist() == [50, 3, 4]
    assert found["turned"].tolist() == [[0, 3], [1, 4], [50, 5]]


class Tagged(torchlike.Tensor):
    pass


def test_a_subclass_comes_back_where_it_is_allowed():
    t = torchlike.ones(2).as_subclass(Tagged)
    t.tag = 3
    with pytest.raises(pickle.UnpicklingError, match="Tagged was not an allowed global"):
        through(torchlike, torchlike, t)
    with torchlike.serialization.safe_globals([Tagged]):
        found = through(torchlike, torchlike, t)
    assert type(found) is Tagged
    assert found.tag == 3
    assert through(torchlike, torchlike, t, weights_only=False).tag == 3


def test_a_file_may_not_set_a_tensors_own_fields():
    t = torchlike.ones(2)
    t._storagf = "x"
    file = io.BytesIO()
    torchlike.save(t, file)
    changed = io.BytesIO(file.getvalue().replace(b"_storagf", b"_storage"))
    with pytest.raises((pickle.UnpicklingError, RuntimeError)):
        torchlike.load(changed)
    legacy = io.BytesIO()
    torchlike.save(t, legacy, _use_new_zipfile_serialization=False)
    changed = io.BytesIO(legacy.getvalue().replace(b"_storagf", b"_storage"))
    with pytest.raises(pickle.UnpicklingError, match="own field '_storage'"):
        torchlike.load(changed)


@FORMATS
def test_nothing_in_a_file_is_executed(new):
    file = io.BytesIO()
    torchlike.save({"f": print, "t": torchlike.ones(1)}, file, _use_new_zipfile_serialization=new)
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="print was not an allowed global"):
        torchlike.load(file)
    file.seek(0)
    assert torchlike.load(file, weights_only=False)["f"] is print


@pytest.mark.parametrize("kept", [5, 30, 100, -3])
def test_a_legacy_file_that_ends_early(kept):
    file = io.BytesIO()
    torchlike.save(torchlike.ones(9), file, _use_new_zipfile_serialization=False)
    with pytest.raises((RuntimeError, pickle.UnpicklingError)):
        torchlike.load(io.BytesIO(file.getvalue()[:kept]))


def test_a_file_that_cannot_seek():
    class Stream:
        def read(self, n=-1):
            return b""

    for library in (torch, torchlike):
        with pytest.raises(AttributeError, match=r"only torch\.load from a file"):
            library.load(Stream())


def test_a_pickle_module_is_not_for_weights_only():
    for library in (torch, torchlike):
        file = io.BytesIO()
        library.save(library.ones(1), file)
        file.seek(0)
        with pytest.raises(RuntimeError, match="explicit pickle_module is specified"):
            library.load(file, pickle_module=pickle, weights_only=True)


@pytest.mark.parametrize("name", ["gelu", "softplus", "silu"])
def test_a_function_that_pytorch_pickled(name):
    theirs = getattr(torch.nn.functional, name)
    pickled = pickle.dumps([theirs], protocol=2).replace(b"ctorch.", b"ctorchlike.")
    assert pickle.loads(pickled) == [getattr(torchlike.nn.functional, name)]
    found = through(torch, torchlike, [theirs], weights_only=False)
    assert found == [getattr(torchlike.nn.functional, name)]
