"""``torchlike doctor``."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console
from rich.markup import escape

from torchlike.porting.doctor import facts as gathering
from torchlike.porting.doctor.problems import notes, problems, without_home


def run(*, as_json: bool = False, console: Console | None = None) -> int:
    """Print the facts and what is wrong with them; return 1 if something is, else 0."""
    facts = gathering.collect()
    wrong, worth = problems(facts), notes(facts)
    if as_json:
        print(without_home(json.dumps({**facts, "problems": wrong, "notes": worth}, indent=2)))
        return int(bool(wrong))
    console = console or Console(highlight=False)
    if not wrong:
        console.print("[green]Nothing wrong was found.[/green]")
    for sentence in wrong:
        console.print(f"[red]✗[/red] {escape(without_home(sentence))}", soft_wrap=True)
    for sentence in worth:
        console.print(f"[yellow]•[/yellow] {escape(without_home(sentence))}", soft_wrap=True)
    console.print("\nFor a report, copy the lines below.\n")
    print(without_home(report(facts, wrong, worth)))
    return int(bool(wrong))


def report(facts: dict[str, Any], wrong: list[str], worth: list[str]) -> str:
    """Return the facts as plain text, a line each."""
    installed = dict(facts["versions"]["installed"])
    system, devices, threads = facts["system"], facts["devices"], facts["threads"]
    caches, torch = facts["caches"], facts["torch"]
    lines = [
        f"torchlike {installed.pop('torchlike')} (torch {installed.pop('torch')}), "
        f"{facts['torchlikes']['runs']}",
        f"Python {system['python']}, {system['executable']}"
        f"{'' if system['is_virtual'] else ' (no virtual environment)'}",
        f"{system['platform']}, {system['libc']}",
        "packages: " + ", ".join(f"{name} {version}" for name, version in installed.items()),
        f"devices: {devices['error'] or ', '.join(devices['devices'])}",
        f"threads: {threads['xla']} of XLA, {threads['usable_cores']} of {threads['cores']} cores",
        f"memory: {_size(system['memory_bytes'])}, shared {_size(system['shared_memory_bytes'])} "
        "free",
        f"compiled programs: {caches['programs']}, {_size(caches['bytes'])}, in {caches['folder']}"
        f"{'' if caches['is_writable'] else ' (not writable)'}",
    ]
    for one in torch["found"]:
        kind = "torchlike's" if one["is_shim"] else "PyTorch's or another"
        lines.append(f"torch: {kind}, {one['version'] or 'unknown to pip'}, {one['folder']}")
    if not torch["found"]:
        lines.append("torch: none is installed")
    if torch["is_alias"]:
        lines.append("torch: an alias of torchlike in this process")
    ahead = facts["ahead"]
    lines.append(
        "compiles ahead of time for: "
        + ", ".join(
            f"{p}{f' (not: {ahead[p]} is missing)' if ahead[p] else ''}" for p in ("tpu", "cuda")
        )
    )
    lines += [f"{name}={value}" for name, value in facts["environment"].items()]
    lines += [f"problem: {sentence}" for sentence in wrong]
    lines += [f"note: {sentence}" for sentence in worth]
    return "\n".join(lines)


def _size(number: int | None) -> str:
    if number is None:
        return "unknown"
    return f"{number / (1 << 30):.1f} GiB" if number >= 1 << 30 else f"{number / (1 << 20):.0f} MiB"
