"""What ``bench`` is asked to time: a function in text, or in a file, and its arguments.

Standard library only: the process that runs PyTorch uses it too.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

#: Between a file and the function in it.
IN_FILE = "::"


class TargetError(Exception):
    """What is to be timed cannot be found, or not be called so."""


@dataclass(frozen=True)
class BenchTarget:
    """A function to time, in text, so that each framework makes its own.

    Attributes:
      function: a Python expression such as ``lambda x: x.softmax(-1)``, or ``model.py::name``.
      shapes: of its arguments by name, ``{"x": "64,n"}``; with a dtype ``"64,n:int64"``.
      arguments: instead, a Python expression of all of them: ``torch.randn(n, n), 0.5``.
      jax: the same computation by hand in JAX, as ``function`` is given.
      gradients: whether a call with gradients is timed, too.
    """

    function: str
    shapes: dict[str, str] = field(default_factory=dict)
    arguments: str | None = None
    jax: str | None = None
    gradients: bool = True

    def as_json(self) -> dict[str, Any]:
        """Return the fields as a dictionary."""
        return asdict(self)


def function_of(text: str, names: Mapping[str, Any]) -> Callable[..., Any]:
    """Return the function that a text says.

    Args:
      text: an expression, or ``model.py::name``, where a name may have dots.
      names: what an expression may use.

    Raises:
      TargetError: there is no such file or name, the expression is none, or it gives no function.
    """
    if IN_FILE in text:
        path, _, name = text.rpartition(IN_FILE)
        found: Any = _module(path)
        for part in name.split("."):
            try:
                found = getattr(found, part)
            except AttributeError:
                raise TargetError(f"{path} has no {name}") from None
    else:
        try:
            found = eval(text, dict(names))
        except SyntaxError as error:
            raise TargetError(f"{text!r} is no Python expression: {error.msg}") from None
        except NameError as error:
            raise TargetError(f"{text!r}: {error}; it may use {', '.join(names)}") from None
    if not callable(found):
        raise TargetError(f"{text!r} is {type(found).__name__}, which cannot be called")
    return found


def _module(path: str) -> Any:
    file = Path(path).resolve()
    if not file.is_file():
        raise TargetError(f"there is no file {path}")
    name = f"bench_target_{file.stem}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise TargetError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(file.parent))  # as a script in that folder has it
    spec.loader.exec_module(module)
    return module


def arguments_of(
    torch: Any,
    target: BenchTarget,
    function: Callable[..., Any],
    sizes: Mapping[str, int],
    names: Mapping[str, Any],
) -> list[Any]:
    """Return the arguments of one call, from a fixed seed, which gives PyTorch and torchlike the
    same numbers.

    Raises:
      TargetError: arguments are missing, or a shape is none.
    """
    torch.manual_seed(0)
    if target.arguments is not None:
        try:
            found = eval(target.arguments, {**names, **sizes})
        except (NameError, SyntaxError) as error:
            raise TargetError(f"the arguments {target.arguments!r}: {error}") from None
        return list(found) if isinstance(found, tuple) else [found]
    try:
        parameters = inspect.signature(getattr(function, "forward", function)).parameters
    except (TypeError, ValueError):  # a built-in function
        return [_tensor(torch, text, sizes) for text in target.shapes.values()]
    needed = [
        n for n, p in parameters.items() if p.default is p.empty and p.kind < p.VAR_POSITIONAL
    ]
    missing = [name for name in needed if name not in target.shapes]
    unknown = [name for name in target.shapes if name not in parameters]
    if missing or unknown:
        wrong = [f"{n} has no shape" for n in missing] + [f"there is no {n}" for n in unknown]
        raise TargetError(
            f"{', '.join(wrong)}: the parameters are {', '.join(parameters) or 'none'}; give "
            "--shape NAME=2,3 for each, or --args with an expression"
        )
    return [_tensor(torch, target.shapes[n], sizes) for n in parameters if n in target.shapes]


def _tensor(torch: Any, text: str, sizes: Mapping[str, int]) -> Any:
    dims, _, kind = text.partition(":")
    try:
        shape = [int(eval(part, {}, dict(sizes))) for part in dims.split(",") if part.strip()]
    except (NameError, SyntaxError, TypeError, ValueError) as error:
        raise TargetError(f"the shape {dims!r}: {error}") from None
    dtype = getattr(torch, kind or "float32", None)
    if dtype is None or not isinstance(dtype, torch.dtype):
        raise TargetError(f"{kind!r} is no dtype")
    if dtype is torch.bool:
        return torch.rand(shape) > 0.5
    if dtype.is_floating_point or dtype.is_complex:
        return torch.randn(shape).to(dtype)
    return torch.randint(0, 10, shape).to(dtype)


def sizes_of(text: str) -> tuple[str, list[int]]:
    """Return the name and the sizes of a sweep: ``n=64..65536`` doubles, ``n=100,300`` lists.

    Raises:
      TargetError: it is neither.
    """
    name, _, values = text.partition("=")
    low, dots, high = values.partition("..")
    try:
        if dots:
            sizes, size = [], int(low)
            while 0 < size <= int(high):
                sizes.append(size)
                size *= 2
        else:
            sizes = [int(value) for value in values.split(",")]
    except ValueError:
        sizes = []
    if not name.isidentifier() or not sizes or min(sizes) < 1:
        raise TargetError(f"a sweep is n=64..65536, which doubles, or n=100,300; not {text!r}")
    return name, sizes


def shapes_of(texts: Sequence[str]) -> dict[str, str]:
    """Return shapes by name, from ``x=64,1000`` each.

    Raises:
      TargetError: one is not so.
    """
    found = {}
    for text in texts:
        name, equals, shape = text.partition("=")
        if not name.isidentifier() or not equals:
            raise TargetError(f"a shape is x=64,1000 or x=64,n:int64; not {text!r}")
        found[name] = shape
    return found
