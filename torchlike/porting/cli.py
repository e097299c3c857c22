"""The command ``torchlike``, also ``python -m torchlike``.

Standard library only until a command is executed: see the package torchlike_command.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import os
import signal
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

from torchlike._runtime import environment_variables
from torchlike.porting import help_texts


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with ``argv``, or with the process's own arguments; return the exit code."""
    return execute(parse(sys.argv[1:] if argv is None else argv))


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments to what they ask for.

    Raises:
        SystemExit: they are wrong, or an environment variable is, which has been said; or they ask
            for help or the version, which has been given.
    """
    parser = _parser()
    if argv and argv[0] not in _EXECUTED_BY:
        _explain_unknown(parser, argv)
    if argv and argv[0] == "launch":  # which has a parser of its own
        options = argparse.Namespace(command="launch", args=list(argv[1:]))
    else:
        parser.asked = argv[0] if argv else ""
        options = parser.parse_args(argv)
    for variable in environment_variables.ALL:
        try:
            variable.get()
        except ValueError as error:
            print(f"torchlike: {error}", file=sys.stderr)
            raise SystemExit(2) from None
    return options


def execute(options: argparse.Namespace) -> int:
    """Do what was asked for; return the exit code. That imports all of torchlike, and JAX."""
    try:
        return _EXECUTED_BY[options.command](options)
    except KeyboardInterrupt:
        if options.command == "launch":
            raise
        print("torchlike: interrupted", file=sys.stderr)
        return 128 + signal.SIGINT


def _room(name: str) -> Any:
    return importlib.import_module(f"torchlike.porting.{name}")


def _run(options: argparse.Namespace) -> int:
    if options.torch_version is not None:
        _follow(options.torch_version)
    _room("launcher").run(
        [options.script, *options.args],
        as_module=options.module,
        threads=options.threads,
        device_map=options.device_map,
        card=options.card,
    )
    return 0


def _follow(release: str) -> None:
    """Have this process and its children follow a release, which is read when torchlike is
    imported: after ``python -m torchlike``, which has done so, Python starts anew."""
    os.environ[environment_variables.TORCH_VERSION.name] = release
    if release != importlib.import_module("torchlike._runtime.reference").FOLLOWED:
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def _compare(options: argparse.Namespace) -> int:
    command = [options.script, *options.args]
    if options.find_divergence:
        return _room("divergence.command").run(
            command,
            as_module=options.module,
            with_torch=options.torch or options.torch_python is not None,
            torch_python=options.torch_python,
            tolerance=options.tolerance,
            steps=options.steps,
            json_path=options.json,
        )
    try:
        peak = None if options.peak is None else _room("plan.work").peak_of(options.peak)
    except ValueError as error:
        print(f"torchlike: {error}", file=sys.stderr)
        return 2
    compare = _room("compare")
    return compare.compare(
        command,
        compare.CompareOptions(
            as_module=options.module,
            with_torch=options.torch or options.torch_python is not None,
            torch_python=options.torch_python,
            rounds=options.rounds,
            output=options.output,
            html_path=options.html,
            peak=peak,
        ),
    )


def _bench(options: argparse.Namespace) -> int:
    try:
        peak = None if options.peak is None else _room("plan.work").peak_of(options.peak)
    except ValueError as error:
        print(f"torchlike: {error}", file=sys.stderr)
        return 2
    if options.function.endswith(".py"):  # a whole script
        compare = _room("compare")
        options_ = compare.CompareOptions(
            with_torch=options.torch_python is not None or _room("compare").has_pytorch(),
            torch_python=options.torch_python,
            rounds=options.rounds or 3,
            output=options.output,
            html_path=options.html,
            peak=peak,
        )
        return compare.compare([options.function], options_)
    command = _room("bench.command")
    return command.run(
        command.BenchOptions(
            options.function,
            shapes=options.shape,
            arguments=options.args,
            jax=options.jax,
            sweep=options.sweep,
            gradients=not options.no_gradients,
            rounds=options.rounds or 7,
            torch_python=options.torch_python,
            peak=peak,
            output=options.output,
            json_path=options.json,
            html_path=options.html,
        )
    )


def _shim(options: argparse.Namespace) -> int:
    return _room("shim.command").run(
        options.action,
        names=getattr(options, "companions", ()),
        anywhere=getattr(options, "anywhere", False),
    )


def _plan(options: argparse.Namespace) -> int:
    return _room("plan.command").run(
        [options.script, *options.args],
        topology_name=options.topology,
        mesh=options.mesh,
        fsdp=options.fsdp,
        with_values=options.values,
        advise=options.advise,
        json_path=options.json,
        html_path=options.html,
    )


def _scan(options: argparse.Namespace) -> int:
    return _room("scan.command").run(
        options.paths,
        fail_on=options.fail_on,
        everything=options.all,
        form=options.format,
        json_path=options.json,
        html_path=options.html,
    )


def _doctor(options: argparse.Namespace) -> int:
    return _room("doctor.command").run(as_json=options.json)


def _demo(options: argparse.Namespace) -> int:
    return _room("demo").demo(with_torch=options.torch, output=options.output)


def _help(options: argparse.Namespace) -> int:
    if options.topic == help_texts.ENVIRONMENT:
        print(help_texts.environment())
    else:
        parse([*([options.topic] if options.topic else ()), "--help"])
    return 0


def launch(options: argparse.Namespace) -> int:
    """Run the launcher, which needs neither torchlike nor JAX."""
    return importlib.import_module("torchlike._runtime.launching.agent").main(options.args)


class _Parser(argparse.ArgumentParser):
    """Says what was meant where an option is unknown: ``--thread`` is like ``--threads``."""

    #: The options of each subcommand.
    options_of: Mapping[str, list[str]] = MappingProxyType({})
    #: The subcommand that is asked for.
    asked = ""

    def error(self, message: str) -> NoReturn:
        """Print the usage and the error, and exit."""
        prefix, found, words = message.partition("unrecognized arguments: ")
        if found and not prefix:
            for word in words.split():
                name, equals, value = word.partition("=")
                near = difflib.get_close_matches(name, self.options_of.get(self.asked, ()), n=1)
                if near:
                    message += f". Did you mean: {near[0]}{equals}{value}"
                    break
        super().error(message)


class _Version(argparse.Action):
    """Looks the version up when it is asked for: that takes as long as all the rest."""

    def __init__(self, option_strings: Sequence[str], dest: str, **options: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, **options)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        version = importlib.import_module("torchlike.porting.version").own_version()
        print(f"torchlike {version}")
        parser.exit()


def _parser() -> _Parser:
    parser = _Parser(
        prog="torchlike",
        description="PyTorch's programming model on JAX.",
        epilog="torchlike help env lists the environment variables",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, help="show the version and exit")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    _add_run(commands)
    _add(commands, "launch")
    _add_compare(commands)
    _add_rows(_add(commands, "demo"))
    _add_bench(commands)
    _add_plan(commands)
    _add_scan(commands)
    _add_shim(commands)
    _add(commands, "doctor").add_argument("--json", action="store_true", help="print it as JSON")
    topics = _add(commands, "help")
    topics.add_argument("topic", nargs="?", choices=[help_texts.ENVIRONMENT, *_EXECUTED_BY])
    parser.options_of = {
        name: [option for action in command._actions for option in action.option_strings]
        for name, command in commands.choices.items()
    }
    return parser


def _add_script(command: argparse.ArgumentParser) -> None:
    """Add the script that a subcommand runs, and its arguments."""
    command.add_argument("-m", dest="module", action="store_true", help="SCRIPT is a module's name")
    command.add_argument("script", metavar="SCRIPT", help="the script to run")
    rest = command.add_argument(
        "args", nargs=argparse.REMAINDER, metavar="ARGS", help="the script's own arguments"
    )
    rest.required = False  # or a missing script would be "SCRIPT, ARGS"


def _add_rows(command: argparse.ArgumentParser) -> None:
    """Add what `compare` and `demo` both take."""
    command.add_argument("--torch", action="store_true", help="with real PyTorch as well")
    command.add_argument(
        "--output", type=Path, default=Path(), metavar="DIR", help="for the plot and the numbers"
    )


def _add_run(commands: argparse._SubParsersAction[Any]) -> None:
    run = _add(commands, "run")
    _add_script(run)
    run.add_argument(
        "--threads", type=_count, metavar="N", help="how many threads XLA computes with"
    )
    run.add_argument(
        "--device-map",
        type=_device_map,
        metavar="cuda=cpu|tpu",
        help="what devices that the script names mean here",
    )
    run.add_argument(
        "--torch-version",
        choices=environment_variables.TORCH_VERSION.values,
        help="the release of PyTorch that is followed where they differ",
    )
    run.add_argument(
        "--card",
        metavar="A100|T4|108x2048",
        help="draw the random numbers that the script had on this GPU",
    )


def _add_compare(commands: argparse._SubParsersAction[Any]) -> None:
    compare = _add(commands, "compare")
    _add_rows(compare)
    _add_script(compare)
    compare.add_argument(
        "--rounds",
        type=_count,
        default=1,
        metavar="N",
        help="run each row N times, by turns (1), for medians and their spread",
    )
    compare.add_argument(
        "--torch-python", metavar="PATH", help="as --torch, with the Python that has PyTorch"
    )
    compare.add_argument("--html", type=Path, metavar="FILE", help="write a page of the comparison")
    compare.add_argument(
        "--peak",
        metavar="h100|67e12|bf16=989e12,f32=67e12",
        help="the device's operations a second, of which the share is told",
    )
    compare.add_argument(
        "--find-divergence",
        action="store_true",
        help="name the step, module and operation where the compiled run first differs from the "
        "eager one, or with --torch, torchlike from PyTorch (exit code 3), or say that none does",
    )
    compare.add_argument(
        "--tolerance",
        type=_positive,
        default=1e-4,
        metavar="X",
        help="of --find-divergence: relative to a tensor's norm",
    )
    compare.add_argument(
        "--steps",
        type=_count,
        default=20,
        metavar="N",
        help="of --find-divergence: end the runs after N updates (20)",
    )
    compare.add_argument(
        "--json", type=Path, metavar="FILE", help="of --find-divergence: write it as JSON"
    )


def _add_bench(commands: argparse._SubParsersAction[Any]) -> None:
    bench = _add(commands, "bench")
    bench.add_argument(
        "function",
        metavar="FUNCTION",
        help="'lambda x: x.softmax(-1)', model.py::function, or train.py",
    )
    bench.add_argument(
        "--shape",
        action="append",
        default=[],
        metavar="x=64,1000",
        help="the shape of an argument, one for each; x=64,n:int64 with a dtype",
    )
    bench.add_argument(
        "--args", metavar="EXPR", help="all arguments, instead: 'torch.randn(n, n), 0.5'"
    )
    bench.add_argument("--jax", metavar="FUNCTION", help="the same by hand in JAX, timed as well")
    bench.add_argument(
        "--sweep",
        metavar="n=64..65536",
        help="over sizes that shapes name, which double (or n=100,300); writes a plot",
    )
    bench.add_argument(
        "--no-gradients", action="store_true", help="leave the calls with gradients out"
    )
    bench.add_argument(
        "--rounds", type=_count, metavar="N", help="turns of each row (7; of a script 3)"
    )
    bench.add_argument("--torch-python", metavar="PATH", help="the Python that has PyTorch")
    bench.add_argument(
        "--peak",
        metavar="h100|67e12|bf16=989e12,f32=67e12",
        help="the device's operations a second, of which the share is told",
    )
    bench.add_argument(
        "--output", type=Path, default=Path(), metavar="DIR", help="for the plot of a sweep"
    )
    bench.add_argument("--json", type=Path, metavar="FILE", help="write the numbers as JSON")
    bench.add_argument("--html", type=Path, metavar="FILE", help="write a page")


def _add_plan(commands: argparse._SubParsersAction[Any]) -> None:
    plan = _add(commands, "plan")
    plan.add_argument("script", metavar="SCRIPT", help="the script with the training loop")
    plan.add_argument(
        "--topology", required=True, metavar="NAME", help="v5e:16x16, v5p:2x2x1, h100:8, h100:2x8"
    )
    plan.add_argument("--mesh", metavar="AXES", help="data=16,model=16; all data unless given")
    plan.add_argument("--fsdp", metavar="AXIS", help="shard parameters over an axis")
    plan.add_argument("--advise", action="store_true", help="try what takes less memory")
    plan.add_argument(
        "--values", action="store_true", help="run with values, on the CPU: the step reads some"
    )
    plan.add_argument("--json", type=Path, metavar="FILE", help="write the plan as JSON")
    plan.add_argument("--html", type=Path, metavar="FILE", help="write the plan as a page")
    plan.add_argument(
        "--args",
        nargs=argparse.REMAINDER,
        default=[],
        metavar="ARGS",
        help="the script's own arguments, last",
    )


def _add_scan(commands: argparse._SubParsersAction[Any]) -> None:
    scan = _add(commands, "scan")
    scan.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a file or a folder")
    scan.add_argument("--all", action="store_true", help="show what is supported as well")
    scan.add_argument(
        "--fail-on",
        choices=("missing", "risky", "differs", "never"),
        default="missing",
        help="exit code 1 where this, or worse, is found",
    )
    scan.add_argument(
        "--format",
        choices=("text", "json", "github"),
        default="text",
        help="how to print what was found; github: as annotations of a workflow",
    )
    scan.add_argument("--json", type=Path, metavar="FILE", help="write the findings as JSON")
    scan.add_argument("--html", type=Path, metavar="FILE", help="write the findings as a page")


def _add_shim(commands: argparse._SubParsersAction[Any]) -> None:
    actions = _add(commands, "shim").add_subparsers(
        dest="action", required=True, metavar="install|status|remove"
    )
    install = _add(actions, "install", "Put torch into the environment: it is torchlike.")
    install.add_argument(
        "--with",
        dest="companions",
        nargs="+",
        choices=("torchvision", "torchaudio"),
        default=(),
        help="fetch these, too, in the releases that fit",
    )
    install.add_argument(
        "--anywhere", action="store_true", help="also where the environment is not virtual"
    )
    _add(actions, "status", "Say which torch the environment has.")
    _add(actions, "remove", "Take it away, and what came with it.")


#: Device types that a script may name, and that they may mean here.
_DEVICES = ("cpu", "cuda", "tpu", "xla", "mps", "xpu")


def _device_map(text: str) -> dict[str, str]:
    found = {}
    for part in text.split(","):
        name, _, other = part.partition("=")
        if name not in _DEVICES[1:] or other not in _DEVICES[:4]:
            raise argparse.ArgumentTypeError(
                f"{text!r}: write it as cuda=cpu (from {', '.join(_DEVICES[1:])} to "
                f"{', '.join(_DEVICES[:4])})"
            )
        found[name] = other
    return found


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is below 1")
    return number


def _positive(text: str) -> float:
    number = float(text)
    if not number > 0:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return number


def _add(
    commands: argparse._SubParsersAction[Any], name: str, text: str = ""
) -> argparse.ArgumentParser:
    """Add a subcommand, with the text and the examples of `help_texts`, or an action of one."""
    about = help_texts.COMMANDS.get(name)
    text, examples = (text, "") if text or about is None else (about.text, about.examples)
    return commands.add_parser(
        name,
        help=text.partition(".")[0].partition(":")[0],
        description=text,
        epilog=f"examples:\n{textwrap.indent(examples, '  ')}" if examples else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def _explain_unknown(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    """Say what was meant where the first argument is no command: a script, or a word like one."""
    first = argv[0]
    if first == "-m" or (not first.startswith("-") and _is_script(first)):
        parser.error(f"{first!r} is no command. Did you mean: torchlike run {' '.join(argv)}")
    near = [] if first[:1] == "-" else difflib.get_close_matches(first, _EXECUTED_BY, n=1)
    if near:
        meant = " ".join([near[0], *argv[1:]])
        parser.error(f"{first!r} is no command. Did you mean: torchlike {meant}")


def _is_script(name: str) -> bool:
    return name.endswith(".py") or os.path.exists(name)


#: What runs each subcommand.
_EXECUTED_BY: dict[str, Callable[[argparse.Namespace], int]] = {
    "run": _run,
    "launch": launch,
    "compare": _compare,
    "bench": _bench,
    "help": _help,
    "demo": _demo,
    "shim": _shim,
    "doctor": _doctor,
    "plan": _plan,
    "scan": _scan,
}
