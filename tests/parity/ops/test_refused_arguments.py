"""Arguments of searches, norms, pieces and products that do not fit, and what fits barely, against
PyTorch."""

import pytest
from oracle import compare, refused, source

import torchlike

torch = pytest.importorskip("torch")

WORDS = """
t.searchsorted(t.tensor([5, 3, 1]), t.tensor([4, 5]), sorter=t.tensor([2, 1, 9]))
t.searchsorted(t.tensor([5, 3, 1]), t.tensor([4, 5]), sorter=t.tensor([2, 1, -1]))
t.searchsorted(t.tensor([5, 3, 1]), t.tensor([4, 5]), sorter=t.tensor([2., 1, 0]))
t.searchsorted(t.tensor([[1, 3, 5], [2, 4, 6]]), 4)
t.searchsorted(t.tensor(1), t.tensor(4))
t.searchsorted(t.tensor(1), t.tensor([4]))
t.tensor_split(t.tensor(1), 2)
t.tensor_split(t.arange(7), t.tensor(3.))
t.tensor_split(t.arange(7), t.tensor([[3]]))
t.linalg.householder_product(t.eye(2, 3), t.ones(2))
t.linalg.householder_product(t.eye(3, 2), t.ones(3))
t.linalg.householder_product(t.eye(3, 2).expand(2, 3, 2), t.ones(2))
t.linalg.householder_product(t.eye(3, 2), t.ones(2, dtype=t.float64))
t.linalg.vector_norm(t.ones(2), dtype=t.complex64)
t.linalg.vector_norm(t.ones(2, dtype=t.complex64), dtype=t.float32)
t.linalg.vector_norm(t.ones(2), dtype=t.float16)
t.linalg.vector_norm(t.ones(2), dtype=t.int32)
t.linalg.matrix_norm(t.ones(2, 2), 'nuc', dtype=t.complex64)
t.linalg.matrix_norm(t.ones(2, 2, dtype=t.complex64), 1, dtype=t.float32)
t.norm(t.ones(2, dtype=t.int32), dtype=t.float32)
t.outer(t.ones(2), t.ones(2, 2))
t.vdot(t.ones(1), t.ones(3, dtype=t.float64))
t.vdot(t.ones(1), t.ones(3))
t.vdot(t.ones(2, 2), t.ones(2, 2))
t.dot(t.ones(1), t.ones(1, dtype=t.float64))
t.fft.rfft2(t.ones(2, 2, dtype=t.complex64))
t.fft.fftfreq(5, dtype=t.int32)
t.addr(t.ones(2, 2, dtype=t.int64), t.arange(2), t.arange(2), beta=1.5)
t.addr(t.ones(2, 2, dtype=t.int64), t.arange(2), t.arange(2), alpha=1.5)
t.addr(t.ones(2, 2, dtype=t.int64), t.arange(2), t.arange(2), beta=True)
t.broadcast_shapes(1.0)
t.lu_unpack(t.eye(2), t.tensor([0, 2], dtype=t.int32))
t.lu_unpack(t.eye(2), t.tensor([3, 2], dtype=t.int32))
t.linalg.lu_solve(t.eye(2), t.tensor([0, 2], dtype=t.int32), t.eye(2))
t.linalg.lu_solve(t.eye(2), t.tensor([3, 2], dtype=t.int32), t.eye(2))
t.linalg.lu_solve(t.eye(2), t.tensor([1, 2]), t.eye(2))
t.linalg.lu_solve(t.eye(2), t.ones(1, dtype=t.int32), t.eye(2))
t.linalg.lu_solve(t.eye(2).expand(3, 2, 2), t.ones(2, dtype=t.int32), t.eye(2))
t.linalg.lu_solve(t.eye(2), t.ones(2, dtype=t.int32), t.ones(3, 2))
t.linalg.lu_solve(t.eye(2), t.ones(2, dtype=t.int32), t.ones(2, 3), left=False)
t.linalg.lu_solve(t.eye(2), t.ones(2, dtype=t.int32), t.eye(2, dtype=t.float64))
t.linalg.ldl_solve(t.eye(2), t.tensor([0, 2], dtype=t.int32), t.eye(2))
t.linalg.ldl_solve(t.eye(2), t.tensor([1, -3], dtype=t.int32), t.eye(2))
t.linalg.ldl_solve(t.eye(2), t.ones(1, dtype=t.int32), t.eye(2))
t.chain_matmul()
x = t.arange(3); x.index_add_(0, t.tensor([2, 1, 0]), x)
x = t.arange(3); x.index_copy_(0, x, t.ones(3, dtype=t.int64))
x = t.arange(3); x.index_fill_(0, x, 1)
x = t.arange(3); x.index_reduce_(0, t.tensor([2, 1, 0]), x, 'amax')
x = t.arange(3); x.scatter_(0, t.tensor([2, 1, 0]), x)
x = t.arange(3); x.scatter_(0, x, 1)
x = t.arange(3); x.scatter_add_(0, x, t.ones(3, dtype=t.int64))
x = t.arange(3); x.scatter_reduce_(0, t.tensor([2, 1, 0]), x, 'sum')
x = t.arange(3); x.put_(x, t.ones(3, dtype=t.int64))
x = t.arange(4); x[:3].index_add_(0, t.tensor([2, 1, 0]), x[1:])
t.arange(3).index_fill_(0, t.tensor([2]), 1j)
t.arange(3.).index_fill_(0, t.tensor([2]), t.tensor(1 + 0j))
(t.arange(3) > 1).index_fill(0, t.tensor([2]), 1j)
t.norm(t.ones(2, 2), 'nuc', dim=0)
t.norm(t.ones(2, 2, 2), 'nuc')
""".strip().splitlines()

VALUES = """
t.istft(t.zeros(3, 0, dtype=t.complex64), 4)
t.unravel_index(t.tensor([1, 5]), 2.5)
t.unravel_index(t.tensor([1, 5]), (2.5,))
t.broadcast_shapes((-1, 2))
t.from_numpy(np.zeros(3, [('x', 'f8'), ('y', 'f4')])['x'])
t.tensor(np.zeros(3, [('x', 'f8'), ('y', 'f4')])['x'])
t.from_numpy(np.ones(3, [('x', 'f4'), ('y', 'f4')])['y'])
t.fft.fftfreq(4, d=0.).isinf()
t.addr(t.ones(2, 2), t.arange(2), t.arange(2), beta=1.5, alpha=.5)
t.linalg.vector_norm(t.tensor([t.inf, t.inf]), -1)
t.linalg.vector_norm(t.tensor([1e30, 1e30]), -2)
t.linalg.vector_norm(t.tensor([0., 1.]), -2)
t.searchsorted(t.tensor([1., 3, t.nan]), t.tensor([t.nan, 2, 5]))
t.searchsorted(t.tensor([1., 3, t.nan]), t.tensor([t.nan, 2, 5]), right=True)
t.searchsorted(t.arange(7), t.arange(-1, 9), right=True)
t.searchsorted(t.tensor([1, 1, 1, 2, 2, 2]), t.arange(0, 4))
t.searchsorted(t.ones(0), t.tensor([4.]))
t.searchsorted(t.ones(2, 0), t.ones(2, 3))
t.searchsorted(t.ones(2, 2, 2), t.ones(2, 2, 3))
t.bucketize(t.tensor([[1, 9], [3, 4]]), t.tensor([1, 3, 5]))
t.linalg.vector_norm(t.ones(2, dtype=t.bfloat16), dtype=t.float32)
t.linalg.vector_norm(t.ones(2, dtype=t.complex64), dtype=t.complex128)
t.linalg.householder_product(t.eye(3, 2), t.ones(1)).shape
t.diag(t.arange(6.).reshape(2, 3), 2)
t.diag(t.arange(6.).reshape(2, 3), 5)
t.abs(t.tensor([3 + 4j]), out=t.zeros(1, dtype=t.complex64))
t.abs(t.tensor([3 + 4j]), out=t.zeros(1, dtype=t.float64))
t.absolute(t.tensor([3 + 4j]), out=t.zeros(1, dtype=t.int64))
t.abs(t.tensor([-3.]), out=t.zeros(1, dtype=t.float64))
t.norm(t.eye(2, 2), 'nuc', dim=(1, 0))
x = t.arange(3.); x.index_fill_(0, t.tensor([2]), x[1])
x = t.arange(3.); x.masked_fill_(x > 1, x[1])
x = t.arange(3); t.scatter_add(x, 0, t.tensor([2, 0, 0]), t.ones(3, dtype=t.int64), out=x)
t.arange(3).mul(1 + 0j).index_fill_(0, t.tensor([2]), 1j)
t.einsum('', [])
t.einsum('')
t.linalg.vector_norm(t.ones(2), 'fro')
""".strip().splitlines()


@pytest.mark.parametrize("line", WORDS)
def test_refused_in_pytorchs_words(line):
    function = source(line)
    kinds = ("RuntimeError", "TypeError") if "rfft" in line else ("RuntimeError",)
    assert refused(function).type in kinds


@pytest.mark.parametrize("line", VALUES)
def test_as_pytorch(line):
    function = source(line)
    compare(function, exact=True, words=0)


def test_searches_in_a_jitted_function():
    sequence = torchlike.tensor([[1.0, 2.0, 2.0], [0.0, 3.0, torchlike.nan]])
    values = torchlike.tensor([[2.0, torchlike.nan], [3.0, 4.0]])
    for right in (False, True):
        expected = torchlike.searchsorted(sequence, values, right=right)
        found = torchlike.jit(torchlike.searchsorted)(sequence, values, right=right)
        assert found.tolist() == expected.tolist()


def test_parts_of_16_bits_make_no_complex_numbers():
    part = torchlike.ones(2, dtype=torchlike.float16)
    for name in ("complex", "polar"):
        with pytest.raises(NotImplementedError, match="complex64"):
            getattr(torchlike, name)(part, part)


NUMBERS_WITH_GRADIENT = """
t.nn.functional.leaky_relu(t.ones(2), t.tensor(.5, requires_grad=True))
t.nn.functional.celu(t.ones(2), t.tensor(.5, requires_grad=True))
t.full((2,), t.tensor(.5, requires_grad=True))
t.full_like(t.ones(2), t.tensor(.5, requires_grad=True))
t.arange(t.tensor(3., requires_grad=True))
t.arange(0, 5, t.tensor(2., requires_grad=True))
t.norm(t.ones(2), t.tensor(3., requires_grad=True))
t.linalg.vector_norm(t.ones(2), t.tensor(3., requires_grad=True))
t.linalg.norm(t.ones(2), t.tensor(3., requires_grad=True))
t.cdist(t.ones(1, 2), t.ones(1, 2), t.tensor(3., requires_grad=True))
t.ones(2).uniform_(0, t.tensor(3., requires_grad=True))
t.ones(2).normal_(t.tensor(3., requires_grad=True))
t.arange(t.tensor(3.))
t.norm(t.ones(2), t.tensor(3.))
t.nn.functional.leaky_relu(-t.ones(2), t.tensor(.5))
t.full((2,), t.tensor(.5))
""".strip().splitlines()


@pytest.mark.parametrize("line", NUMBERS_WITH_GRADIENT)
def test_a_tensor_in_place_of_a_number_must_not_require_grad(line):
    function = source(line)
    compare(function, exact=True, words=0)
