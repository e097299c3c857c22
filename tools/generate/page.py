"""docs/operators.md: every operator, where it is, and what it can do."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import jax

from torchlike._compat.help import docstrings, signatures
from torchlike._compat.unsupported import GAPS
from torchlike._core import dtypes
from torchlike._core.dispatch.spec import OpSpec
from torchlike._extensions import absent_dtypes
from torchlike._runtime.function_objects import first_of

INTRODUCTION = """# Operators

Made by `python -m tools.generate` from the registry; do not edit.

An *op* is one pure JAX function, so it has `out=`, works on every device (`meta` too), eagerly and
in `torchlike.jit`, and has the gradients of `jax.vjp` to any order unless the column says "none". A
*function* is Python made of ops, and inherits what they can do. Dtypes: **f** floating (float16,
bfloat16, float32, float64), **c** complex, **i** integers, **b** bool; they are found by evaluating
the op abstractly, and left out where that needs arguments the page cannot guess.
"""
_PROBES = {"f": "float32", "c": "complex64", "i": "int64", "b": "bool"}
_SHAPES = ((2, 3), (3, 3), (2, 3, 4, 4), (3,), ())


def accepted_dtypes(spec: OpSpec) -> str:
    """Return the letters of the dtypes that an op accepts for its tensors, "" where unknown."""
    s = spec.schema
    defaults = [s.defaults[i] for i in s.static_positions]
    if any(d is signatures.inspect.Parameter.empty for d in defaults) or s.has_sequence:
        return ""
    letters = ""
    for letter, name in _PROBES.items():
        if any(_evaluates(spec, shape, name, defaults) for shape in _SHAPES):
            letters += letter
    return letters


@contextlib.contextmanager
def _whole_tracebacks() -> Iterator[None]:
    """Have JAX leave the tracebacks of its refusals as they are in a ``with`` block: to shorten
    hundreds of them takes longer than all the rest."""
    before = jax.config.jax_traceback_filtering
    jax.config.update("jax_traceback_filtering", "off")
    try:
        yield
    finally:
        jax.config.update("jax_traceback_filtering", before)


def _evaluates(spec: OpSpec, shape: tuple[int, ...], dtype: str, defaults: list[Any]) -> bool:
    s = spec.schema
    operands: list[Any] = []
    for i in s.operand_positions:
        kind, default = s.kinds[i], s.defaults[i]
        if default is not signatures.inspect.Parameter.empty:
            operands.append(default)
        elif kind.scalar:
            operands.append(1)
        else:
            operands.append(jax.ShapeDtypeStruct(shape, getattr(dtypes, dtype).numpy))
    try:
        statics = s.canonical_statics(tuple(defaults))
        jax.eval_shape(spec.executable(0, statics, (), len(operands)).pure, *operands)
    except Exception:  # a refusal of whatever kind is the answer asked for
        return False
    return True


def _row(name: str, function: Any, spaces: list[str], methods: set[str]) -> str:
    spec = getattr(function, "spec", None)
    signature = signatures.of(function)
    where = [f"`{'torch.' + s if s else 'torch'}`" for s in spaces]
    if name in methods:
        where.append("method")
    twin = f"{name}_" if f"{name}_" in methods else ""
    has_out = any(p.name == "out" for p in signature.parameters)
    derived = spec is not None and spec.differentiable and spec.grad_name != "NotImplemented"
    gradient = "" if spec is None else ("any order" if derived else "none")
    cells = (
        f"`{name}`",
        ", ".join(where),
        "function" if spec is None else "op",
        f"`{twin}`" if twin else "",
        "yes" if has_out else "",
        gradient,
        "" if spec is None else accepted_dtypes(spec),
        docstrings.difference(signature.doc).replace("|", "\\|"),
    )
    return "| " + " | ".join(cells) + " |"


def text(namespaces: dict[str, dict[str, Any]], tensor: type) -> str:
    """Return the page."""
    where: dict[tuple[str, int], list[str]] = {}
    functions: dict[tuple[str, int], Any] = {}
    for space in sorted(namespaces):
        for name, function in signatures.public(namespaces[space]):
            twin = name.endswith("_") and name[:-1] in namespaces[space]
            if twin or name.startswith("_") or name in GAPS.get(space, {}):
                continue  # a twin stands in the row of its op, a gap in the list at the end
            key = (name, id(first_of(function)))
            where.setdefault(key, []).append(space)
            functions[key] = function
    methods = {n for n in vars(tensor) if not n.startswith("_")}
    lines = [
        INTRODUCTION,
        f"{len(functions)} public functions.\n",
        "| name | where | kind | in-place | `out=` | gradient | dtypes | differs from PyTorch |",
        "|---|---|---|---|---|---|---|---|",
    ]
    order = sorted(functions, key=lambda key: (key[0], where[key]))
    with _whole_tracebacks():
        lines += [_row(key[0], functions[key], where[key], methods) for key in order]
    lines += ["\n## Not supported\n", "| name | why | use instead |", "|---|---|---|"]
    for space, gaps in GAPS.items():
        prefix = f"{space}." if space else ""
        lines += [f"| `{prefix}{n}` | {g.why} | {g.instead} |" for n, g in gaps.items()]
    for name, absent in absent_dtypes.DTYPES.items():
        lines.append(f"| a tensor of `torch.{name}` | {absent.why} | torch.{absent.instead} |")
    return "\n".join(lines) + "\n"
