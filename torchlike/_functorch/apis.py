"""``torch._functorch.apis``: ``vmap`` in a given number of chunks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from torchlike._functorch.vmap import _process_batched_inputs
from torchlike.func import vmap

__all__ = ["chunk_vmap", "vmap"]


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
