"""Variants: the ways in which one function runs, each of which has to give the same."""

from __future__ import annotations

import functools
import unittest
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from torchlike._ops.shape.joining import stack
from torchlike._runtime.first_calls.settings import set_first_calls
from torchlike.autograd.grad_mode import no_grad
from torchlike.func import vmap
from torchlike.jit._decorator import jit
from torchlike.tensor import Tensor, from_jax
from torchlike.testing.comparison import assert_close

_Function = Callable[..., Any]


def _under_first_calls(mode: str, fn: _Function) -> _Function:
    @functools.wraps(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        with set_first_calls(mode):
            return fn(*args, **kwargs)

    return run


def _warming(fn: _Function) -> _Function:
    return jit(fn, warmup=2)


def _is_leaf(x: Any) -> bool:
    return isinstance(x, Tensor)


#: How many copies of a call are mapped over.
_LANES = 2


def _vmapped(fn: _Function) -> _Function:
    """Map over two copies of each tensor, and return one of the two equal results; what the
    function writes into an argument is written into the caller's."""

    @functools.wraps(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = jax.tree.flatten((args, kwargs), is_leaf=_is_leaf)
        places = [i for i, x in enumerate(leaves) if isinstance(x, Tensor)]
        if not places:
            raise ValueError("the variant 'vmap' maps over tensors among the arguments: give one")
        batches = [stack([leaves[i]] * _LANES) for i in places]
        made: Any = None

        def lane(*tensors: Tensor) -> tuple[Tensor, ...]:
            nonlocal made
            inside = list(leaves)
            for i, t in zip(places, tensors, strict=True):
                inside[i] = t
            a, k = jax.tree.unflatten(structure, inside)
            found, made_structure = jax.tree.flatten(fn(*a, **k), is_leaf=_is_leaf)
            made = found, made_structure
            return tuple(x for x in found if isinstance(x, Tensor))

        versions = [b._version for b in batches]
        results = list(vmap(lane, randomness="same")(*batches))
        for i, batch, version in zip(places, batches, versions, strict=True):
            if batch._version != version:
                with no_grad():
                    leaves[i].copy_(batch[0])
        for result in results:
            assert_close(result[0], result[1], equal_nan=True, msg=_lanes_differ)
        outs = [results.pop(0)[0] if isinstance(x, Tensor) else x for x in made[0]]
        return jax.tree.unflatten(made[1], outs)

    return run


def _lanes_differ(text: str) -> str:
    return f"vmap gives two results for two equal inputs: {text}"


def _on_devices(fn: _Function) -> _Function:
    """Put tensors onto all devices, cut along dimension 0 where it divides, and gather what comes
    out. ``unittest.SkipTest`` where there is one device."""
    devices = jax.devices()
    if len(devices) < 2:
        raise unittest.SkipTest(
            "the variant 'devices' needs several: on a CPU "
            "XLA_FLAGS=--xla_force_host_platform_device_count=2"
        )
    mesh = Mesh(np.array(devices), ("devices",))

    def spread(x: Any) -> Any:
        if not isinstance(x, Tensor):
            return x
        cut = x.dim() > 0 and x.shape[0] > 0 and x.shape[0] % len(devices) == 0
        place = NamedSharding(mesh, PartitionSpec("devices") if cut else PartitionSpec())
        made = from_jax(jax.device_put(x.detach().jax(), place))
        return made.requires_grad_(x.requires_grad)

    def gathered(x: Any) -> Any:
        return x.full_tensor() if hasattr(x, "full_tensor") else x

    @functools.wraps(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        inside = jax.tree.map(spread, (args, kwargs), is_leaf=_is_leaf)
        result = jax.tree.map(gathered, fn(*inside[0], **inside[1]), is_leaf=_is_leaf)
        before = jax.tree.leaves((args, kwargs), is_leaf=_is_leaf)
        for t, moved in zip(before, jax.tree.leaves(inside, is_leaf=_is_leaf), strict=True):
            if isinstance(t, Tensor) and moved._version:
                with no_grad():
                    t.copy_(gathered(moved))
        return result

    return run


class Variant:
    """A way to run a function: ``variant(fn)`` gives the function that runs so.

    Args:
      name: "eager", "compiled", "jit", "warmup", "vmap" or "devices".

    Attributes:
      name: as it was given.

    Raises:
      ValueError: another name; from the function, "vmap" without a tensor among the arguments.
      unittest.SkipTest: from the function, "devices" where there is one.

    Example:
      >>> compiled = torchlike.testing.Variant("jit")
      >>> compiled(lambda x: x + 1)(torch.zeros(2))
      tensor([1., 1.])
    """

    def __init__(self, name: str) -> None:
        if name not in VARIANTS:
            raise ValueError(f"unknown variant {name!r}: one of {', '.join(VARIANTS)}, or 'all'")
        self.name = name

    def __call__(self, fn: _Function) -> _Function:
        return VARIANTS[self.name](fn)

    def __repr__(self) -> str:
        return f"Variant({self.name!r})"


#: What each does to a function: first calls by NumPy; each op compiled; compiled as a whole; its
#: first two calls eager; mapped over copies; its tensors on all devices.
VARIANTS: dict[str, Callable[[_Function], _Function]] = {
    "eager": functools.partial(_under_first_calls, "numpy"),
    "compiled": functools.partial(_under_first_calls, "compiled"),
    "jit": functools.partial(jit, warmup=0),
    "warmup": _warming,
    "vmap": _vmapped,
    "devices": _on_devices,
}
#: Those that a test runs in where it does not say.
USUAL = ("eager", "jit")


def named_variants(names: tuple[str, ...]) -> list[Variant]:
    """Return the variants of these names, each once; "all" means every one. ValueError for
    others."""
    wanted = VARIANTS if "all" in names else names or USUAL
    return [Variant(name) for name in dict.fromkeys(wanted)]


def variants(*names: str) -> Callable[[Any], Any]:
    """Mark a test, by a decorator, so that pytest runs it once for each of these variants.

    The fixture ``variant`` and the option ``--torchlike-variants=all``, which says others for a
    whole run, come with torchlike's plugin for pytest, which pytest finds by itself. For
    ``chex.TestCase`` there is ``torchlike.testing.chex.variants``.

    Args:
      names: "eager", "compiled" (each op by XLA), "jit", "warmup" (the first two calls eager),
        "vmap" (over copies of the tensors), "devices" (skipped where there is one), or "all";
        "eager" and "jit" by default.

    Returns:
      the decorator.

    Raises:
      ValueError: another name.

    Example:
      >>> @torchlike.testing.variants("eager", "jit", "vmap")
      ... def test_softmax(variant):
      ...     f = variant(lambda x: torch.softmax(x, -1))
      ...     torch.testing.assert_close(f(torch.zeros(2)), torch.full((2,), 0.5))
    """
    named_variants(names)

    def decorate(test: Any) -> Any:
        test.torchlike_variants = names
        return test

    return decorate
