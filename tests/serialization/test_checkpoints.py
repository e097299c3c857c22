"""Checkpoints: round trips, sharing, and files that must not be trusted."""

import io
import pickle
import zipfile
from collections import OrderedDict

import numpy as np
import pytest

import torchlike as torch
from torchlike.serialization import safetensors_files


def round_trip(obj, **options):
    file = io.BytesIO()
    torch.save(obj, file)
    file.seek(0)
    return torch.load(file, **options)


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.arange(6.0).reshape(2, 3),
        lambda: torch.arange(6.0).reshape(2, 3).t(),
        lambda: torch.arange(6.0).reshape(2, 3).t() + 1,
        lambda: torch.arange(10)[2:8:2],
        lambda: torch.tensor(3.5, dtype=torch.bfloat16),
        lambda: torch.tensor([True, False]),
        lambda: torch.tensor([1 + 2j, 3j]),
        lambda: torch.zeros(0, 3, dtype=torch.int16),
        lambda: torch.ones(2, requires_grad=True),
    ],
)
def test_tensors_come_back_as_they_were(make):
    t = make()
    back = round_trip(t)
    assert back.tolist() == t.tolist()
    assert back.dtype is t.dtype
    assert back.stride() == t.stride()
    assert back.requires_grad == t.requires_grad


def test_containers_and_plain_values():
    obj = OrderedDict(
        a=[1, 2.5, None, "x", b"y"],
        b=(True, {"k": {1, 2}}),
        c=torch.float16,
        d=torch.Size([2, 3]),
        e=torch.device("cpu"),
    )
    assert round_trip(obj) == obj


def test_shared_memory_stays_shared():
    base = torch.zeros(4)
    back = round_trip({"base": base, "view": base[1:3]})
    back["view"].fill_(7)
    assert back["base"].tolist() == [0, 7, 7, 0]


def test_a_models_and_an_optimizers_state(tmp_path):
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    torch.save({"m": model.state_dict(), "o": optimizer.state_dict()}, tmp_path / "c.pt")
    loaded = torch.load(tmp_path / "c.pt")
    other = torch.nn.Linear(3, 2)
    other.load_state_dict(loaded["m"])
    assert other.weight.tolist() == model.weight.tolist()
    torch.optim.Adam(other.parameters()).load_state_dict(loaded["o"])


def test_a_hostile_file_is_refused(tmp_path):
    class Evil:
        def __reduce__(self):
            return (print, ("gotcha",))

    path = tmp_path / "evil.pt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("evil/data.pkl", pickle.dumps(Evil()))
        archive.writestr("evil/version", b"3")
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        torch.load(path)


@pytest.mark.parametrize("cut", [0, 10, 300])
def test_a_damaged_file_says_so(tmp_path, cut):
    path = tmp_path / "c.pt"
    torch.save(torch.ones(100), path)
    path.write_bytes(path.read_bytes()[:cut])
    error, words = (RuntimeError, "damaged") if cut else (EOFError, "empty")
    with pytest.raises(error, match=words):
        torch.load(path)


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "c.pt"
    torch.save(torch.ones(2), path)
    with pytest.raises((pickle.PicklingError, AttributeError, TypeError)):
        torch.save([torch.zeros(2), lambda: None], path)
    assert torch.load(path).tolist() == [1, 1]
    assert list(tmp_path.iterdir()) == [path]


def test_missing_files_and_devices(tmp_path):
    with pytest.raises(FileNotFoundError):
        torch.load(tmp_path / "none.pt")
    with pytest.raises(RuntimeError, match="does not exist"):
        torch.save(1, tmp_path / "no" / "c.pt")
    assert round_trip(torch.ones(2), map_location="cpu").device.type == "cpu"


def test_safetensors(tmp_path):
    state = {"w": torch.ones(2, 3), "n": torch.tensor([1, 2]), "count": torch.tensor(3)}
    torch.serialization.save_safetensors(state, tmp_path / "s.safetensors")
    back = torch.serialization.load_safetensors(tmp_path / "s.safetensors")
    assert {k: v.tolist() for k, v in back.items()} == {k: v.tolist() for k, v in state.items()}


@pytest.mark.parametrize(
    "name", ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"]
)
def test_safetensors_of_eight_bits(name, tmp_path):
    """Which the format's library gives no NumPy arrays of."""
    path, dtype = tmp_path / "s.safetensors", getattr(torch, name)
    state = {
        "w": torch.linspace(-2, 2, 6).reshape(2, 3).to(dtype),
        "b": torch.arange(5),
        "e": torch.ones(0, 3).to(dtype),
        "h": torch.ones(2, dtype=torch.bfloat16),
        "s": torch.tensor(0.5).to(dtype),
    }
    torch.serialization.save_safetensors(state, path)
    for back in (torch.serialization.load_safetensors(path), torch.load(path)):
        assert {k: (v.dtype, v.shape, v.float().tolist()) for k, v in back.items()} == {
            k: (v.dtype, v.shape, v.float().tolist()) for k, v in state.items()
        }


def test_safetensors_of_a_dtype_that_is_none_here(tmp_path):
    path = tmp_path / "s.safetensors"
    with path.open("wb") as file:
        safetensors_files.write(file, {"scale": np.ones(3, "float8_e8m0fnu")})
    with pytest.raises(NotImplementedError, match="scale is of the dtype F8_E8M0, of which there"):
        torch.serialization.load_safetensors(path)


def test_a_whole_model_loads_within_safe_globals_and_not_after(tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    torch.save(model, tmp_path / "model.pt")
    allowed = [torch.nn.Sequential, torch.nn.Linear, torch.nn.ReLU]
    with torch.serialization.safe_globals(allowed):
        assert torch.serialization.get_safe_globals() == allowed
        again = torch.load(tmp_path / "model.pt")
    assert torch.equal(again[0].weight, model[0].weight)
    assert torch.serialization.get_safe_globals() == []
    with pytest.raises(pickle.UnpicklingError, match="was not an allowed global"):
        torch.load(tmp_path / "model.pt")
