"""``make_fx``: a function is run on tensors, and the operators that it calls become a graph.

A mode with ``__torch_dispatch__`` sees them below autograd, so a graph holds the operators of
backward passes too.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from torchlike._compat.symbolic import expression_of, is_symbolic
from torchlike._core import modes, overrides
from torchlike._extensions import boxes
from torchlike._extensions.overrides import protocol, python_signatures
from torchlike._ops.aten.tags import Tag
from torchlike._runtime.lazy import LazyModule
from torchlike._runtime.reference import follows
from torchlike._subclasses.constants import Constants, is_one_value
from torchlike._subclasses.fake_tensor import REFUSALS, FakeTensor, FakeTensorMode
from torchlike.fx._symbolic_trace import PH, Tracer
from torchlike.fx.experimental.mode_regions import Switches, with_switches
from torchlike.fx.experimental.symbolic_shapes import ShapeEnv
from torchlike.fx.graph import Graph
from torchlike.fx.graph_module import GraphModule
from torchlike.fx.node import Argument, Node
from torchlike.fx.passes.shape_prop import _extract_tensor_metadata
from torchlike.fx.proxy import Proxy
from torchlike.nn.modules.module import Module
from torchlike.ops._aten.handlers import tensors_of, unhandled
from torchlike.ops._aten.packets import aten
from torchlike.tensor import Tensor
from torchlike.utils import _pytree as pytree
from torchlike.utils._python_dispatch import TorchDispatchMode

__all__ = [
    "ProxyTorchDispatchMode",
    "PythonKeyTracer",
    "decompose",
    "disable_proxy_modes_tracing",
    "dispatch_trace",
    "get_innermost_proxy_mode",
    "get_isolated_graphmodule",
    "get_proxy_mode",
    "make_fx",
    "maybe_disable_fake_tensor_mode",
]

_VALUE_ASKED = (
    "It appears that you're trying to get value out of a tracing tensor with {func} - erroring "
    "out! It's likely that this is caused by data-dependent control flow or similar.  It may be "
    "possible to trace this with dynamic shapes; try setting tracing_mode='symbolic' in your "
    "make_fx call."
)


_BOXED = (
    "make_fx of vmap, jvp and forward_ad: values inside of them are no tensors of the graph. Take "
    "the derivative by torch.func.grad or vjp, or compile the function by torchlike.jit"
)


_subgraphs: Any = LazyModule("torchlike.fx.experimental.subgraphs")
_functional_graphs: Any = LazyModule("torchlike.fx.experimental.functional_graphs")

#: Functions that PyTorch writes in Python.
_PYTHON = python_signatures.table("nn.functional")

#: What gives a size: no node until it is used.
_ITEM = (aten.item.default, aten._local_scalar_dense.default)
_ASKING = (aten.sym_size, aten.sym_stride, aten.sym_numel, aten.sym_storage_offset)


class PythonKeyTracer(Tracer):
    """A tracer that looks into all modules, and knows which tensors nodes stand for."""

    def __init__(self) -> None:
        super().__init__(autowrap_modules=())
        #: id of a tensor -> (the tensor, weakly; what stands for it; its value where it is known).
        self.tracked: dict[int, tuple[Any, Proxy, Any]] = {}
        #: expression of sizes -> its proxy, or a function that makes it where it is first needed.
        self.numbers: dict[Any, Proxy | Callable[[], Proxy]] = {}
        #: The error that Python got which asked for a value; a program may have swallowed it.
        self.refused: RuntimeError | None = None
        #: The public function that runs, and how often each has been called.
        self.function: tuple[str, str] | None = None
        self.calls: dict[str, int] = {}
        #: What was on where a node's operator was called, of traces above autograd.
        self.switches: dict[Node, Switches] = {}
        self.constants = Constants()

    def begin(self) -> None:
        """Start an empty graph, with a root for the attributes that it names."""
        self.root, self.graph = Module(), Graph(tracer_cls=PythonKeyTracer)
        self._qualname_counter, self.tensor_attrs = {}, {}

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        return False

    def call_module(
        self, m: Module, forward: Callable[..., Any], args: Any, kwargs: Any
    ) -> Argument:
        """Run the module's forward, so that the operators in it are recorded."""
        return forward(*args, **kwargs)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Argument:
        """Return the attribute itself: tensors are known by their identity."""
        return attr_val

    def track(self, value: Any, proxy: Proxy, constant: Any = None) -> None:
        """Record the proxy that stands for a tensor."""
        self.tracked[id(value)] = (weakref.ref(value), proxy, constant)
        with unhandled():
            proxy.node.meta["val"] = (
                value.snapshot() if type(value) is FakeTensor else value.detach()
            )
            if getattr(value, "symbolic_size", None) is None:
                proxy.node.meta["tensor_meta"] = _extract_tensor_metadata(value)
                return
        for dim, size in enumerate(value.shape):
            if is_symbolic(size):
                asked = functools.partial(
                    self._number_from, size, aten.sym_size.int, (proxy, dim), "sym_size_int"
                )
                self.numbers.setdefault(expression_of(size), asked)

    def _number_from(self, number: Any, target: Any, args: Any, name: str | None = None) -> Proxy:
        """Create a node that gives a number."""
        proxy = self.create_proxy("call_function", target, args, {}, name=name)
        proxy.node.meta["val"] = number
        return proxy

    def number(self, value: Any) -> Any:
        """Return the proxy of a symbolic number, creating on first use the node that asks a tensor
        for it, or computes it."""
        node = value.node
        found = self.numbers.get(node.expr)
        if found is None:
            if node.made is None:
                raise RuntimeError(f"{value} is no size of an argument: it cannot be in the graph")
            function, args = node.made
            name = None
            if isinstance(args[0], Tensor):
                name = "_".join(str(function).split(".")[1:])
            found = self._number_from(value, function, tuple(map(self.standing_for, args)), name)
        elif not isinstance(found, Proxy):
            found = found()
        self.numbers[node.expr] = found
        return found

    def tracked_proxy(self, value: Any) -> tuple[Proxy, Any] | None:
        """Return the proxy that stands for a tensor, and its value where that is known; None for a
        tensor that is not tracked."""
        entry = self.tracked.get(id(value))
        return None if entry is None or entry[0]() is not value else entry[1:]

    def standing_for(self, value: Any) -> Argument:
        """Return the proxy of a tensor or of a number made of sizes; a constant is returned as it
        is."""
        if is_symbolic(value):
            return self.number(value)
        entry = self.tracked_proxy(value) if isinstance(value, Tensor) else None
        return value if entry is None else entry[0]


class ProxyTorchDispatchMode(TorchDispatchMode):
    """Makes a node of each operator."""

    makes_graph = True

    def __init__(
        self,
        tracer: PythonKeyTracer,
        tracing_mode: str = "real",
        decomposition_table: Any = None,
        pre_dispatch: bool = False,
    ) -> None:
        super().__init__()
        self.tracer = tracer
        self.tracing_mode = tracing_mode
        #: Whether operators are seen above autograd.
        self.pre_dispatch = pre_dispatch
        self.decomposition_table = decomposition_table or {}

    @classmethod
    def is_infra_mode(cls) -> bool:
        """True: it is PyTorch's own."""
        return True

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> overrides.Result:
        kwargs = kwargs or {}
        if modes.current.levels and any(
            type(t._storage.cell) in boxes.BOXES for t in tensors_of((*args, *kwargs.values()))
        ):
            raise NotImplementedError(_BOXED)
        if any(
            protocol.dispatches(type(t))
            and type(t) is not FakeTensor
            and not self.tracer.tracked_proxy(t)
            for t in tensors_of((*args, *kwargs.values()))
        ):
            return NotImplemented  # the class is asked: what it is made of is in the graph
        rule = self.decomposition_table.get(func)
        if rule is not None:
            with self:
                made = rule(*args, **kwargs)
            if made is not NotImplemented:
                return made
        if Tag.data_dependent_output in func.tags:
            return self._value(func, args, kwargs)
        if func.overloadpacket in _ASKING:
            return func(*args, **kwargs)
        if func is aten._assert_scalar.default and is_symbolic(args[0]):
            named = self.tracer.number(args[0]).node.name
            args = (args[0], f"{args[1].partition(' on node ')[0]} on node '{named}'")
        recorded = self.recorded_as(func)
        tracer = self.tracer
        proxies = pytree.tree_map(self.standing_for, (args, kwargs))
        constants = self._after(func, args, kwargs)
        name = recorded.overloadpacket.__name__
        proxy = tracer.create_proxy("call_function", recorded, *proxies, name=name)
        if self.pre_dispatch:
            tracer.switches[proxy.node] = Switches.present(overrides.state.outside[-1])
            proxy.node.meta["torch_fn"] = tracer.function
        # A copy: what the program writes into the tensor is not written into the graph's.
        try:
            out = self.run_as(func)(*args, **kwargs)
        except REFUSALS as refusal:
            tracer.refused = refusal
            raise
        self._track(func, out, proxy, args, kwargs, constants)
        return out

    def recorded_as(self, func: Any) -> Any:
        """Return the operator that is recorded for another."""
        if func is aten.detach.default and not self.pre_dispatch:
            return aten.alias.default if follows("traced detach is an alias") else func
        return self.run_as(func)

    def run_as(self, func: Any) -> Any:
        """Return the operator that runs for the sake of the trace."""
        return aten.lift_fresh_copy.default if func is aten.lift_fresh.default else func

    def standing_for(self, value: Any) -> Argument:
        """Return the proxy or constant that stands for an argument of an operator."""
        return self.tracer.standing_for(value)

    def functionalized(self, *, views: bool) -> contextlib.AbstractContextManager[Any]:
        """Return a context manager in which writes are recorded as new values, and which gives the
        mode that does it; ``views`` says whether views are recorded as copies."""
        return _functional_graphs.functionalized(self, views)

    def cond(self, pred: Any, true_fn: Any, false_fn: Any, operands: Any) -> Any:
        """Make one node of ``torch.cond``, with graphs of its own for both functions."""
        return _subgraphs.cond(self, pred, true_fn, false_fn, operands)

    def while_loop(self, cond_fn: Any, body_fn: Any, carried: Any) -> Any:
        """Make one node of ``torch.while_loop``."""
        return _subgraphs.while_loop(self, cond_fn, body_fn, carried)

    def note_function(self, space: str, name: str) -> None:
        """Note that nodes from here on come from this public function: ``torch_fn`` in their
        ``meta``."""
        counts = self.tracer.calls
        counts[name] = counts.get(name, 0) + 1
        written = name in _PYTHON and space == "nn.functional"
        kind = (
            "method_descriptor"
            if space == "Tensor"
            else ("function" if written else "builtin_function_or_method")
        )
        self.tracer.function = (f"{name}_{counts[name]}", f"{kind}.{name}")

    def note_number(self, value: Any) -> None:
        """Make a node of a number that was computed from sizes."""
        self.tracer.number(value)

    def _known(self, tensor: Tensor) -> Tensor | None:
        """Return a tensor that holds the value of another, where that is known."""
        entry = self.tracer.tracked_proxy(tensor)
        return None if entry is None else self.tracer.constants.valid(entry[1])

    def _value(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Return the value that Python asks for. Raises RuntimeError for one that is not known."""
        known: dict[int, Any] = {}
        for tensor in tensors_of((*args, *kwargs.values())):
            if self.tracer.tracked_proxy(tensor) is None:
                continue
            known[id(tensor)] = self._known(tensor)
            if known[id(tensor)] is None:
                number = self._unbacked(func, tensor)
                if number is not None:
                    return number
                self.tracer.refused = RuntimeError(_VALUE_ASKED.format(func=func))
                raise self.tracer.refused
        args, kwargs = pytree.tree_map(lambda a: known.get(id(a), a), (args, kwargs))
        if not known:
            return func(*args, **kwargs)
        with unhandled():
            return func(*args, **kwargs)

    def _unbacked(self, func: Any, tensor: Tensor) -> Any:
        """Make a node of ``item()`` of a fake tensor, and return the unbacked symbol that it gives;
        None where there can be none."""
        if func not in _ITEM or not isinstance(tensor, FakeTensor):
            return None
        number = tensor.fake_mode._number_of(tensor)
        if number is None:
            return None
        recorded = _ITEM[0 if self.pre_dispatch else 1]
        given = (self.standing_for(tensor),)
        proxy = self.tracer.create_proxy(
            "call_function", recorded, given, {}, name=recorded.overloadpacket.__name__
        )
        proxy.node.meta["val"] = number
        self.tracer.numbers.setdefault(expression_of(number), proxy)
        return number

    def _after(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Return the values of an operator's results, where they are known."""
        if func in (aten.lift_fresh.default, aten.lift_fresh_copy.default):
            with unhandled():
                given = args[0]
                return [given.clone()] if type(given) is Tensor and is_one_value(given) else None
        return self.tracer.constants.after(func, args, kwargs, self._known)

    def _track(
        self, func: Any, out: Any, proxy: Proxy, args: Any, kwargs: Any, constants: Any
    ) -> None:
        tracer = self.tracer
        if func._schema.is_mutable:
            for t in tensors_of((args[:1], tuple(kwargs.values()))):
                if any(t is o for o in tensors_of((out,))):
                    tracer.track(t, proxy, self._known(t))
            if all(
                any(t is o for t in tensors_of((args, *kwargs.values())))
                for o in tensors_of((out,))
            ):
                return
        values = dict(zip(map(id, tensors_of((out,))), constants or (), strict=False))

        def track(made: Any, part: Proxy) -> None:
            if isinstance(made, Tensor):
                tracer.track(made, part, values.get(id(made)))
            elif isinstance(made, (tuple, list)):
                for i, o in enumerate(made):
                    track(o, part[i])

        track(out, proxy)


def get_proxy_mode() -> ProxyTorchDispatchMode | None:
    """Return the innermost running recording, or None without one."""
    for mode in reversed(overrides.state.dispatch_modes):
        if isinstance(mode, ProxyTorchDispatchMode):
            return mode
    return None


get_innermost_proxy_mode = get_proxy_mode


@contextlib.contextmanager
def disable_proxy_modes_tracing(enable_current: bool = False) -> Iterator[Any]:
    """Stop recording operators as nodes, within a `with` block."""
    state = overrides.state
    kept = list(state.dispatch_modes)
    with unhandled():
        others = [m for m in kept if not isinstance(m, ProxyTorchDispatchMode)]
        for mode in others:
            protocol.push_dispatch(mode)
        try:
            yield None
        finally:
            for _ in others:
                protocol.pop_dispatch()


@contextlib.contextmanager
def maybe_disable_fake_tensor_mode() -> Iterator[None]:
    """Switch every FakeTensorMode off within a `with` block."""
    kept = list(overrides.state.dispatch_modes)
    with unhandled():
        others = [m for m in kept if not isinstance(m, FakeTensorMode)]
        for mode in others:
            protocol.push_dispatch(mode)
        try:
            yield
        finally:
            for _ in others:
                protocol.pop_dispatch()


def erase_unused_numbers(graph: Graph) -> None:
    """Take out the numbers made of sizes that nothing needs."""
    for node in reversed(list(graph.nodes)):
        if not node.users and node.op == "call_function" and is_symbolic(node.meta.get("val")):
            graph.erase_node(node)


def dispatch_trace(
    root: Any, tracer: Tracer, concrete_args: tuple[Any, ...] | None = None
) -> GraphModule:
    """Trace ``root`` and return the GraphModule of what it does."""
    graph = tracer.trace(root, concrete_args)
    erase_unused_numbers(graph)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)


def _with_parameters(f: Callable[..., Any], count: int) -> Callable[..., Any]:
    """Return a function of ``count`` parameters ``arg0, arg1, …`` that calls ``f``."""
    names = ", ".join(f"arg{i}" for i in range(count))
    return eval(f"lambda {names}: fn({names})", {"fn": f})


def _has_parameters(f: Any) -> bool:
    code = getattr(inspect.unwrap(f), "__code__", None)
    return code is not None and not code.co_flags & inspect.CO_VARARGS and not inspect.ismethod(f)


def make_fx(
    f: Callable[..., Any],
    decomposition_table: Any = None,
    tracing_mode: str = "real",
    _allow_non_fake_inputs: bool = False,
    *,
    pre_dispatch: bool = False,
    record_module_stack: bool = False,
    _allow_fake_constant: bool = False,
    _error_on_data_dependent_ops: bool = True,
    **others: Any,
) -> Callable[..., GraphModule]:
    """Return a function that runs ``f`` on its arguments and gives the graph of the operators
    called.

    Args:
      f: a function or module of tensors, in any nest.
      decomposition_table: operator -> function of its arguments that is recorded in its place.
      tracing_mode: "real" computes with the tensors, "fake" with their shapes alone, "symbolic"
        with shapes whose sizes stand for any size of 2 and more, as ints among the arguments do:
        the graph asks its arguments for them (``sym_size``). Its ``shape_env`` has the guards: what
        was decided by the sizes at hand.

      pre_dispatch: whether operators are seen above autograd: ``linear``, not what it is made of.

    NotImplementedError for an operator that cannot be traced with symbolic sizes, and for
    ``dynamic_shapes``. ValueError for any other mode. RuntimeError where ``f`` asks for a value
    that is not known.
    """
    if others.get("dynamic_shapes") is not None or hasattr(f, "_dynamic_spec"):
        raise NotImplementedError(
            "make_fx(dynamic_shapes=): graphs are for the shapes of the arguments. Use instead: "
            'tracing_mode="symbolic", or torch.export.export(dynamic_shapes=).'
        )
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise ValueError(f"Unexpected tracing type: {tracing_mode}")

    @functools.wraps(f)
    def traced(*args: Any) -> GraphModule:
        own = dict(decomposition_table or {})
        return _traced(f, args, own, tracing_mode, pre_dispatch)

    return traced


def _traced(f: Any, args: Any, table: Any, tracing_mode: str, pre_dispatch: bool) -> GraphModule:
    tracer = PythonKeyTracer()
    mode = ProxyTorchDispatchMode(tracer, tracing_mode, table, pre_dispatch)
    fake = None
    if tracing_mode != "real":
        fake = _fake_mode(args, tracing_mode)
        args = pytree.tree_map(lambda a: _faked(fake, tracing_mode, a), args)
    func = f if _has_parameters(f) else _with_parameters(f, len(args))

    @functools.wraps(func)
    def recorded(*proxies: Any) -> Argument:
        flat, _ = pytree.tree_flatten(args)
        standing, _ = pytree.tree_flatten(proxies)
        for value, proxy in zip(flat, standing, strict=True):
            if isinstance(value, Tensor) and isinstance(proxy, Proxy):
                tracer.track(value, proxy)
            elif is_symbolic(value) and isinstance(proxy, Proxy):
                proxy.node.meta["val"] = value
                tracer.numbers.setdefault(expression_of(value), proxy)
        with contextlib.ExitStack() as stack:
            if fake is not None:
                stack.enter_context(fake)
            stack.enter_context(mode)
            out = func(*args)
        return pytree.tree_map(tracer.standing_for, out)

    graph = dispatch_trace(recorded, tracer, tuple(pytree.tree_map(lambda _: PH, args)))
    if pre_dispatch:
        with_switches(graph.graph, tracer.switches, Switches.present())
        graph.recompile()
    if tracing_mode == "symbolic" and fake is not None:
        graph.shape_env = fake.shape_env
    return graph


def _fake_mode(args: Any, tracing_mode: str) -> FakeTensorMode:
    """Return the mode of the fake tensors among the arguments, or the one that is on, or a new one.

    ValueError for one without a ShapeEnv where sizes are to be symbols.
    """
    given = [t for t in tensors_of(pytree.tree_leaves(args)) if isinstance(t, FakeTensor)]
    on = next((m for m in overrides.state.dispatch_modes if isinstance(m, FakeTensorMode)), None)
    found = given[0].fake_mode if given else on
    symbolic = tracing_mode == "symbolic"
    if found is None:
        env = ShapeEnv() if symbolic else None
        if env is not None:
            env.reserve(
                sum(a.dim() if isinstance(a, Tensor) else 1 for a in pytree.tree_leaves(args))
            )
        return FakeTensorMode(allow_non_fake_inputs=True, shape_env=env)
    if symbolic and found.shape_env is None:
        raise ValueError(
            "make_fx(tracing_mode='symbolic') with fake tensors whose FakeTensorMode has no "
            "shape_env: make them by FakeTensorMode(shape_env=ShapeEnv())"
        )
    return found


def _faked(fake: FakeTensorMode, tracing_mode: str, value: Any) -> Any:
    """Return an argument as it is while it is traced: a fake tensor, or a symbolic number."""
    if isinstance(value, FakeTensor):
        return value
    if isinstance(value, Tensor):
        return fake.from_tensor(value)
    return (
        fake.shape_env.symbol_for(value)
        if (type(value) is int and tracing_mode == "symbolic")
        else value
    )


@contextlib.contextmanager
def decompose(decomposition_table: Any) -> Iterator[Any]:
    """Record the operators of the table as what they are made of, within a `with` block."""
    mode = get_proxy_mode()
    if mode is None:
        yield decomposition_table
        return
    before = mode.decomposition_table
    mode.decomposition_table = decomposition_table or {}
    try:
        yield mode.decomposition_table
    finally:
        mode.decomposition_table = before


def get_isolated_graphmodule(
    func: Callable[..., Any],
    args: Any,
    kwargs: Any,
    tracing_mode: str = "real",
    decomposition_table: Any = None,
) -> GraphModule:
    """Record the graph of one call, outside of a running recording."""
    flat, spec = pytree.tree_flatten((args, kwargs))

    def call(*flat: Any) -> Any:
        given, named = pytree.tree_unflatten(list(flat), spec)
        return func(*given, **named)

    with disable_proxy_modes_tracing():
        return make_fx(call, decomposition_table, tracing_mode)(*flat)
