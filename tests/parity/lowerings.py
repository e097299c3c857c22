"""Ops and modules captured, forward and backward, and compiled for machines not here."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import module_cases
import numpy as np
import torch
from op_harness import Case, make, resolve, tensors_in
from op_table import ALL

import torchlike
from torchlike._core.errors import JitCaptureError
from torchlike.porting.plan.leaves import default_rule
from torchlike.porting.plan.step import captured, compiled
from torchlike.porting.plan.topologies import topology

TOPOLOGIES = {"tpu": "v5e:1x1", "cuda": "h100:1"}
#: What ops raise for arguments that they cannot take. Anything else is a bug, and ends the run.
REFUSALS = (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError)

COMPILED = "compiled"
#: What is compiled only beside a GPU, by words of JAX's errors.
NEEDS = {
    "cusolverGetVersion": "cuSOLVER's library, which sizes the workspace: not tried",
    "no platforms that are instances of gpu": "a GPU beside the compiler (a call of the host): "
    "not tried",
}
#: The op has no gradient, in PyTorch neither.
NONE = "none"
#: PyTorch refuses it as well.
ABSENT = "not in PyTorch"


@dataclass
class Call:
    """A function, its arguments, and the tensors among what it reads that want gradients."""

    function: Callable[..., Any]
    args: Any
    kwargs: dict[str, Any]
    inputs: list[Any]

    def outputs(self) -> list[Any]:
        return tensors_in(self.function(*self.args, **self.kwargs))


#: Makes the same call of a library (torch or torchlike), with its floats in a dtype.
Subject = Callable[[Any, str], Call]


def subjects() -> dict[str, Subject]:
    """The first case of each op, by its name, and each configuration of a module."""
    found: dict[str, Subject] = {}
    for case in ALL:
        found.setdefault(case.name, _of_op(case))
    for name in module_cases.CASES:
        found[f"nn.{name}"] = _of_module(name)
    return found


def _of_op(case: Case) -> Subject:
    def call(library: Any, dtype: str) -> Call:
        side = make(copy.deepcopy(case), library, True)
        change = _Change(library, dtype)
        args, kwargs = change.of(side.args), {k: change.of(v) for k, v in side.kwargs.items()}
        return Call(resolve(library, case.name), args, kwargs, change.leaves)

    return call


class _Change:
    """float32 tensors as leaves of another dtype."""

    def __init__(self, library: Any, dtype: str) -> None:
        self.library, self.dtype = library, getattr(library, dtype)
        self.leaves: list[Any] = []

    def of(self, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(self.of(v) for v in value)
        if not isinstance(value, self.library.Tensor):
            return value
        wants, value = value.requires_grad, value.detach()
        if value.dtype == self.library.float32:
            value = value.to(self.dtype)
        if wants and (value.is_floating_point() or value.is_complex()):
            self.leaves.append(value.requires_grad_())
        return value


def _of_module(name: str) -> Subject:
    build, specs = module_cases.CASES[name]

    def call(library: Any, dtype: str) -> Call:
        module = build(library.nn)
        is_loss = isinstance(module, library.nn.modules.loss._Loss)
        change, rng = _Change(library, dtype), np.random.default_rng(0)
        args = []
        for i, spec in enumerate(specs):
            t = library.from_numpy(module_cases.values_of(spec, rng))
            wants = t.dtype == library.float32 and (i == 0 or not is_loss)
            args.append(change.of(t.requires_grad_() if wants else t))
        module.to(change.dtype)
        return Call(module, args, {}, [*change.leaves, *module.parameters()])

    return call


# -- what becomes of a subject ---------------------------------------------------------------------


def in_pytorch(subject: Subject, dtype: str) -> tuple[bool, bool]:
    """Whether PyTorch has the forward, and the backward, in a dtype."""
    try:
        call = subject(torch, dtype)
        outputs = call.outputs()
    except REFUSALS:
        return False, False
    rooted = [t for t in outputs if t.requires_grad]
    try:
        if rooted and call.inputs:
            ones = [torch.ones_like(t) for t in rooted]
            torch.autograd.grad(rooted, call.inputs, ones, allow_unused=True)
            return True, True
    except REFUSALS:
        pass  # has no derivative there: an answer
    return True, False


def outcome(subject: Subject, platform: str, dtype: str = "float32") -> dict[str, str]:
    """What becomes of ``forward`` and of ``backward``: `COMPILED`, `NONE`, `ABSENT`, or what was
    raised.

    Both are compiled in one program where that can be done, else forward by itself.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        forward, backward = in_pytorch(subject, dtype)
        if not forward:
            return {"forward": ABSENT, "backward": ABSENT}
        if not backward:
            return {"forward": _tried(subject, platform, dtype, False), "backward": NONE}
        both = _tried(subject, platform, dtype, True)
        if both == COMPILED:
            return {"forward": COMPILED, "backward": COMPILED}
        return {"forward": _tried(subject, platform, dtype, False), "backward": both}


def _tried(subject: Subject, platform: str, dtype: str, with_backward: bool) -> str:
    try:
        call = subject(torchlike, dtype)
        found = captured(_step(call, with_backward), (), {}, platform, 1)
        where = topology(TOPOLOGIES[platform])
        mesh = where.mesh()
        compiled(found, where, mesh, default_rule(mesh, batch=None))
    except JitCaptureError as error:
        return f"needs values: {_words(error)}"
    except REFUSALS as error:
        for words, needed in NEEDS.items():
            if words in str(error):
                return f"needs {needed}"
        kind = "failed" if isinstance(error, jax.errors.JaxRuntimeError) else "refused"
        return f"{kind}: {type(error).__name__}: {_words(error)}"
    return COMPILED


def _step(call: Call, with_backward: bool) -> Callable[[], Any]:
    """The call as a step whose state are the operands, so that gradients are taken of them.

    RuntimeError where nothing wants a gradient that ought to.
    """

    def step() -> Any:
        if not with_backward:
            with torchlike.no_grad():
                return call.outputs(), []
        outputs = call.outputs()
        results = [t.detach() for t in outputs]
        rooted = [t for t in outputs if t.requires_grad]
        if not rooted:
            raise RuntimeError("PyTorch gives a gradient here, and this op none")
        ones = [torchlike.ones_like(t) for t in rooted]
        found = torchlike.autograd.grad(rooted, call.inputs, ones, allow_unused=True)
        return results, [g for g in found if g is not None]

    return step


def _words(error: BaseException) -> str:
    return " ".join(str(error).split())[:160]
