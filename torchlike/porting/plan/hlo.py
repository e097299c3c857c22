"""Reads a compiled program's text: which collectives it has, of how many bytes, how often."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import dataclass

#: What XLA calls collectives.
_COLLECTIVES_TEXT = """
all-reduce all-gather reduce-scatter all-to-all collective-permute collective-broadcast
ragged-all-to-all
"""
COLLECTIVES = tuple(_COLLECTIVES_TEXT.split())
_BITS = {
    "pred": 8,
    "s4": 4,
    "u4": 4,
    "s8": 8,
    "u8": 8,
    "s16": 16,
    "u16": 16,
    "bf16": 16,
    "f16": 16,
    "s32": 32,
    "u32": 32,
    "f32": 32,
    "s64": 64,
    "u64": 64,
    "f64": 64,
    "c64": 64,
    "c128": 128,
}
_SHAPE = re.compile(r"\b(pred|bf16|[suf]\d+|c64|c128|f8\w+)\[([\d,]*)\]")
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?[\w.\-]+ = (.*?) ([a-z][\w\-]*)\((.*)$")
_CALLED = re.compile(r"(?:body|condition|to_apply|calls|called_computations)=\{?%?([\w.\-]+)")
_BRANCHES = re.compile(r"branch_computations=\{([^}]*)\}")
_TRIPS = re.compile(r'known_trip_count"?:?\s*\{"?n"?:"?(\d+)')
_GROUPS = re.compile(r"replica_groups=\{\{([\d,]+)\}")
_IOTA_GROUPS = re.compile(r"replica_groups=\[(\d+),(\d+)\]")
_MESH_GROUPS = re.compile(r"replica_groups=mesh\[([^\]]*)\]\s*\{([^}]*)\}")
_MESH_SIZE = re.compile(r"'([^']+)'=(\d+)")
_MESH_AXIS = re.compile(r"'([^']+)'(?::\(\d+\)(\d+))?")
_CHANNEL = re.compile(r"channel_id=(\d+)")
#: Computations between which XLA for TPUs spreads one collective: its start, products beside it,
#: its end. All of them have its text.
_SPREAD = ("fused_computation", "async_collective_fusion")


@dataclass(frozen=True)
class Collective:
    """Collectives of one kind over groups of one size.

    Attributes:
      kind: "all-reduce" and kin.
      group: devices that exchange.
      count: how often in a step.
      nbytes: of the whole arrays (before a reduce-scatter, after an all-gather), summed, a device.
    """

    kind: str
    group: int
    count: int
    nbytes: int

    @property
    def sent(self) -> float:
        """Bytes that each device sends, where the exchange goes around a ring."""
        share = (self.group - 1) / self.group
        if self.kind == "all-reduce":
            return 2 * share * self.nbytes
        return self.nbytes if self.kind.startswith("collective") else share * self.nbytes


def collectives(text: str, devices: int) -> list[Collective]:
    """Return the collectives of an optimised program, in loops as often as their bodies run."""
    computations = _computations(text)
    times = _times(computations)
    found: dict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0])
    counted: set[tuple[str, str]] = set()
    for name, lines in computations.items():
        for result, opcode, rest in lines:
            kind = opcode.removesuffix("-start")
            if kind not in COLLECTIVES or times[name] == 0:
                continue
            channel = _CHANNEL.search(rest)
            if channel and name.startswith(_SPREAD):
                if (kind, channel[1]) in counted:
                    continue
                counted.add((kind, channel[1]))
            if name.startswith("all-reduce-scatter"):  # what a TPU makes of a sum that is then cut
                kind = "reduce-scatter"
                opcode = "all-reduce"
            group = _group(rest, devices)
            nbytes = _bytes(result, opcode) * (group if opcode.startswith("reduce-scatter") else 1)
            entry = found[kind, group]
            entry[0] += times[name]
            entry[1] += times[name] * nbytes
    return sorted(
        (
            Collective(kind, group, count, nbytes)
            for (kind, group), (count, nbytes) in found.items()
        ),
        key=lambda c: -c.nbytes,
    )


def opcodes(text: str) -> dict[str, int]:
    """Return how many instructions of each opcode a program has."""
    found: dict[str, int] = defaultdict(int)
    for lines in _computations(text).values():
        for _, opcode, _ in lines:
            found[opcode] += 1
    return dict(found)


def _computations(text: str) -> dict[str, list[tuple[str, str, str]]]:
    """Return the instructions of each computation by its name: (result, opcode, the rest). The
    entry is ""."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    lines: list[tuple[str, str, str]] = []
    for line in text.splitlines():
        if line and not line[0].isspace():
            header = re.match(r"^(ENTRY )?%?([\w.\-]+)\b.*\{\s*$", line)
            if header and not line.startswith("HloModule"):
                lines = found[""] if header[1] and "" in found else []
                found["" if header[1] else header[2]] = lines
            continue
        instruction = _INSTRUCTION.match(line)
        if instruction:
            lines.append((instruction[1], instruction[2], instruction[3]))
    return found


def _times(computations: dict[str, list[tuple[str, str, str]]]) -> dict[str, int]:
    """Return how often each computation runs in a step; loops of unknown length count once."""
    times: dict[str, int] = defaultdict(int)

    def visit(name: str, factor: int) -> None:
        times[name] += factor
        for _, opcode, rest in computations.get(name, ()):
            trips = _TRIPS.search(rest) if opcode == "while" else None
            inner = factor * (int(trips[1]) if trips else 1)
            called = _CALLED.findall(rest)
            for branches in _BRANCHES.findall(rest):
                called += [b.strip().lstrip("%") for b in branches.split(",")]
            if opcode in ("while", "call", "conditional", "fusion", "async-start", "custom-call"):
                for other in called:
                    visit(other, inner)

    visit("", 1)
    return times


def _group(rest: str, devices: int) -> int:
    listed = _GROUPS.search(rest)
    if listed:
        return len(listed[1].split(","))
    mesh = _MESH_GROUPS.search(rest)
    if mesh:
        sizes = {name: int(n) for name, n in _MESH_SIZE.findall(mesh[1])}
        return math.prod(
            int(part) if part else sizes[name] for name, part in _MESH_AXIS.findall(mesh[2])
        )
    iota = _IOTA_GROUPS.search(rest)
    return int(iota[2]) if iota else devices


def _bytes(result: str, opcode: str) -> int:
    """Return the bytes of a result. That of a start is operands and results: the results are the
    latter half, without counters."""
    sizes = [
        math.prod(map(int, filter(None, dims.split(",")))) * _BITS.get(kind, 8) // 8
        for kind, dims in _SHAPE.findall(result)
    ]
    if opcode in ("all-gather-start", "collective-permute-start") and len(sizes) > 1:
        sizes = [n for n in sizes if n > 8] or sizes
        return sum(sizes[len(sizes) // 2 :])
    return sum(sizes)
