"""NumPy's names of arguments, where PyTorch takes them, and what trapezoidal rules are given."""

import pytest
from oracle import compare, source

torch = pytest.importorskip("torch")

Y = "y = t.arange(12.).view(3, 4)"
LINES = """
y.softmax(axis=0).argmax(0)
t.log_softmax(y, axis=0).argmax(0)
y.squeeze(axis=0)
y.unsqueeze(axis=1)
y.unbind(axis=1)
t.chunk(y, 2, axis=1)
y.tensor_split(2, axis=1)
y.diff(axis=0)
y.quantile(.5, axis=0, keepdims=True)
t.nanquantile(y, .5, axis=1)
t.std(y, axis=0, keepdims=True).shape
t.var_mean(y, axis=1, keepdims=True)[1]
y.aminmax(axis=1, keepdims=True).max
y.repeat_interleave(2, axis=1)
t.take_along_dim(y, t.zeros(3, 4, dtype=t.int64), axis=1)
t.cross(y, y, axis=0)
t.trapezoid(y * y, axis=0)
t.trapezoid(y * y, t.tensor([0., 1, 4]), axis=0)
t.trapz(y * y, dx=2., dim=0)
t.cumulative_trapezoid(y * y, axis=0)
t.cumulative_trapezoid(y, x=t.tensor([0., 1, 3, 7]))
t.trapezoid(y, y, 0)
t.trapezoid(y, x=y, dx=2)
t.trapezoid(y, which=1)
t.trapezoid(y, 2.)
t.trapezoid(y > 2)
t.cumulative_trapezoid(y, dx=1j)
t.linalg.norm(input=y)
t.linalg.norm(x=y, dim=0)
t.linalg.vector_norm(input=y, ord=1)
t.linalg.matrix_norm(a=y)
t.linalg.cond(input=y @ y.T + t.eye(3))
t.linalg.eigvalsh(input=t.eye(3), UPLO="U")
t.linalg.matrix_rank(input=y, tol=0.5)
t.linalg.matrix_power(input=t.eye(2), n=2)
t.linalg.solve_triangular(input=t.eye(2), B=t.ones(2, 2), upper=True)
t.linalg.inv(input=t.eye(2))
t.nn.functional.one_hot(input=t.tensor([0, 2]))
y.chunk(2, axis=1, dim=1)
y.chunk(2, which=1)
""".strip().splitlines()


@pytest.mark.parametrize("line", LINES)
def test_as_pytorch(line):
    function = source(f"{Y}; {line}")
    compare(function, exact=True, words=0)
