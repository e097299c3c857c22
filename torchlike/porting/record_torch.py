"""Runs a script with real PyTorch and records it.

``python record_torch.py [--observe=JSON] RESULT [-m] SCRIPT ...``.
`torchlike compare --torch` starts this file by its path, in a process of its own. Nothing imports
it, and it is the only place where PyTorch can be imported, by name and on request.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any


def main(argv: list[str]) -> None:
    _without_torchlike()
    option, _, wanted = argv[0].partition("=")
    if option == "--observe":
        _observe(json.loads(wanted), argv[1:])
        return
    recording = importlib.import_module("torchlike.porting.recording")
    recorder = importlib.import_module("torchlike.porting.recorder")
    torch = importlib.import_module("torch")
    loader = importlib.import_module("torch.utils.data.dataloader")
    framework = recorder.RecordedFramework(
        tensor=torch.Tensor,
        module=torch.nn.Module,
        optimizer=torch.optim.Optimizer,
        compilers=((torch, "compile"),),
        keep=lambda loss: loss.detach().clone(),
        read=lambda kept: kept.item(),
        wait=lambda optimizer: torch.cuda.synchronize() if torch.cuda.is_initialized() else None,
        scaler=torch.amp.GradScaler,
        loading=((loader.DataLoader, "__iter__"), (loader._BaseDataLoaderIter, "__next__")),
        untraced=lambda function: torch.compiler.disable(function, recursive=False),
    )

    def about() -> dict[str, Any]:
        device = "cuda" if torch.cuda.is_initialized() else "cpu"
        return {
            "framework": "torch",
            "version": torch.__version__,
            "device": device,
            "seed": torch.initial_seed(),
        }

    _forget_torchlike()
    recording.record(framework, about, argv)


def _observe(wanted: dict[str, Any], argv: list[str]) -> None:
    """Note what ``compare --find-divergence`` compares."""
    observe = importlib.import_module("torchlike.porting.divergence.observe")
    framework = importlib.import_module("torchlike.porting.divergence.framework")
    names = ("torch", "torch.optim.optimizer", "torch.overrides")
    torch = framework.of_torch(*map(importlib.import_module, names))
    _forget_torchlike()
    observe.observe(torch, wanted, argv)


def _forget_torchlike() -> None:
    """Let a script that imports torchlike get the whole of it."""
    for name in [name for name in sys.modules if name.split(".")[0] == "torchlike"]:
        del sys.modules[name]


def _without_torchlike() -> None:
    """Let ``torchlike.porting`` be imported without ``torchlike/__init__.py``: no JAX here."""
    package = ModuleType("torchlike")
    package.__path__ = [str(Path(__file__).resolve().parent.parent)]
    sys.modules["torchlike"] = package


if __name__ == "__main__":
    main(sys.argv[1:])
