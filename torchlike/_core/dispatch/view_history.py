"""The history of views: the nodes that read them, and how a view finds its history again.

A view shares the history of its base. After an in-place op gave the base another one, each view of
it gets a new node when it is next asked: one read of the chain of steps from base to view.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from torchlike._core import errors, modes, tape, views
from torchlike._core.dispatch.executable import Executable
from torchlike._core.dispatch.record import OpNode
from torchlike.tensor import Tensor, add_method


def rejoin(view: Tensor) -> None:
    """Give a view its history again after its base got a new one through an in-place op.

    RuntimeError for the views that PyTorch forbids then: made under no_grad, or one of several.
    """
    base = view._base
    assert base is not None
    made_by = view._made_by
    if made_by and made_by != tape.VARIABLE and modes.current.grad_enabled and base.requires_grad:
        raise RuntimeError(tape.ambiguous_view(view, errors.BASE_MODIFIED))
    view._history = base._history
    old, old_nr = view._node, view._output_nr
    view._node, view._output_nr = _node_of_stale_view(base, view), 0
    if old is not None and old.retained and view._node is not None:
        tape.move_retained(old, old_nr, view._node)


add_method("_rejoin_history", rejoin)


def _node_of_stale_view(base: Tensor, view: Tensor) -> OpNode | None:
    """Make the node of a stale view: one read of the chain from its base (None without history)."""
    edge = tape.gradient_edge(base)
    if edge is None:
        return None
    steps, dynamic = relative_steps(base, view)
    return node_of_view(edge, base, steps, dynamic, "AsStridedBackward0")


def node_of_view(
    edge: tape.Edge | None, parent: Tensor, steps: views.Steps, dynamic: tuple[int, ...], name: str
) -> OpNode:
    """Make a node for reading ``steps`` on ``parent``; nothing is computed until backward."""
    exe = read_executable(steps, len(dynamic), name)
    geometry = parent._geometry
    return OpNode(exe, [edge], dynamic, ((geometry.size, parent.dtype.numpy),), None, 1)


def node_of_parts(
    edge: tape.Edge | None,
    parent: Tensor,
    lengths: tuple[int, ...],
    dim: int,
    whole: bool,
    name: str,
) -> OpNode:
    """Make one node for reading consecutive parts of ``parent``, an output for each."""
    exe = _parts_executable(lengths, dim, whole, name)
    aval = parent._geometry.size, parent.dtype.numpy
    return OpNode(exe, [edge], (), (aval,), None, len(lengths))


def relative_steps(base: Tensor, view: Tensor) -> tuple[views.Steps, tuple[int, ...]]:
    """Return the steps that lead from the base tensor to the view.

    The base may itself be a view of its storage (``detach()[0]``), and its geometry may have been
    changed in place since (``base.t_()``): what they have in common is skipped, the rest of the
    base's steps is undone first.
    """
    if base._storage is not view._storage:
        raise NotImplementedError(
            "the .data of this view or of its base was replaced, so that they no longer share "
            "memory: make the view again before writing to either"
        )
    of_view = view._view or _WHOLE
    if base._view is None:
        return of_view.steps, of_view.dynamic
    chain, own = of_view.links(), base._view.links()
    common = 0
    while common < min(len(chain), len(own)) and _same_link(chain[common], own[common]):
        common += 1
    undone: views.Steps = ()
    if common < len(own):
        start = base._whole_geometry
        for s, d in own[:common]:
            start = s.geometry(start, *d)
        undone = views.undo(own[common:], start)
    rest = chain[common:]
    return undone + tuple(s for s, _ in rest), sum((d for _, d in rest), ())


def _same_link(
    a: tuple[views.Step, tuple[int, ...]], b: tuple[views.Step, tuple[int, ...]]
) -> bool:
    """Return whether two links of chains are one and the same. Traced indices are compared by
    identity."""
    return a[0] is b[0] and all(
        i is j or (type(i) is int and i == j) for i, j in zip(a[1], b[1], strict=True)
    )


_WHOLE = views.View((), (), views.Geometry((), (), 0))
_reads: dict[tuple[object, ...], Executable] = {}
_readers: set[Executable] = set()


def read_executable(steps: views.Steps, n_dynamic: int, name: str) -> Executable:
    """Return the executable that reads a view: a linear op that keeps nothing but its indices."""
    key = (steps, name)
    exe = _reads.get(key)
    if exe is None:

        def pure(base: jax.Array, *dynamic: views.Index) -> jax.Array:
            return views.read_chain(steps, base, *dynamic)

        dynamic = tuple(range(1, 1 + n_dynamic))
        exe = Executable(name, pure, 1, 1 + n_dynamic, saved=dynamic, free=dynamic, library=True)
        _reads[key] = exe
        _readers.add(exe)
    return exe


def _parts_executable(lengths: tuple[int, ...], dim: int, whole: bool, name: str) -> Executable:
    """Return the executable that reads all of ``lengths`` consecutive parts of a dimension; without
    the dimension unless ``whole``."""
    key = (lengths, dim, whole, name)
    exe = _reads.get(key)
    if exe is None:

        def pure(base: jax.Array) -> tuple[jax.Array, ...]:
            # Its derivative is one concatenation, where that of slices is a sum of padded parts.
            parts = jax.lax.split(base, lengths, dim)
            return tuple(parts if whole else [jnp.squeeze(x, dim) for x in parts])

        exe = Executable(name, pure, 1, 1, saved=(), free=(), library=True)
        _reads[key] = exe
        _readers.add(exe)
    return exe


def reads_a_view(node: object) -> bool:
    """Return whether a node of the tape does nothing but read a view of its parent (or several)."""
    return isinstance(node, OpNode) and node.exe in _readers
