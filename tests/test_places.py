"""PyTorch's places whose code lives elsewhere (torchlike/_compat/places.py)."""

import importlib
import pickle
import sys

import pytest

import torchlike as torch
from torchlike._compat import places


@pytest.mark.parametrize("place", sorted(set(places.PLACES) - {"as_torch"}))
def test_every_name_of_a_place_is_there(place):
    module = importlib.import_module(f"torchlike.{place}")
    real = places.module_of(place)
    assert module is sys.modules[real or f"torchlike.{place}"]
    for name in getattr(module, "__all__", ()):
        assert getattr(module, name) is not None
    if place != "classes":  # where any name is one of a library that is not loaded
        with pytest.raises(AttributeError):
            module.no_such_name  # noqa: B018


def test_files_below_a_place_are_loaded_once():
    from torchlike._compat.core import _nn

    assert importlib.import_module("torchlike._C._nn") is _nn
    assert torch._C._fft.fft_fft is torch.fft.fft


def test_what_is_no_place_is_not_found():
    for name in ("no_such_place", "_C._no_such", "xpu.no_such"):
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(f"torchlike.{name}")


def test_classes_are_pickled_by_pytorchs_name():
    version = torch.torch_version.TorchVersion("2.13.0")
    data = pickle.dumps(version)
    assert b"torchlike.torch_version" in data
    assert pickle.loads(data) == version


def test_looking_at_all_names_imports_no_alias():
    assert "as_torch" not in dir(torch)
