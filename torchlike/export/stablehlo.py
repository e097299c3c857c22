"""One self-contained StableHLO module, for compilers that know nothing of torchlike or JAX.

A saved program (``archive``) has its weights beside it and a backward. What IREE, TensorFlow's
converters or a PJRT plugin want is a single function from tensors to tensors; here the weights are
constants in it and everything that only a backward would use is gone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax import export as jax_export

from torchlike._compat.symbolic import is_symbolic
from torchlike._runtime import whole_files
from torchlike._runtime.trees import flatten_call
from torchlike.export.any_size import CallSizes, SizeRange, forward_for
from torchlike.export.exported_program import ExportedProgram
from torchlike.export.older_files import OlderProgram
from torchlike.jit._script import ScriptFunction, ScriptModule
from torchlike.serialization.stablehlo.artifact import PLATFORMS, Artifact, Unexportable, built
from torchlike.serialization.stablehlo.checks import Checks
from torchlike.serialization.stablehlo.loaded import LoadedModule, state_of
from torchlike.tensor import Tensor


def save_stablehlo(
    program: Any,
    f: Any,
    *,
    example_inputs: tuple[Any, ...] | None = None,
    platform: str = "cpu",
    checks: bool = False,
) -> Checks | None:
    r"""Write a program as one StableHLO module whose function ``main`` takes the tensors among the
    arguments and gives those among the results, in order. Dimensions that were exported as dynamic
    may have any size from 2 on (the program is that of the example for 1, too).

    The file is StableHLO's portable bytecode (the form whose compatibility over versions StableHLO
    promises), with the weights of the moment as constants. With IREE::

        iree-compile --iree-input-type=stablehlo --iree-hal-target-device=local \
            --iree-hal-local-target-device-backends=llvm-cpu model.mlirbc -o model.vmfb
        iree-run-module --module=model.vmfb --function=main --input=@x.npy --output=@y.npy

    Args:
      program: what ``torch.export.export``, ``torch.jit.script``, ``torch.jit.trace`` or
        ``torch.jit.load`` gave.
      f: a path or a binary file.
      example_inputs: arguments of the kind wanted, where the program was compiled for several.
      platform: "cpu", "cuda" or "tpu": whose lowerings are used.
      checks: whether the module checks values as eager operations do (is an index in range?).
        ``main`` gives one result more then, an int64[4] that says which check failed first, and the
        returned object what it means: ``save_stablehlo(..., checks=True).raise_for(word)`` raises
        the eager error, ``.described()`` is the same as plain data, for other languages.

    Returns:
      The checks; None without, and for a program that has none.

    Raises:
      TypeError: for anything but a program (an nn.Module: export it first).
      ValueError: an unknown platform; no or more than one kind of call fits; ``checks`` of a
        program from a file that was saved without.
      Unexportable: it writes state (a module in training mode), its results hold no tensor, or it
        takes a dynamic dimension for one number.

    Example:
      >>> import io
      >>> program = torch.export.export(torch.nn.ReLU(), (torch.ones(3),))
      >>> file = io.BytesIO()
      >>> torchlike.export.save_stablehlo(program, file)
      >>> file.getvalue()[:4]
      b'ML\xefR'
    """
    if platform not in PLATFORMS:
        raise ValueError(f"platform must be one of {', '.join(PLATFORMS)}, not {platform!r}")
    artifacts, state = _parts(program, checks)
    artifact = _the_one(artifacts, example_inputs)
    if checks and "checks" not in artifact.about:
        raise ValueError(
            "checks=True of a program that was saved without checks of values: export "
            "the model that it was made of"
        )
    found = artifact.checks_of_forward if checks else None
    data = bytes(_exported(artifact, state, platform, found is not None).mlir_module_serialized)
    whole_files.write_to(f, data)
    return found


def _parts(program: Any, checks: bool) -> tuple[list[Artifact], Mapping[str, Tensor]]:
    """Return the compiled programs, one for each kind of call in the present mode, and the state
    they use."""
    if isinstance(program, OlderProgram):
        return [program._artifact], state_of(program.module())
    if isinstance(program, ExportedProgram):
        module = program.module(check_guards=False)
        return [_compiled(program, module, checks)], state_of(module)
    if isinstance(program, LoadedModule):
        fitting = [
            a
            for a in program._artifacts
            if a.about["modeless"] or a.about["training"] is program.training
        ]
        return fitting, state_of(program)
    if isinstance(program, ScriptModule):
        state = state_of(program)
        return program._script.artifacts(state, checks), state
    if isinstance(program, ScriptFunction):
        return program.artifacts({}, checks), {}
    raise TypeError(
        "save_stablehlo expects what torch.export.export, torch.jit.script, torch.jit.trace or "
        f"torch.jit.load gave, not {type(program).__name__}"
    )


def _compiled(program: ExportedProgram, module: Any, checks: bool) -> Artifact:
    """Compile a program's module for its example inputs."""
    if program.example_inputs is None:
        raise ValueError("the program has no example inputs: export the module with some")
    args, kwargs = program.example_inputs
    if program.range_constraints:
        sizes = _sizes(program)
        return forward_for(module, args, kwargs, state_of(module), sizes, checks)[0]
    return built(module, args, kwargs, state_of(module), checks=checks)


def _sizes(program: ExportedProgram) -> CallSizes:
    """Return the sizes of an exported program's inputs, by the symbols of its graph."""
    wanted = set(program.graph_signature.user_inputs)
    nodes = [n for n in program.graph.nodes if n.op == "placeholder" and n.name in wanted]
    held = [n.meta.get("val") for n in nodes]
    shapes: list[tuple[Any, ...]] = [tuple(t.shape) for t in held if isinstance(t, Tensor)]
    rows = [[str(n.node.expr) if is_symbolic(n) else n for n in shape] for shape in shapes]
    symbols = [n for shape in shapes for n in shape if is_symbolic(n)]
    at_hand = {k: size for n in symbols for k, size in n.node.shape_env.hints.items()}
    ranges = program.range_constraints
    within = {k: SizeRange.of(*ranges[k]) if k in ranges else SizeRange() for k in at_hand}
    return CallSizes(rows, at_hand, within)


def _the_one(artifacts: Sequence[Artifact], example_inputs: tuple[Any, ...] | None) -> Artifact:
    if example_inputs is not None:
        leaves, structure = flatten_call(tuple(example_inputs), {})
        artifacts = [a for a in artifacts if a.fits(leaves, structure)]
    if len(artifacts) != 1:
        found = "; ".join(f"({a.describe()})" for a in artifacts) or "none"
        raise ValueError(
            "one StableHLO module is one kind of call: pass example_inputs of the kind wanted. "
            f"Fitting here: {found}"
        )
    return artifacts[0]


def _exported(artifact: Artifact, state: Mapping[str, Tensor], platform: str, checks: bool) -> Any:
    about = artifact.about
    if about["written"] or about["slots"]:
        raise Unexportable(
            f"{about['name']} writes its state, which a function of its arguments cannot: call "
            "model.eval() before it is exported"
        )
    wanted = [r for r in about["results"] if isinstance(r, dict)]
    if not wanted:
        raise Unexportable(f"{about['name']} returns no tensor")
    avals = {
        what: aval
        for (kind, what), aval in zip(about["inputs"], artifact.forward.in_avals, strict=True)
        if kind == "argument"
    }

    forward = artifact.evaluated or artifact.forward.call

    def main(*arguments: Any) -> list[Any]:
        def at(where: Sequence[Any]) -> Any:
            kind, what = where
            return arguments[what] if kind == "argument" else np.asarray(state[what]._read())

        outputs = forward(*[at(where) for where in about["inputs"]])
        found = [at(r["same"]) if "same" in r else outputs[r["output"]] for r in wanted]
        return [*found, outputs[about["made"]]] if checks else found

    return jax_export.export(jax.jit(main), platforms=(platform,))(
        *[jax.ShapeDtypeStruct(avals[i].shape, avals[i].dtype) for i in sorted(avals)]
    )
