"""What public functions return, as the package's own type stubs say."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import torchlike

_ROOT = Path(torchlike.__file__).parent
#: Which stub speaks for which names.
_STUBS = {
    "__init__.pyi": "torch",
    "nn/functional.pyi": "torch.nn.functional",
    "linalg/__init__.pyi": "torch.linalg",
    "special/__init__.pyi": "torch.special",
    "fft/__init__.pyi": "torch.fft",
    "_core/tensor_methods.pyi": "torch.Tensor",
}
#: Annotations of results that are known to be one tensor, or several of them.
TENSORS = "tensors"


@functools.cache
def returns() -> dict[str, str]:
    """Return the class that each function returns by its name: ``torch.nn.functional.relu`` ->
    ``torch.Tensor``; to ``TENSORS`` where it gives several. A function whose result depends on its
    arguments is not among them."""
    found: dict[str, str] = {}
    for file, space in _STUBS.items():
        tree = ast.parse((_ROOT / file).read_text("utf-8"))
        body = tree.body
        if space == "torch.Tensor":
            body = next(n for n in tree.body if isinstance(n, ast.ClassDef)).body
        for node in body:
            if not isinstance(node, ast.FunctionDef) or node.returns is None:
                continue
            text = ast.unparse(node.returns)
            if text == "Tensor":
                found[f"{space}.{node.name}"] = "torch.Tensor"
            elif text in ("_tuple[Tensor, ...]", "tuple[Tensor, ...]"):
                found[f"{space}.{node.name}"] = TENSORS
    return found
