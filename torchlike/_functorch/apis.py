"""``vmap``: a function of one example, run on all of them at once; also in a given number of
chunks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from torchlike._functorch.vmap import _process_batched_inputs, vmap_impl

__all__ = ["chunk_vmap", "vmap"]


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Return a function that maps ``func`` over a dimension of its tensor arguments.

    Each op inside is run once for all examples, by ``jax.vmap`` of the op.

    Args:
      func: takes tensors without the mapped dimension; returns tensors (in tuples, lists, dicts).
      in_dims: the mapped dimension of each positional argument, None for one that is the same for
        all examples; a tuple matching the arguments, or one for all. Keyword arguments are not
        mapped: all examples get the same.
      out_dims: where the mapped dimension goes in the results; None for a result that is no tensor.
      randomness: "error", "different" numbers for each example, or the "same".
      chunk_size: how many examples to do at a time (memory), None for all.

    ValueError for arguments without the dimension, or of different sizes there; RuntimeError inside
    for values of one example asked for by Python, and for writing them into outside tensors.

    Differs from PyTorch: with randomness="different" the numbers are those of a loop over the
    examples. ``stride()`` and ``is_contiguous()`` of an example are those of a tensor of its own;
    ``as_strided`` is refused where the examples lie otherwise in memory. A result that is a view of
    an argument has memory of its own, unless it is the argument itself. Under ``torchlike.jit``
    randomness="same" in chunks is refused.

    Example:
      >>> dot = torch.func.vmap(lambda a, b: (a * b).sum(), in_dims=(0, None))
      >>> dot(torch.eye(2), torch.tensor([3.0, 4.0]))
      tensor([3., 4.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            "Only allowed values for randomness are 'error', 'different', or 'same'. Got "
            f"{randomness}"
        )
    if chunk_size is not None and not (isinstance(chunk_size, int) and chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        return vmap_impl(func, in_dims, out_dims, randomness, chunk_size, *args, **kwargs)

    return mapped


def chunk_vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    chunks: int = 2,
) -> Callable[..., Any]:
    """Return a ``vmap`` that does the examples in ``chunks`` parts, of the sizes that
    ``Tensor.chunk`` cuts.

    Raises what `vmap` does, and RuntimeError for a number of chunks that is not positive.
    """

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        size = _process_batched_inputs(in_dims, args, func)[0]
        if isinstance(chunks, int) and chunks < 1:
            raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
        if not isinstance(chunks, int):
            raise TypeError(
                f"chunk(): argument 'chunks' (position 1) must be int, not {type(chunks).__name__}"
            )
        of_one = max(-(-size // chunks), 1)
        return vmap(func, in_dims, out_dims, randomness, chunk_size=of_one)(*args, **kwargs)

    return mapped
