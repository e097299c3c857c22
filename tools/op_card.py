"""python -m tools.op_card NAME: all that is known of one op, each line with the place that says it.

The registry says what is so; the places are found in the sources (`tools/op_mentions.py`). A public
function that is made of ops has a line for each with a gradient that it calls.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import jax

import torchlike
from tools.op_mentions import ROOT, Definition, definitions, in_generated, in_tests, mentions
from torchlike._core import dtypes
from torchlike._core.dispatch import record
from torchlike._core.dispatch.registry import NAMESPACES, OPS, OPTIONS
from torchlike._core.dispatch.spec import OpSpec
from torchlike._ops import promotion
from torchlike._runtime.first_calls.rules.registry import RULES
from torchlike.ops._aten import schemas
from torchlike.ops._aten.packets import aten
from torchlike.ops._aten.schemas.tags import tags_of
from torchlike.utils.flop_formulas import REGISTRY, formula_of

Line = tuple[str, str, str]
#: How many lines of tests are printed.
MOST_TESTS = 12
#: Where functions are that are made of ops.
_OF_OPS = ("torchlike._ops", "torchlike.nn")
_PROMOTIONS = ("promoted", "promoted_float", "in_float32", "result_dtype", "beside_scalars")


def place_of(function: Callable[..., Any]) -> str:
    """Return the file and line of a function, relative to the repository."""
    code = getattr(function, "__code__", None)
    if code is None:
        return ""
    return f"{code.co_filename.removeprefix(f'{ROOT}/')}:{code.co_firstlineno}"


def spec_of(name: str) -> OpSpec | None:
    """Return the op that is called so in errors; None for a function made of others."""
    return next((spec for spec in OPS.values() if spec.name == name), None)


def card(name: str) -> Iterator[Line]:
    """Yield the lines of an op's card: what it is about, what is so, and where that stands.

    KeyError for a name that neither an op nor a public function has.
    """
    spec, spaces = spec_of(name), [space for space, t in NAMESPACES.items() if name in t]
    if spec is None and not spaces:
        raise KeyError(name)
    found = definitions(name)
    for definition in found:
        yield "definition", ", ".join(definition.keywords) or "no facts", definition.place
    if spec is not None:
        yield from _of_spec(spec, found)
    yield from _of_called([NAMESPACES[space][name] for space in spaces], spec)
    for space in spaces:
        function = NAMESPACES[space][name]
        shown = ".".join(filter(None, ("torchlike", space, name)))
        yield "public", shown, place_of(function if spec is None else spec.fn)
    for method in (name, f"{name}_"):
        own = getattr(torchlike.Tensor, method, None)
        if callable(own):
            yield "method", f"Tensor.{method}", place_of(own)
    for fact, value in sorted(OPTIONS.get(name, {}).items()):
        yield f"fact {fact}", _shown(value), _place_of_fact(fact, found)
    yield from _of_aten(name)
    if spec is not None:
        yield from _of_first_calls(spec)
    for mention in mentions(name):
        yield _about(mention.place), mention.text, mention.place
    for mention in in_generated(name):
        yield "generated", mention.text, mention.place
    tests = in_tests(name)
    for mention in tests[:MOST_TESTS]:
        yield "test", mention.text, mention.place
    if len(tests) > MOST_TESTS:
        yield "test", f"and {len(tests) - MOST_TESTS} more lines", ""


#: What a line is about that names an op, by the beginning of its place.
_ABOUT = {
    "torchlike/ops/_aten/schemas/tags": "tags",
    "torchlike/ops/_aten/schemas": "aten schema",
    "torchlike/ops/_aten/composites": "decomposition",
    "torchlike/ops/_aten/whole_operators": "whole operator",
    "torchlike/ops/_aten/derivatives": "formula",
    "torchlike/_decomp": "decomposition",
    "torchlike/_subclasses": "symbolic sizes",
    "torchlike/_compat/foreach": "foreach",
    "torchlike/sparse": "sparse",
    "torchlike/nested": "nested",
    "torchlike/masked": "masked",
}


def _about(place: str) -> str:
    return next((about for start, about in _ABOUT.items() if place.startswith(start)), "named")


def _shown(value: Any) -> str:
    if callable(value) and hasattr(value, "__code__"):
        return f"{value.__qualname__} ({place_of(value)})"
    return repr(value)


def _place_of_fact(fact: str, found: list[Definition]) -> str:
    for definition in found:
        if fact in definition.keywords:
            return f"{definition.place.rpartition(':')[0]}:{definition.keywords[fact][1]}"
    return found[0].place if found else ""


def _of_spec(spec: OpSpec, found: list[Definition]) -> Iterator[Line]:
    schema, here = spec.schema, place_of(spec.fn)
    for name, kind, default in zip(schema.names, schema.kinds, schema.defaults, strict=True):
        role = "operand" if kind.operand else "static"
        given = "" if default is inspect.Parameter.empty else f" = {default!r}"
        number = " or number" if kind.number and kind.expects == "Tensor" else ""
        yield "parameter", f"{name}: {kind.expects}{number} ({role}){given}", here
    yield "saved", _saved(spec), here
    yield "gradient", _gradient(spec), here
    rule = spec.memory_order
    if rule is None:
        yield "strides", "row-major", here
    else:
        yield "strides", rule.__qualname__, place_of(rule)
    if spec.check is not None:
        yield "check", spec.check.__qualname__, place_of(spec.check)
    yield "vmap, jvp", "JAX's transform of the function", place_of(torchlike.vmap)
    yield "meta, fake", "jax.eval_shape of the function", place_of(record.execute)
    names = _names_in(spec.fn)
    for helper in _PROMOTIONS:
        if helper in names:
            yield "promotion", helper, place_of(getattr(promotion, helper))
    twin = "no" if spec.in_place is None else f"{spec.name}_"
    yield "in place", twin, _place_of_fact("inplace", found)
    yield "out=", f"casts: {_shown(spec.casts_out)}", _place_of_fact("casts_out", found)


def _saved(spec: OpSpec) -> str:
    """Return what a node of the op keeps for backward, in words."""
    if not spec.differentiable:
        return "nothing: it has no gradient"
    if spec.from_output is not None:
        return f"its output: {_shown(spec.from_output)}"
    if spec.residuals:
        return "what jax.vjp saves"
    if spec.kept_for is None:
        return "all operands"
    needs = OPTIONS.get(spec.name, {}).get("needs")
    return "nothing" if needs == "nothing" else f"for each gradient: {needs}"


def _gradient(spec: OpSpec) -> str:
    """Return the name of the op's node and where its gradient comes from, in words."""
    if not spec.differentiable:
        return "none"
    return f"{spec.grad_name}: {'its rule' if spec.from_output else 'jax.vjp of the function'}"


def _of_called(functions: Iterable[Any], own: OpSpec | None) -> Iterator[Line]:
    """Yield the ops with a gradient that public functions made of others call, each with what it
    saves; not the op that has their name, of which the card speaks."""
    found: dict[str, OpSpec] = {}
    seen: set[Any] = set()
    for function in functions:
        if not isinstance(getattr(function, "spec", None), OpSpec):
            _note_called(function, found, seen)
    for spec in (s for s in found.values() if s.differentiable and s is not own):
        how = f"{spec.name}: gradient {_gradient(spec)}; saved: {_saved(spec)}"
        yield "calls", how, place_of(spec.fn)


def _note_called(function: Any, found: dict[str, OpSpec], seen: set[Any]) -> None:
    """Put the ops that a function's source calls into ``found``, and those that the functions which
    it calls by name do. A method counts as the op of its name."""
    function = inspect.unwrap(function)
    if not isinstance(function, FunctionType) or function in seen:
        return
    seen.add(function)
    if not function.__module__.startswith(_OF_OPS):
        return
    source = textwrap.dedent(inspect.getsource(function))
    for node in (n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Call)):
        called = _called_by(node.func, function)
        spec = getattr(called, "spec", None)
        if isinstance(spec, OpSpec):
            found.setdefault(spec.name, spec)
        elif called is not None:
            _note_called(called, found, seen)


def _called_by(called: ast.expr, function: FunctionType) -> Any:
    """Return the function that an expression of a function's source calls; None if unknown."""
    names = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
    if isinstance(called, ast.Name):
        return names.get(called.id)
    if not isinstance(called, ast.Attribute):
        return None
    owner = names.get(called.value.id) if isinstance(called.value, ast.Name) else None
    if owner is not None:
        return getattr(owner, called.attr, None) if isinstance(owner, ModuleType) else None
    method = getattr(torchlike.Tensor, called.attr, None)
    return method if isinstance(getattr(method, "spec", None), OpSpec) else None


def _names_in(fn: Any) -> set[str]:
    """Return the names that a function's code uses, and that of functions it encloses."""
    names: set[str] = set()
    for inner in (fn, *(cell.cell_contents for cell in getattr(fn, "__closure__", None) or ())):
        code = getattr(inner, "__code__", None)
        names |= set(code.co_names) if code is not None else set()
    return names


def _of_aten(name: str) -> Iterator[Line]:
    lines = [m.place for m in mentions(name) if "schemas" in m.path.parts]
    place = lines[0] if lines else ""
    for own in (name, f"{name}_"):
        for overload, (_, text) in schemas.overloads_of(own).items():
            tags = " ".join(tag.name for tag in tags_of(own, overload))
            yield "aten", f"{own}.{overload or 'default'}{text}  [{tags}]", place
    packet = getattr(aten, name, None)
    counted = None if packet is None else formula_of(packet, REGISTRY)
    if counted is not None:
        counted = getattr(counted, "__wrapped__", counted)
        yield "flops", counted.__qualname__, place_of(counted)


def _of_first_calls(spec: OpSpec) -> Iterator[Line]:
    """Yield the rules by which NumPy computes it, for operands of two float32 numbers."""
    schema = spec.schema
    statics = tuple(schema.defaults[i] for i in schema.static_positions)
    operands = [jax.ShapeDtypeStruct((2, 2), dtypes.float32.numpy)] * len(schema.operand_positions)
    try:
        closed = jax.make_jaxpr(spec.pure(schema.canonical_statics(statics)))(*operands)
    except Exception as error:  # it needs other operands than can be guessed
        yield "first calls", f"not for two matrices: {type(error).__name__}", place_of(spec.fn)
        return
    for primitive in sorted({eqn.primitive.name for eqn in closed.eqns}):
        rule = RULES.get(primitive)
        how = primitive if rule is not None else f"{primitive}: no rule, so XLA compiles at once"
        yield "first calls", how, "" if rule is None else place_of(rule)


def main() -> int:
    """Print the card of the op that the command line names."""
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    try:
        lines = list(card(sys.argv[1]))
    except KeyError:
        print(f"there is no op and no public function {sys.argv[1]!r}")
        return 1
    for about, text, place in lines:
        print(f"{about:18} {text}" + (f"  {place}" if place else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
