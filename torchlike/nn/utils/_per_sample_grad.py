"""Gradients for each example of a batch: ``p.grad_sample`` in place of ``p.grad``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike._functorch.apis import vmap
from torchlike._runtime import trees
from torchlike.nn.modules.module import Module
from torchlike.nn.utils.stateless import reparametrized
from torchlike.tensor import Tensor

__all__ = ["call_for_per_sample_grads"]

_ACCUMULATES = (
    "Current Expanded Weights accumulates the gradients, which will be incorrect for multiple "
    "calls without clearing gradients. Please clear out the grad_sample parameter of {p} or post "
    "an issue to pytorch/pytorch to prioritize correct behavior"
)


def call_for_per_sample_grads(
    module: Module,
    *,
    batch_size: int | None = None,
    loss_reduction: str = "sum",
    batch_first: bool = True,
) -> Callable[..., Any]:
    """Return ``module`` as a function whose backward pass puts the gradient of each example into
    ``grad_sample`` of the parameters, (batch size, \\*shape), and leaves ``grad`` alone.

    Args:
      module: called on one example at a time, as a batch of one, under ``vmap``.
      batch_size: the number of examples; found from the tensors among the arguments by default.
      loss_reduction: "sum", or "mean" for a loss that is the mean over the examples.
      batch_first: whether examples lie along the first dimension, else along the second.

    RuntimeError for arguments of another kind, for inputs of several batch sizes, and where a
    parameter has a ``grad_sample`` already.
    """
    if not isinstance(module, Module):
        raise RuntimeError(f"Module passed must be nn.Module, got {type(module).__name__}")
    if not (batch_size is None or isinstance(batch_size, int)):
        raise RuntimeError(
            f"Batch size passed must be None or an integer, got {type(batch_size).__name__}"
        )
    if batch_size is not None and batch_size < 1:
        raise RuntimeError(f"Batch size must be positive, got {batch_size}")
    if loss_reduction not in ("sum", "mean"):
        raise RuntimeError(
            f"Expected loss_reduction argument to be sum or mean, got {loss_reduction}"
        )
    for p in module.parameters():
        if getattr(p, "grad_sample", None) is not None:
            raise RuntimeError(_ACCUMULATES.format(p=p))
    at = 0 if batch_first else 1

    def call(*args: Any, **kwargs: Any) -> Any:
        for p in module.parameters():
            if getattr(p, "grad_sample", None) is not None:
                raise RuntimeError(_ACCUMULATES.format(p=p))
        n = _batch_size(args, kwargs, at) if batch_size is None else batch_size
        scale = n if loss_reduction == "mean" else 1
        named_parameters = dict(module.named_parameters())
        wanted = {k: p for k, p in named_parameters.items() if p.requires_grad}
        rest: dict[str, Tensor] = {k: p for k, p in named_parameters.items() if k not in wanted}
        rest.update(module.named_buffers())
        expanded = {k: _expanded(p, n, scale) for k, p in wanted.items()}
        leaves, structure = trees.flatten((args, kwargs))
        mapped = [at if isinstance(leaf, Tensor) else None for leaf in leaves]

        def one(own: dict[str, Tensor], *leaves: Any) -> Any:
            batches = [x.unsqueeze(at) if isinstance(x, Tensor) else x for x in leaves]
            given, named = trees.unflatten(structure, batches)
            with reparametrized(module, {**own, **rest}, True, False):
                out = module(*given, **named)
            return trees.tree_map(lambda o: o.squeeze(at), out)

        return vmap(one, in_dims=(0, *mapped), out_dims=at)(expanded, *leaves)

    return call


def _expanded(p: Tensor, n: int, scale: int) -> Tensor:
    """Expand a parameter to one for each example: a leaf whose gradient becomes the parameter's
    ``grad_sample``."""
    leaf: Any = p.detach().expand(n, *p.shape).clone().requires_grad_()  # type: ignore[attr-defined]
    kept: Any = p

    def keep(gradient: Tensor) -> None:
        kept.grad_sample = gradient if scale == 1 else gradient * scale

    leaf.register_hook(keep)
    return leaf


def _batch_size(args: Any, kwargs: Any, at: int) -> int:
    sizes = [x.shape[at] for x in trees.leaves((args, kwargs), Tensor)]
    if not sizes:
        raise RuntimeError(
            "Unable to find a tensor in the passed args and kwargs. They may not be pytree-able "
            "and so ExpandedWeights cannot compute the batch size from the inputs. Please specify "
            "it explicitly"
        )
    for size in sizes:
        if size != sizes[0]:
            raise RuntimeError(
                f"When computing batch size, found at least one input with batch size {sizes[0]} "
                f"and one with batch size {size}. Please specify it explicitly using the batch "
                "size kwarg in call_for_per_sample_grads"
            )
    return sizes[0]
