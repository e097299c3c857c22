"""``grad``, ``grad_and_value``, ``vjp``, ``jacrev``: reverse mode, on the tape.

Each transform makes variables of its own for what it differentiates, so that nested ones do not
mix. What they compute is recorded (create_graph) only where something else than those variables is
behind it: an outer transform's variable, or a tensor that requires grad.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from torchlike._core import modes, overrides
from torchlike._core.tape import VARIABLE, AccumulateGrad, gradient_edge
from torchlike._extensions import boxes
from torchlike._extensions.overrides import protocol
from torchlike._functorch.apis import vmap
from torchlike._ops.shape.joining import stack
from torchlike._runtime import trees
from torchlike.autograd.backward import gradients
from torchlike.autograd.conditional_grad import array_of
from torchlike.autograd.grad_mode import enable_grad
from torchlike.tensor import Tensor, wrap


def variable(x: Any, name: str) -> Tensor:
    """Return a new variable with the value of ``x``, connected to what ``x`` itself depends on.

    ValueError when ``x`` is no tensor, RuntimeError when it is not floating.
    """
    if not isinstance(x, Tensor):
        raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
    if x.dtype.category < 2:
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    levels = modes.current.levels
    if levels:
        cell = x._read()
        if type(cell) not in boxes.BOXES or cell.level is not levels[-1]:
            return wrap(levels[-1].lift(x)).requires_grad_()
    if x.requires_grad and modes.current.grad_enabled:
        connected = x.clone()
        connected._made_by = VARIABLE
        return connected
    return _without_history(x).requires_grad_()


def _without_history(t: Tensor) -> Tensor:
    """Return another tensor with this one's value; an operator makes it where operators are handled
    (``make_fx`` knows tensors by what made them)."""
    if overrides.dispatch is not None and (
        overrides.state.dispatch_modes or protocol.dispatches(type(t))
    ):
        return t.detach()  # type: ignore[attr-defined]
    return wrap(t._read())


@contextlib.contextmanager
def differentiating(leaves: Sequence[Tensor], variables: Sequence[Tensor]) -> Iterator[None]:
    """Run the function of a reverse-mode transform in a `with` block. What it wrote to its
    variables (without recording, or it is an error) is written to the caller's tensors at the
    end."""
    versions = [v._storage.version for v in variables]
    boxes.reverse.running += 1
    try:
        with enable_grad():
            yield
    finally:
        boxes.reverse.running -= 1
    for x, v, version in zip(leaves, variables, versions, strict=True):
        if v._storage.version != version:
            with modes.unrecorded():
                x.copy_(v)


def plain_leaves(given: Any) -> list[Tensor]:
    """Return the tensors among arguments that own their memory and do not require grad."""
    return [
        t
        for t in trees.leaves(given)
        if isinstance(t, Tensor) and t._base is None and t._node is None and not t._requires_grad
    ]


def unattached(output: Any, beside: Sequence[Tensor], variables: Sequence[Tensor]) -> Any:
    """Detach the arguments ``beside`` from the variables that a function wrote into them, and
    return the function's output: they hold the values alone, unless they depend on something
    else as well. Where one of them is among the output, a tensor with its history is there in
    its place."""
    attached = {}
    for t in beside:
        if t._node is not None and not depends_elsewhere([t], variables):
            attached[id(t)] = t, t._alias()
    if not attached:
        return output
    for o in trees.leaves(output):
        if isinstance(o, Tensor):
            o._present_node()  # a view finds its history through its base, while that has it
    for t, same in attached.values():
        same._node, same._output_nr, same._requires_grad = t._node, t._output_nr, True
        t._node, t._output_nr, t._requires_grad = None, 0, False
    return trees.tree_map(lambda o: attached[id(o)][1] if id(o) in attached else o, output)


def depends_elsewhere(tensors: Sequence[Any], variables: Sequence[Tensor]) -> bool:
    """Return whether the graph behind tensors leads to anything else than these variables."""
    ends = {edge[0] for edge in map(gradient_edge, variables) if edge is not None}
    behind = {v.grad_fn for v in variables if v.grad_fn is not None}
    if behind:
        return True  # a variable that itself depends on something
    stack = [e[0] for t in tensors if isinstance(t, Tensor) and (e := gradient_edge(t)) is not None]
    seen = set(stack)
    while stack:
        node = stack.pop()
        if node in ends:
            continue
        if isinstance(node, AccumulateGrad):
            return True
        for edge in node.edges:
            if edge is not None and edge[0] not in seen:
                seen.add(edge[0])
                stack.append(edge[0])
    return False


def outside(t: Any, connected: bool) -> Any:
    """Return a result as the caller sees it: without its graph, unless that leads further."""
    if not isinstance(t, Tensor) or connected or not t.requires_grad:
        return t
    return _without_history(t)


def _wanted_below(tensors: Sequence[Any]) -> bool:
    """Return whether a tensor inside a box requires grad, on the tape of a level below."""
    stack = list(tensors)
    while stack:
        t = stack.pop()
        cell = t._storage.cell if isinstance(t, Tensor) else None
        if not isinstance(cell, (boxes.Batched, boxes.Dual)):
            continue
        inside = [cell.value] if isinstance(cell, boxes.Batched) else [cell.value, cell.tangent]
        if any(isinstance(i, Tensor) and i.requires_grad for i in inside):
            return True
        stack += inside
    return False


def _cotangent_gradients(
    outputs: Sequence[Tensor],
    variables: Sequence[Tensor],
    cotangents: Any,
    recorded: bool,
    retain_graph: Any,
    enabled: bool,
) -> list[Tensor]:
    """Compute the gradients of the variables, zeros for those that were not used. ``enabled``:
    whether the caller of the transform records."""
    wanted = [
        (o, None if cotangents is None else cotangents[i])
        for i, o in enumerate(outputs)
        if o.requires_grad
    ]
    if not wanted:
        return [v.detach().new_zeros(v.shape) for v in variables]
    # What is inside a box may be wanted on the tape of its level where this one is not. But not
    # always: recorded below, the variables themselves would be wanted there, and `outside`
    # takes off the top alone.
    as_tensors = recorded or (
        enabled and _wanted_below([*outputs, *variables, *(cotangents or ())])
    )
    found = gradients(
        [o for o, _ in wanted],
        variables,
        None if cotangents is None else [c for _, c in wanted],
        retain_graph,
        as_tensors,
    )
    return [
        v.detach().new_zeros(v.shape)
        if g is None
        else outside(g if isinstance(g, Tensor) else wrap(array_of(g)), recorded)
        for v, g in zip(variables, found, strict=True)
    ]


def chosen(args: Sequence[Any], argnums: Any) -> Any:
    """Return the arguments at ``argnums``: one, or a tuple. Raises RuntimeError when there is no
    such."""
    if isinstance(argnums, int):
        return args[_checked(argnums, len(args))]
    if not isinstance(argnums, tuple):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if not argnums:
        raise RuntimeError("argnums must be non-empty")
    places = [_checked(i, len(args)) for i in argnums]
    if len(set(places)) != len(places):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return tuple(args[i] for i in places)


def _checked(i: Any, n: int) -> int:
    if not isinstance(i, int):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(i)}")
    if not -n <= i < n:
        raise RuntimeError(f"Got argnum={i}, but only {n} positional inputs")
    return i % n


def replaced(args: Sequence[Any], argnums: Any, values: Any) -> list[Any]:
    """Return the arguments with those at ``argnums`` exchanged."""
    changed = list(args)
    pairs = [(argnums, values)] if isinstance(argnums, int) else zip(argnums, values, strict=True)
    for i, value in pairs:
        changed[i] = value
    return changed


def split_aux(output: Any, has_aux: Any, what: str) -> tuple[Any, Any]:
    """Return ``(output, aux)`` of a function that gives both, and (output, None) of others.
    RuntimeError for what is no tensor in ``aux``."""
    if not has_aux:
        return output, None
    if not (isinstance(output, tuple) and len(output) == 2):
        raise RuntimeError(
            f"{what}: output of function f should be a tuple: (output, aux) if has_aux is True"
        )
    for leaf in trees.leaves(output[1]):
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(leaf)}")
    return output


def output_leaves(output: Any, what: str) -> tuple[list[Any], Any]:
    """Return the tensors a function gave, and their structure. Raises RuntimeError where there are
    none, or something else among them."""
    outputs, structure = trees.flatten(output)
    if all(o is None for o in outputs):
        raise RuntimeError(
            f"{what}: Expected f to be a function that has non-empty output (got output = "
            f"{outputs})"
        )
    for o in outputs:
        if not isinstance(o, Tensor):
            raise RuntimeError(
                f"{what}: expected f(*primals) to return only tensors, got unsupported type "
                f"{type(o)}"
            )
    return outputs, structure


def check_real(tensors: Sequence[Any], name: str, what: str) -> None:
    """Raise RuntimeError for complex tensors, whose Jacobians are not one matrix of numbers."""
    for i, t in enumerate(tensors):
        if isinstance(t, Tensor) and t.is_complex():
            raise RuntimeError(
                f"{name}: Expected all {what}s to be real but received complex tensor at flattened "
                f"input idx: {i}"
            )


def grad_and_value(
    func: Callable[..., Any], argnums: Any = 0, has_aux: Any = False
) -> Callable[..., Any]:
    """Return a function that gives ``(gradient, value)`` of a scalar function of tensors.

    Args:
      func: gives a 0-dim (one-element) tensor, or ``(that, aux)`` with ``has_aux``.
      argnums: which argument, or tuple of arguments, the gradient is of; each may be a tree.

    With ``has_aux`` the result is ``(gradient, (value, aux))``. RuntimeError when func does not
    give a scalar tensor.
    """
    what = "grad_and_value(f)(*args)"

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
        leaves, structure = trees.flatten(chosen(args, argnums))
        variables = [variable(x, what) for x in leaves]
        previous = modes.current.grad_enabled
        beside = plain_leaves((args, kwargs))
        with differentiating(leaves, variables):
            output = func(*replaced(args, argnums, trees.unflatten(structure, variables)), **kwargs)
        output = unattached(output, beside, variables)
        with enable_grad():
            output, aux = split_aux(output, has_aux, what)
            if not isinstance(output, Tensor):
                raise RuntimeError(
                    f"{what}: Expected f(*args) to return a Tensor, got {type(output)}"
                )
            if output.dim() != 0:
                raise RuntimeError(
                    f"{what}: Expected f(*args) to return a scalar Tensor, got tensor with "
                    f"{output.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
                )
            further = previous and depends_elsewhere([output], variables)
            gradients = _cotangent_gradients([output], variables, None, further, further, previous)
        result = trees.unflatten(structure, gradients)
        value = outside(output, further)
        if has_aux:
            seen = trees.leaves(aux)
            kept = previous and depends_elsewhere(seen, variables)
            return result, (value, trees.tree_map(lambda t: outside(t, kept), aux))
        return result, value

    return wrapped


def grad(func: Callable[..., Any], argnums: Any = 0, has_aux: Any = False) -> Callable[..., Any]:
    """Return a function that gives the gradient of a scalar function; see `grad_and_value`.

    With ``has_aux`` the result is ``(gradient, aux)``.

    Example:
      >>> torch.func.grad(lambda x: x**3)(torch.tensor(2.0))
      tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapped


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Return ``(output, vjp_fn)``, or ``(output, vjp_fn, aux)``: ``vjp_fn(cotangents)`` gives a
    tuple with the gradient of each primal, also of a single one.

    RuntimeError when func gives something else than tensors, ValueError for primals that are no
    tensors.
    """
    return _pulled_back(func, primals, has_aux, [])


def _pulled_back(
    func: Callable[..., Any], primals: Any, has_aux: Any, beside: Sequence[Tensor]
) -> tuple[Any, ...]:
    """Compute what `vjp` returns; ``beside`` are plain tensors among the other arguments that func
    was given."""
    leaves, structure = trees.flatten(primals)
    previous = modes.current.grad_enabled
    with enable_grad():  # vjp_fn may be called where gradients are recorded
        variables = [variable(x, "vjp") for x in leaves]
    with differentiating(leaves, variables):
        output = func(*trees.unflatten(structure, variables))
    output = unattached(output, beside, variables)
    output, aux = split_aux(output, has_aux, "vjp(f, *primals)")
    outputs, out_structure = output_leaves(output, "vjp(f, *primals)")
    behind = depends_elsewhere(outputs, variables)

    def vjp_fn(
        cotangents: Any, retain_graph: Any = True, create_graph: Any = None
    ) -> tuple[Any, ...]:
        given, given_structure = trees.flatten(cotangents)
        if given_structure != out_structure:
            raise RuntimeError(
                f"Expected pytree structure of cotangents to be the same as pytree structure of "
                f"outputs to the function. cotangents: {trees.describe(given_structure)}, primal "
                f"output: {trees.describe(out_structure)}"
            )
        enabled = modes.current.grad_enabled if create_graph is None else create_graph
        recorded = enabled and (
            behind or any(isinstance(c, Tensor) and c.requires_grad for c in given)
        )
        with enable_grad():
            found = _cotangent_gradients(outputs, variables, given, recorded, retain_graph, enabled)
        return trees.unflatten(structure, found)

    seen = trees.tree_map(lambda t: outside(t, previous and behind), output)
    if has_aux:
        kept = previous and depends_elsewhere(trees.leaves(aux), variables)
        return seen, vjp_fn, trees.tree_map(lambda t: outside(t, kept), aux)
    return seen, vjp_fn


def basis(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return, for each of the tensors, the rows (of its shape) of the unit matrix of all their
    elements."""
    sizes = [t.numel() for t in tensors]
    total, made, start = sum(sizes), [], 0
    for t, n in zip(tensors, sizes, strict=True):
        block = t.detach().new_zeros((total, n))
        block.diagonal(-start).fill_(1)
        made.append(block.view(total, *t.shape))
        start += n
    return made


def jacrev(
    func: Callable[..., Any],
    argnums: Any = 0,
    *,
    has_aux: Any = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: Any = False,
) -> Callable[..., Any]:
    """Return a function that gives the Jacobian, row by row: ``vmap`` of `vjp` over unit
    cotangents.

    For an output of shape (*o) and an argument of shape (*i) it has shape (*o, *i); trees of
    outputs of trees of arguments. ``chunk_size`` bounds how many rows are computed at a time; with
    1 there is no vmap, so backward may do what that cannot.

    RuntimeError for complex arguments and outputs, ValueError for a chunk_size below 1.
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        selected = chosen(args, argnums)
        check_real(trees.leaves(selected), "jacrev", "input")

        def of_selected(values: Any) -> Any:
            return func(*replaced(args, argnums, values), **kwargs)

        found = _pulled_back(of_selected, (selected,), has_aux, plain_leaves((args, kwargs)))
        output, vjp_fn = found[:2]
        outputs, out_structure = trees.flatten(output)
        check_real(outputs, "jacrev", "output")
        inputs, in_structure = trees.flatten(selected)
        rows = trees.unflatten(out_structure, basis(outputs))
        if chunk_size == 1:
            columns = _one_by_one(vjp_fn, trees.leaves(rows), out_structure)
        else:
            columns = trees.leaves(vmap(vjp_fn, chunk_size=chunk_size)(rows))
        sizes = [o.numel() for o in outputs]
        jacobian = trees.unflatten(
            out_structure,
            [
                trees.unflatten(
                    in_structure,
                    [
                        part.reshape((*o.shape, *x.shape))
                        for part, x in zip(parts, inputs, strict=True)
                    ],
                )
                for o, parts in zip(
                    outputs, zip(*(c.split(sizes) for c in columns), strict=True), strict=True
                )
            ],
        )
        return (jacobian, found[2]) if has_aux else jacobian

    return wrapped


def _one_by_one(vjp_fn: Callable[..., Any], rows: list[Tensor], structure: Any) -> list[Tensor]:
    """Return the leaves of ``vmap(vjp_fn)`` of rows, computed by a loop; a row has the structure of
    an output."""
    each = zip(*(x.unbind(0) for x in rows), strict=True)
    pulled = [trees.leaves(vjp_fn(trees.unflatten(structure, list(row)))) for row in each]
    return [stack(list(column)) for column in zip(*pulled, strict=True)]
