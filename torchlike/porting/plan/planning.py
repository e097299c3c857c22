"""`plan` puts together what a compiled step says of itself."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from jax.sharding import Mesh, PartitionSpec

from torchlike._runtime import progress, whole_files
from torchlike.distributed.device_mesh import DeviceMesh
from torchlike.porting.plan.hlo import Collective, collectives
from torchlike.porting.plan.leaves import KINDS, Rule, default_rule, shard_bytes
from torchlike.porting.plan.meshes import as_placed
from torchlike.porting.plan.step import CapturedStep, CompiledStep, captured, compiled
from torchlike.porting.plan.topologies import Topology
from torchlike.porting.plan.topologies import topology as topology_of


@dataclass(frozen=True)
class Plan:
    """What a step needs of each device of a topology, and what bounds its time.

    Attributes:
      step: the name of the function.
      topology: the name of the machine.
      chip: its kind of device, with the source of the figures.
      devices: how many there are.
      mesh: sizes of the mesh by axis.
      inputs: bytes on one device by kind of input ("parameters", "optimizer state", "batch", …).
      arguments, results, aliased, temporary, code: bytes on one device, as XLA says. Results in the
        memory of arguments are ``aliased``.
      capacity: bytes that a device has.
      flops: operations of products and convolutions of a step, on all devices together.
      units: the same by the unit that computes them ("bf16", "tf32", "f32"), each of which has its
        own peak.
      xla_flops: what XLA counts on one device; None where it does not say (CUDA).
      bytes: that one device reads and writes, as XLA says; None where it does not.
      collectives: by kind and size of group.
      compute_seconds, memory_seconds, interconnect_seconds: bounds from below on a step's time.
      capture_seconds, compile_seconds: on this machine.
      text: the optimised program.

    Example:
      >>> with torch.device("meta"):
      ...     model, x = torch.nn.Linear(64, 64), torch.zeros(32, 64)
      >>> plan = torchlike.plan(model, x, topology="v5e:2x2")
      >>> plan.devices, plan.mesh, plan.bound in ("compute", "memory", "interconnect")
      (4, {'data': 4}, True)
    """

    step: str
    topology: str
    chip: dict[str, Any]
    devices: int
    mesh: dict[str, int]
    inputs: dict[str, int]
    arguments: int
    results: int
    aliased: int
    temporary: int
    code: int
    capacity: int
    flops: int
    units: dict[str, int]
    xla_flops: float | None
    bytes: float | None
    collectives: list[Collective]
    compute_seconds: float
    memory_seconds: float
    interconnect_seconds: float
    capture_seconds: float
    compile_seconds: float
    text: str
    #: What was changed for it, in words; "" for the step as it is.
    change: str = ""
    #: Where the steps of a loop differ: which of them it is, and how many of those an update has.
    phase: str = ""
    steps: int = 1

    @property
    def needed(self) -> int:
        """Bytes that a device needs at once."""
        return self.arguments + self.results - self.aliased + self.temporary + self.code

    @property
    def fits(self) -> bool:
        """Whether that is less than the device has."""
        return self.needed <= self.capacity

    @property
    def bound(self) -> str:
        """What takes longest: "compute", "memory" or "interconnect"."""
        times = {
            "compute": self.compute_seconds,
            "memory": self.memory_seconds,
            "interconnect": self.interconnect_seconds,
        }
        return max(times, key=lambda k: times[k])

    @property
    def seconds(self) -> float:
        """The bound from below: the longest of the three, if all overlap."""
        return max(self.compute_seconds, self.memory_seconds, self.interconnect_seconds)

    def as_dict(self) -> dict[str, Any]:
        """Return everything but the program's text, as plain values.

        Returns:
          a dictionary by the names of the attributes.
        """
        found = {k: v for k, v in asdict(self).items() if k != "text"}
        return found | {
            "needed": self.needed,
            "fits": self.fits,
            "bound": self.bound,
            "seconds": self.seconds,
        }

    def to_json(self, path: str | Path | None = None) -> str:
        """Return `as_dict` as JSON, also written to ``path``.

        Args:
          path: of the file; None writes none.

        Returns:
          the text.
        """
        text = json.dumps(self.as_dict(), indent=2)
        if path is not None:
            whole_files.write_text(path, text + "\n")
        return text


def plan(
    step: Callable[..., Any],
    *args: Any,
    topology: str,
    mesh: Mapping[str, int] | DeviceMesh | None = None,
    fsdp: str | None = None,
    shardings: Rule | Mapping[str, PartitionSpec] | None = None,
    compiler_options: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> Plan:
    """Compute what ``step(*args, **kwargs)`` needs on a machine that is not here: memory,
    operations, exchange, and bounds on its time.

    Build the model, the optimizer and the example batch within ``torch.device("meta")``: then
    nothing is computed and no memory taken, whatever their size. (With values, the step runs once.)
    Needs ``pip install 'torchlike[plan]'``, and no accelerator.

    Args:
      step: a training step, a module or any function, whose state is found as by `torchlike.jit`.
      topology: "v5e:4x4", "v5p:2x2x1", "h100:8", "h100:2x8" (hosts x GPUs), ….
      mesh: names and sizes of the mesh's axes, {"data": 16, "model": 16}; {"data": devices} unless
        given. The batch is sharded over ``data``, parameters over ``model``
        (`torchlike.porting.plan.leaves.default_rule`). Or the mesh that the script has put its
        modules onto, of `torchlike.porting.plan.device_mesh`: then they lie as they were put, and
        the batch is sharded over its first dimension.
      fsdp: the axis over which parameters and their state are sharded.
      shardings: instead of the rule above, a PartitionSpec for each input by its name, or a
        function of the input (`torchlike.porting.plan.leaves.Leaf`).
      compiler_options: XLA's own, as those of ``jax.jit``: {"xla_memory_scheduler": "list"}.

    Raises:
      ValueError: the topology is unknown, the mesh does not divide it, or an axis is not there.
      ImportError: what compiles for it is not installed.
      StepReadsValues: the step asks for the value of a tensor on the meta device.
      JitCaptureError: the step cannot be compiled as a whole.
      jax.errors.JaxRuntimeError: XLA has no such option.

    Returns:
      a table of figures: ``needed`` bytes of memory a device, whether it ``fits``, ``bound`` in
      seconds, ``collectives``, ``text``; ``print`` shows it.

    Example:
      >>> with torch.device("meta"):
      ...     model, x = torch.nn.Linear(64, 64), torch.zeros(32, 64)
      >>> plan = torchlike.plan(model, x, topology="v5e:2x2")
      >>> plan.fits, plan.needed < 2**24
      (True, True)
    """
    target = target_of(topology, mesh, fsdp, shardings)
    return target.plan(target.capture(step, args, kwargs), compiler_options)


@dataclass(frozen=True)
class Target:
    """A machine, and how steps are spread over it.

    Attributes:
      topology: the machine.
      mesh: its devices.
      rule: how each input is sharded.
    """

    topology: Topology
    mesh: Mesh
    rule: Rule | Mapping[str, PartitionSpec]

    def capture(
        self,
        step: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any] | None = None,
        *,
        has_run: bool = False,
    ) -> CapturedStep:
        """Capture a step for this machine (`torchlike.porting.plan.step.captured`)."""
        where = self.topology
        devices = len(where.devices)
        return captured(
            step, tuple(args), dict(kwargs or {}), where.platform, devices, has_run=has_run
        )

    def plan(self, step: CapturedStep, compiler_options: Mapping[str, Any] | None = None) -> Plan:
        """Return the plan of a step that was captured for this machine."""
        with progress.told(f"compiling {step.name} for {self.topology.name}"):
            found = compiled(step, self.topology, self.mesh, self.rule, compiler_options)
        return plan_of(found)


def target_of(
    topology: str,
    mesh: Mapping[str, int] | DeviceMesh | None = None,
    fsdp: str | None = None,
    shardings: Rule | Mapping[str, PartitionSpec] | None = None,
) -> Target:
    """Return what a request means, which `plan` describes. ValueError where it is wrong."""
    where = topology_of(topology)
    if isinstance(mesh, DeviceMesh):
        devices, shardings = mesh.jax_mesh, shardings or as_placed(mesh)
    else:
        devices = where.mesh(dict(mesh) if mesh else None)
    if fsdp is not None and fsdp not in devices.shape:
        raise ValueError(f"fsdp={fsdp!r} is no axis of the mesh: {', '.join(devices.shape)}")
    rule = shardings if shardings is not None else default_rule(devices, fsdp=fsdp)
    return Target(where, devices, rule)


def plan_of(step: CompiledStep) -> Plan:
    """Return the plan of a compiled step."""
    chip, captured_step = step.topology.chip, step.captured
    memory = step.executable.memory_analysis()
    cost = step.executable.cost_analysis() or {}
    units = captured_step.flops
    inputs: dict[str, int] = dict.fromkeys(KINDS, 0)
    for leaf, nbytes in shard_bytes(captured_step.leaves, step.placed):
        inputs[leaf.kind] += nbytes
    devices = math.prod(step.mesh.shape.values())
    found = collectives(step.text, devices)
    accessed = cost.get("bytes accessed")
    moved = accessed or (
        memory.argument_size_in_bytes + memory.output_size_in_bytes + 2 * memory.temp_size_in_bytes
    )
    sent = sum(c.sent for c in found)
    return Plan(
        step=captured_step.name,
        topology=step.topology.name,
        chip=asdict(chip),
        devices=devices,
        mesh=dict(step.mesh.shape),
        inputs={k: n for k, n in inputs.items() if n},
        arguments=memory.argument_size_in_bytes,
        results=memory.output_size_in_bytes,
        aliased=memory.alias_size_in_bytes,
        temporary=memory.temp_size_in_bytes,
        code=memory.generated_code_size_in_bytes,
        capacity=chip.memory,
        flops=sum(units.values()),
        units=units,
        xla_flops=cost.get("flops"),
        bytes=accessed,
        collectives=found,
        compute_seconds=sum(n / devices / chip.peak[unit] for unit, n in units.items()),
        memory_seconds=moved / chip.bandwidth,
        interconnect_seconds=sent / chip.interconnect,
        capture_seconds=captured_step.seconds,
        compile_seconds=step.seconds,
        text=step.text,
    )
