"""How one call is timed with a PyTorch: real or torchlike, which is given as ``torch``.

Standard library only: the process that runs PyTorch uses it too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

#: The two ways in which a function is called.
FORWARD, GRADIENTS = "forward", "with gradients"
MODES = (FORWARD, GRADIENTS)

#: What gradients are asked of: results times weights from the first to the second.
WEIGHTS = (0.4, 1.6)

Function = Callable[..., Any]


def ways(
    torch: Any, function: Function, arguments: Sequence[Any], gradients: bool
) -> dict[str, tuple[Function, list[Any]]]:
    """Return what is called for each mode, and with which arguments: the function without
    gradients; and one that also computes the gradients of a weighted sum of all that it gives, by
    the arguments and by the parameters of a module. No second where none of these has a gradient.
    """
    plain = [a.detach() if isinstance(a, torch.Tensor) else a for a in arguments]
    made: dict[str, tuple[Function, list[Any]]] = {FORWARD: (_without(torch, function), plain)}
    held = [p for p in _parameters(torch, function) if p.requires_grad]
    leaves = [a.detach().clone().requires_grad_() if _floats(torch, a) else a for a in arguments]
    places = [i for i, a in enumerate(arguments) if _floats(torch, a)]
    if gradients and (held or places):
        made[GRADIENTS] = (_with(torch, function, places, held), leaves)
    return made


def _without(torch: Any, function: Function) -> Function:
    def forward(*given: Any) -> Any:
        with torch.no_grad():
            return function(*given)

    return forward


def _with(torch: Any, function: Function, places: Sequence[int], held: Sequence[Any]) -> Function:
    cotangents: list[Any] = []  # made at the first call, which knows what is given

    def with_gradients(*given: Any) -> Any:
        found = [t for t in tensors_in(torch, function(*given)) if t.requires_grad]
        if not found:
            return []
        if not cotangents:
            cotangents.extend(_cotangent(torch, t) for t in found)
        wanted = [*(given[i] for i in places), *held]
        return torch.autograd.grad(found, wanted, cotangents, allow_unused=True)

    return with_gradients


def _cotangent(torch: Any, tensor: Any) -> Any:
    """Return weights that differ from element to element: of a softmax, ones give no gradient."""
    flat = torch.linspace(*WEIGHTS, tensor.numel(), device=tensor.device)
    return flat.reshape(tensor.shape).to(tensor.dtype)


def tensors_in(torch: Any, value: Any) -> Iterator[Any]:
    """Give each tensor in tuples, lists and dictionaries."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from tensors_in(torch, part)
    elif isinstance(value, dict):
        yield from tensors_in(torch, list(value.values()))


def _parameters(torch: Any, function: Function) -> list[Any]:
    module = getattr(function, "__self__", function)
    return list(module.parameters()) if isinstance(module, torch.nn.Module) else []


def _floats(torch: Any, x: Any) -> bool:
    return isinstance(x, torch.Tensor) and (x.is_floating_point() or x.is_complex())
