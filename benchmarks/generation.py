"""Token generation with transformers: ``python -m benchmarks.generation [--quick]``.

A GPT-2 of random weights (6 layers, width 384, 8,192 tokens; ``--layers`` and ``--width``)
continues 16 tokens by 48, greedily, six times. Each way has a process of its own with empty caches:

eager            the model as it is, with the cache that grows
growing          ``model.forward = torch.compile(model.forward)``, with the cache that grows
static           the same with ``cache_implementation="static"``

in PyTorch and in torchlike (``torchlike.install_alias()``), by turns, ``--rounds`` times. Tokens a
second are of the latter three of the six, by the clock and by processor time: where other work runs
beside it, the second is the one to read. ``first`` is the first of the six, compilation with it.
Programs are those that torchlike compiled; the guard is what a later call takes to find its program
(taking the arguments apart, their key, the program's guard), the fastest of 200.

Needs transformers and PyTorch, which the package does not: ``pip install transformers``.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import environments, frameworks
from benchmarks.pool import ROOT

PROMPT, TOKENS, CALLS = 16, 48, 6
WAYS = ("eager", "growing", "static")
LIBRARIES = ("torch", "torchlike")
#: What PyTorch's compiler takes minutes for, and nobody asks about.
LEFT_OUT = {("torch", "growing")}


# -- in the process of one library -----------------------------------------------------------------


def measured(library: str, way: str, layers: int, width: int, tokens: int) -> dict[str, Any]:
    """Return what six generations took and gave, as plain data."""
    if library == "torchlike":
        importlib.import_module("torchlike").install_alias()
    torch: Any = importlib.import_module("torch")
    transformers: Any = importlib.import_module("transformers")
    transformers.logging.set_verbosity_error()
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        n_layer=layers, n_embd=width, n_head=6, vocab_size=8192, n_positions=512
    )
    model = transformers.GPT2LMHeadModel(config).eval()
    if way != "eager":
        model.forward = torch.compile(model.forward)
    prompt = torch.arange(1, PROMPT + 1).reshape(1, PROMPT)
    options: dict[str, Any] = {"cache_implementation": "static"} if way == "static" else {}
    told: list[str] = []
    seconds, processor, ids = [], [], []
    options |= {"do_sample": False, "pad_token_id": 0}
    options |= {"min_new_tokens": tokens, "max_new_tokens": tokens}

    def generate() -> Any:
        with torch.no_grad():
            return model.generate(prompt, attention_mask=torch.ones_like(prompt), **options)

    for _ in range(CALLS):
        before = time.perf_counter(), time.process_time()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = generate()
        seconds.append(time.perf_counter() - before[0])
        processor.append(time.process_time() - before[1])
        ids.append(found[0].tolist())
        told += [str(w.message) for w in caught if "torchlike.jit" in str(w.message)]
    result = {"seconds": seconds, "processor": processor, "ids": ids, "told": told}
    if library == "torchlike" and way != "eager":
        with torch.no_grad():
            result |= _of_programs(model, way, generate)
    return result


def _of_programs(model: Any, way: str, generate: Callable[[], Any]) -> dict[str, Any]:
    """Return how many programs there are, and the microseconds that finding one takes."""
    function = model.forward
    found: dict[str, Any] = {"programs": function.compiles}
    if way == "static":
        calls: list[tuple[Any, Any]] = []
        kind = type(function)
        call = kind.__call__

        def noted(self: Any, *args: Any, **kwargs: Any) -> Any:
            calls.append((args, kwargs))
            return call(self, *args, **kwargs)

        kind.__call__ = noted
        generate()
        kind.__call__ = call
        found["guard"] = min(_seconds_to_find(function, *calls[-1]) for _ in range(200)) * 1e6
        found["guards"] = len(function.latest.guards)
    return found


def _seconds_to_find(function: Any, args: Any, kwargs: Any) -> float:
    """Return the seconds of a call up to its program's run, which is left out."""
    run = type(function)._run
    type(function)._run = lambda *_: None
    try:
        start = time.perf_counter()
        function(*args, **kwargs)
        return time.perf_counter() - start
    finally:
        type(function)._run = run


# -- all of them -----------------------------------------------------------------------------------


def in_process(library: str, way: str, words: list[str]) -> dict[str, Any]:
    """Measure one way in a process of its own; where it fails, return the last line it wrote."""
    with tempfile.TemporaryDirectory() as cache:
        added = environments.variables(frameworks.parse(library), cache)
        command = [sys.executable, "-m", "benchmarks.generation", "--one", library, way, *words]
        done = subprocess.run(
            command, cwd=ROOT, env=os.environ | added, capture_output=True, text=True, check=False
        )
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        return {"error": (done.stderr.splitlines() or ["no answer"])[-1][:60]}
    return json.loads(lines[-1])


def _row(found: list[dict[str, Any]], reference: list[Any], tokens: int) -> list[str]:
    good = [x for x in found if "error" not in x]
    if not good:
        return [found[0]["error"], *[""] * 6]

    def rate(kind: str) -> str:
        return f"{median(tokens / s for x in good for s in x[kind][CALLS // 2 :]):.0f}"

    first = median(x["seconds"][0] for x in good), median(x["processor"][0] for x in good)
    last = good[-1]
    return [
        rate("seconds"),
        rate("processor"),
        f"{first[0]:.2f} ({first[1]:.2f})",
        str(last.get("programs", "")),
        f"{last['guard']:.0f}" if "guard" in last else "",
        "yes" if all(x["ids"] == reference for x in good) else "no",
        "; ".join(message[:200] for message in last["told"]),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--one", nargs=2, metavar=("LIBRARY", "WAY"), help=argparse.SUPPRESS)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--tokens", type=int, default=TOKENS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--library", choices=LIBRARIES, help="only this one")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--quick", action="store_true", help="does it run? 2 layers, 8 tokens")
    given = parser.parse_args()
    if given.quick:
        given.layers, given.width, given.tokens, given.rounds = 2, 48, 8, 1
    if given.one:
        library, way = given.one
        print(json.dumps(measured(library, way, given.layers, given.width, given.tokens)))
        return
    words = [f"--{name}={getattr(given, name)}" for name in ("layers", "width", "tokens")]
    libraries = [given.library] if given.library else LIBRARIES
    cases = [(a, b) for b in given.ways for a in libraries if (a, b) not in LEFT_OUT]
    found: dict[tuple[str, str], list[dict[str, Any]]] = {case: [] for case in cases}
    for _ in range(given.rounds):
        for case in cases:
            found[case].append(in_process(case[0], case[1], words))
    reference = next((x["ids"] for x in found[cases[0]] if "ids" in x), [])
    table = Table("library", "way", "tokens/s", "by processor time", "first, s (processor)")
    for heading in ("programs", "guard, µs", "same tokens", "told"):
        table.add_column(heading)
    for case in cases:
        table.add_row(*case, *_row(found[case], reference, given.tokens))
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
