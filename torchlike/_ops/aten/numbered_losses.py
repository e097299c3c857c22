"""Losses as PyTorch's dispatcher has them: the reduction is a number, 0 none, 1 mean, 2 sum.

``torch.kl_div`` and its kin, for which the binding's default is 0, and ``torch.ops.aten``'s, whose
default is 1. Each is the loss of nn.functional with its arguments in another order.
"""

from __future__ import annotations

import ast
import inspect
from typing import Any

from torchlike._core.dispatch.registry import NAMESPACES, composite
from torchlike._core.dispatch.schema import require_tensor

_REDUCTIONS = ("none", "mean", "sum")
_REQUIRED = inspect.Parameter.empty


def _with_number(
    name: str, spaces: dict[str, Any], before: str, after: str = "", of: str = ""
) -> None:
    """Register ``name`` (``of`` in nn.functional, if it is another there) with these parameters
    before and after the reduction, which has a default in each of the namespaces;
    ``parameter=value`` has one, too."""
    functional = NAMESPACES["nn.functional"][of or name]
    for space, default in spaces.items():
        words = [*before.split(), f"reduction={default}", *after.split()]
        if default is _REQUIRED:
            words = [w.split("=")[0] for w in words]
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters = []
        for word in words:
            parameter, _, value = word.partition("=")
            given = ast.literal_eval(value) if value else _REQUIRED
            parameters.append(inspect.Parameter(parameter, kind, default=given))
        _register(name, space, functional, inspect.Signature(parameters))


def _register(name: str, space: str, functional: Any, signature: inspect.Signature) -> None:
    def loss(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = bound.arguments
        for position, key in enumerate(list(given)[:2], 1):
            require_tensor(given[key], name, key, position)
        number = given.pop("reduction")
        if type(number) is not int:
            raise TypeError(
                f"{name}(): argument 'reduction' must be int, not {type(number).__name__}"
            )
        if not 0 <= number < len(_REDUCTIONS):
            raise ValueError(f"{name}(): reduction is 0, 1 or 2, got {number}")
        return functional(**given, reduction=_REDUCTIONS[number])

    loss.__doc__ = (
        f"Call ``nn.functional.{functional.__name__}`` with the reduction as a number: 0 none, "
        "1 mean, 2 sum."
    )
    loss.__signature__ = signature  # type: ignore[attr-defined]
    composite(name, namespaces=(space,), method=False)(loss)


_BOTH = {"": 0, "aten": 1}
_with_number("margin_ranking_loss", _BOTH, "input1 input2 target margin=0.0")
_with_number("cosine_embedding_loss", _BOTH, "input1 input2 target margin=0.0")
_with_number("hinge_embedding_loss", _BOTH, "input target margin=1.0")
_with_number(
    "triplet_margin_loss",
    _BOTH,
    "anchor positive negative margin=1.0 p=2 eps=1e-6 swap=False",
)
_with_number("kl_div", _BOTH, "input target", "log_target=False")
_with_number("binary_cross_entropy_with_logits", _BOTH, "input target weight=None pos_weight=None")
_with_number(
    "poisson_nll_loss", {"": _REQUIRED, "aten": _REQUIRED}, "input target log_input full eps"
)

_ATEN = {"aten": 1}
for _name in ("mse_loss", "l1_loss", "soft_margin_loss", "multilabel_margin_loss"):
    _with_number(_name, _ATEN, "input target")
_with_number("binary_cross_entropy", _ATEN, "input target weight=None")
_with_number("smooth_l1_loss", _ATEN, "input target", "beta=1.0")
_with_number("huber_loss", _ATEN, "input target", "delta=1.0")
_with_number("nll_loss", _ATEN, "input target weight=None", "ignore_index=-100")
_with_number(
    "cross_entropy_loss",
    _ATEN,
    "input target weight=None",
    "ignore_index=-100 label_smoothing=0.0",
    "cross_entropy",
)
