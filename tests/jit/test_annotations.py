"""`torch.jit.annotations`: the types that TorchScript's readers import."""

import typing

import torchlike
from torchlike.jit import annotations


def test_typing_is_found_there_as_well():
    for name in ("Any", "Dict", "List", "Optional", "Tuple", "Union"):
        assert getattr(annotations, name) is getattr(typing, name)


def test_scripted_functions_are_annotated_with_them():
    @torchlike.jit.script
    def total(parts: annotations.List[torchlike.Tensor], n: annotations.BroadcastingList2[int]):
        return sum(parts) * n[0]

    assert total([torchlike.ones(2), torchlike.ones(2)], [3, 3]).tolist() == [6.0, 6.0]
