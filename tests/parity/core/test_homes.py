"""Classes can be imported from where PyTorch has them, and pickles name that place."""

import importlib
import inspect
import io
import pickletools
import zipfile

import pytest

import torchlike
import torchlike.nn

torch = pytest.importorskip("torch")


def classes(package):
    return [c for c in map(package.__dict__.get, package.__all__) if inspect.isclass(c)]


CLASSES = [
    c
    for c in (*classes(torch.nn.modules), *classes(torch.optim))
    if c is not torch.nn.Container  # PyTorch's deprecated name for Module
]


@pytest.mark.parametrize("theirs", CLASSES, ids=lambda c: c.__name__)
def test_a_class_is_where_pytorch_has_it(theirs):
    home = theirs.__module__.replace("torch", "torchlike", 1)
    ours = getattr(importlib.import_module(home), theirs.__name__)
    package = torchlike.optim if ".optim" in home else torchlike.nn
    assert ours is getattr(package, theirs.__name__)
    assert ours.__module__ == home or theirs.__module__ == "torch.optim"  # a private file's there


def test_a_whole_model_is_saved_and_loaded_by_its_places():
    model = torchlike.nn.MultiheadAttention(4, 2)
    file = io.BytesIO()
    torchlike.save(model, file)
    pickled = zipfile.ZipFile(file).read("archive/data.pkl")
    named = {arg for op, arg, _ in pickletools.genops(pickled) if op.name == "GLOBAL"}
    assert "torchlike.nn.modules.activation MultiheadAttention" in named
    file.seek(0)
    again = torchlike.load(file, weights_only=False)
    assert type(again) is torchlike.nn.MultiheadAttention
    assert torchlike.equal(again.in_proj_weight, model.in_proj_weight)
