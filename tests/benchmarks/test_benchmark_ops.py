"""The table of common ops: every call works and means the same in each framework."""

import jax
import numpy as np
import pytest

import torchlike
from benchmarks import ops
from benchmarks.session import Measurement
from benchmarks.workloads.common_ops import COMMON, OPS, arrays_of

N = 16
#: Results of chance, of memory as it was found, or of the order in which duplicates are written.
SHAPE_ONLY = {"randn", "rand", "randint", "dropout", "normal_", "uniform_", "empty", "scatter_"}
LIBRARIES = [pytest.param("torch", marks=pytest.mark.parity), "torchlike"]


def parts(result):
    """The arrays of a result, one or several."""
    several = isinstance(result, (tuple, list)) and not hasattr(result, "shape")
    return [np.asarray(part) for part in (result if several else (result,))]


@pytest.mark.sampled(every=24)
@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_op_gives_the_result_of_jax(library, name):
    lib = torchlike if library == "torchlike" else pytest.importorskip("torch")
    op = OPS[name]
    result = op.in_torch(lib, *(lib.tensor(a) for a in arrays_of(op, N)))
    if name == "to":
        result = result.float()  # NumPy has no bfloat16 to compare in
    expected = parts(op.in_jax(jax, *(jax.numpy.asarray(a) for a in arrays_of(op, N))))
    found = parts(result)
    assert [a.shape for a in found] == [a.shape for a in expected]
    if name not in SHAPE_ONLY:
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(
                a.astype(np.float64), b.astype(np.float64), rtol=1e-5, atol=1e-6
            )


def test_there_are_a_hundred_ops_in_two_sizes():
    assert len(OPS) == 100
    assert len(COMMON) == 200


def test_ops_are_chosen_by_patterns():
    assert ops.select(["exp", "mul.*"]) == ["exp", "mul_", "mul"]
    assert ops.select([]) == list(OPS)
    with pytest.raises(ValueError, match="no op matches 'epx'"):
        ops.select(["exp", "epx"])


def measurement(name, framework, seconds, error=None):
    return Measurement(name, framework, rounds=[seconds], first_s=1.0, error=error)


def test_rows_are_sorted_and_the_slow_named():
    times = {"sort": (8.0, 2.0), "exp": (1.0, 1.0), "cat": (6.1, 2.0), "sum": (6.0, 2.0)}
    measured = [
        measurement(f"{name}/{size}", framework, seconds)
        for name, (ours, theirs) in times.items()
        for size in ("small", "large")
        for framework, seconds in (("torchlike", ours), ("torch", theirs), ("jnp", theirs))
    ]
    measured += [measurement("abs/large", "torchlike", 1.0, error="failed")]
    rows = ops.rows_of(measured)
    assert [row.name for row in rows] == ["abs", "sort", "cat", "sum", "exp"]
    assert ops.slow(rows) == [("sort", 4.0), ("cat", pytest.approx(3.05))]


@pytest.mark.exhaustive
def test_command_prints_a_table(capsys, tmp_path):
    pytest.importorskip("torch")
    code = ops.main(["--quick", "exp", "unbind", "--json", str(tmp_path / "out.json")])
    printed = capsys.readouterr().out
    assert code == 0, printed
    assert "eager ops" in printed
    assert "unbind" in printed
    assert (tmp_path / "out.json").exists()
