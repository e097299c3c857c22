"""Times a function with real PyTorch: ``python on_torch.py TARGET``, asked through a pipe.

`torchlike bench` starts this file by its path, with the Python that has PyTorch. Nothing imports
it.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any


def main(argv: list[str]) -> None:
    package = ModuleType("torchlike")  # without its __init__.py: no JAX here
    package.__path__ = [str(Path(__file__).resolve().parents[2])]
    sys.modules["torchlike"] = package
    room = "torchlike.porting.bench"
    workbench = importlib.import_module(f"{room}.workbench")
    torch = importlib.import_module("torch")
    target = importlib.import_module(f"{room}.targets").BenchTarget(**json.loads(argv[0]))
    workbench.serve(workbench.LocalWorkbench(lambda sizes: _bench(torch, target, sizes)))


def _bench(torch: Any, target: Any, sizes: dict[str, int]) -> Any:
    targets = importlib.import_module("torchlike.porting.bench.targets")
    candidates = importlib.import_module("torchlike.porting.bench.candidates")
    timing = importlib.import_module("torchlike.porting.bench.timing")
    workbench = importlib.import_module("torchlike.porting.bench.workbench")
    digests = importlib.import_module("torchlike.porting.divergence.digests")
    names = {
        "torch": torch,
        "nn": torch.nn,
        "F": importlib.import_module("torch.nn.functional"),
        "math": importlib.import_module("math"),
    }
    function = targets.function_of(target.function, names)
    arguments = targets.arguments_of(torch, target, function, sizes, names)
    on_gpu = any(t.is_cuda for t in candidates.tensors_in(torch, arguments))
    wait = (lambda result: torch.cuda.synchronize()) if on_gpu else (lambda result: None)
    made = {}
    for mode, (call, given) in candidates.ways(
        torch, function, arguments, target.gradients
    ).items():
        for row, run in (("PyTorch, eager", call), ("PyTorch, compiled", torch.compile(call))):
            made[row, mode] = timing.Candidate(lambda run=run, given=given: run(*given), wait)
    return workbench.Bench(
        made,
        {"PyTorch": f"{torch.__version__} on {'cuda' if on_gpu else 'cpu'}"},
        lambda value: digests.digests(value, torch.Tensor, _array),
    )


def _array(tensor: Any) -> Any:
    tensor = tensor.detach().cpu()
    return (tensor.float() if tensor.dtype.itemsize == 2 else tensor).numpy()


if __name__ == "__main__":
    main(sys.argv[1:])
