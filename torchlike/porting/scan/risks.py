"""What makes a line slow, or different on another machine, though every name in it is there."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlike.porting.scan.inference import Inference, Name
from torchlike.porting.scan.scopes import LexicalScope

_READS = frozenset(("item", "tolist"))
_NUMBERS = frozenset(("float", "int", "bool"))
_DEVICES = ("cuda", "mps", "xpu")
_JOINS_TEXT = """
torch.cat torch.concat torch.concatenate torch.hstack torch.vstack torch.stack
"""
_JOINS = frozenset(_JOINS_TEXT.split())
_PROCESSES_TEXT = """
torch.multiprocessing.spawn torch.multiprocessing.Process torch.multiprocessing.start_processes
torch.distributed.init_process_group
"""
_PROCESSES = frozenset(_PROCESSES_TEXT.split())

#: name -> (what it means here, the page that says more).
SAYS = {
    "reads a value in a loop": (
        "each turn waits for the computation: keep tensors, read after the loop",
        "docs/compile.md",
    ),
    "branches on a value": (
        "compiled code takes both ways or falls back: torch.where, or leave it eager",
        "docs/compile.md",
    ),
    "needs a value in compiled code": (
        "compiling refuses it: return the tensor and read it outside; torch.compile runs the "
        "function eagerly instead",
        "docs/compile.md",
    ),
    "names a device": (
        "torchlike run --device-map cuda=cpu says what it means here",
        "docs/command-line.md",
    ),
    "grows in a loop": (
        "each length is compiled anew: write into a tensor of the final size, or join once after "
        "the loop",
        "docs/changing-shapes.md",
    ),
    "starts processes": (
        "one process drives all devices here; more are seldom needed",
        "docs/scale.md",
    ),
}
SLOW = ("reads a value in a loop", "grows in a loop")
COMPILED = ("branches on a value", "needs a value in compiled code")
MACHINE = ("names a device", "starts processes")


def what(name: str) -> str:
    """Return which of `SAYS` a finding's name ends with."""
    return next(risk for risk in SAYS if name.endswith(risk))


def of_call(
    node: ast.Call, scope: LexicalScope, infer: Inference, in_loop: bool, compiled: bool
) -> Iterator[tuple[str, str]]:
    """Yield the risks of a call: what it is, and the words in the program."""
    function = node.func
    called = infer.of(function, scope)
    bare = not node.args and not node.keywords and not isinstance(called, Name)
    read = ""
    if bare and isinstance(function, ast.Attribute) and function.attr in _READS:
        read = f".{function.attr}()"
    elif isinstance(function, ast.Name) and function.id in _NUMBERS and len(node.args) == 1:
        read = f"{function.id}(tensor)" if infer.is_tensor(node.args[0], scope) else ""
    if read and compiled:
        yield "needs a value in compiled code", read
    elif read and in_loop:
        yield "reads a value in a loop", read
    if (
        isinstance(function, ast.Attribute)
        and function.attr == "cuda"
        and not isinstance(called, Name)
    ):
        yield "names a device", ".cuda()"
    yield from _devices(node, called)
    if isinstance(called, Name) and called.name in _PROCESSES:
        yield "starts processes", called.name


def _devices(node: ast.Call, called: object) -> Iterator[tuple[str, str]]:
    is_to = isinstance(node.func, ast.Attribute) and node.func.attr == "to"
    is_device = isinstance(called, Name) and called.name == "torch.device"
    candidates = [k.value for k in node.keywords if k.arg in ("device", "map_location")]
    if is_to or is_device:
        candidates += node.args[:1]
    for value in candidates:
        text = value.value if isinstance(value, ast.Constant) else None
        if isinstance(text, str) and text.partition(":")[0] in _DEVICES:
            yield "names a device", repr(text)


def of_assignment(
    node: ast.Assign, scope: LexicalScope, infer: Inference
) -> Iterator[tuple[str, str]]:
    """Yield the risk of ``x = torch.cat([x, ...])``."""
    if len(node.targets) != 1 or not isinstance(node.value, ast.Call) or not node.value.args:
        return
    called = infer.of(node.value.func, scope)
    if isinstance(called, Name) and called.name in _JOINS:
        first = node.value.args[0]
        target = ast.unparse(node.targets[0])
        parts = first.elts if isinstance(first, (ast.Tuple, ast.List)) else []
        if any(ast.unparse(part) == target for part in parts):
            yield "grows in a loop", f"{target} = {called.name}(...)"


def of_test(test: ast.expr, scope: LexicalScope, infer: Inference) -> Iterator[tuple[str, str]]:
    """Yield the risk of the test of an ``if`` or ``while`` in code that may be compiled."""
    is_read = (
        isinstance(test, ast.Call)
        and isinstance(test.func, ast.Attribute)
        and test.func.attr == "item"
    )
    if is_read or infer.is_tensor(test, scope):
        yield "branches on a value", ast.unparse(test)[:60]
