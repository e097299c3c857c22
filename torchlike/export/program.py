"""``torch.export.export``, ``save`` and ``load``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torchlike import nn
from torchlike._compat.symbolic import is_symbolic
from torchlike.export import graph_files
from torchlike.export.dynamic_shapes import arguments_of
from torchlike.export.exported_program import (
    ExportedProgram,
    ModuleCallEntry,
    ModuleCallSignature,
)
from torchlike.export.graph_signature import ExportGraphSignature
from torchlike.export.guards import InputGuards, plain
from torchlike.export.older_files import OlderProgram
from torchlike.export.sizes import ArgumentSizes
from torchlike.export.tracing import TracedExport, trace
from torchlike.fx.experimental.dynamic_spec import spec_for
from torchlike.serialization.damage import reading
from torchlike.serialization.stablehlo import archive
from torchlike.tensor import Tensor
from torchlike.utils import _pytree as pytree

#: What kind of file it is.
KIND = "torch.export"


def export(
    mod: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool = False,
    preserve_module_call_signature: Any = (),
    prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:
    """Export a module called with example arguments.

    Args:
      mod: an nn.Module, in the mode (train, eval) that the program is to have.
      args, kwargs: example arguments: tensors, plain values, and containers of them.
      dynamic_shapes: for each argument (by name or position) None, or for each dimension that
        varies a ``Dim`` or ``Dim.AUTO``, as a dict or a list; a ``ShapesCollection``, or
        ``AdditionalInputs``; a ShapesSpec or ParamsSpec of ``torch.fx.experimental.dynamic_spec``.
        What ``@dynamic_spec`` says of ``forward`` goes without it.

    Raises:
      ValueError: ``mod`` is no module; a specification does not fit the arguments; there are two.
      UserError: dynamic_shapes do not match the arguments; a size that is to differ is taken for
        one number.
      NotImplementedError: ``preserve_module_call_signature`` names a submodule.
      GuardOnDataDependentSymNode: Python asks for a value that the graph computes.

    Differs from PyTorch: ``strict`` has no effect, modules are always run, not read. The
    signatures of submodules are not kept.

    Example:
      >>> program = torch.export.export(torch.nn.ReLU(), (torch.ones(3),))
      >>> program.module()(torch.tensor([-1.0, 0.0, 1.0]))
      tensor([0., 0., 1.])
    """
    if not isinstance(mod, nn.Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    if not isinstance(args, tuple):
        raise TypeError(
            f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}"
        )
    if preserve_module_call_signature:
        raise NotImplementedError(
            "torch.export.export(preserve_module_call_signature=…): signatures of submodules are "
            "not kept. Use instead: torch.export.unflatten, whose modules take what the graph "
            "needs there, or an export of the submodule by itself."
        )
    kwargs = dict(kwargs or {})
    dynamic_shapes = spec_for(mod, dynamic_shapes)
    sizes = ArgumentSizes(dynamic_shapes, mod, args, kwargs)
    traced = trace(mod, args, kwargs, sizes)
    fixed = sizes.fixed_by_the_trace()
    if fixed:
        sizes = ArgumentSizes(dynamic_shapes, mod, args, kwargs, fixed)
        traced = trace(mod, args, kwargs, sizes)
        sizes.fixed_by_the_trace()
    return _program(mod, args, kwargs, sizes, traced)


def _program(
    mod: nn.Module, args: Any, kwargs: dict[str, Any], sizes: ArgumentSizes, traced: TracedExport
) -> ExportedProgram:
    signature = ExportGraphSignature(traced.inputs, traced.outputs)
    state: dict[str, Any] = {
        **dict(mod.named_parameters(remove_duplicate=False)),
        **dict(mod.named_buffers(remove_duplicate=False)),
    }
    constants = dict(traced.constants)
    constants |= {n: state.pop(n) for n in signature.non_persistent_buffers}
    names = [a.label for a in arguments_of(mod, args, kwargs)]
    in_spec = pytree.tree_structure((args, kwargs))
    whole = ModuleCallSignature([], [], in_spec, traced.out_spec, names)
    entries = [ModuleCallEntry("", whole)]
    entries += [
        ModuleCallEntry(name) for name, _ in mod.named_modules(remove_duplicate=False) if name
    ]
    return ExportedProgram(
        traced.graph_module,
        traced.graph_module.graph,
        signature,
        state,
        sizes.ranges(),
        entries,
        (args, kwargs),
        constants,
        guards=_guards(args, kwargs, sizes),
    )


def _guards(args: Any, kwargs: dict[str, Any], sizes: ArgumentSizes) -> InputGuards:
    """Return the guards on the arguments: what a trace took for granted of them."""
    leaves: list[tuple[str, Any]] = []
    flat = pytree.tree_leaves((args, kwargs))
    for leaf, name, wanted in zip(flat, sizes.names, sizes.of_leaves, strict=True):
        if isinstance(leaf, Tensor):
            shape = leaf.shape if wanted is None else wanted
            leaves.append((name, [plain(n) for n in shape]))
        else:
            leaves.append((name, plain(wanted) if is_symbolic(wanted) else {"is": leaf}))
    relations = [(g.is_equality, str(g.left), str(g.right), g.holds) for g in sizes.env.guards]
    ranges = {n: (s.range.lower or 0, s.range.upper) for n, s in sizes.symbols.items()}
    return InputGuards(leaves, ranges, relations, sizes.assumed)


def save(
    ep: ExportedProgram,
    f: Any,
    *,
    extra_files: dict[str, Any] | None = None,
    opset_version: Any = None,
    pickle_protocol: int = 2,
) -> None:
    """Save a program to a path or a binary file: its graph as plain data, its tensors, its example
    inputs.

    TypeError for what is no program. NotImplementedError for what a file cannot hold (an operator
    that only Python knows, a container whose class has no name).
    """
    if not isinstance(ep, ExportedProgram):
        raise TypeError(
            "The 'ep' parameter must be an instance of 'ExportedProgram', got "
            f"'{type(ep).__name__}'"
        )
    description = {"program": graph_files.opened(ep)}
    leaves = None if ep.example_inputs is None else pytree.tree_leaves(ep.example_inputs)
    tensors = {"state": dict(ep.state_dict), "constants": dict(ep.constants), "example": leaves}
    archive.write(f, KIND, description, [], tensors, extra_files, archive.WITH_A_GRAPH)


def load(
    f: Any, *, extra_files: dict[str, Any] | None = None, expected_opset_version: Any = None
) -> ExportedProgram:
    """Load what ``save`` wrote; the model's code is not needed.

    RuntimeError for another kind of file, for a damaged one, and for a program that names something
    else than operators that are known here. Nothing in a file is executed. A file of
    StableHLO, as it was written once, gives a program that runs and has no graph.
    """
    about, artifacts, tensors = archive.read(f, KIND, extra_files)
    with reading(f):
        if artifacts:
            return OlderProgram(artifacts[0], tensors, about)
        return graph_files.closed(
            about["program"], tensors["state"], tensors["constants"], tensors["example"]
        )
