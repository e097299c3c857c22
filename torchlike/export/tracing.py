"""A module's graph of operators, with its state and constants as inputs.

The module runs on fake tensors under a mode that sees operators above autograd. Its parameters and
buffers are placeholders first, then tensors that it holds otherwise or writes out, then the leaves
of the caller's arguments.
"""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from torchlike._compat.symbolic import SymBool, SymFloat, SymInt, expression_of, is_symbolic
from torchlike._core import modes
from torchlike._subclasses.fake_tensor import REFUSALS, FakeTensorMode
from torchlike.export.graph_signature import (
    ConstantArgument,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
)
from torchlike.export.sizes import ArgumentSizes
from torchlike.fx._patches import _Patcher
from torchlike.fx.experimental.mode_regions import Switches, grouped
from torchlike.fx.experimental.proxy_tensor import (
    ProxyTorchDispatchMode,
    PythonKeyTracer,
    erase_unused_numbers,
)
from torchlike.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from torchlike.fx.graph_module import GraphModule
from torchlike.fx.node import Argument, Node
from torchlike.fx.proxy import Proxy
from torchlike.nn import Module, Parameter
from torchlike.nn.utils.stateless import reparametrized
from torchlike.ops._aten.packets import aten
from torchlike.tensor import Tensor
from torchlike.utils import _pytree as pytree

_PREFIXES = {InputKind.PARAMETER: "p", InputKind.BUFFER: "b", InputKind.CONSTANT_TENSOR: "c"}
_PLAIN = (bool, int, float, complex, str, type(None))


class TracedExport(NamedTuple):
    """A graph, what its inputs and outputs are, and the tensors that are constants of it."""

    graph_module: GraphModule
    inputs: list[InputSpec]
    outputs: list[OutputSpec]
    constants: dict[str, Tensor]
    out_spec: Any


class ExportTracer(PythonKeyTracer):
    """A tracer to which every tensor from outside is an input of the graph."""

    record_stack_traces = True

    def __init__(self, root: Module, names: Mapping[int, str]) -> None:
        super().__init__()
        self.begin()
        #: Paths of the exported module's submodules, and of tensors that are plain attributes.
        self.paths = {m: name for name, m in root.named_modules()}
        self.attributes = names
        self.inputs: list[InputSpec] = []
        self.outside: dict[str, Tensor] = {}
        self._lifted: dict[int, Proxy] = {}

    def call_module(self, m: Module, forward: Any, args: Any, kwargs: Any) -> Argument:
        """Run the module; its nodes record in which modules they are."""
        path = self.paths.get(m)
        if path is None:
            return forward(*args, **kwargs)
        call = self._call_of(path)
        key = "L__self__" + (f"___{call.replace('.', '_')}" if call else "")
        self.module_stack[key] = (call, _class_name(type(m)))
        try:
            return forward(*args, **kwargs)
        finally:
            del self.module_stack[key]

    def _call_of(self, path: str) -> str:
        """Return a new name for a call: the module's path, in the call that it is made in;
        ``a.b@1`` for the second call of ``a.b`` there."""
        outer = next(reversed(self.module_stack.values()), ("", None))[0]
        around = without_counts(outer)
        call = outer + path[len(around) :] if path.startswith(f"{around}.") else path
        count = self.num_calls.get(call, 0)
        self.num_calls[call] = count + 1
        return f"{call}@{count}" if count else call

    def create_arg(self, a: Any) -> Argument:
        """Return a value as a node holds it; a tensor from outside becomes a constant."""
        if isinstance(a, Tensor):
            return self._constant(a).node
        return super().create_arg(a)

    def placeholder(self, name: str, spec: InputSpec) -> Proxy:
        """Add a new input behind the others."""
        taken = any(n.name == name for n in self.graph.nodes)
        proxy = self.create_proxy("placeholder", name, (), {})
        if not taken:  # names of Python's builtins ("input") are good ones here
            proxy.node.name = proxy.node.target = name
        proxy.node.meta.pop("stack_trace", None)
        spec.arg.name = proxy.node.name
        self.inputs.append(spec)
        return proxy

    def _constant(self, value: Tensor) -> Proxy:
        found = self._lifted.get(id(value))
        if found is not None:
            return found
        name = self.attributes.get(id(value))
        if name is None:
            count = sum(n.startswith("lifted_tensor_") for n in self.outside)
            name = f"lifted_tensor_{count}"
        self.outside[name] = value
        at = sum(s.kind is not InputKind.USER_INPUT for s in self.inputs)
        spec = InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(""), name)
        nodes = list(self.graph.nodes)
        behind = nodes[at : at + 1]
        with self.graph.inserting_before(behind[0]) if behind else contextlib.nullcontext():
            proxy = self.create_proxy("placeholder", _flat("c", name), (), {})
        for key in ("stack_trace", "nn_module_stack"):
            proxy.node.meta.pop(key, None)
        spec.arg.name = proxy.node.name
        self.inputs.insert(at, spec)
        self._lifted[id(value)] = proxy
        proxy.node.meta["val"] = value
        return proxy


def without_counts(call: str) -> str:
    """Return the path of the module that a call belongs to: ``a.b`` of ``a.b@1``."""
    return ".".join(part.partition("@")[0] for part in call.split("."))


def _class_name(cls: type) -> str:
    return re.sub(r"^torchlike\b", "torch", f"{cls.__module__}.{cls.__qualname__}")


def _flat(prefix: str, name: str) -> str:
    return f"{prefix}_{re.sub(r'[^a-zA-Z0-9]', '_', name)}"


def trace(
    module: Module, args: tuple[Any, ...], kwargs: dict[str, Any], sizes: ArgumentSizes
) -> TracedExport:
    """Trace ``module(*args, **kwargs)`` into a graph.

    Args:
      sizes: which sizes of the arguments are symbols.

    ValueError where the module gives what is no tensor or plain value.
    GuardOnDataDependentSymNode where it asks for a value that the graph computes.
    """
    fake = FakeTensorMode(allow_non_fake_inputs=True, shape_env=sizes.env, static_shapes=True)
    attributes = _plain_tensors(module)
    tracer = ExportTracer(module, {id(t): name for name, t in attributes.items()})
    mode = ProxyTorchDispatchMode(tracer, "symbolic", pre_dispatch=True)
    state = _state_inputs(tracer, module, fake)
    given, named = _argument_inputs(tracer, module, args, kwargs, fake, sizes)
    with (
        _Patcher() as patches,
        _attributes_kept(module, tracer),
        _exporting(),
        fake,
        mode,
        reparametrized(module, state),
    ):
        tracer._patch(patches, {})
        result = _run(tracer, module, given, named)
        _write_rebound(module, state)
        leaves, out_spec = pytree.tree_flatten(result)
        outputs = [_output(tracer, leaf) for leaf in leaves]
    tracer.graph.output(tuple(node for node, _ in outputs))
    erase_unused_numbers(tracer.graph)
    graph_module = GraphModule(tracer.root, tracer.graph, "GraphModule")
    grouped(graph_module, tracer.switches, Switches.present())
    specs = [spec for _, spec in outputs]
    for spec, node in zip(specs, graph_module.graph.output_node().args[0], strict=True):
        if isinstance(node, Node):
            spec.arg.name = node.name
    return TracedExport(graph_module, tracer.inputs, specs, tracer.outside, out_spec)


def _run(tracer: ExportTracer, module: Module, args: Any, kwargs: Any) -> Any:
    """Run the module and return its result. Raises GuardOnDataDependentSymNode where it asked for a
    value, whether or not an ``except`` took the error: the graph would not be the program. The same
    holds for an operator whose result's shape is not known."""
    try:
        result = module(*args, **kwargs)
    except RuntimeError:
        if tracer.refused is None:
            raise
    if isinstance(tracer.refused, REFUSALS):
        raise tracer.refused
    if tracer.refused is not None:
        raise GuardOnDataDependentSymNode(_VALUE_ASKED) from tracer.refused
    return result


_VALUE_ASKED = (
    "Could not guard on data-dependent expression: Python asks for the value of a tensor that the "
    "graph computes (.item(), int(), bool() as in `if tensor:`, tolist()). Use torch.cond or "
    "torch.where, or pass the number in"
)


def _state_inputs(tracer: ExportTracer, module: Module, fake: FakeTensorMode) -> dict[str, Tensor]:
    """Create placeholders of parameters and buffers, and return the tensors that stand for them, by
    their names."""
    found: dict[str, Tensor] = {}
    persistent = set(module.state_dict(keep_vars=True))
    named = [
        (InputKind.PARAMETER, n, p) for n, p in module.named_parameters(remove_duplicate=False)
    ]
    named += [(InputKind.BUFFER, n, b) for n, b in module.named_buffers(remove_duplicate=False)]
    for kind, name, tensor in named:
        kept = name in persistent if kind is InputKind.BUFFER else None
        spec = InputSpec(kind, TensorArgument(""), name, kept)
        proxy = tracer.placeholder(_flat(_PREFIXES[kind], name), spec)
        found[name] = fake.from_tensor(tensor)  # of a shared one the same: the last name counts
        tracer.track(found[name], proxy)
    return found


def _argument_inputs(
    tracer: ExportTracer,
    module: Module,
    args: Any,
    kwargs: Any,
    fake: FakeTensorMode,
    sizes: ArgumentSizes,
) -> tuple[Any, Any]:
    """Create placeholders of the leaves of the arguments, and return the arguments as the module
    gets them."""
    flat, spec = pytree.tree_flatten((args, kwargs))
    made = []
    for leaf, name, wanted in zip(flat, sizes.names, sizes.of_leaves, strict=True):
        if isinstance(leaf, Tensor):
            proxy = tracer.placeholder(name, _given(TensorArgument("")))
            # Of each leaf one of its own: what is one tensor in the example may be two in a call.
            value = fake._faked(leaf, None)
            value.symbolic_size = wanted
            tracer.track(value.requires_grad_(leaf.requires_grad), proxy)
        elif is_symbolic(wanted):
            proxy = tracer.placeholder(name, _given(SymIntArgument("")))
            proxy.node.meta["val"] = value = wanted
            tracer.numbers.setdefault(expression_of(value), proxy)
        else:
            value = leaf
            plain = ConstantArgument("", leaf if isinstance(leaf, _PLAIN) else None)
            proxy = tracer.placeholder(name, _given(plain))
            proxy.node.meta["val"] = leaf
        made.append(value)
    return pytree.tree_unflatten(made, spec)


def _given(arg: Any) -> InputSpec:
    return InputSpec(InputKind.USER_INPUT, arg, None)


def _output(tracer: ExportTracer, leaf: Any) -> tuple[Any, OutputSpec]:
    """Return a result as the graph's output holds it, and its specification."""
    if isinstance(leaf, Tensor) or is_symbolic(leaf):
        standing = tracer.standing_for(leaf)
        node = tracer.create_arg(standing)
        kinds = (
            (SymInt, SymIntArgument),
            (SymFloat, SymFloatArgument),
            (SymBool, SymBoolArgument),
            (Tensor, TensorArgument),
        )
        kind = next(made for of, made in kinds if isinstance(leaf, of))
        return node, OutputSpec(OutputKind.USER_OUTPUT, kind(node.name), None)
    if not isinstance(leaf, _PLAIN):
        raise ValueError(
            f"Found unsupported type {type(leaf)} in the output of the exported module: return "
            "tensors, plain values, and containers of them"
        )
    return leaf, OutputSpec(OutputKind.USER_OUTPUT, ConstantArgument("", leaf), None)


def _write_rebound(module: Module, state: Mapping[str, Tensor]) -> None:
    """Write what the module bound in the place of a buffer into the buffer, which the next call
    reads. ValueError for a parameter that was bound anew, and a buffer that was made."""
    for path, owner in module.named_modules():
        for last, present in (*owner._parameters.items(), *owner._buffers.items()):
            name = f"{path}.{last}".lstrip(".")
            if present is None or present is state.get(name):
                continue
            if last in owner._parameters or name not in state:
                raise ValueError(
                    f"self.{name} was bound during export: a program has the parameters and "
                    "buffers that its module has before. Write into them, or register a buffer"
                )
            aten.copy_.default(state[name], present)


@contextlib.contextmanager
def _exporting() -> Iterator[None]:
    before, modes.current.exporting = modes.current.exporting, True
    try:
        yield
    finally:
        modes.current.exporting = before


@contextlib.contextmanager
def _attributes_kept(module: Module, tracer: ExportTracer) -> Iterator[None]:
    """Undo, at the end of a `with` block, what the module binds to plain attributes in it. Warns
    for tensors."""
    tables = ("_parameters", "_buffers", "_modules")
    kept = {m: dict(vars(m)) for m in module.modules()}
    held = {m: {t: dict(vars(m)[t]) for t in tables} for m in kept}
    try:
        yield
        found = [
            f"self.{tracer.paths[m]}.{name}".replace("..", ".")
            for m, attributes in kept.items()
            for name, value in vars(m).items()
            if isinstance(value, Tensor) and attributes.get(name) is not value
        ]
        if found:
            several = ("attributes", "were") if len(found) > 1 else ("attribute", "was")
            warnings.warn(
                f"The tensor {several[0]} {', '.join(found)} {several[1]} assigned during export. "
                "Such attributes must be registered as buffers using the `register_buffer` API "
                "(https://pytorch.org/docs/stable/generated/torch.nn.Module.html"
                "#torch.nn.Module.register_buffer).",
                stacklevel=4,
            )
    finally:
        for m, attributes in kept.items():
            own = vars(m)
            for name in [n for n in own if n not in attributes]:
                del own[name]
            own.update(attributes)
            for table, entries in held[m].items():
                own[table].clear()
                own[table].update(entries)


def _plain_tensors(module: Module) -> dict[str, Tensor]:
    """Return the tensors that are attributes of a module or of one below it, and no part of its
    state."""
    found: dict[str, Tensor] = {}
    for path, m in module.named_modules():
        for name, value in vars(m).items():
            if isinstance(value, Tensor) and not isinstance(value, Parameter):
                found[f"{path}.{name}".lstrip(".")] = value
    return found
