"""Graphs without writes: a mode that records, in the place of each write, the new value.

A tensor that is written stands for its new value from then on. What shares its memory does, too:
the base of a view is put together anew (``slice_scatter`` and kin), and a view of something that
was written is taken of it again where it is next used.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from torchlike._core import overrides
from torchlike._extensions.overrides import protocol
from torchlike.fx.experimental.proxy_tensor import ProxyTorchDispatchMode, PythonKeyTracer
from torchlike.fx.node import Argument
from torchlike.fx.proxy import Proxy
from torchlike.ops._aten import schemas
from torchlike.ops._aten.handlers import tensors_of
from torchlike.ops._aten.packets import aten
from torchlike.tensor import Tensor
from torchlike.utils import _pytree as pytree


class _View(NamedTuple):
    """How a tensor is a view: what it was taken of, and by which operator; ``part`` is which of its
    results, None for its only one."""

    source: Tensor
    overload: Any
    args: Any
    kwargs: dict[str, Any]
    part: int | None


class FunctionalMode(ProxyTorchDispatchMode):
    """Makes a node of each operator, and of a write the operator that gives the new value.

    Memory is known by its storage, which counts its writes; a view that has seen fewer is taken
    again where it is next used.

    Args:
      copies_views: whether operators that give views are recorded as those that copy
        (``view_copy``), as far as there are such.

    NotImplementedError for a write that no operator of aten's gives the new value of.
    """

    def __init__(
        self,
        tracer: PythonKeyTracer,
        tracing_mode: str = "real",
        decomposition_table: Any = None,
        pre_dispatch: bool = False,
        copies_views: bool = False,
    ) -> None:
        super().__init__(tracer, tracing_mode, decomposition_table, pre_dispatch)
        self.copies_views = copies_views
        self.views: dict[int, _View] = {}
        #: Writes to memory so far, and how many of them what stands for a tensor has seen.
        self._writes: dict[int, int] = {}
        self._seen: dict[int, int] = {}
        #: What stood for tensors before the first write to them.
        self._before: dict[int, Proxy] = {}
        #: What is known by its id must not go, or another takes the id.
        self._kept: list[Any] = []

    def standing_for(self, value: Any) -> Argument:
        """Return the node that stands for an argument: a view of memory that was written since is
        taken again."""
        if isinstance(value, Tensor) and self.tracer.tracked_proxy(value) is not None:
            now = self._writes.get(id(value._storage), 0)
            if self._seen.get(id(value), 0) != now:
                view = self.views[id(value)]
                made = self._recorded(view.overload, (view.source, *view.args), view.kwargs)
                self._track_now(value, made if view.part is None else made[view.part])
        return self.tracer.standing_for(value)

    def written(self, value: Tensor) -> bool:
        """Return whether a tensor's memory has been written since the mode began."""
        return self._writes.get(id(value._storage), 0) > 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> overrides.Result:
        kwargs = kwargs or {}
        if func is aten.native_batch_norm.default:
            func, args = _batch_norm(args)
        if self.decomposition_table.get(func) is not None or not func._schema.is_mutable:
            result = super().__torch_dispatch__(func, types, args, kwargs)
            self._note_results(func, args, kwargs, result)
            return result
        return self._write_by(func, args, kwargs)

    def recorded_as(self, func: Any) -> Any:
        """Return the operator that is recorded for another."""
        if not (self.copies_views and func.is_view):
            return super().recorded_as(func)
        packet = getattr(aten, f"{func.operator.name}_copy", None)
        return getattr(packet, func._overloadname, func) if packet is not None else func

    def _note_results(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        several = isinstance(result, (tuple, list))
        made = tensors_of(result if several else (result,))
        for o in made:
            self._seen[id(o)] = self._writes.get(id(o._storage), 0)
        self._kept += made
        if not func.is_view or not args or not isinstance(args[0], Tensor):
            return
        for i, o in enumerate(made):
            if o is not args[0] and o._storage is args[0]._storage:
                view = _View(args[0], func, tuple(args[1:]), dict(kwargs), i if several else None)
                self.views.setdefault(id(o), view)

    def _write_by(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Record the new value, and write for the sake of the trace."""
        if func is aten.detach_.default:  # of history, which graphs below autograd do not have
            self._track_now(args[0], self._recorded(aten.detach.default, args, {}))
            return args[0]
        twin, places = _functional(func)
        targets = [args[i] if isinstance(i, int) else kwargs[i] for i in places]
        given = {k: v for k, v in kwargs.items() if k not in places}
        proxy = self._recorded(twin, _filled(func, twin, args, given), given)
        result = func(*args, **kwargs)
        single = len(twin._schema.returns) == 1
        made = len(twin._schema.returns) - len(targets)
        if func._schema.returns and not single:
            for i, o in enumerate(tensors_of((result,))):
                if all(o is not t for t in targets):
                    self._track_now(o, proxy[i])
        for i, target in enumerate(targets):
            self._write(target, proxy if single else proxy[i + made])
        return result

    def _write(self, value: Tensor, proxy: Proxy) -> None:
        """Record the proxy of what a tensor's memory holds after a write to the tensor."""
        view = self.views.get(id(value))
        if view is None:
            standing = self.tracer.tracked_proxy(value)
            if standing is not None:
                self._before.setdefault(id(value), standing[0])
            self._writes[id(value._storage)] = self._writes.get(id(value._storage), 0) + 1
            self._kept.append(value)
        else:
            # What the view's source is after the write: recorded before the write counts.
            self._write(view.source, _put_back(self, view, proxy))
        self._track_now(value, proxy)

    def _track_now(self, value: Tensor, proxy: Proxy) -> None:
        self.tracer.track(value, proxy)
        self._seen[id(value)] = self._writes.get(id(value._storage), 0)
        self._kept.append(value)

    def _recorded(self, overload: Any, args: Any, kwargs: Any) -> Any:
        standing = pytree.tree_map(self.standing_for, (args, kwargs))
        recorded = self.recorded_as(overload)
        name = recorded.overloadpacket.__name__
        return self.tracer.create_proxy("call_function", recorded, *standing, name=name)

    def write_back(self, values: Sequence[Tensor]) -> None:
        """Record that tensors from outside get their new values."""
        for value in values:
            before = self._before.get(id(value))
            if before is None:
                continue
            new = self.tracer.standing_for(value)
            operator = aten.copy_.default
            made = self.tracer.create_proxy("call_function", operator, (before, new), {})
            self.tracer.track(value, made)

    def end(self) -> None:
        """Take all views again whose memory was written: what comes after knows nothing of the
        writes."""
        for value in self._kept:
            self.standing_for(value)


@contextlib.contextmanager
def functionalized(mode: ProxyTorchDispatchMode, views: bool) -> Iterator[FunctionalMode]:
    """Record new values in the place of writes, within a `with` block."""
    made = FunctionalMode(
        mode.tracer, mode.tracing_mode, mode.decomposition_table, mode.pre_dispatch, views
    )
    protocol.pop_dispatch()
    protocol.push_dispatch(made)
    try:
        yield made
        made.end()
    finally:
        protocol.pop_dispatch()
        protocol.push_dispatch(mode)


def _batch_norm(args: Any) -> tuple[Any, Any]:
    """Return the batch norm operator that says whether it writes its running statistics, and its
    arguments."""
    *first, training, momentum, eps = args
    if first[3] is None:
        return aten._native_batch_norm_legit.no_stats, (*first[:3], training, momentum, eps)
    if training:
        return aten._native_batch_norm_legit.default, args
    return aten._native_batch_norm_legit_no_training.default, (*first, momentum, eps)


#: Writes whose new value an operator of another name or overload gives.
_OTHER_TWINS = {
    aten.bernoulli_.float: aten.bernoulli.p,
    aten.normal_.default: aten.normal_functional.default,
}


@functools.cache
def _functional(func: Any) -> tuple[Any, tuple[int | str, ...]]:
    """Return the operator that gives the new values of what another writes, and the arguments that
    are written: its last results, in order."""
    if func is aten._native_batch_norm_legit.default:
        return aten._native_batch_norm_legit_functional.default, (3, 4)
    if func in _OTHER_TWINS:
        return _OTHER_TWINS[func], (0,)
    name, overload = func.operator.name, func._overloadname
    into = [a.name for a in func._schema.arguments if a.is_written and a.keyword_only]
    packet = getattr(aten, name.removesuffix("_"), None) if not into else getattr(aten, name)
    wanted = overload if not into else _without_out(name, overload)
    twin = getattr(packet, wanted, None) if packet is not None else None
    if twin is None or twin._schema.is_mutable:
        raise NotImplementedError(
            f"{func} in a graph without writes: no operator gives the new value"
        )
    return twin, tuple(into) or (0,)


def _filled(func: Any, twin: Any, args: Any, kwargs: Any) -> tuple[Any, ...]:
    """Return a write's positional arguments, filled with its defaults where the other operator has
    none: ``bernoulli_(x)`` is ``bernoulli.p(x, 0.5)``."""
    defaults = {a.name: a.default for a in func._schema.arguments if not a.required}
    rest = [a for a in twin._schema.arguments if not a.keyword_only][len(args) :]
    more: list[Any] = []
    for argument in rest:
        if not argument.required or argument.name in kwargs or argument.name not in defaults:
            break
        more.append(defaults[argument.name])
    return (*args, *more)


def _without_out(name: str, overload: str) -> str:
    """Return the overload whose results another writes into ``out``."""
    lines = schemas.overloads_of(name).values()
    return next((line.overload for line, _ in lines if line.out == overload), "") or "default"


# -- what a view is put back into ------------------------------------------------------------------

_BACK: dict[str, Callable[..., tuple[Any, tuple[Any, ...]]]] = {
    "select.int": lambda base, dim, index: (aten.select_scatter.default, (dim, index)),
    "slice.Tensor": lambda base, dim=0, start=None, end=None, step=1: (
        aten.slice_scatter.default,
        (dim, start, end, step),
    ),
    "diagonal.default": lambda base, offset=0, dim1=0, dim2=1: (
        aten.diagonal_scatter.default,
        (offset, dim1, dim2),
    ),
}


def _put_back(mode: FunctionalMode, view: _View, new: Proxy) -> Proxy:
    """Return the value of a view's source once the view has a new one."""
    base = view.source
    name = f"{view.overload.operator.name}.{view.overload._overloadname}"
    rule = _BACK.get(name)
    if rule is not None:
        overload, rest = rule(base, *view.args, **view.kwargs)
        return mode._recorded(overload, (base, new, *rest), {})
    size = list(base.shape)
    if name in (
        "view.default",
        "_unsafe_view.default",
        "squeeze.default",
        "squeeze.dim",
        "squeeze.dims",
        "unsqueeze.default",
        "reshape.default",
        "alias.default",
        "detach.default",
        "flatten.using_ints",
    ):
        return mode._recorded(aten.view.default, (new, size), {})
    if name in ("t.default", "numpy_T.default") and base.dim() <= 2:
        return mode._recorded(aten.t.default, (new,), {})
    if name == "transpose.int":
        return mode._recorded(aten.transpose.int, (new, *view.args), {})
    if name == "permute.default":
        order = [d % base.dim() for d in view.args[0]]
        back = [order.index(d) for d in range(base.dim())]
        return mode._recorded(aten.permute.default, (new, back), {})
    if name in ("split.Tensor", "unbind.int", "split_with_sizes.default", "chunk.default"):
        return _put_back_part(mode, view, new, name)
    raise NotImplementedError(
        f"a write through {view.overload} in a graph without writes: write to a copy"
    )


def _put_back_part(mode: FunctionalMode, view: _View, new: Proxy, name: str) -> Proxy:
    """Return the value of a source of which the view is one of several parts."""
    base, part = view.source, view.part
    assert part is not None
    dim = view.kwargs.get("dim", 0)
    if name == "unbind.int":
        dim = view.args[0] if view.args else dim
        return mode._recorded(aten.select_scatter.default, (base, new, dim, part), {})
    dim = view.args[1] if len(view.args) > 1 else dim
    n = base.shape[dim]
    if name == "split_with_sizes.default":
        sizes = list(view.args[0])
        start, end = sum(sizes[:part]), sum(sizes[: part + 1])
    else:
        width = view.args[0]
        width = (n + width - 1) // width if name == "chunk.default" else width
        start, end = part * width, min((part + 1) * width, n)
    return mode._recorded(aten.slice_scatter.default, (base, new, dim, start, end), {})
