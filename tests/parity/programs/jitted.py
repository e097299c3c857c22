"""Run a program's body under ``torchlike.jit`` and eagerly, and compare all that comes out.

The first leaf is the function's argument, another one each time; the second is found through a
closure, and is the same one at each call, so that the next call starts from what the last one wrote
to it. The body runs the other lines and a backward pass, and returns every value and gradient.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np

import torchlike
from programs.compare import TOLERANCE, history_refused, values
from programs.functions import custom
from programs.program import Program

CALLS = 2
#: What a captured function cannot do, and says so: look at values (a mask's size among them), share
#: memory with NumPy, and have a tensor's ``.data`` taken away.
REFUSED = re.compile(r"numpy|np\.|> 0\]|\.data = |\.item\(")
#: Hooks on the leaves would stay on them and add up from call to call.
HOOK_ON_LEAF = re.compile(r"t[12]\.register_hook")
#: What hooks append to in Python happens once per compilation.
PYTHON_STATE = re.compile(r"calls\.append")


def compiles(line: str) -> bool:
    """Whether the line may stand in a function that is compiled."""
    return not any(p.search(line) for p in (REFUSED, HOOK_ON_LEAF, PYTHON_STATE))


class Refused(Exception):
    """The function cannot be compiled, and says so."""


def check_jitted(program: Program) -> bool:
    """Compare; AssertionError naming what differs. False where the compiler refused the program."""
    eager = _calls(program, lambda fn: fn)
    try:
        jitted = _calls(program, torchlike.jit)
    except Refused:
        return False
    for call, (ours, expected) in enumerate(zip(jitted, eager, strict=True)):
        where = f"call {call}"
        assert ours.keys() == expected.keys(), f"{where}: {ours.keys()}\n{program!r}"
        largest = max(
            (
                np.abs(v[np.isfinite(v)]).max(initial=1.0)
                for v in expected.values()
                if isinstance(v, np.ndarray)
            ),
            default=1.0,
        )
        for name, v in expected.items():
            assert _same(ours[name], v, largest), (
                f"{where}: {name} is {ours[name]}, eagerly {v}\n{program!r}"
            )
    return True


def _same(ours: Any, expected: Any, largest: float) -> Any:
    if isinstance(expected, tuple) and ours[-1:] == (None,):
        return ours[:-1] == expected[:-1]
    if not isinstance(expected, np.ndarray):
        return ours == expected
    return (
        isinstance(ours, np.ndarray)
        and ours.shape == expected.shape
        and ours.dtype == expected.dtype
        and np.allclose(ours, expected, TOLERANCE, TOLERANCE * largest, equal_nan=True)
    )


def _calls(program: Program, wrap: Any) -> list[dict[str, Any]]:
    """What each call gave: values, gradients, errors, and the state it left."""
    state: dict[str, Any] = {"torch": torchlike, "np": np, "custom": custom(torchlike)}
    for line in program.lines[:2]:
        exec(line, state)
    found = []

    def body(t1: Any) -> Any:
        env = {**state, "t1": t1}
        errors = [_step(line, env) for line in program.lines[2:]]
        names = sorted(n for n in env if re.fullmatch(r"t\d+", n))
        names = [n for n in names if not history_refused(env[n])]
        errors += [_step(line, env) for line in _loss(env, names)]
        tensors = {n: env[n] for n in names}
        result: dict[str, Any] = {n: t.detach().clone() for n, t in tensors.items()}
        for n, t in tensors.items():
            if t.is_leaf and t.grad is not None:
                result[f"{n}.grad"] = t.grad.detach().clone()
            result[f"{n}.geometry"] = (tuple(t.shape), t.stride(), _offset(t))
            result[f"{n}.requires_grad"] = bool(t.requires_grad)
        result["errors"] = tuple(errors)
        return result

    function = wrap(body)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call in range(CALLS):
            own = {"torch": torchlike}
            exec(program.lines[0], own)
            argument = own["t1"]
            with torchlike.no_grad():
                argument.add_(call)
            try:
                result = dict(function(argument))
            except torchlike.jit.JitCaptureError as error:
                raise Refused(str(error)) from error
            result |= {"argument": argument.detach(), "state": state["t2"].detach()}
            for name, t in (("argument", argument), ("state", state["t2"])):
                result[f"{name}.grad"] = t.grad
                result[f"{name}.geometry"] = (tuple(t.shape), t.stride(), t.storage_offset())
                result[f"{name}.requires_grad"] = bool(t.requires_grad)
            found.append(
                {k: values(v) if isinstance(v, torchlike.Tensor) else v for k, v in result.items()}
            )
    return found


def _step(line: str, env: dict[str, Any]) -> str:
    """Run a line; the name of the exception it raised, or ""."""
    try:
        exec(line, env)
    except torchlike.jit.JitCaptureError as error:
        raise Refused(line) from error
    except Exception as error:
        return type(error).__name__
    return ""


def _offset(t: Any) -> int | None:
    """The storage offset; None where only the compiled program knows it."""
    try:
        return t.storage_offset()
    except torchlike.jit.JitCaptureError:
        return None


def _loss(env: dict[str, Any], names: list[str]) -> list[str]:
    terms = []
    for k, n in enumerate(names):
        t = env[n]
        if t.requires_grad and t.numel():
            x = f"torch.view_as_real({n})" if t.dtype.is_complex else n
            terms.append(f"({x} * {k % 3 + 1}).double().sum()")
    return [f"loss = {' + '.join(terms)}", "loss.backward()"] if terms else []
