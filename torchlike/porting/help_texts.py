"""What ``torchlike --help`` and ``torchlike help`` say: of each subcommand, what it is for and two
examples; the environment variables.

Standard library only, as all that the command's arguments need.
"""

from __future__ import annotations

import textwrap
from typing import NamedTuple

from torchlike._runtime import environment_variables

#: The topic of ``torchlike help`` that is no subcommand.
ENVIRONMENT = "env"


class CommandHelp(NamedTuple):
    """A subcommand's description, whose first sentence stands in the list of all, and examples."""

    text: str
    examples: str


COMMANDS = {
    "run": CommandHelp(
        """\
Run a PyTorch script unchanged: `import torch` and every torch.x.y mean torchlike. Arguments, paths,
exit codes and tracebacks are the script's own.
""",
        """\
torchlike run train.py --epochs 3
torchlike run --device-map cuda=cpu -m package.train
""",
    ),
    "launch": CommandHelp(
        "Run a script in several processes, as torchrun does: torchlike launch --help says how.",
        """\
torchlike launch --nproc-per-node 2 train.py
torchlike launch --nnodes 2 --node-rank 0 --master-addr host0 train.py
""",
    ),
    "compare": CommandHelp(
        """\
Run a PyTorch script eager and compiled, each in its own process. Print the time of the first and of
a steady step, of the whole run, and how closely the losses agree; write a plot and the numbers.
With --find-divergence: name where the compiled run first differs from the eager one instead, or
with --torch, where torchlike first differs from PyTorch.
""",
        """\
torchlike compare --torch --rounds 3 --html report.html train.py
torchlike compare --find-divergence --steps 5 train.py
""",
    ),
    "bench": CommandHelp(
        """\
Time a function eager, deferred and compiled, by turns: beside JAX by hand (--jax), and beside
PyTorch where it is installed. Without gradients and with them; the first call apart. Of a script:
what compare says, with PyTorch where it is installed, in three rounds.
""",
        """\
torchlike bench 'lambda x: x.softmax(-1)' --shape x=64,1000 --jax 'lambda x: jax.nn.softmax(x, -1)'
torchlike bench model.py::attend --args 'torch.randn(n, 64)' --sweep n=64..4096 --html b.html
""",
    ),
    "demo": CommandHelp(
        "Compare eager and compiled training on handwritten digits.",
        """\
torchlike demo
torchlike demo --torch --output results
""",
    ),
    "shim": CommandHelp(
        """\
Make `import torch` mean torchlike in a virtual environment: a distribution `torch` that pip and uv
take for PyTorch's. `status` says which torch is there (exit code 1: not this one, or not whole),
`remove` takes it away.
""",
        """\
torchlike shim install --with torchvision
torchlike shim status
""",
    ),
    "doctor": CommandHelp(
        """\
Say what a report of a bug should: versions, devices, caches, threads, which torch is imported, and
what is known not to go together (exit code 1 if something is).
""",
        """\
torchlike doctor
torchlike doctor --json > facts.json
""",
    ),
    "plan": CommandHelp(
        """\
Say what a script's training step needs on a machine that is not here: memory of each chip,
operations, exchange, and bounds on its time. The script runs up to its first step, without values.
""",
        """\
torchlike plan train.py --topology h100:8
torchlike plan train.py --topology v5e:16x16 --mesh data=16,model=16 --advise --args --layers 24
""",
    ),
    "scan": CommandHelp(
        """\
Read programs and notebooks and say whether they run here, and what is missing, slow or different,
with its lines. Nothing of them runs. Exit code 1: something is missing (or what --fail-on names);
2: nothing could be read; 3: nothing is missing, but some files could not be read.
""",
        """\
torchlike scan train.py
torchlike scan --fail-on risky --html scan.html src notebooks
""",
    ),
    "help": CommandHelp(
        "Show the help of a subcommand, or the environment variables: torchlike help env.",
        """\
torchlike help env
torchlike help compare
""",
    ),
}


def environment() -> str:
    """Return the page about environment variables: each with its values and what it means."""
    lines = ["Environment variables of torchlike:"]
    for variable in environment_variables.ALL:
        values = variable.stands_for if variable.values is None else "|".join(variable.values)
        lines.append(f"  {variable.name}={values}")
        lines.append(textwrap.indent(textwrap.fill(variable.meaning, 72), " " * 6))
    return "\n".join(lines)
