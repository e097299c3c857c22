"""``jvp``, ``jacfwd``, ``hessian``, ``linearize``: forward mode, ``jax.jvp`` of each op."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from torchlike import autograd
from torchlike._core import modes
from torchlike._extensions.boxed import JvpLevel
from torchlike._extensions.boxes import Batched
from torchlike._functorch.apis import vmap
from torchlike._runtime import trees
from torchlike.autograd.forward_ad import make_level_dual, parts_at
from torchlike.autograd.grad_mode import enable_grad
from torchlike.func.gradients import (
    basis,
    check_real,
    chosen,
    depends_elsewhere,
    differentiating,
    jacrev,
    output_leaves,
    outside,
    replaced,
    split_aux,
    variable,
)
from torchlike.tensor import Tensor

_WHAT = "jvp(f, primals, tangents)"


def jvp(
    func: Callable[..., Any],
    primals: Any,
    tangents: Any,
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> tuple[Any, ...]:
    """Compute ``(output, derivative)`` of func at the primals along the tangents, trees of tensors
    alike; with ``has_aux`` ``(output, derivative, aux)``.

    RuntimeError when primals and tangents differ in structure or shape, when func gives something
    else than tensors, or (``strict``) when an output does not depend on the primals.
    """
    return _pushed(func, primals, tangents, strict, has_aux, _write)


def _write(i: int, x: Tensor, direction: Tensor, primal: Tensor, tangent: Tensor | None) -> None:
    """Write what func wrote to an argument to the caller's tensors."""
    with modes.unrecorded():
        x.copy_(primal)
        direction.zero_() if tangent is None else direction.copy_(tangent)


def _pushed(
    func: Callable[..., Any],
    primals: Any,
    tangents: Any,
    strict: bool,
    has_aux: Any,
    write: Callable[..., None],
) -> tuple[Any, ...]:
    """Compute what `jvp` returns, and call ``write(i, primal, tangent, new ones)`` for each
    argument that func wrote to."""
    for what, value in (("primals", primals), ("tangents", tangents)):
        if not isinstance(value, tuple):
            raise RuntimeError(
                f"{_WHAT}: Expected {what} to be a tuple. E.g. it should be valid to call "
                "f(*primals)."
            )
    values, structure = trees.flatten(primals)
    directions, other = trees.flatten(tangents)
    if structure != other:
        raise RuntimeError(
            f"{_WHAT}: Expected primals and tangents to have the same python structure. For "
            f"example, if primals is a tuple of 3 tensors, tangents also must be. Got primals with "
            f"structure {trees.describe(structure)} and tangents with structure "
            f"{trees.describe(other)}"
        )
    if not values:
        raise RuntimeError(f"{_WHAT}: Expected at least one Tensor in primals")
    for kind, given in (("primals", values), ("tangents", directions)):
        for x in given:
            if not isinstance(x, Tensor):
                raise RuntimeError(
                    f"{_WHAT}: Expected {kind} to only contain Tensors, got {type(x)}"
                )
    with JvpLevel() as level:
        duals = [make_level_dual(level, x, t) for x, t in zip(values, directions, strict=True)]
        output = func(*trees.unflatten(structure, duals))
        output, aux = split_aux(output, has_aux, _WHAT)
        outputs, out_structure = output_leaves(output, _WHAT)
        found = []
        for o in outputs:
            primal, tangent = parts_at(level, o)
            if tangent is None:
                if strict:
                    raise RuntimeError(
                        "The output of f is independent of the inputs. This is not allowed with "
                        "strict=True."
                    )
                tangent = primal.detach().new_zeros(primal.shape)
            found.append((primal, tangent))
        aux = trees.tree_map(lambda t: parts_at(level, t)[0] if isinstance(t, Tensor) else t, aux)
        written = {i: parts_at(level, d) for i, d in enumerate(duals) if d._storage.version}
    for i, (primal, tangent) in written.items():
        write(i, values[i], directions[i], primal, tangent)
    primal_out, tangent_out = (
        trees.unflatten(out_structure, [pair[i] for pair in found]) for i in (0, 1)
    )
    return (primal_out, tangent_out, aux) if has_aux else (primal_out, tangent_out)


def jacfwd(
    func: Callable[..., Any],
    argnums: Any = 0,
    has_aux: Any = False,
    *,
    randomness: str = "error",
) -> Callable[..., Any]:
    """Return a function that gives the Jacobian, column by column: ``vmap`` of `jvp` over unit
    tangents.

    Shapes as those of `jacrev`, which is the cheaper one for few outputs, this for few inputs.
    RuntimeError for complex arguments and outputs.
    """

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        selected = chosen(args, argnums)
        inputs, in_structure = trees.flatten(selected)
        check_real(inputs, "jacfwd", "input")

        def of_leaves(*values: Any) -> Any:
            given = trees.unflatten(in_structure, list(values))
            return func(*replaced(args, argnums, given), **kwargs)

        written: dict[int, Tensor] = {}

        def note(i: int, x: Tensor, direction: Tensor, primal: Tensor, tangent: Any) -> None:
            # Of all tangents alike: the primal depends on none.
            cell = primal._read()
            if isinstance(cell, Batched) and cell.level is modes.current.levels[-1]:
                primal = cell.value[0] if cell.batched else cell.value
            written[i] = primal

        beside: list[Any] = []  # the leaves of aux and their structure; vmap hands out tensors

        def push(*tangents: Any) -> tuple[Any, ...]:
            found = _pushed(of_leaves, tuple(inputs), tangents, False, has_aux, note)
            beside[:], structure = trees.flatten(found[2] if has_aux else ())
            tensors = [t for t in beside if isinstance(t, Tensor)]
            beside.append(structure)
            return found[1], tensors

        columns, tensors = vmap(push, randomness=randomness)(*basis(inputs))
        for i, primal in written.items():
            with modes.unrecorded():
                inputs[i].copy_(primal)
        leaves, out_structure = trees.flatten(columns)
        check_real(leaves, "jacfwd", "output")
        sizes = [x.numel() for x in inputs]
        jacobian = trees.unflatten(
            out_structure,
            [
                trees.unflatten(
                    in_structure,
                    [
                        part.movedim(0, -1).reshape((*part.shape[1:], *x.shape))
                        for part, x in zip(column.split(sizes), inputs, strict=True)
                    ],
                )
                for column in leaves
            ],
        )
        if has_aux:
            *aux, structure = beside
            found = iter(tensors)
            aux = [next(found)[0] if isinstance(t, Tensor) else t for t in aux]
            return jacobian, trees.unflatten(structure, aux)
        return jacobian

    return wrapped


def hessian(func: Callable[..., Any], argnums: Any = 0) -> Callable[..., Any]:
    """Return a function that gives the Hessian of a scalar function: `jacfwd` of `jacrev`."""
    return jacfwd(jacrev(func, argnums), argnums)


def _tangents_of(tangents: Any, primals: list[Any], structure: Any) -> list[Any]:
    """Return the leaves of tangents. RuntimeError unless they are like the primals."""
    given, given_structure = trees.flatten(tangents)
    if given_structure != structure:
        raise RuntimeError(
            f"Expected the tangents {trees.describe(given_structure)} to have the same argspec as "
            f"the primals {trees.describe(structure)}"
        )
    for i, (x, t) in enumerate(zip(primals, given, strict=True)):
        if not isinstance(t, Tensor):
            raise RuntimeError(f"tangent:{i} is no tensor, but {type(t)}")
        for what in ("shape", "dtype"):
            own, wanted = getattr(t, what), getattr(x, what)
            if own != wanted:
                raise RuntimeError(
                    f"tangent:{i} with {what} {own} in flattened pytree doesn't match the {what} "
                    f"{wanted} of the corresponding primal."
                )
    return given


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """Return ``(output, jvp_fn)``: ``jvp_fn`` is the derivative at the primals as a function of
    tangents, and does not run func again.

    It is the transpose of the transpose: the gradient of ``vjp(func)``, linear in its cotangents,
    with respect to those (Griewank, "Evaluating Derivatives", 2008, section 3.2).
    """
    leaves, structure = trees.flatten(primals)
    if not leaves:
        raise RuntimeError("linearize: Expected at least one Tensor in primals")
    variables = [variable(x, "linearize") for x in leaves]
    previous = modes.current.grad_enabled
    with differentiating(leaves, variables):
        output = func(*trees.unflatten(structure, variables))
    with enable_grad():
        outputs, out_structure = trees.flatten(output)
        for o in outputs:
            if not isinstance(o, Tensor):
                raise RuntimeError(
                    "linearize: expected f(*args) to return only tensors, got unsupported type "
                    f"{type(o)}"
                )
        further = previous and depends_elsewhere(outputs, variables)
        moving = [o for o in outputs if o.requires_grad]
        unknown = [variable(o.detach().new_zeros(o.shape), "linearize") for o in moving]
        pulled = (
            autograd.grad(moving, variables, unknown, create_graph=True, allow_unused=True)
            if moving
            else ()
        )

    def jvp_fn(*tangents: Any) -> Any:
        given = _tangents_of(tangents, leaves, structure)
        pairs = (
            [
                (p, t)
                for p, t in zip(pulled, given, strict=True)
                if p is not None and p.requires_grad
            ]
            if pulled
            else []
        )
        pushed: Any = [None] * len(unknown)
        if pairs:
            recorded = modes.current.grad_enabled and (
                further or any(t.requires_grad for t in given)
            )
            with enable_grad():
                pushed = autograd.grad(
                    [p for p, _ in pairs],
                    unknown,
                    [t for _, t in pairs],
                    retain_graph=True,
                    create_graph=recorded or bool(modes.current.levels),
                    allow_unused=True,
                )
                pushed = [None if g is None else outside(g, recorded) for g in pushed]
        found = iter(pushed)
        results = []
        for o in outputs:
            g = next(found) if o.requires_grad else None
            results.append(o.detach().new_zeros(o.shape) if g is None else g)
        return trees.unflatten(out_structure, results)

    return trees.tree_map(lambda t: outside(t, further), output), jvp_fn
