"""``torch.testing._internal.common_utils``: test cases that compare tensors and are run for several
arguments."""

from __future__ import annotations

import contextlib
import functools
import random
import sys
import unittest
from collections.abc import Iterator, Mapping, Sequence
from numbers import Number
from typing import Any

import numpy as np

from torchlike._core import dtypes
from torchlike._ops.creation.from_data import as_tensor
from torchlike.random import fork_rng, manual_seed
from torchlike.tensor import Tensor
from torchlike.testing._internal.parametrized import (
    instantiate_parametrized_tests,
    parametrize,
    subtest,
)
from torchlike.testing.comparison import assert_close
from torchlike.testing.creation import make_tensor

__all__ = [
    "IS_LINUX",
    "IS_MACOS",
    "IS_WINDOWS",
    "TEST_NUMPY",
    "TestCase",
    "freeze_rng_state",
    "instantiate_parametrized_tests",
    "make_tensor",
    "parametrize",
    "run_tests",
    "set_default_dtype",
    "set_rng_seed",
    "subtest",
]

IS_LINUX = sys.platform == "linux"
IS_WINDOWS = sys.platform == "win32"
IS_MACOS = sys.platform == "darwin"
TEST_NUMPY = True
#: What each test begins with.
SEED = 1234


def set_rng_seed(seed: int | None = None) -> None:
    """Seed PyTorch's, Python's and NumPy's generators."""
    seed = SEED if seed is None else seed
    manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)


def freeze_rng_state() -> contextlib.AbstractContextManager[None]:
    """Put PyTorch's generators back where they were when the block ends."""
    return fork_rng()


@contextlib.contextmanager
def set_default_dtype(dtype: dtypes.dtype) -> Iterator[None]:
    """Make ``dtype`` the default in the block."""
    before = dtypes.get_default_dtype()
    dtypes.set_default_dtype(dtype)
    try:
        yield
    finally:
        dtypes.set_default_dtype(before)


def run_tests(argv: list[str] | None = None) -> None:
    """Run the tests of the script and end it, as ``unittest.main`` does."""
    unittest.main(argv=sys.argv if argv is None else argv)


class TestCase(unittest.TestCase):
    """A test case whose ``assertEqual`` compares tensors, arrays and numbers within tolerances, and
    whose tests begin with the same seed."""

    __test__ = False  # pytest would collect it from each file that imports it

    #: The least tolerances, which subclasses raise.
    precision: float = 0
    rel_tol: float = 0

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__test__ = True

    def setUp(self) -> None:
        set_rng_seed()

    def assertEqual(  # type: ignore[override]
        self,
        x: Any,
        y: Any,
        msg: Any = None,
        *,
        atol: float | None = None,
        rtol: float | None = None,
        equal_nan: bool = True,
        exact_dtype: bool = True,
        exact_device: bool = False,
        exact_layout: bool = False,
        exact_stride: bool = False,
        exact_is_coalesced: bool = False,
    ) -> None:
        """Raise AssertionError unless two objects are equal; tensors, arrays and numbers within
        tolerances, containers item by item."""
        if _is_array(x) or _is_array(y) or (_is_number(x) and _is_number(y)):
            x, y = _alike(x, y)
            rtol, atol = self._tolerances(x, y, rtol, atol)
            assert_close(
                x,
                y,
                rtol=rtol,
                atol=atol,
                equal_nan=equal_nan,
                check_dtype=exact_dtype and _is_array(x),
                check_device=exact_device,
                check_layout=exact_layout,
                check_stride=exact_stride,
                msg=None if msg is None else lambda generated: f"{generated}\n{msg}",
            )
            return
        again = functools.partial(
            self.assertEqual,
            msg=msg,
            atol=atol,
            rtol=rtol,
            equal_nan=equal_nan,
            exact_dtype=exact_dtype,
            exact_device=exact_device,
            exact_layout=exact_layout,
            exact_stride=exact_stride,
        )
        if isinstance(x, Mapping) and isinstance(y, Mapping):
            super().assertEqual(x.keys(), y.keys(), msg)
            for key in x:
                again(x[key], y[key])
        elif _is_sequence(x) and _is_sequence(y):
            super().assertEqual(len(x), len(y), msg)
            for one, other in zip(x, y, strict=True):
                again(one, other)
        else:
            super().assertEqual(x, y, msg)

    def assertNotEqual(self, x: Any, y: Any, msg: Any = None, **kwargs: Any) -> None:  # type: ignore[override]
        """Raise AssertionError where ``assertEqual``, which has the keywords, does not."""
        with self.assertRaises(AssertionError, msg=msg):
            self.assertEqual(x, y, msg, **kwargs)

    def assertEqualIgnoreType(self, *args: Any, **kwargs: Any) -> None:
        """Do ``assertEqual`` whatever the dtypes are."""
        self.assertEqual(*args, exact_dtype=False, **kwargs)

    def _tolerances(
        self, x: Any, y: Any, rtol: float | None, atol: float | None
    ) -> tuple[float | None, float | None]:
        """Return the tolerances as given, or those of the dtypes where the case asks for more."""
        given = rtol is not None or atol is not None
        if given or not (self.precision or self.rel_tol):
            return rtol, atol
        return self.rel_tol, self.precision


def _is_array(x: Any) -> bool:
    return isinstance(x, (Tensor, np.ndarray))


def _is_number(x: Any) -> bool:
    return isinstance(x, Number) and not isinstance(x, bool)


def _is_sequence(x: Any) -> bool:
    return isinstance(x, Sequence) and not isinstance(x, (str, bytes))


def _alike(x: Any, y: Any) -> tuple[Any, Any]:
    """Return two values as two tensors or two numbers. ValueError for a number beside many."""
    for number, other in ((x, y), (y, x)):
        if isinstance(number, Number) and _is_array(other):
            many = int(np.prod(other.shape))
            if many != 1:
                raise ValueError(
                    "Only single element tensor-likes can be compared against a number. "
                    f"Got {many} elements instead."
                )
            return tuple(v.item() if _is_array(v) else v for v in (x, y))  # type: ignore[return-value]
    if _is_array(x) or _is_array(y):
        return as_tensor(x), as_tensor(y)
    return x, y
