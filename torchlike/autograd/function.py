"""``autograd.Function``: a user's own forward and backward, one node in the graph."""

from __future__ import annotations

import functools
import inspect
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp

from torchlike._core import dtypes, errors, modes, tape
from torchlike._core.dispatch.inplace import assign
from torchlike._core.dispatch.record import snapshot, unwritten
from torchlike._core.tape import Edge, Node, gradient_edge, saving
from torchlike.autograd import inference_tensors, new_nodes, saved, saved_tensor
from torchlike.autograd.custom_transforms import level_of, run_at
from torchlike.tensor import Tensor, wrap


class FunctionCtx:
    """What ``forward`` leaves for ``backward``."""

    def __init__(self) -> None:
        self.needs_input_grad: tuple[Any, ...] = ()
        self._to_save: tuple[Any, ...] = ()
        #: What was saved for `jvp`; None where that uses what was saved for backward.
        self._to_push: tuple[Any, ...] | None = None
        self._saved: list[Any] | None = None
        self._dirty: tuple[Tensor, ...] = ()
        self._non_differentiable: frozenset[int] = frozenset()
        self._materialize = True
        #: For each output, the dtype in which backward gets its gradient; None: all in their own.
        self._grad_dtypes: tuple[Any, ...] | None = None
        #: Whether backward gets zeros for outputs marked as not differentiable, too.
        self._materialize_non_diff_grads = True
        #: What was saved, once there is a node: shared with it, which holds this object.
        self._kept: _SavedTensors | None = None
        #: What is freed with the saved tensors: anything with a method ``release``.
        self._freed: Any = None
        #: On duals: what was saved one level down, and pairs of tensors there and here.
        self._below: Any = None
        #: Which arguments are tensors.
        self._is_tensor: tuple[bool, ...] = ()

    def _take(self, inner: FunctionCtx) -> None:
        """Take over what forward left in the ctx of the level below, with the tensors of this
        one."""
        saved, pairs = inner._below
        here = {id(below): t for below, t in pairs}
        ours = vars(FunctionCtx())
        vars(self).update({k: v for k, v in vars(inner).items() if k not in ours})
        self._to_save = tuple(here.get(id(t), t) for t in saved)
        self._dirty = tuple(here[id(t)] for t in inner._dirty)
        refused = inner._non_differentiable
        self._non_differentiable = frozenset(id(here[i]) for i in refused if i in here)
        self._materialize = inner._materialize
        self._grad_dtypes = inner._grad_dtypes

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors (or None) for backward, where ``ctx.saved_tensors`` gives them. Where the
        call is recorded, anything else is a TypeError."""
        self._to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors (or None) for ``jvp``, where ``ctx.saved_tensors`` gives them."""
        _check_savable("save_for_forward", tensors)
        self._to_push = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say which inputs ``forward`` changed in place; it must return them."""
        for i, t in enumerate(tensors):
            if not isinstance(t, Tensor):
                raise RuntimeError(
                    f"mark_dirty can only accept variables, but argument {i} is of type "
                    f"{type(t).__name__}"
                )
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say which outputs have no gradient."""
        for t in tensors:
            if not isinstance(t, Tensor):
                raise RuntimeError(
                    "mark_non_differentiable only accepts variable arguments, but got "
                    f"{type(t).__name__}"
                )
        self._non_differentiable = frozenset(id(t) for t in tensors)

    def set_materialize_grads(self, value: Any) -> None:
        """Set whether ``backward`` gets zeros (default) or None for outputs without gradient. (For
        outputs that are no tensors it always gets None.)"""
        self._materialize = value

    def set_output_grad_dtype(self, *dtypes: Any) -> None:
        """Say for each output in which dtype ``backward`` gets its gradient; None for an output
        whose gradient is given as it comes, or that has none.

        Differs from PyTorch: with None the gradient has the output's dtype as well, in which the
        operations after it give it. RuntimeError when called twice; from ``apply`` for another
        number of dtypes than of outputs, and for a dtype of an output without a gradient.
        """
        if self._grad_dtypes is not None:
            raise RuntimeError("set_output_grad_dtype can only be called once")
        self._grad_dtypes = dtypes

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors given to ``save_for_backward``."""
        return self._to_save if self._kept is None else self._kept.tensors()


def _check_grad_dtypes(declared: Sequence[Any], outputs: Sequence[Any], ctx: FunctionCtx) -> None:
    what = "set_output_grad_dtype"
    if len(declared) != len(outputs):
        raise RuntimeError(
            f"{what} expected the number of declarations to match the number of outputs: the "
            f"Function returned {len(outputs)} values but {len(declared)} declarations were "
            "provided"
        )
    for i, (d, o) in enumerate(zip(declared, outputs, strict=True)):
        if d is None:
            continue
        if not isinstance(d, dtypes.dtype):
            raise RuntimeError(
                f"{what} expects each declaration to be a torch.dtype or None, but got "
                f"{type(d).__name__}"
            )
        differentiable = (
            isinstance(o, Tensor)
            and id(o) not in ctx._non_differentiable
            and o.dtype.numpy in dtypes.DIFFERENTIABLE
        )
        if not differentiable:
            raise RuntimeError(
                f"{what}: got a concrete dtype for output {i}, but that output is not a "
                "differentiable tensor (it is a non-tensor, was marked non-differentiable, or has "
                f"a non-differentiable dtype). Pass None for output {i} instead."
            )
        if d.numpy not in dtypes.DIFFERENTIABLE:
            raise RuntimeError(
                f"{what}: gradients cannot be {d}: output {i} needs a floating dtype"
            )


def _check_savable(what: str, tensors: Sequence[Any]) -> None:
    for i, t in enumerate(tensors):
        if t is not None and not isinstance(t, Tensor):
            raise TypeError(
                f"{what} can only save variables, but argument {i} is of type {type(t).__name__}"
            )


class _SavedTensors:
    """What ``save_for_backward`` was given: of ``ctx`` and of the node, so that neither has to hold
    the other. (A cycle would keep all of it until Python looks for cycles.)"""

    __slots__ = ("node", "saved", "unpack", "watches")

    def __init__(self, node: FunctionNode) -> None:
        self.node = weakref.ref(node)
        #: [(array, edge or None, requires_grad, output number or -1)], None once they were freed.
        #: Under saved-tensor hooks, in the array's place what the pack hook made of it.
        self.saved: list[Any] | None = []
        self.unpack: Any = None
        self.watches: list[saved.VersionWatch] = []

    def tensors(self) -> tuple[Any, ...]:
        """Return the saved tensors again. RuntimeError once they were freed."""
        if self.saved is None:
            raise RuntimeError(errors.BACKWARD_TWICE)
        for watch in self.watches:
            watch.check()
        return tuple(None if s is None else self._unpack(*s) for s in self.saved)

    def _unpack(self, array: Any, edge: Edge | None, requires_grad: Any, output_nr: int) -> Tensor:
        if type(array) is saved.Hooked:
            array = array.tensor()._value_now()
        elif self.unpack is not None:
            array = saved.unpack(self.unpack, array)._value_now()
        leaf = unwritten(array, edge)
        if leaf is not None:
            return leaf
        t = wrap(array)
        t._requires_grad = requires_grad
        if output_nr >= 0:
            t._node, t._output_nr = self.node(), output_nr
        elif edge is not None and isinstance(edge[0], tape.AccumulateGrad):
            t._accumulator = edge[0].variable._accumulator
        elif edge is not None:
            t._node, t._output_nr = edge
        return t


class FunctionNode(Node):
    """The node of one application of a Function. What ``ctx`` has, it has as well, because in
    PyTorch the two are one object."""

    __slots__ = ("_kept", "avals", "ctx", "function", "wanted")
    is_completed_later = True

    def __init__(self, function: type, ctx: FunctionCtx, edges: list[Edge | None]) -> None:
        super().__init__(f"{function.__name__}Backward", edges)
        self.function = function
        self.ctx = ctx
        self._kept = _SavedTensors(self)
        #: Shapes and dtypes of the outputs, None for those that are no tensors.
        self.avals: list[Any] = []

    @property
    def n_outputs(self) -> int:  # type: ignore[override]
        return len(self.avals)

    def __getattr__(self, name: str) -> Any:
        if name in FunctionNode.__slots__:
            raise AttributeError(name)  # not set yet
        return getattr(self.ctx, name)

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors given to ``save_for_backward``. RuntimeError once they were freed."""
        return self._kept.tensors()

    @property
    def _raw_saved_tensors(self) -> tuple[saved_tensor.SavedTensor, ...]:
        """The same as they are kept, which take hooks of their own."""
        if self._kept.saved is None:
            raise RuntimeError(errors.BACKWARD_TWICE)
        places = range(len(self._kept.saved))
        return tuple(saved_tensor.of_function(self._kept, i) for i in places)

    def run(self, cotangents: list[Any]) -> Sequence[Any]:
        given = [None if c is None else wrap(c) for c in cotangents]
        return [None if g is None else g._value_now() for g in self.run_graph(given)]

    def run_graph(self, cotangents: list[Tensor | None]) -> list[Tensor | None]:
        if self.ctx._materialize:
            from_avals = zip(cotangents, self.avals, strict=True)
            cotangents = [
                _zeros(*aval) if c is None and aval is not None else c for c, aval in from_avals
            ]
        declared = self.ctx._grad_dtypes
        if declared is not None:
            pairs = zip(cotangents, declared, strict=True)
            cotangents = [c if c is None or d is None else c.to(d) for c, d in pairs]
        results = _backward_of(self.function)(self.ctx, *cotangents)
        if not isinstance(results, tuple):
            results = (results,)
        inputs = self.ctx.needs_input_grad
        if len(results) > len(inputs) and all(r is None for r in results[len(inputs) :]):
            results = results[: len(inputs)]
        if len(results) != len(inputs):
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected "
                f"{len(inputs)}, got {len(results)})"
            )
        for i, r in enumerate(results):
            if r is not None and not self.ctx._is_tensor[i]:
                raise RuntimeError(
                    f"function {self.name()} returned a gradient different than None at position "
                    f"{i + 1}, but the corresponding forward input was not a Variable"
                )
        return [self._checked(i, r) for i, r in enumerate(results) if i in self.wanted]

    def _checked(self, i: int, gradient: Any) -> Tensor | None:
        if gradient is None:
            return None
        if not isinstance(gradient, Tensor):
            raise RuntimeError(f"expected Variable or None (got {type(gradient).__name__})")
        shape, dtype = self.wanted[i]
        if gradient.shape != shape:
            if gradient.dim() < len(shape) or not _sums_to(gradient.shape, shape):
                raise RuntimeError(
                    f"Function {self.name()} returned an invalid gradient at index {i} - got "
                    f"{list(gradient.shape)} but expected shape compatible with {list(shape)}"
                )
            gradient = gradient.sum_to_size(shape)
        return gradient if gradient.dtype is dtype else gradient.to(dtype)

    def release(self) -> None:
        if self._kept.saved:  # with nothing saved it can run again, as in PyTorch
            self._kept.saved = self._kept.unpack = None
        if self.ctx._freed is not None:
            self.ctx._freed.release()

    def is_released(self) -> bool:
        return self._kept.saved is None


def _backward_of(function: Any) -> Callable[..., Any]:
    """Return ``backward``, or ``vjp`` as it may be called instead; raise RuntimeError when there
    are both."""
    if function.vjp is Function.vjp:
        return function.backward
    if function.backward is not Function.backward:
        raise RuntimeError(
            "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You "
            "should only implement one of them."
        )
    return function.vjp


def _sums_to(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    tail = shape[len(shape) - len(to) :]
    return all(b in (1, a) for a, b in zip(tail, to, strict=True))


def _zeros(shape: Any, dtype: Any) -> Tensor:
    return wrap(jnp.zeros(shape, dtype))


class Function:
    """Subclass with static ``forward(ctx, *args)`` and ``backward(ctx, *grads)``; call ``apply``.

    The newer style with ``forward(*args)`` and ``setup_context(ctx, inputs, output)`` works too.
    Inside ``forward`` ops are not recorded.

    Example:
      >>> class Double(torch.autograd.Function):
      ...     @staticmethod
      ...     def forward(ctx, x):
      ...         return 2 * x
      ...
      ...     @staticmethod
      ...     def backward(ctx, gradient):
      ...         return 2 * gradient
      >>> x = torch.ones(2, requires_grad=True)
      >>> Double.apply(x).sum().backward()
      >>> x.grad
      tensor([2., 2.])
    """

    _backward_cls: type[FunctionNode] = FunctionNode
    #: Overridden by the setup_context style.
    setup_context: Any = None
    #: Whether ``vmap`` may map forward and backward; both must consist of operators.
    generate_vmap_rule: bool = False
    #: Static methods for ``torch.func``: ``vmap(info, in_dims, *args) -> (output, out_dims)`` and
    #: ``jvp(ctx, *tangents)``.
    vmap: Any = None
    jvp: Any = None

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    vjp = backward

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._backward_cls = type(f"{cls.__name__}Backward", (FunctionNode,), {"__slots__": ()})

    def __new__(cls, *args: Any, **kwargs: Any) -> Function:
        warnings.warn(
            f"{cls} should not be instantiated. Methods on autograd functions are all static, so "
            "you should invoke them on the class itself: call `apply` of the class.",
            DeprecationWarning,
            stacklevel=2,
        )
        return super().__new__(cls)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use "
            "new-style autograd function with static forward method."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward and record one node. Keyword arguments are put in their places among the
        others. RuntimeError when a tensor marked dirty is not returned, or is a leaf."""
        if kwargs or cls.setup_context is not None:
            args = _positional(cls, args, kwargs)
        return cls._applied(args, FunctionCtx())

    @classmethod
    def _applied(cls, args: Sequence[Any], ctx: FunctionCtx, pushes: bool = False) -> Any:
        """Run `apply` with a given ctx, which keeps what was saved if a jvp is still to read it."""
        ctx._is_tensor = tuple([isinstance(a, Tensor) for a in args])
        # forward may set any attribute; user code reads it as an instance of its own class.
        ctx.needs_input_grad = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
        recording = modes.current.grad_enabled and any(ctx.needs_input_grad)
        edges = {
            i: gradient_edge(a) for i, a in enumerate(args) if recording and ctx.needs_input_grad[i]
        }
        previous = modes.current.grad_enabled
        level = level_of(args)
        if level is not None:  # inside vmap or jvp: recorded there as well, so with grad mode on
            inner = FunctionCtx()
            output = run_at(level, Function, cls, args, inner)
            if cls.setup_context is None:
                ctx._take(inner)
        modes.current.grad_enabled = False
        try:
            if level is not None:
                if cls.setup_context is not None:
                    cls.setup_context(ctx, args, output)
            elif cls.setup_context is not None:
                output = cls.forward(*args)
                cls.setup_context(ctx, args, output)
            else:
                output = cls.forward(ctx, *args)
        finally:
            modes.current.grad_enabled = previous
        outputs = output if isinstance(output, tuple) else (output,)
        if ctx._grad_dtypes is not None:
            _check_grad_dtypes(ctx._grad_dtypes, outputs, ctx)
        if not all(any(d is o for o in outputs) for d in ctx._dirty):
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as "
                "output. The inputs that are modified inplace must all be outputs of the Function."
            )
        if ctx._dirty and not all(any(d is a for a in args) for d in ctx._dirty):
            warnings.warn(errors.DIRTY_IS_NO_INPUT, UserWarning, stacklevel=3)
        if not recording:
            made = tuple(_apart(o, args, ctx) for o in outputs)
            return made if isinstance(output, tuple) else made[0]
        for t in ctx._dirty:
            if t.requires_grad and t.is_leaf:
                raise RuntimeError(
                    "a leaf Variable that requires grad has been used in an in-place operation."
                )
            tape.check_in_place(t, True)
        _check_savable("save_for_backward", ctx._to_save)
        inference_tensors.refuse_all(ctx._to_save)
        node = cls._backward_cls(cls, ctx, list(edges.values()))
        node.wanted = {i: (args[i].shape, args[i].dtype) for i in edges}
        several = sum(isinstance(o, Tensor) for o in outputs) > 1
        made = tuple(_joined(o, i, node, args, ctx, several) for i, o in enumerate(outputs))
        absent = frozenset() if ctx._materialize_non_diff_grads else ctx._non_differentiable
        node.avals = [
            (o.shape, o.dtype.numpy) if isinstance(o, Tensor) and id(o) not in absent else None
            for o in outputs
        ]
        position = {id(o): i for i, o in enumerate(outputs)}
        kept: Any = Tensor._read
        if saving.hooks:
            node._kept.unpack, kept = saving.hooks[-1][1], lambda t: saved.pack(snapshot(t))
        elif saving.strict:
            node._kept.watches = [saved.VersionWatch(t) for t in ctx._to_save if t is not None]
        node._kept.saved = [
            None if t is None else (kept(t), *_place(t, args, edges, node), position.get(id(t), -1))
            for t in ctx._to_save
        ]
        if not pushes:
            ctx._to_save, ctx._to_push = (), None
        ctx._kept = node._kept
        new_nodes.tell(node)
        return made if isinstance(output, tuple) else made[0]


def _place(
    t: Tensor, args: Sequence[Any], edges: dict[int, Edge | None], node: FunctionNode
) -> tuple[Any, Any]:
    """Return the edge and requires_grad of a saved tensor: an input keeps the edge it came in with;
    the node's own outputs have none, which would be a cycle."""
    for i, a in enumerate(args):
        if a is t:
            return edges.get(i), t.requires_grad
    edge = gradient_edge(t)
    return None if edge is not None and edge[0] is node else edge, t.requires_grad


def _positional(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Return all arguments of forward by position; with a setup_context, which is shown all inputs,
    also those that have their default. TypeError for a keyword-only one."""
    with_ctx = function.setup_context is None
    bound = inspect.signature(function.forward).bind(
        *((None,) if with_ctx else ()), *args, **kwargs
    )
    if not with_ctx:
        bound.apply_defaults()
    if bound.kwargs:
        raise TypeError(
            f"forward() got an unexpected keyword argument '{next(iter(bound.kwargs))}'"
        )
    return bound.args[1:] if with_ctx else bound.args


def _apart(output: Any, args: Sequence[Any], ctx: FunctionCtx) -> Any:
    """Return an output without gradient, as another tensor where it is an input that is returned as
    it is."""
    if not isinstance(output, Tensor) or any(d is output for d in ctx._dirty):
        return output
    return output._alias() if any(a is output for a in args) else output


def _joined(
    output: Any, i: int, node: FunctionNode, args: Sequence[Any], ctx: FunctionCtx, several: bool
) -> Any:
    """Give an output of forward its place in the graph, and return it."""
    if not isinstance(output, Tensor):
        return output
    if id(output) in ctx._non_differentiable or output.dtype.category < 2:
        return _apart(output, args, ctx)
    is_input = any(a is output for a in args)
    if is_input and any(d is output for d in ctx._dirty):
        marked = wrap(output._value_now())
        marked._node, marked._output_nr, marked._requires_grad = node, i, True
        assign(output, marked)
        return output
    # What forward made stays the object that it is, for ctx may have it: saved, or in an attribute.
    result = output._alias() if is_input else output
    base = output if is_input and output._base is None else output._base
    if base is not None:
        if base.requires_grad:
            # Where the output is written to, PyTorch's graph would lead past this backward.
            result._base, result._history = base, base._history
            result._made_by = node.name() if several else tape.CUSTOM_FUNCTION + node.name()
        else:
            result._base = None
    result._node, result._output_nr, result._requires_grad = node, i, True
    return result


class InplaceFunction(Function):
    """A Function that notes whether it is to work in place; ``mark_dirty`` is what says so."""

    def __init__(self, inplace: bool = False) -> None:
        self.inplace = inplace


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Say that a Function's backward cannot itself be differentiated."""

    @functools.wraps(backward)
    def without_graph(ctx: Any, *grads: Any) -> Any:
        previous = modes.current.grad_enabled
        modes.current.grad_enabled = False
        try:
            results = backward(ctx, *grads)
        finally:
            modes.current.grad_enabled = previous
        if not (previous and any(isinstance(g, Tensor) and g.requires_grad for g in grads)):
            return results
        many = results if isinstance(results, tuple) else (results,)
        refused = tuple(_refusing(r, grads) if isinstance(r, Tensor) else r for r in many)
        return refused if isinstance(results, tuple) else refused[0]

    return without_graph


class _RefuseNode(Node):
    """The node behind a gradient that has no gradient of its own."""

    __slots__ = ()

    def run(self, cotangents: list[Any]) -> Sequence[Any]:
        raise RuntimeError(
            "trying to differentiate twice a function that was marked with @once_differentiable"
        )

    run_graph = run


def _refusing(result: Tensor, grads: Sequence[Any]) -> Tensor:
    edges = [gradient_edge(g) for g in grads if isinstance(g, Tensor)]
    t = result._alias()
    t._node, t._requires_grad = _RefuseNode("DelayedErrorBackward0", edges), True
    return t
