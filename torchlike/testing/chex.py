"""chex, for tests that hold tensors: ``from torchlike.testing import chex``.

Tensors and modules are pytrees, so chex itself takes most of them. Here its assertions take the
rest: a tensor beside an array, a Parameter beside a tensor (to JAX two structures), tensors as
scalars. Each tensor is given as its array, a module as the arrays of its ``state_dict()``. All
other names (``dataclass``, ``Dimensions``, ``TestCase``) are chex's own.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

from torchlike._jit.call.function import JitFunction
from torchlike._runtime.lazy import LazyModule
from torchlike.interop.pytrees import arrays
from torchlike.jit._optimized_module import jit_function_of
from torchlike.tensor import Tensor
from torchlike.testing.variants import named_variants

_chex: Any = LazyModule("chex")
_parameterized: Any = LazyModule("absl.testing.parameterized")

#: Assertions of Python's numbers, which have no dtype to keep.
_SCALARS_TEXT = """
assert_scalar assert_scalar_in assert_scalar_negative assert_scalar_non_negative
assert_scalar_positive
"""
_SCALARS = frozenset(_SCALARS_TEXT.split())
#: Assertions that take functions, whose arguments are theirs.
_OF_FUNCTIONS = frozenset(
    ("assert_max_traces", "assert_numerical_grads", "assert_devices_available")
)


def _item(x: Any) -> Any:
    return x.item() if isinstance(x, (Tensor, np.ndarray, jax.Array)) and x.ndim == 0 else x


def __getattr__(name: str) -> Any:
    found = getattr(_chex, name)
    if not name.startswith("assert_") or name in _OF_FUNCTIONS or not callable(found):
        return found

    @functools.wraps(found)
    def assertion(*args: Any, **kwargs: Any) -> Any:
        plain = _item if name in _SCALARS else arrays
        return found(*map(plain, args), **{k: plain(v) for k, v in kwargs.items()})

    globals()[name] = assertion
    return assertion


@contextlib.contextmanager
def everywhere() -> Iterator[None]:
    """Have chex's own assertions take tensors beside arrays, too, within a ``with`` block: for
    tests that say ``import chex``. An autouse fixture does it for a suite.

    Returns:
      the context manager.

    Example:
      >>> import chex
      >>> from torchlike.testing.chex import everywhere
      >>> with everywhere():
      ...     chex.assert_trees_all_close(torch.ones(3), torch.ones(3).jax())
    """
    chex = importlib.import_module("chex")
    before = {name: getattr(chex, name) for name in dir(chex) if name.startswith("assert_")}
    ours = importlib.import_module(__name__)
    try:
        for name in before:
            getattr(_chex, name)  # which remembers chex's own: ours call it
            setattr(chex, name, getattr(ours, name))
        yield
    finally:
        for name, function in before.items():
            setattr(chex, name, function)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(importlib.import_module("chex"))})


def assert_max_traces(fn: Any = None, n: Any = None) -> Any:
    """Do ``chex.assert_max_traces``: AssertionError where a function is traced more than n times.

    Of a function of ``torchlike.jit`` or ``torch.compile`` its programs are counted, which chex
    does not see from outside; ``torch.compile`` would take the error, raised inside, for a reason
    to run eagerly. Of others, chex counts.

    Args:
      fn: the function; or n, for a decorator.
      n: how many traces there may be.

    Returns:
      the function that counts, or the decorator.

    Raises:
      AssertionError: from a call, after the n-th trace.

    Example:
      >>> from torchlike.testing import chex
      >>> step = chex.assert_max_traces(torchlike.jit(lambda x: x + 1), n=1)
      >>> step(torch.zeros(2))
      tensor([1., 1.])
    """
    if isinstance(fn, int):
        fn, n = None, fn
    if fn is None:
        return functools.partial(assert_max_traces, n=n)
    compiled = jit_function_of(fn)
    if not isinstance(compiled, JitFunction):
        return _chex.assert_max_traces(fn, n=n)
    before = compiled.compiles

    @functools.wraps(fn)
    def counted(*args: Any, **kwargs: Any) -> Any:
        result = fn(*args, **kwargs)
        if (times := compiled.compiles - before) > n:
            raise AssertionError(f"{compiled._name} was compiled {times} times, not {n}")
        return result

    return counted


def variants(*names: Any, **which: Any) -> Any:
    """Do ``chex.variants`` with torchlike's variants: ``@variants("eager", "jit")`` on a method of
    ``chex.TestCase`` runs it once for each, with ``self.variant`` to say what is run so.

    Args:
      names: as of ``torchlike.testing.variants``.
      which: chex's own keywords (``with_jit=True``): then it is ``chex.variants``, which compiles
        by ``jax.jit``.

    Returns:
      the decorator.

    Raises:
      ValueError: another name.
      RuntimeError: from a test that never calls ``self.variant``.

    Example:
      >>> from torchlike.testing import chex
      >>> class TestSum(chex.TestCase):
      ...     @chex.variants("eager", "jit")
      ...     def test_sum(self):
      ...         assert self.variant(torch.sum)(torch.ones(3)) == 3
    """
    if which or (names and not isinstance(names[0], str)):
        return _chex.variants(*names, **which)
    found = named_variants(names)

    def decorate(test: Callable[..., Any]) -> Any:
        @functools.wraps(test)
        def run(self: Any, name: str) -> Any:
            variant, calls = named_variants((name,))[0], 0

            def counted(fn: Callable[..., Any]) -> Callable[..., Any]:
                nonlocal calls
                calls += 1
                return variant(fn)

            self.variant = counted
            result = test(self)
            if not calls:
                raise RuntimeError(f"{test.__name__} has variants, but never calls self.variant")
            return result

        del run.__wrapped__  # whose parameters absl would take for the test's
        cases = [(f"_{v.name}", v.name) for v in found]
        return _parameterized.named_parameters(*cases)(run)

    return decorate
