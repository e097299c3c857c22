"""Artifact: one captured graph as StableHLO, which runs without the code that it came from.

Forward and backward are the two halves of the joint graph (jit.joint), each serialized by
jax.export for several platforms. What goes in and out is described in plain data: names of the
model's state, positions of arguments.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
from jax import export as jax_export

from torchlike._core import modes
from torchlike._core.tape import gradient_edge
from torchlike._jit.call.function import JitFunction
from torchlike._jit.guards.sources import (
    CotangentInput,
    FixedCell,
    InputSource,
    PerCallValue,
    SlotCell,
)
from torchlike._jit.program.checks import checked
from torchlike._jit.trace.backward import backward_evaluator, evaluator, partition
from torchlike._jit.trace.subgraph import ControlNode, SubgraphNode, filled
from torchlike._runtime import targets
from torchlike._runtime.jax_private.jaxprs import is_about_symbols
from torchlike._runtime.trees import flatten, flatten_call, unflatten
from torchlike.autograd.conditional_grad import placed, with_flags
from torchlike.serialization.stablehlo import apart, descriptions, safety, trees
from torchlike.serialization.stablehlo.checks import Checks, described, is_word, sites_of
from torchlike.serialization.stablehlo.descriptions import Unexportable
from torchlike.tensor import Tensor, wrap

PLATFORMS = ("cpu", "cuda", "tpu")


def _without_views(fn: Any) -> Any:
    """Wrap a function so that what it returns is no view."""

    def whole(*args: Any, **kwargs: Any) -> Any:
        found, tree = flatten(fn(*args, **kwargs), dataclass_too=True)
        return unflatten(
            tree,
            [x.clone() if isinstance(x, Tensor) and x._view is not None else x for x in found],
        )

    whole.__qualname__ = getattr(fn, "__qualname__", type(fn).__name__)
    whole.__module__ = "torchlike.serialization.stablehlo.artifact"
    return whole


def _check_exportable(program: Any, capture: Any) -> None:
    """Raise Unexportable for what a program without its process cannot do."""
    if capture.ranks is not None:
        raise Unexportable(
            "it has collectives between processes (torch.distributed): export what stands "
            "between them"
        )
    if program.changes:
        raise Unexportable(
            "it changes a list or dictionary that was passed as an argument, of which an "
            "exported program knows only the tensors: return a new one"
        )


def _described(program: Any, names: dict[int, str]) -> dict[str, Any]:
    """Return what the file says of a program's outputs."""
    return {
        "written": [descriptions.written(where, names) for where in program.written],
        "slots": descriptions.slots(program.slot_outputs, names),
        "results": [descriptions.result(x, names) for x in program.result[0]],
        "result_structure": trees.encode(program.result[1]),
        "made": program.n_made,
        "boundary": [descriptions.boundary(b, names) for b in program.boundary],
        "when": [list(map(list, when.items())) for when in program.when],
        "roots": len(program.cotangent_avals),
    }


class Artifact:
    """A program: its description (plain data), and the compiled halves."""

    def __init__(self, about: dict[str, Any], forward: Any, backward: Any) -> None:
        self.about = about
        self.forward = forward
        #: Forward as a function of JAX's, for who traces it anew; None of a program from a file.
        self.evaluated: Callable[..., Any] | None = None
        self.backward = backward
        self._forward = jax.jit(forward.call)
        self._backward = None if backward is None else jax.jit(backward.call)
        self.structure = trees.decode(about["structure"])
        self.result = trees.decode(about["result_structure"])
        #: Checks of values; None where it makes none. They say first whether forward has a word.
        self.checks: Checks | None = None
        self._has_word, self._has_backward_word = about.get("words", (False, False))
        if self._has_word or self._has_backward_word:
            self.checks = Checks(about["name"], sites_of(about["checks"]))
            self._check_words()

    @property
    def checks_of_forward(self) -> Checks | None:
        """The checks, where forward makes any."""
        return self.checks if self._has_word else None

    def _check_words(self) -> None:
        """Refuse, with RuntimeError, a program without a word in the place that its file says."""
        given = []
        if self._has_word:
            n = len(self.about["written"]) + self.about["made"]
            given += self.forward.out_avals[n : n + 1] or [None]
        if self._has_backward_word:
            given += self.backward.out_avals[-1:] if self.backward is not None else [None]
        if not all(aval is not None and is_word(aval) for aval in given):
            raise RuntimeError("the file is damaged: its program gives no word of checks")

    # -- making ------------------------------------------------------------------------------------

    @classmethod
    def build(
        cls,
        fn: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        state: Mapping[str, Tensor],
        shapes: Sequence[Any] | None = None,
        platforms: tuple[str, ...] = PLATFORMS,
        checks: bool = False,
    ) -> Artifact:
        """Capture ``fn(*args, **kwargs)``.

        ``state`` are the tensors that stay inputs, by name; any other tensor it uses becomes a
        constant. ``shapes``, for each tensor among the arguments, may hold symbolic dimensions.
        ``checks``: whether the program checks values.

        Raises:
          Unexportable: where it draws random numbers, sets attributes, or runs backward.
        """
        leaves, structure = flatten_call(args, kwargs)
        # Copies: an argument that is a view would bring the shape of its base along.
        tensors = [x.detach().clone() for x in leaves if isinstance(x, Tensor)]
        floating = [t.detach().requires_grad_() if t.is_floating_point() else t for t in tensors]
        was = modes.current.grad_enabled
        modes.current.grad_enabled = True
        # One program for several platforms has no workaround for one of them.
        target = targets.platform(platforms[0] if len(platforms) == 1 else targets.PORTABLE)
        target.__enter__()
        try:
            if shapes is not None:
                # A placeholder for a gradient has numbers for sizes: forward alone.
                modes.current.grad_enabled = False
                return cls._build(fn, tensors, leaves, structure, state, shapes, platforms, checks)
            try:
                return cls._build(fn, floating, leaves, structure, state, shapes, platforms, checks)
            except RuntimeError as error:
                if "in-place operation" not in str(error):
                    raise
            return cls._build(fn, tensors, leaves, structure, state, shapes, platforms, checks)
        finally:
            target.__exit__(None, None, None)
            modes.current.grad_enabled = was

    @classmethod
    def _build(
        cls,
        fn: Any,
        tensors: list[Tensor],
        leaves: list[Any],
        structure: Any,
        state: Mapping[str, Tensor],
        shapes: Any,
        platforms: tuple[str, ...],
        checks: bool,
    ) -> Artifact:
        names = {id(t._storage): name for name, t in state.items()}
        it = iter(tensors)
        given = [next(it) if isinstance(x, Tensor) else x for x in leaves]

        whole = _without_views(fn)
        avals = [
            jax.ShapeDtypeStruct(tuple(t.shape if shapes is None else shapes[i]), t.dtype.numpy)
            for i, t in enumerate(tensors)
        ]
        compiled = JitFunction(whole, checks=checks)
        run, closed, _ = compiled._tracer.trace(tensors, given, structure, (), avals)
        program, capture = run.results, run.capture
        _check_exportable(program, capture)
        closed, n_forward, sites, *words = checked(
            closed, run.n_forward, _cotangents(closed, run.sources())
        )
        inputs, constants, cotangents = _lifted(closed, run.sources(), names)
        split = partition(
            closed.jaxpr,
            n_forward,
            [v for v, _ in inputs],
            [v for v, _ in constants],
            cotangents,
            len(program.cotangent_avals),
        )
        bound = [c for _, c in constants]
        input_avals = [_aval(v) for v, _ in inputs]
        evaluated = evaluator(split.forward, bound)
        forward = _exported(evaluated, input_avals, platforms)
        backward = None
        if split.backward is not None:
            residuals = [_aval(v) for v in split.forward.outvars[n_forward:]]
            kept = [input_avals[i] for i in split.residual_inputs]
            incoming = [
                _aval(closed.jaxpr.outvars[len(program.written) + o])
                for o in _root_outputs(program)
            ]
            gradients = backward_evaluator(split, bound)
            flat = _flat_backward(gradients, len(residuals), len(kept))
            backward = _exported(flat, [*residuals, *kept, *incoming], platforms)
        about = {
            "name": whole.__qualname__,
            "structure": trees.encode(structure),
            "arguments": [descriptions.argument(x) for x in leaves],
            "shapes": [[str(d) for d in a.shape] for a in avals],
            "inputs": [list(where) for _, where in inputs],
            "residual_inputs": list(split.residual_inputs),
            "with_gradients": modes.current.grad_enabled,
            **_described(program, names),
        }
        if checks:
            about |= {"checks": described(sites), "words": words}
        capture.per_call.fail()
        capture.undo_python()
        run.outputs.cut()
        json.dumps(about)  # plain data, or a TypeError here rather than when it is saved
        made = cls(about, forward, backward)
        made.evaluated = evaluated
        return made

    # -- running -----------------------------------------------------------------------------------

    def fits(self, leaves: Sequence[Any], structure: Any) -> bool:
        """Return whether a call's arguments are of the kind that was captured."""
        if structure != self.structure or len(leaves) != len(self.about["arguments"]):
            return False
        shapes = iter(self.about["shapes"])
        for x, wanted in zip(leaves, self.about["arguments"], strict=True):
            if wanted[0] != "tensor":
                if isinstance(x, Tensor) or x != wanted[1] or type(x) is not type(wanted[1]):
                    return False
                continue
            shape = next(shapes)
            if not isinstance(x, Tensor) or str(x.dtype.numpy) != wanted[1]:
                return False
            if len(shape) != x.dim() or any(
                d.isdigit() and int(d) != n for d, n in zip(shape, x.shape, strict=True)
            ):
                return False
        return True

    def describe(self) -> str:
        """Describe the arguments that the program takes, for messages."""
        shapes = iter(self.about["shapes"])
        return ", ".join(
            f"{w[1]}[{', '.join(next(shapes))}]" if w[0] == "tensor" else repr(w[1])
            for w in self.about["arguments"]
        )

    def __call__(self, state: Mapping[str, Tensor], leaves: Sequence[Any]) -> Any:
        """Run on the state and arguments of the moment; writes the state that the graph writes."""
        arguments = [x for x in leaves if isinstance(x, Tensor)]
        about = self.about

        def tensor_at(where: Sequence[Any]) -> Tensor:
            kind, what = where
            return state[what] if kind == "state" else arguments[what]

        arrays = [tensor_at(where)._read() for where in about["inputs"]]
        try:
            outputs = self._forward(*arrays)
        except ValueError as error:
            raise RuntimeError(f"{about['name']} does not take these shapes: {error}") from None
        n = len(about["written"])
        made = outputs[n : n + about["made"]]
        residuals = outputs[n + about["made"] :]
        if self._has_word:
            word, *residuals = residuals
            assert self.checks is not None
            # What is bound anew has no value to stay at: the error is first.
            self.checks.take(word, wait=bool(about["slots"]))
        saved = [*residuals, *(arrays[i] for i in about["residual_inputs"])]
        node: SubgraphNode | None = None
        edges = [None if b is None else gradient_edge(tensor_at(b)) for b in about["boundary"]]
        if modes.current.grad_enabled and self._backward is not None and any(edges):
            node = self._node(edges, made, saved)
        if modes.current.grad_enabled and not about["with_gradients"]:
            wanting = [t for t in (*state.values(), *arguments) if t.requires_grad]
            edges = [gradient_edge(t) for t in wanting]
            node = (
                SubgraphNode("ExportedBackward", edges, len(made), _no_backward) if edges else None
            )
        for where, array in zip(about["written"], outputs[:n], strict=True):
            tensor_at(where)._write(array)
        for name, output in about["slots"]:
            state[name]._write(made[output])
        return unflatten(
            self.result, [self._result(r, made, node, tensor_at) for r in about["results"]]
        )

    def _node(self, edges: list[Any], made: Sequence[Any], saved: Sequence[Any]) -> ControlNode:
        """Return the node of a call, whose backward runs the saved graph on what was ``saved``."""
        about, backward = self.about, self._backward
        assert backward is not None
        roots: dict[int, Any] = {
            r["root"]: made[r["output"]]
            for r in about["results"]
            if isinstance(r, dict) and r.get("root", -1) >= 0
        }

        def run(cotangents: Sequence[Any]) -> tuple[Any, ...]:
            given = filled(cotangents, [roots[i] for i in range(about["roots"])])
            found = backward(*saved, *given)
            if self._has_backward_word:
                *found, word = found
                assert self.checks is not None
                self.checks.take(word)
            whens = [dict(w) for w in about["when"]]
            flags = found[sum(map(bool, whens)) :]
            return placed(found, whens), [with_flags(w, flags) for w in whens]

        return ControlNode("ExportedBackward", edges, about["roots"], run)

    def _result(
        self, r: Any, made: Sequence[Any], node: SubgraphNode | None, tensor_at: Callable[..., Any]
    ) -> Any:
        """Return a leaf of the result, by what the file says of it."""
        if not isinstance(r, dict):
            return r
        if "same" in r:
            return tensor_at(r["same"])
        if "number" in r:
            kind = {"int": int, "float": float, "bool": bool}[r["number"]]
            return kind(made[r["output"]].item())
        t = wrap(made[r["output"]])
        root = r["root"] if self.about["with_gradients"] else r["output"]
        if node is not None and root >= 0 and t.is_floating_point():
            t._node, t._output_nr, t._requires_grad = node, root, True
        return t


def _lifted(
    closed: Any, sources: Mapping[int, InputSource], names: Mapping[int, str]
) -> tuple[list[tuple[Any, Any]], list[tuple[Any, Any]], dict[int, Any]]:
    """Return a jaxpr's inputs (state by name, then arguments) and constants, as (variable,
    what), and the variables of its cotangents. Unexportable where it asks Python for a value at
    each call."""
    inputs: list[tuple[Any, Any]] = []
    constants: list[tuple[Any, Any]] = []
    cotangents: dict[int, Any] = {}
    for var, const in zip(closed.jaxpr.constvars, closed.consts, strict=True):
        source = sources.get(id(const))
        if isinstance(source, CotangentInput):
            cotangents[source.index] = var
            continue
        if isinstance(source, PerCallValue):
            raise Unexportable(
                "it draws random numbers or reads an optimizer's rate, which an exported "
                "program could not draw anew: call model.eval() before, or pass them in"
            )
        name = None
        if isinstance(source, (FixedCell, SlotCell)):
            name = names.get(id(source.captured()))
        if name is None:
            constants.append((var, const))
        else:
            inputs.append((var, ("state", name)))
    inputs += [(v, ("argument", i)) for i, v in enumerate(closed.jaxpr.invars)]
    return inputs, constants, cotangents


def _cotangents(closed: Any, sources: Mapping[int, InputSource]) -> frozenset[Any]:
    """Return the variables of the cotangents."""
    return frozenset(
        var
        for var, const in zip(closed.jaxpr.constvars, closed.consts, strict=True)
        if isinstance(sources.get(id(const)), CotangentInput)
    )


def _flat_backward(backward: Any, n_residuals: int, n_kept: int) -> Callable[..., Any]:
    """Wrap a backward pass of (residuals, kept inputs) and cotangents as a function of all
    arrays."""
    first = n_residuals + n_kept

    def flat(*arrays: Any) -> Any:
        return backward((arrays[:n_residuals], arrays[n_residuals:first]), arrays[first:])

    return flat


def _no_backward(cotangents: Sequence[Any]) -> Any:
    raise NotImplementedError(
        "a program exported with dynamic shapes has no backward: export it with fixed shapes to "
        "train it"
    )


def _aval(var: Any) -> Any:
    return jax.ShapeDtypeStruct(var.aval.shape, var.aval.dtype)


def _exported(fn: Callable[..., Any], avals: list[Any], platforms: tuple[str, ...]) -> Any:
    return jax_export.export(jax.jit(fn), platforms=platforms)(*avals)


def _root_outputs(program: Any) -> list[int]:
    """Return, for each cotangent, which of the made outputs it belongs to."""
    found = {t.root: t.output for t in program.result[0] if getattr(t, "root", -1) >= 0}
    if len(found) != len(program.cotangent_avals):
        raise Unexportable("a tensor with history is kept outside the function; return it instead")
    return [found[i] for i in range(len(found))]


def serialized(exported: Any) -> bytes:
    """Return the bytes of a program, for a file; remember its module as our own."""
    apart.remember(exported.mlir_module_serialized)
    return bytes(exported.serialize())


def deserialized(contents: Sequence[bytes]) -> list[Any]:
    """Read programs of a file. RuntimeError for one that calls what files may not call."""
    programs = [jax_export.deserialize(bytearray(content)) for content in contents]
    apart.check([bytes(program.mlir_module_serialized) for program in programs])
    return [safety.check(program) for program in programs]


def built(
    fn: Any, args: Any, kwargs: Any, state: Any, shapes: Any = None, checks: bool = False
) -> Artifact:
    """Build an artifact for every platform; for the CPU alone where an op has no other lowering."""
    try:
        return Artifact.build(fn, args, kwargs, state, shapes, checks=checks)
    except NotImplementedError:
        return Artifact.build(fn, args, kwargs, state, shapes, (targets.name(),), checks)
    except Exception as error:
        if shapes is None or not is_about_symbols(error):
            raise
        raise Unexportable(
            f"a dynamic dimension is used where its number is needed: {error}"
        ) from error
