"""``torch.export``: a module's graph as an object that can be saved and run elsewhere."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from jax import export as jax_export

from torchlike import nn
from torchlike._core.tensor import Tensor
from torchlike._core.trees import flatten_call
from torchlike._runtime import targets
from torchlike.export import archive
from torchlike.export.artifact import Artifact, Unexportable
from torchlike.export.loaded import LoadedModule, about_state, state_of


class _DimType(type):
    AUTO = STATIC = DYNAMIC = None


class Dim(metaclass=_DimType):
    """A dimension whose size may differ from call to call, named, at least ``min``, at most
    ``max``. ``2 * dim`` and ``dim + 1`` are derived dimensions."""

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        if not name.isidentifier():
            raise ValueError(f"a dimension's name must be an identifier, not {name!r}")
        self.__name__ = name
        self.min, self.max = min, max
        self._text = name
        self._root = self

    def _derived(self, text: str) -> Dim:
        new = object.__new__(Dim)
        new.__name__ = new._text = text
        new.min = new.max = None
        new._root = self._root
        return new

    def __mul__(self, k: int) -> Dim:
        return self._derived(f"{k}*({self._text})")

    __rmul__ = __mul__

    def __add__(self, k: int) -> Dim:
        return self._derived(f"({self._text})+{k}")

    __radd__ = __add__

    def __sub__(self, k: int) -> Dim:
        return self._derived(f"({self._text})-{k}")

    def __repr__(self) -> str:
        return f"Dim({self._text!r}, min={self.min}, max={self.max})"


class _Hint:
    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"Dim.{self.name}"


for _name in ("AUTO", "STATIC", "DYNAMIC"):
    setattr(Dim, _name, _Hint(_name))


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """Several dimensions of one range."""
    return tuple(Dim(name, min=min, max=max) for name in names)


class ExportedProgram:
    """An exported graph with the state it was exported with.

    Attributes: ``state_dict``, ``graph`` (its jaxpr-like StableHLO text), ``example_inputs``,
    ``range_constraints``.
    """

    def __init__(
        self, artifact: Artifact, tensors: dict[str, Tensor], about: dict[str, Any],
        example_inputs: Any,
    ) -> None:  # fmt: skip
        self._artifact = artifact
        self._about = about
        self.example_inputs = example_inputs
        self.range_constraints = about.get("constraints", [])
        self._module = LoadedModule([artifact], tensors, about)

    def module(self, check_guards: bool = True) -> LoadedModule:
        """A module that runs the program; it has the state under its old names."""
        return self._module

    @property
    def state_dict(self) -> dict[str, Tensor]:
        return self._module.state_dict()

    def named_parameters(self) -> Iterator[tuple[str, Tensor]]:
        return self._module.named_parameters()

    def parameters(self) -> Iterator[Tensor]:
        return self._module.parameters()

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        return self._module.named_buffers()

    def buffers(self) -> Iterator[Tensor]:
        return self._module.buffers()

    @property
    def graph(self) -> str:
        """The program as StableHLO text."""
        return str(self._artifact.forward.mlir_module())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Unable to call ExportedProgram directly. You should use `exported_program.module()` "
            "instead."
        )

    def run_decompositions(self, *args: Any, **kwargs: Any) -> ExportedProgram:
        """The program itself: StableHLO is what every op is decomposed to."""
        return self

    def __str__(self) -> str:
        return f"ExportedProgram:\n{self.graph}"


def symbols(spec: Any, fn: Any, args: Any, kwargs: Any) -> tuple[list[Any] | None, list[str]]:
    """Shapes with symbolic dimensions for each tensor among the arguments, and the constraints."""
    leaves, _ = flatten_call(args, kwargs)
    tensors = [x for x in leaves if isinstance(x, Tensor)]
    if spec is None:
        return None, []
    if isinstance(spec, Mapping):
        parameters = list(inspect.signature(fn).parameters)
        unknown = set(spec) - set(parameters)
        if unknown:
            raise ValueError(f"dynamic_shapes names arguments that do not exist: {sorted(unknown)}")
        named = dict(zip(parameters, args, strict=False)) | dict(kwargs)
        pairs = [(named[n], spec.get(n)) for n in [*parameters[: len(args)], *kwargs]]
    else:
        pairs = list(zip(args, spec, strict=True)) + [(v, None) for v in kwargs.values()]
    wanted: list[Any] = []
    for value, of_value in pairs:
        wanted += _of_leaves(value, of_value)
    roots: dict[str, Dim] = {}
    texts = []
    automatic = 0
    for t, of_tensor in zip(tensors, wanted, strict=True):
        row = [str(n) for n in t.shape]
        entries = (
            of_tensor.items() if isinstance(of_tensor, Mapping) else enumerate(of_tensor or ())
        )
        for i, d in entries:
            if isinstance(d, Dim):
                roots[d._root.__name__] = d._root
                row[i] = d._text
            elif isinstance(d, _Hint) and d.name != "STATIC":
                automatic += 1
                row[i] = f"_d{automatic}"
        texts.append(row)
    constraints = []
    for name, d in roots.items():
        if d.min is not None and d.min > 1:
            constraints.append(f"{name} >= {d.min}")
        if d.max is not None:
            constraints.append(f"{name} <= {d.max}")
    if not roots and not automatic:
        return None, []
    scope = jax_export.SymbolicScope(constraints)
    return [
        jax_export.symbolic_shape(", ".join(row) + ("," if len(row) == 1 else ""), scope=scope)
        if row else () for row in texts
    ], constraints  # fmt: skip


def _of_leaves(value: Any, spec: Any) -> list[Any]:
    """The entry of each tensor within one argument."""
    if isinstance(value, Tensor):
        return [spec]
    if isinstance(value, (list, tuple)):
        specs = spec if spec is not None else [None] * len(value)
        return [x for v, s in zip(value, specs, strict=True) for x in _of_leaves(v, s)]
    if isinstance(value, dict):
        return [x for k, v in value.items() for x in _of_leaves(v, (spec or {}).get(k))]
    return []


def export(
    mod: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None, *,
    dynamic_shapes: Any = None, strict: bool = False, preserve_module_call_signature: Any = (),
    prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:  # fmt: skip
    """Export a module called with example arguments.

    Args:
      mod: an nn.Module, in the mode (train, eval) that the program is to have.
      args, kwargs: example arguments: tensors, plain values, and tuples, lists, dicts of them.
      dynamic_shapes: for each argument (by name or position) None, or for each dimension that
        varies a ``Dim``, as a dict or a list.

    Raises:
      ValueError: ``mod`` is no module, or dynamic_shapes do not match the arguments.
      Unexportable: it draws random numbers, binds attributes, or uses shapes in a way that needs
        their numbers.

    Differs from PyTorch: the graph is StableHLO, for CPU, CUDA and TPU, with a backward of its
    own, and no torch.fx graph; ``strict`` has no effect.
    """
    if not isinstance(mod, nn.Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    if not isinstance(args, tuple):
        raise TypeError(
            f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}"
        )
    kwargs = dict(kwargs or {})
    shapes, constraints = symbols(dynamic_shapes, mod.forward, args, kwargs)
    state = state_of(mod)
    artifact = built(mod, args, kwargs, state, shapes)
    artifact.about.update(training=bool(mod.training), modeless=False)
    tensors = {n: _copied(t) for n, t in state.items()}
    about = {**about_state(mod), "constraints": constraints}
    return ExportedProgram(artifact, tensors, about, (args, kwargs))


def built(fn: Any, args: Any, kwargs: Any, state: Any, shapes: Any = None) -> Artifact:
    """An artifact for every platform; for the CPU alone where an op has no other lowering."""
    try:
        return Artifact.build(fn, args, kwargs, state, shapes)
    except NotImplementedError:
        return Artifact.build(fn, args, kwargs, state, shapes, (targets.name(),))
    except Exception as error:
        if shapes is None or not any(s in str(error) for s in ("ymbolic dimension", "_DimExpr")):
            raise
        raise Unexportable(
            f"a dynamic dimension is used where its number is needed: {error}"
        ) from error


def _copied(t: Tensor) -> Tensor:
    copy = t.detach().clone()
    return nn.Parameter(copy, t.requires_grad) if isinstance(t, nn.Parameter) else copy


def save(
    ep: ExportedProgram, f: Any, *, extra_files: dict[str, Any] | None = None,
    opset_version: Any = None, pickle_protocol: int = 2,
) -> None:  # fmt: skip
    """Save to a path or a binary file (see archive)."""
    if not isinstance(ep, ExportedProgram):
        raise TypeError(
            "The 'ep' parameter must be an instance of 'ExportedProgram', got "
            f"'{type(ep).__name__}'"
        )
    tensors = {n: t.detach() for n, t in state_of(ep.module()).items()}
    archive.write(f, "torch.export", ep._about, [ep._artifact], tensors, extra_files)


def load(
    f: Any, *, extra_files: dict[str, Any] | None = None, expected_opset_version: Any = None
) -> ExportedProgram:
    """Load what ``save`` wrote; the model's code is not needed."""
    about, (artifact,), tensors = archive.read(f, "torch.export", extra_files)
    return ExportedProgram(artifact, tensors, about, None)
