"""Cases of the op table captured, forward and backward, and compiled for machines not here."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import op_cases
import op_cases_core
import op_cases_linalg
import op_cases_special
from nn_op_cases import CASES as NN_CASES
from op_harness import Case, Recipe, make, resolve, tensors_in

import torchlike
from torchlike._core.errors import JitCaptureError
from torchlike.porting.plan.leaves import default_rule
from torchlike.porting.plan.step import captured, compiled
from torchlike.porting.plan.topologies import topology

ALL = [*op_cases_core.CASES, *op_cases.CASES, *op_cases_linalg.CASES, *op_cases_special.CASES,
       *NN_CASES]  # fmt: skip
TOPOLOGIES = {"tpu": "v5e:1x1", "cuda": "h100:1"}


def one_for_each() -> dict[str, Case]:
    """The first case of each op."""
    found: dict[str, Case] = {}
    for case in ALL:
        found.setdefault(case.name, case)
    return found


def in_dtype(case: Case, dtype: str) -> Case:
    """The case with its float32 operands in another dtype."""
    case = copy.deepcopy(case)

    def change(value: Any) -> None:
        if isinstance(value, Recipe) and value.dtype == "float32":
            value.dtype = dtype
        if isinstance(value, (list, tuple)):
            for v in value:
                change(v)

    change(case.args)
    change(list(case.kwargs.values()))
    return case


def outcome(case: Case, platform: str) -> str:
    """What becomes of a case: "compiled", or what was raised, and its first words.

    Without gradients where PyTorch defines none.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = _captured(case, platform)
        except JitCaptureError as error:
            return f"needs values: {_words(error)}"
        except Exception as error:
            return f"refused: {type(error).__name__}: {_words(error)}"
        where = topology(TOPOLOGIES[platform])
        mesh = where.mesh()
        try:
            compiled(found, where, mesh, default_rule(mesh, batch=None))
        except NotImplementedError as error:
            return f"not on {platform}: {_words(error)}"
        except Exception as error:
            return f"failed: {type(error).__name__}: {_words(error)}"
    return "compiled"


def _captured(case: Case, platform: str) -> Any:
    try:
        return _captured_with(case, platform, True)
    except Exception:
        return _captured_with(case, platform, False)


def _captured_with(case: Case, platform: str, requires_grad: bool) -> Any:
    side = make(case, torchlike, requires_grad)
    function = resolve(torchlike, case.name)

    def step(*args: Any, **kwargs: Any) -> Any:
        out = function(*args, **kwargs)
        wanting = [t for t in tensors_in(out) if t.requires_grad]
        gradients: Any = ()
        if wanting:
            gradients = torchlike.autograd.grad(
                wanting, side.inputs, [torchlike.ones_like(t) for t in wanting], allow_unused=True
            )
        return [t.detach() for t in tensors_in(out)], [g for g in gradients if g is not None]

    def state() -> Any:  # the operands as state: gradients with respect to them are theirs
        return step(*side.args, **side.kwargs)

    return captured(state, (), {}, platform, 1)


def _words(error: BaseException) -> str:
    return " ".join(str(error).split())[:160]
