"""What torchlike refuses: every name of the table is where PyTorch has it, and says what to use."""

import importlib

import pytest

import torchlike as torch
from torchlike._compat.unsupported import GAPS

NAMES = [(space, name) for space, names in GAPS.items() for name in names]


def found(space, name):
    if space == "Tensor":
        return getattr(torch.Tensor, name)
    if space == "aten":
        return getattr(torch.ops.aten, name)
    if space == "cuda.jiterator":
        return getattr(torch.cuda.jiterator, name)
    return getattr(importlib.import_module(f"torchlike.{space}".rstrip(".")), name)


@pytest.mark.parametrize(("space", "name"), NAMES)
def test_every_name_says_what_to_use_instead(space, name):
    refused = found(space, name)
    with pytest.raises(NotImplementedError, match=f"{name}.*Use instead"):
        refused(torch.ones(1)) if space == "Tensor" else refused()


def test_names_in_capitals_are_classes():
    from torchlike.sparse import SparseSemiStructuredTensor

    assert not isinstance(torch.ones(1), SparseSemiStructuredTensor)
    with pytest.raises(NotImplementedError, match=r"torch\.sparse\.SparseSemi.*dense"):
        SparseSemiStructuredTensor(torch.ones(1))


def test_other_names_are_missing_as_in_any_module():
    with pytest.raises(ImportError):
        importlib.import_module("torchlike.distributed.rpc.nothing")
    assert not hasattr(torch.distributed.rpc, "nothing")


def test_functions_are_wrapped_at_the_top_level_of_a_module():
    with pytest.raises(NotImplementedError, match="top level of a module"):
        torch.fx.wrap("len")
    with pytest.raises(RuntimeError, match="callable or string"):
        torch.fx.wrap(3)


def test_there_are_no_symbols():
    for kind in (torch.SymInt, torch.SymFloat, torch.SymBool):
        assert not isinstance(torch.ones(3).shape[0], kind)
        with pytest.raises(NotImplementedError, match=f"torch.{kind.__name__}.*Use instead"):
            kind(3)


def test_names_for_annotations():
    from torchlike.types import Device, Number

    assert isinstance(3, Number)
    assert isinstance(torch.device("cpu"), Device)


def test_refusals_name_an_alternative():
    for name, made in (
        ("DataLoader", lambda: torch.utils.data.IterDataPipe()),
        ("torch.save", lambda: importlib.import_module("torchlike.package").PackageExporter("f")),
    ):
        with pytest.raises(NotImplementedError, match=name):
            made()
    assert not torch.mtia.is_available()
