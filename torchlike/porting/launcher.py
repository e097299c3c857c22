"""``torchlike run``: a PyTorch script as it is, on torchlike."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import torchlike
from torchlike._runtime import xla_flags
from torchlike._runtime.near_names import near_name
from torchlike.porting import aliases, compiled, script, torch_alias
from torchlike.porting import device_map as device_maps
from torchlike.porting.allocator import tune_allocator
from torchlike.porting.hints import missing
from torchlike.random.cuda import cards


def run(
    argv: Sequence[str],
    *,
    as_module: bool = False,
    threads: int | None = None,
    device_map: dict[str, str] | None = None,
    card: str | None = None,
    explain: Callable[[BaseException], None] | None = None,
) -> None:
    """Run a script, or with ``as_module`` a module, in which ``torch`` means torchlike.

    Args:
        argv: the script's path (or the module's name) and its arguments.
        as_module: whether ``argv[0]`` is a module's name, as after ``python -m``.
        threads: how many XLA's CPU backend starts; by default as many as there are cores.
        device_map: what device types of the script's mean: {"cuda": "cpu"}, in it and in processes
            that it starts. Told once.
        card: the GPU whose random numbers are drawn on "cuda", such as "A100". With a device map of
            {"cuda": "cpu"} a device of the CPU's stands for it.
        explain: told of the exception that ends the script, by default ``explain_missing``.

    Raises:
        SystemExit: the script called ``sys.exit`` or ended in an exception, which has been printed;
            or ``TORCHLIKE_COMPILE`` is none of the modes there are, or ``card`` no card.
    """
    if threads is not None:
        xla_flags.set_cpu_threads(threads)
    tune_allocator()
    if device_map:
        device_maps.set_for_children(device_map)
    if card:
        device_maps.set_card_for_children(card)
    try:
        finder = torch_alias.install()
    except ValueError as error:
        print(f"torchlike: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    aliases.install(
        "torch_xla", "torchlike.porting.torch_xla", is_installed=True, for_programs=True
    )
    if device_map:
        said = ", ".join(f"{name} means {other}" for name, other in device_map.items())
        of_card = f", with the random numbers of {cards.current().name}" if card else ""
        print(f"torchlike: {said} in this script (--device-map){of_card}", file=sys.stderr)
    try:
        compiled.apply(compiled.mode_from_environment())
    except ValueError as error:
        print(f"torchlike: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    name = finder.real_name(argv[0]) if as_module else None
    script.run(
        [name or argv[0], *argv[1:]], as_module=as_module, explain=explain or explain_missing
    )


def explain_missing(error: BaseException) -> None:
    """Say of a missing tensor method that it is torchlike that lacks it, and what to use."""
    if not isinstance(error, AttributeError) or not isinstance(error.obj, torchlike.Tensor):
        return
    if near_name(str(error.name), dir(error.obj)) is None:  # else the error says what was meant
        error.add_note(missing(f"torch.Tensor.{error.name}"))
