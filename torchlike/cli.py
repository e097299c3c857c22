"""The command ``torchlike``, also ``python -m torchlike``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from torchlike.porting import compare, demo, launcher
from torchlike.porting.version import own_version

_RUN = """\
Run a PyTorch script unchanged: `import torch` and every torch.x.y mean torchlike.

Environment:
  TORCHLIKE_COMPILE=off|regions|modules  what is compiled: nothing, what torch.compile and
                                         torchlike.jit mark (the default), or every module
  TORCHLIKE_TRACEBACK=full               show torchlike's own frames in tracebacks
  TORCHLIKE_ALLOCATOR=system             leave glibc's allocator as it is
"""
_COMPARE = """\
Run a PyTorch script eager and compiled, each in its own process; print the time of the first and of
a steady step and how closely the losses agree; write a plot and the numbers.
"""
_DEMO = "Compare eager and compiled training on handwritten digits."


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with ``argv``, or with the process's own arguments; return the exit code."""
    options = _parser().parse_args(argv)
    if options.command == "run":
        launcher.run([options.script, *options.args], as_module=options.module)
        return 0
    if options.command == "compare":
        return compare.compare(
            [options.script, *options.args],
            as_module=options.module,
            with_torch=options.torch,
            output=options.output,
        )
    return demo.demo(with_torch=options.torch, output=options.output)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="torchlike", description="PyTorch's programming model on JAX.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"torchlike {own_version()}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    run = _add(commands, "run", _RUN)
    compare_ = _add(commands, "compare", _COMPARE)
    demo_ = _add(commands, "demo", _DEMO)
    for command in (compare_, demo_):
        command.add_argument("--torch", action="store_true", help="with real PyTorch as well")
        command.add_argument(
            "--output",
            type=Path,
            default=Path(),
            metavar="DIR",
            help="for the plot and the numbers",
        )
    for command in (run, compare_):
        command.add_argument(
            "-m", dest="module", action="store_true", help="SCRIPT is a module's name"
        )
        command.add_argument("script", metavar="SCRIPT", help="the script to run")
        command.add_argument(
            "args", nargs=argparse.REMAINDER, metavar="ARGS", help="the script's own arguments"
        )
    return parser


def _add(commands: argparse._SubParsersAction, name: str, text: str) -> argparse.ArgumentParser:
    return commands.add_parser(
        name,
        help=text.partition(".")[0].partition(":")[0],
        description=text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
