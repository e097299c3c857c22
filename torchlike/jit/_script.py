"""``torch.jit``'s script, save and load on captured graphs.

A scripted function or module is a jitted one: its conditionals and loops on tensors' values are in
the graph (``_jit.control_flow.rewriting``). Saved, it is StableHLO and weights, one program for
each kind of arguments that it was called with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torchlike import nn
from torchlike._core import modes
from torchlike._core.errors import JitCaptureError
from torchlike._jit.call.captured_program import CapturedProgram
from torchlike._jit.call.function import JitFunction
from torchlike._jit.call.recompile_messages import parameter_names
from torchlike._jit.call.tracer import BodyRaised, Call
from torchlike._runtime.homes import home
from torchlike._runtime.trees import flatten, flatten_call, unflatten, unflatten_call
from torchlike.futures import Future
from torchlike.jit._first_runs import FirstRuns
from torchlike.jit._markers import scripting, scripts
from torchlike.jit._optimized_module import uncompiled
from torchlike.jit._script_errors import as_told
from torchlike.serialization.damage import reading
from torchlike.serialization.stablehlo import archive
from torchlike.serialization.stablehlo.artifact import Artifact, built
from torchlike.serialization.stablehlo.checks import are_wanted as checks_are_wanted
from torchlike.serialization.stablehlo.loaded import LoadedModule, about_state, state_of
from torchlike.serialization.stablehlo.signature import by_position, parameters_of
from torchlike.tensor import Tensor

_KIND = "torch.jit"
#: Kinds of calls of which ``save`` makes a program.
_MOST_EXAMPLES = 64
_UNSAVED = "{} cannot be saved, because it cannot be compiled: {}"


class NoGraphYet(RuntimeError, AttributeError):
    """A program was asked for before the first call made one; ``hasattr`` says False then."""


class ScriptFunction(JitFunction):
    """A compiled function that can be looked at and saved."""

    scripting = True

    def __init__(self, fn: Callable[..., Any], **options: Any) -> None:
        super().__init__(fn, **options)
        #: One call of each kind, for ``save``: {key: (args, kwargs)}.
        self._examples: dict[Any, tuple[Any, Any]] = {}
        #: Why calls ran eagerly, by the mode (train or eval) of the module.
        self._eager: dict[Any, str] = {}
        self.first_runs = FirstRuns(
            fn,
            lambda call: self._note(*unflatten_call(call.structure, call.leaves)),
            self._tracer,
            self._cache,
            self._recompiles,
        )
        self._warm_up = self.first_runs
        #: Whether a call is only looked at, and the program that was found so.
        self._is_looked_at = False
        self._looked_at: CapturedProgram | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if scripts.first_run:
            return self._fn(*args, **kwargs)
        compiles = self.compiles
        try:
            result = super().__call__(*args, **kwargs)
        except Exception as error:
            if self._fallback is None:  # traced: its body raised while it was traced, in Python
                raise
            told = as_told(error, error.__traceback__, modes.is_capturing())
            if told is error:
                raise
            raise told from error
        if self.compiles != compiles:
            self._note(args, kwargs)
        return result

    def _note(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Remember a call as an example for ``save``; the oldest of too many is forgotten."""
        leaves, structure = flatten_call(args, kwargs)
        kinds = [(tuple(x.shape), x.dtype) if isinstance(x, Tensor) else repr(x) for x in leaves]
        key = self._mode(), f"{structure} {kinds}"
        self._examples.pop(key, None)
        self._examples[key] = _detached((args, kwargs))
        while len(self._examples) > _MOST_EXAMPLES:
            del self._examples[next(iter(self._examples))]

    def reset(self) -> None:
        super().reset()
        self._looked_at = None

    def _call_deferred(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with scripting():
            return self._call_plainly(args, kwargs)

    def _fall_back(self, key: Any, why: str | JitCaptureError) -> None:
        super()._fall_back(key, why)
        self._eager[self._mode()] = str(why)

    def _eager_way(self, call: Call) -> Any:
        if self._is_looked_at:
            return None
        if modes.current.warming:
            return self._call_warming
        found = super()._eager_way(call)
        # What cannot be compiled in training may be in evaluation.
        is_other = found == self._call_deferred and self._mode() not in self._eager
        return None if is_other else found

    def _call_warming(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a call operation by operation, and what it calls as a part of it."""
        scripts.first_run = self.ran_eagerly = True
        try:
            return self._fn(*args, **kwargs)
        finally:
            scripts.first_run = False

    def _call_captured(self, call: Call) -> tuple[Any, Any]:
        if not self._is_looked_at:
            return super()._call_captured(call)
        traced = self._tracer.program_of(call, silent=True)
        run = traced.trace
        run.outputs.cut()
        run.capture.per_call.fail()
        run.capture.undo_python()
        names = parameter_names(self._fn)
        self._looked_at = CapturedProgram(self._name, traced.program, traced.key, names)
        return None, None

    def _look(self) -> CapturedProgram | None:
        """Return the program of the last example: traced, all that the trace did is undone."""
        if self._looked_at is None and self._examples:
            args, kwargs = next(reversed(self._examples.values()))
            self._is_looked_at = True
            try:
                super().__call__(*args, **kwargs)
            except (BodyRaised, JitCaptureError) as why:
                raise NoGraphYet(
                    f"{self._name} has no graph: it cannot be compiled: {why}"
                ) from why
            finally:
                self._is_looked_at = False
        return self._looked_at

    def _mode(self) -> bool | None:
        """Return whether the module trains; None of a function."""
        return getattr(self._fn, "training", None)

    def _program(self) -> CapturedProgram:
        program = self.program_that_ran()
        if program is None:
            for why in self.fell_back.values():
                raise NoGraphYet(f"{self._name} has no graph: it cannot be compiled: {why}")
            program = self._look()
        if program is None:
            raise NoGraphYet(
                f"{self._name} has no graph yet: it is made for the arguments of its first call"
            )
        return program

    @property
    def graph(self) -> str:
        """The jaxpr of the program that ran last, as text. RuntimeError before the first call."""
        return str(self._program().jaxpr())

    inlined_graph = graph

    @property
    def code(self) -> str:
        """Its StableHLO text."""
        return self._program().stablehlo()

    def artifacts(self, state: Mapping[str, Tensor], checks: bool = False) -> list[Artifact]:
        """Export a program for each kind of call so far. RuntimeError when there was none.
        ``checks``: whether it checks values."""
        why = self._eager.get(self._mode())
        if why is not None:
            raise JitCaptureError(_UNSAVED.format(self._name, why))
        if not self._examples:
            raise RuntimeError(
                f"{self._name} was not called yet: an XLA program has shapes, so call it once with "
                "arguments of each kind that the saved program is to take"
            )
        found: list[Artifact] = []
        parameters = parameters_of(self._fn)
        for (mode, _), (args, kwargs) in self._examples.items():
            if self._mode() is not mode:
                continue
            args, kwargs = by_position(parameters, args, kwargs)
            if any(a.fits(*flatten_call(args, kwargs)) for a in found):
                continue  # the same call, given otherwise
            try:
                artifact = built(self._fn, args, kwargs, state, checks=checks)
            except JitCaptureError as error:
                raise JitCaptureError(_UNSAVED.format(self._name, error)) from error
            artifact.about.update(training=mode, modeless=mode is None, parameters=parameters)
            found.append(artifact)
        if not found:
            raise RuntimeError(
                f"{self._name} was not called in its present mode (train or eval) yet: call it once"
            )
        return found

    def save(
        self, f: Any, _extra_files: dict[str, Any] | None = None, *, checks: bool | None = None
    ) -> None:
        """Save to a path or binary file; ``torch.jit.load`` reads it. ``checks`` as of `save`."""
        about = {"parameters": [], "trainable": [], "non_persistent": [], "training": True}
        artifacts = self.artifacts({}, checks_are_wanted(checks))
        archive.write(f, _KIND, about, artifacts, {}, _extra_files)


class ScriptModule(nn.Module):
    """Base of compiled modules."""

    _script: Any = None
    #: The name of the class that was compiled; "" of a module from a file.
    original_name = ""

    def extra_repr(self) -> str:
        """Return the name of the class that was compiled."""
        return f"original_name={self.original_name}" if self.original_name else ""

    @property
    def graph(self) -> str:
        """The jaxpr of the program that ran last."""
        return self._script.graph

    inlined_graph = graph

    @property
    def code(self) -> str:
        """Its StableHLO text."""
        return self._script.code

    def save(
        self, f: Any, _extra_files: dict[str, Any] | None = None, *, checks: bool | None = None
    ) -> None:
        """Save to a path or binary file: StableHLO of each kind of call so far, and the weights.
        ``checks`` as of `save`."""
        state = state_of(self)
        tensors = {n: t.detach() for n, t in state.items()}
        artifacts = self._script.artifacts(state, checks_are_wanted(checks))
        archive.write(f, _KIND, about_state(self), artifacts, tensors, _extra_files)


class RecursiveScriptModule(ScriptModule):
    """A module compiled by ``script``: the original's state and attributes, its call compiled."""


class TopLevelTracedModule(RecursiveScriptModule):
    """A module compiled by ``trace``."""

    def _get_name(self) -> str:
        return self.original_name


TracedModule = TopLevelTracedModule


class _Loaded(LoadedModule, RecursiveScriptModule):
    """A module from a file."""

    @property
    def graph(self) -> str:
        """The StableHLO text of the first program."""
        return str(self._artifacts[0].forward.mlir_module())

    code = inlined_graph = graph

    def save(
        self, f: Any, _extra_files: dict[str, Any] | None = None, *, checks: bool | None = None
    ) -> None:
        """Save again, with the weights of the moment, and with the checks that the programs have.
        ValueError where ``checks`` asks for others."""
        if checks is not None and any(("checks" in a.about) is not checks for a in self._artifacts):
            raise ValueError(
                f"checks={checks}: a program of a file keeps the checks that it was saved with; "
                "save the model that it was made of"
            )
        tensors = {n: t.detach() for n, t in state_of(self).items()}
        about = {**about_state(self)}
        archive.write(f, _KIND, about, self._artifacts, tensors, _extra_files)


def _detached(tree: Any) -> tuple[Any, ...]:
    leaves, structure = flatten(tree)
    return unflatten(
        structure, [x.detach().clone() if isinstance(x, Tensor) else x for x in leaves]
    )


def of_module(module: Any, base: type, fallback: str | None = None) -> Any:
    """Make a compiled twin of a module: one dictionary of attributes for both, so all state is
    shared."""
    compiled = ScriptFunction(module, fallback=fallback)
    space: dict[str, Any] = {"_script": compiled, "__module__": home(type(module))}

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return compiled(*args, **kwargs)

    space["__call__"] = call
    space["original_name"] = type(module).__name__
    for name in dir(type(module)):
        if getattr(getattr(type(module), name, None), "_torchlike_exported", False):
            space[name] = staticmethod(ScriptFunction(getattr(module, name), fallback=fallback))
    # The name is the base's. The room stays the user's: attributes of a library's classes are not
    # among what compiled programs watch.
    twin = type(base.__name__, (base, type(module)), space)
    made = object.__new__(twin)
    made.__dict__ = module.__dict__
    return made


def script(
    obj: Any,
    optimize: Any = None,
    _frames_up: int = 0,
    _rcb: Any = None,
    example_inputs: Any = None,
) -> Any:
    """Compile a function or module, which keeps conditionals and loops on values in its graph.

    Classes come back as they are. ``example_inputs``: a list of argument tuples to compile for at
    once.

    What its code raises is a `Error`, what operations raise in it a RuntimeError; both show its
    lines.

    Differs from PyTorch: annotations are not needed. The first calls of each kind run operation by
    operation (200; 4 where a tensor has 8,192 elements or more), and the next one is compiled; on
    accelerators the first is. Code that cannot be compiled, since it reads values of tensors or
    raises depending on them, runs eagerly, with a warning; ``save`` says then why it has no
    program.

    Raises:
      RuntimeError: for something that cannot be called.
    """
    if isinstance(obj, (ScriptFunction, ScriptModule, type)):
        return obj
    if isinstance(obj, nn.Module):
        found = of_module(obj, RecursiveScriptModule, "eager")
    elif callable(obj):
        found = ScriptFunction(uncompiled(obj), fallback="eager")
    else:
        raise RuntimeError(f"torch.jit.script expects a function, module or class, not {obj!r}")
    for args in example_inputs or ():
        found(*args)
    return found


def save(
    m: Any, f: Any, _extra_files: dict[str, Any] | None = None, *, checks: bool | None = None
) -> None:
    """Save a scripted or traced function or module.

    ``checks``: whether the saved programs check values as eager operations do (is an index in
    range?), by default unless ``TORCHLIKE_CHECKS=off``. What `load` gives then raises the eager
    error when a value is read next.
    """
    if not hasattr(m, "save"):
        raise TypeError(
            f"torch.jit.save expects a scripted or traced object, not {type(m).__name__}"
        )
    options = {} if checks is None else {"checks": checks}
    m.save(f, _extra_files=_extra_files, **options)


def load(
    f: Any,
    map_location: Any = None,
    _extra_files: dict[str, Any] | None = None,
    _restore_shapes: Any = False,
) -> Any:
    """Load what ``save`` wrote: a module with the old names in its state_dict. The code that it
    came from is not needed.

    Differs from PyTorch: it takes arguments of the kinds that it was saved for, and files of
    PyTorch itself are refused (RuntimeError).
    """
    about, artifacts, tensors = archive.read(f, _KIND, _extra_files)
    with reading(f):
        found = _Loaded(artifacts, tensors, about)
    return found if map_location is None else found.to(map_location)


def freeze(
    mod: Any, preserved_attrs: Sequence[str] | None = None, optimize_numerics: bool = True
) -> Any:
    """Return the module as it is, in evaluation mode. RuntimeError unless it is a ScriptModule, in
    eval mode.

    Differs from PyTorch: weights stay inputs of the program (XLA folds what it can).
    """
    if not isinstance(mod, ScriptModule):
        raise RuntimeError("Freezing expects a ScriptModule as input. Please use torch.jit.script")
    if mod.training:
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval() "
            "on your module before freezing."
        )
    return mod


def optimize_for_inference(mod: Any, other_methods: Any = None) -> Any:
    """Return the module as it is: XLA has optimized it."""
    if not isinstance(mod, ScriptModule):
        raise RuntimeError("optimize_for_inference expects a ScriptModule as input")
    return mod


def interface(obj: type) -> type:
    """Return the class as it is: Python finds methods by name."""
    return obj


def fork(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
    """Call ``fn(*args)`` now, and return a future for ``wait``: XLA runs what is independent in
    parallel by itself."""
    future: Future[Any] = Future()
    future.set_result(fn(*args, **kwargs))
    return future


def wait(future: Any) -> Any:
    """Return the result of ``fork``."""
    return future.wait()


class Attribute:
    """A value with a type, for ScriptModule attributes."""

    def __init__(self, value: Any, type: Any) -> None:
        self.value, self.type = value, type


class strict_fusion:
    """A context that changes nothing: XLA fuses."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass


__all__ = [
    "Attribute",
    "RecursiveScriptModule",
    "ScriptFunction",
    "ScriptModule",
    "TopLevelTracedModule",
    "TracedModule",
    "fork",
    "freeze",
    "interface",
    "load",
    "optimize_for_inference",
    "save",
    "script",
    "strict_fusion",
    "wait",
]
