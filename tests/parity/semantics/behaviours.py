"""The areas and their behaviours, and whether one is equal in both libraries."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

import torchlike
from tests.parity.oracle import compare
from tests.parity.semantics import (
    cpp_extensions,
    files_and_datasets,
    forward_mode,
    gradchecks,
    graphs_and_programs,
    hooks_and_engine,
    inference_mode,
    memory_and_files,
    modules_and_optimizers,
    neural_networks,
    operators_and_fakes,
    random_in_vmap,
    refused_in_transforms,
    sparse_layouts,
    subclasses_and_state,
    unbacked_sizes,
    warnings_and_out,
)
from tests.parity.semantics.differences import DIFFERENCES

#: In the order in which they are told.
AREAS: dict[str, ModuleType] = {
    "inference mode": inference_mode,
    "forward mode": forward_mode,
    "vmap": random_in_vmap,
    "refused in transforms": refused_in_transforms,
    "hooks and the engine": hooks_and_engine,
    "gradcheck": gradchecks,
    "warnings and out=": warnings_and_out,
    "modules and optimizers": modules_and_optimizers,
    "nn": neural_networks,
    "memory and files": memory_and_files,
    "files and datasets": files_and_datasets,
    "C++ extensions": cpp_extensions,
    "subclasses and state": subclasses_and_state,
    "sparse layouts": sparse_layouts,
    "graphs and programs": graphs_and_programs,
    "unbacked sizes": unbacked_sizes,
    "operators and fakes": operators_and_fakes,
}
#: How many characters of an error's or a warning's words count.
WORDS = 70

Behaviour = Callable[[Any], Any]


def behaviours(area: str) -> dict[str, Behaviour]:
    """The area's functions by name."""
    module = AREAS[area]
    return {
        name: value
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and name[0] != "_"
    }


def reason(area: str, name: str) -> str | None:
    """Why the behaviour differs from PyTorch's; None for one that does not."""
    return DIFFERENCES.get(area, {}).get(name)


def check(behaviour: Behaviour) -> None:
    """AssertionError unless torchlike's result, error and warnings are PyTorch's."""
    libraries = (torch, torchlike)
    before = [t.is_warn_always_enabled() for t in libraries]
    for t in libraries:
        t.set_warn_always(True)  # else a warning is seen by the first behaviour only
    torch.storage._reset_warn_typed_storage_removal()  # which has a count of its own
    try:
        compare(_quiet_about_itself(behaviour), words=WORDS, warned=WORDS)
    finally:
        for t, always in zip(libraries, before, strict=True):
            t.set_warn_always(always)


#: What PyTorch warns of itself, whatever a program does.
OF_ITSELF = (
    "`torch.jit.script` is deprecated",
    r"Sparse \w+ tensor support is in beta",
    "Sparse invariant checks are implicitly disabled",
    r"`isinstance\(treespec, LeafSpec\)` is deprecated",
    "The PyTorch API of MaskedTensors is in prototype",
    "Attempted to insert a get_attr Node",
    r"os.fork\(\) was called",  # of JAX: PyTorch's loaders fork
)


def _quiet_about_itself(behaviour: Behaviour) -> Behaviour:
    """The behaviour without what PyTorch says of the state of its own parts."""

    def run(t: Any) -> Any:
        warnings.simplefilter("default")  # once a place: PyTorch's loops say some twice
        for words in OF_ITSELF:
            warnings.filterwarnings("ignore", words)
        return behaviour(t)

    return run
